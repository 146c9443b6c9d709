"""The parameter count of a multi-label classifier: a network has one output a class."""

from heed.tasks.classification.capacity import count, sizes, widen

__all__ = ["count", "sizes", "widen"]
