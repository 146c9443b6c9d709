"""Optuna's TPE, which learns from the trials that have ended (Bergstra et al. 2011), by Ray's own
integration.
"""

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import optuna
from ray.tune.search import Searcher
from ray.tune.search.optuna import OptunaSearch

from heed.files import read_json, write_json
from heed.hyperparameters import Configuration
from heed.search.space import DRAWS, rounded
from heed.study import Dimension

CONFIGURATION = "configuration.json"
METRIC = "best"  # of what a trial tells: the best score of its epochs so far


class Tpe(OptunaSearch):
    """Draws the configurations of a search one after the other, and numbers them.

    Each is written into its trial's folder before the trial starts: after a kill those without an
    end are tried again first.
    """

    def __init__(
        self,
        dimensions: Mapping[str, Dimension],
        trials: int,
        seed: int,
        fits: Callable[[Configuration], bool],
        folder: Callable[[int], Path],
        ended: Mapping[int, float | None],
    ) -> None:
        """Take up what was drawn before a kill: `ended` gives the best score of each trial that has
        ended.
        """
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        # that it was told a step twice: of a trial started again
        warnings.filterwarnings("ignore", module="optuna")
        super().__init__(
            {key: _distribution(dimension) for key, dimension in dimensions.items()},
            metric=METRIC,
            mode="max",
            sampler=optuna.samplers.TPESampler(seed=seed),
        )
        self.dimensions, self.trials, self.fits, self.folder = dimensions, trials, fits, folder
        self.drawn = drawn_before(folder)
        self.again = [number for number in range(len(self.drawn)) if number not in ended]
        for number, score in ended.items():
            if score is not None:
                self.add_evaluated_point(self.drawn[number], score)

    @property
    def study(self) -> optuna.Study:
        """What Optuna knows of the search."""
        assert self._ot_study is not None
        return self._ot_study

    def suggest(self, trial_id: str) -> Any:
        """Return the next trial, as the random sampler gives it too; `FINISHED` when there
        is none.
        """
        if self.again:
            number = self.again.pop(0)
            self.study.enqueue_trial(self.drawn[number])
            super().suggest(trial_id)
            return {"trial": {"number": number, "configuration": self.drawn[number]}}
        if len(self.drawn) >= self.trials:
            return Searcher.FINISHED
        for _ in range(DRAWS):
            drawn: Any = super().suggest(trial_id)
            configuration = {
                key: rounded(drawn[key], dimension) for key, dimension in self.dimensions.items()
            }
            if configuration not in self.drawn and self.fits(configuration):
                number = len(self.drawn)
                self.drawn.append(configuration)
                write_json(self.folder(number) / CONFIGURATION, configuration)
                return {"trial": {"number": number, "configuration": configuration}}
            self.study.tell(self._ot_trials.pop(trial_id), state=optuna.trial.TrialState.FAIL)
        return Searcher.FINISHED  # every configuration that is possible was tried

    def save(self, checkpoint_path: str) -> None:
        """Save nothing for Ray: the trials' folders hold all there is to know."""


def drawn_before(folder: Callable[[int], Path]) -> list[Configuration]:
    """Return the configurations that were drawn before a search was killed, in their order."""
    found: list[Configuration] = []
    while (path := folder(len(found)) / CONFIGURATION).exists():
        found.append(read_json(path, "the search again"))
    return found


def _distribution(dimension: Dimension) -> optuna.distributions.BaseDistribution:
    """Return how Optuna calls a dimension."""
    values = dimension.values
    if dimension.kind == "choice":
        return optuna.distributions.CategoricalDistribution(values)
    if dimension.kind == "integer":
        return optuna.distributions.IntDistribution(*values)
    low, high = values
    return optuna.distributions.FloatDistribution(low, high, log=dimension.kind == "loguniform")
