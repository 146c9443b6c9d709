"""Training: from a recipe and a seed to a run, results/train/MODEL/SEED.

This package knows no task: a `Learner` (heed.task.interface) has the model, batches and loss.

`run` is the stage and the training of one seed, and `loop` has its steps and epochs. `checkpoint`
lets a killed training resume, and reads weights; `machine` configures process and device.
"""
