"""A trained classifier for notebooks."""

from heed.prediction import load_predictor
from heed.tasks.interface import Predictor
from heed.training.run import RunInfo


def open_run(run: RunInfo) -> Predictor:
    """Return a run that is ready to predict documents of its corpus on the CPU."""
    return load_predictor(run, "cpu")
