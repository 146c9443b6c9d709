"""Evaluation: tables of one model, and the comparison of all."""
