"""The network of a multi-label classification, which has one output a class as any classifier."""

from heed.tasks.classification.network import build, parameter_matched, sizes

__all__ = ["build", "parameter_matched", "sizes"]
