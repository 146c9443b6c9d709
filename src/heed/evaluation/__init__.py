"""Evaluation: from predictions to scores, tests and verdicts. Loads no model and needs no torch."""
