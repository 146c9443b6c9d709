"""Evaluation: from predictions to scores, tests and verdicts. Loads no model and needs no torch.

`tested` reads the statistics of the test items and makes the tables of the stage `score`;
`comparison` is the stage `compare`; `variance` has the two designs and their power, `significance`
the tests, `verdicts` the pairs that are compared and the conclusions, `results` comparison.json.
"""
