"""Optuna's TPE sampler (Bergstra et al. 2011), by Ray's integration: learns from ended trials."""

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import optuna
from ray.tune.search import Searcher
from ray.tune.search.optuna import OptunaSearch

from heed.files import read_json, write_json
from heed.hyperparameters import Configuration
from heed.search.space import DRAWS, round_value
from heed.study import Dimension

CONFIGURATION = "configuration.json"
METRIC = "best"  # the key of a trial's report with the best score of its epochs so far


class Tpe(OptunaSearch):
    """Draws the configurations of a search one after the other, and numbers them.

    Each is written into its trial's folder before the trial starts. After a kill the trials that
    had not ended are suggested again first.
    """

    def __init__(
        self,
        dimensions: Mapping[str, Dimension],
        trials: int,
        seed: int,
        is_valid: Callable[[Configuration], bool],
        trial_folder: Callable[[int], Path],
        ended: Mapping[int, float | None],
    ) -> None:
        """Restore the configurations that were drawn before a kill.

        Args:
            dimensions: hyperparameter → how it is drawn.
            trials: number of configurations.
            seed: of Optuna's sampler.
            is_valid: whether a configuration is possible (heads divide the states' size).
            trial_folder: the folder of each trial.
            ended: best score of each trial that has ended; None without one.

        """
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        # it warns about a step that is reported twice, as by a trial that is started again
        warnings.filterwarnings("ignore", module="optuna")
        super().__init__(
            {key: _distribution(dimension) for key, dimension in dimensions.items()},
            metric=METRIC,
            mode="max",
            sampler=optuna.samplers.TPESampler(seed=seed),
        )
        self.dimensions, self.trials, self.is_valid = dimensions, trials, is_valid
        self.trial_folder = trial_folder
        self.drawn = read_drawn(trial_folder)
        self.unfinished = [number for number in range(len(self.drawn)) if number not in ended]
        for number, score in ended.items():
            if score is not None:
                self.add_evaluated_point(self.drawn[number], score)

    @property
    def study(self) -> optuna.Study:
        """Optuna's record of the search."""
        assert self._ot_study is not None
        return self._ot_study

    def suggest(self, trial_id: str) -> Any:
        """Return number and configuration of the next trial; `FINISHED` after the last."""
        if self.unfinished:
            number = self.unfinished.pop(0)
            self.study.enqueue_trial(self.drawn[number])
            super().suggest(trial_id)
            return {"trial": {"number": number, "configuration": self.drawn[number]}}
        if len(self.drawn) >= self.trials:
            return Searcher.FINISHED
        for _ in range(DRAWS):
            values: Any = super().suggest(trial_id)
            configuration = {
                key: round_value(values[key], dimension)
                for key, dimension in self.dimensions.items()
            }
            if configuration not in self.drawn and self.is_valid(configuration):
                number = len(self.drawn)
                self.drawn.append(configuration)
                write_json(self.trial_folder(number) / CONFIGURATION, configuration)
                return {"trial": {"number": number, "configuration": configuration}}
            self.study.tell(self._ot_trials.pop(trial_id), state=optuna.trial.TrialState.FAIL)
        return Searcher.FINISHED  # every possible configuration was tried

    def save(self, checkpoint_path: str) -> None:
        """Save nothing for Ray: the trials' folders hold the whole state of the search."""


def read_drawn(trial_folder: Callable[[int], Path]) -> list[Configuration]:
    """Return the configurations that were drawn before a search was killed, by number of trial."""
    configurations: list[Configuration] = []
    while (path := trial_folder(len(configurations)) / CONFIGURATION).exists():
        configurations.append(read_json(path, "the search again"))
    return configurations


def _distribution(dimension: Dimension) -> optuna.distributions.BaseDistribution:
    """Return a dimension as Optuna's distribution."""
    values = dimension.values
    if dimension.kind == "choice":
        return optuna.distributions.CategoricalDistribution(values)
    if dimension.kind == "integer":
        return optuna.distributions.IntDistribution(*values)
    low, high = values
    return optuna.distributions.FloatDistribution(low, high, log=dimension.kind == "loguniform")
