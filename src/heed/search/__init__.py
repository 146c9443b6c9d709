"""Search: which hyperparameters, from data/tokens and params.yaml to results/search.

The only package that imports ray.

`stage` is the command. `candidates` draws the configurations, `cluster` starts or
connects to Ray, `trials` trains them there, and `results` writes and reads the outcome.
"""
