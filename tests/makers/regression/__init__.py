"""Regression: a number for each text. The task that a test adds to heed by this folder alone."""

BASE = "classification"  # its networks, the limits of their hyperparameters, and their size
