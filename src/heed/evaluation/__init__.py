"""Evaluation: from predictions to figures.

Loads no model and needs no torch; each task has its own figures.

`tables` makes the tables of the stage `score`, `comparison` is the stage `compare`; `tested` reads
the statistics of the test items, `significance` has the tests, and `results` reads and writes
comparison.json.
"""
