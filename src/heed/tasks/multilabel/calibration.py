"""The speed of a multi-label classifier: that of the same network in a classification."""

from heed.tasks.classification.calibration import padded_tokens, random_learner

__all__ = ["padded_tokens", "random_learner"]
