"""Search: which hyperparameters, from data/tokens and params.yaml to results/search/NAME.

The only package that imports ray.

`stage` and `adopt` are the commands. `space` and `sampler` draw, `tuner` runs the trials on what
`cluster` starts or joins, `trainable` is one trial, `outcome` the files that are left, and
`progress` what a person sees.
"""
