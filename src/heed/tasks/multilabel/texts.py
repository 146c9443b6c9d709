"""A trained multi-label classifier for notebooks: it is opened as any classifier."""

from heed.tasks.classification.texts import open_run

__all__ = ["open_run"]
