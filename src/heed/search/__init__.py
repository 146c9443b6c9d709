"""Search: hyperparameters (the only room that may import ray)."""
