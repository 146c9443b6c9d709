"""Evaluation: from predictions to figures.

Loads no model and needs no torch; what the figures are is a task's.

`tables` is the stage `evaluate`, `comparison` the stage `compare`; `tested` reads what was
predicted, `significance` has the tests, and `results` is what comparison.json holds.
"""
