"""Training: from a recipe and a seed to a run, results/train/MODEL/SEED.

This package knows no task: a `Learner` (heed.task.interface) has the model, batches and loss.

`run` is the stage and `loop` the steps and epochs. `checkpoint` lets a killed training resume,
`determinism`, `device` and `allocator` configure the machine, and `progress` reports progress.
"""
