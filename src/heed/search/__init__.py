"""Search: which hyperparameters, from data/tokens and params.yaml to results/search.

The only package that imports ray.

`stage` and `adopt` are the commands. `space` and `sampler` draw configurations, `cluster` starts or
connects to Ray, `tuner` runs the trials there, `trainable` is one trial, and `results` writes and
reads the outcome.
"""
