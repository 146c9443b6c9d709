"""Intervals and p values of differences of BLEU, on studies whose true difference is known.

BLEU is no mean over sentences. heed tests the jackknife pseudo-values of its sums, in the crossed
design of seeds and sentences; here its false alarms are counted beside those of a bootstrap over
seeds and sentences, and of sacrebleu's paired bootstrap over the sentences of one seed."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from heed.evaluation.significance import differences, mean_difference, variance_components
from heed.task.interface import Metric
from heed.tasks.translation.metrics import bleu

LEVELS = (0.05, 0.05 / 36)
METRIC = Metric("bleu", bleu)
SENTENCES, LENGTHS = 1000, np.arange(5, 26)
# A word is right with this probability, more often or less by sentence, and by sentence and model.
RIGHT, DIFFICULTY, FAVOUR = 0.62, 0.15, 0.06


@dataclasses.dataclass(frozen=True)
class Study:
    """Two models, tested with `seeds` seeds on the same sentences.

    gain: by how much more often a word of the first model is right
    deviation: of this share over seeds, of each model"""

    seeds: int
    gain: float
    std: float

    def draw(self, generator: np.random.Generator) -> np.ndarray:
        """Return the statistics of BLEU, (models, seeds, sentences, 10)."""
        lengths = generator.choice(LENGTHS, SENTENCES)
        difficulty = generator.choice([-DIFFICULTY, DIFFICULTY], SENTENCES)
        favour = generator.choice([-FAVOUR, FAVOUR], SENTENCES)
        models = np.stack([favour + self.gain, -favour])[:, None]
        seeds = generator.normal(0, self.std, (2, self.seeds, 1)).clip(-0.12, 0.12)
        right = (RIGHT + difficulty + models + seeds).astype(np.float32)
        hypothesis = lengths - generator.integers(0, 2, (2, self.seeds, SENTENCES))
        drawn = generator.random((*right.shape, LENGTHS[-1]), np.float32) < right[..., None]
        drawn &= np.arange(LENGTHS[-1]) < hypothesis[..., None]
        counted = np.empty((*right.shape, 10))
        counted[..., 0], counted[..., 1] = hypothesis, lengths
        run = np.ones_like(drawn)
        for n in range(4):  # an n-gram is right where n words that follow each other are
            run = run[..., : LENGTHS[-1] - n] & drawn[..., n:]
            counted[..., 2 + n], counted[..., 6 + n] = run.sum(-1), hypothesis - n
        return counted

    def true_difference(self) -> float:
        """Return the difference of BLEU over infinitely many sentences, and the mean over seeds."""
        quantiles = (np.arange(2000) + 0.5) / 2000
        seeds = (self.std * stats.norm.ppf(quantiles)).clip(-0.12, 0.12)
        return float(np.diff([_limit(seeds + shift).mean() for shift in (0, self.gain)])[0])


def _limit(shifts: np.ndarray) -> np.ndarray:
    """Return BLEU over infinitely many sentences whose words are right so much more often."""
    kinds = np.add.outer([-DIFFICULTY, DIFFICULTY], [-FAVOUR, FAVOUR]).ravel()
    right = RIGHT + shifts[:, None] + kinds
    lengths = np.concatenate([LENGTHS, LENGTHS - 1])
    sums = np.empty((len(shifts), 10))
    sums[:, 0], sums[:, 1] = lengths.mean(), LENGTHS.mean()
    for n in range(1, 5):
        totals = (lengths - n + 1).mean()
        sums[:, 1 + n], sums[:, 5 + n] = totals * (right**n).mean(1), totals
    return bleu(sums)


def scores(counted: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return what each sentence contributes to the BLEU of both models' runs."""
    return [METRIC.by_item(counted[0])], [METRIC.by_item(counted[1])]


def is_alarm(tested: tuple[list[np.ndarray], list[np.ndarray]], true: float, level: float) -> bool:
    """Return whether heed's interval at a level leaves out the true difference."""
    seeds = len(tested[0][0])
    critical = variance_components(*tested).critical_difference(seeds, level)
    return bool(abs(mean_difference(differences(*tested)) - true) > critical)


def test_the_true_difference_is_that_of_a_large_sample():
    study = Study(seeds=4, gain=0.03, std=0.0)
    generator = np.random.default_rng(2)
    sums = sum(study.draw(generator).sum((1, 2)) for _ in range(50))
    first, second = bleu(sums)
    assert first - second == pytest.approx(study.true_difference(), abs=0.002)


@pytest.mark.parametrize(("seeds", "std"), [(3, 0.01), (5, 0.0), (5, 0.02)])
def test_intervals_of_a_gain_in_bleu_cover_the_true_one(seeds, std):
    study = Study(seeds, gain=0.03, std=std)
    generator, true = np.random.default_rng(seeds), study.true_difference()
    assert true > 0.03
    missed = [is_alarm(scores(study.draw(generator)), true, 0.05) for _ in range(60)]
    assert sum(missed) <= 8  # 3 are expected; more than 8 come by chance in 1 of 250 tests


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("std", [0.0, 0.01])
def test_false_alarms_of_bleu_are_at_most_the_level(seeds, std):
    """The numbers of heed in docs/read/statistics.md: no true difference, 2,000 studies a line."""
    study = Study(seeds, gain=0.0, std=std)
    generator = np.random.default_rng([seeds, round(1000 * std)])
    tested = (scores(study.draw(generator)) for _ in range(2000))
    alarms = [[is_alarm(each, 0.0, level) for level in LEVELS] for each in tested]
    for level, rate in zip(LEVELS, np.mean(alarms, axis=0), strict=True):
        assert rate <= level + 3 * np.sqrt(level / len(alarms))
