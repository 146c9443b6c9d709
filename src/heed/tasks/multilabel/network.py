"""The network of a multi-label classification, which has one output a class as any classifier."""

from heed.tasks.classification.network import build, loss, parameter_matched, random_batch, sizes

__all__ = ["build", "loss", "parameter_matched", "random_batch", "sizes"]
