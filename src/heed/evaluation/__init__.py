"""Evaluation: from predictions to scores, tests and verdicts. Loads no model and needs no torch.

`tested` reads the statistics of the test items and makes the tables of the stage `score`;
`comparison` is the stage `compare`; `significance` has two designs, their tests and their power,
`results` the pairs that are compared, the conclusions and comparison.json.
"""
