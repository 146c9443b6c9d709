"""Search: which hyperparameters, from data/tokens and params.yaml to results/search.

The only package that imports ray.

`stage` and `adopt` are the commands. `cluster` starts or connects to Ray, `tuner` runs the trials
there, `trials` draws their configurations and trains one, and `results` writes and reads the
outcome.
"""
