"""The network of a multi-label classification, which has one output a class as any classifier."""

from heed.tasks.classification.network import build, sizes, without_attention

__all__ = ["build", "sizes", "without_attention"]
