"""Training: from a recipe and a seed to a run, results/train/MODEL/SEED.

Knows no task: that is a `Learner` (heed.tasks.interface).

`run` is the stage, `loop` the steps and epochs; `checkpoint` lets a killed training go on;
`determinism`, `device` and `allocator` are about the machine, and `progress` is what a person sees.
"""
