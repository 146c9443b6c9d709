"""Evaluation: from predictions to figures.

Loads no model and needs no torch; each task has its own figures.

`tables` is the stage `evaluate`, `comparison` the stage `compare`; `tested` reads the statistics of
the test items, `significance` has the tests, and `results` reads and writes comparison.json.
"""
