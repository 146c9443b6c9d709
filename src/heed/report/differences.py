"""Tested differences of an experiment's models: what is said of each, and which one leads."""

import dataclasses
from typing import Any, NamedTuple

from heed.evaluation import results
from heed.evaluation.comparison import bound_of, side_of
from heed.evaluation.results import BASELINE, BETTER, SAME, UNDECIDED, WORSE, ExperimentResult
from heed.hyperparameters.pretrained import PRETRAINED
from heed.report.formats import read_yaml
from heed.report.measures import MAJORITY, Measure, measure_of

UNTESTED = "untested"  # one seed, or one test document
ESTIMATE = "estimate"  # undecided, and no number of seeds that anybody trains would decide
SLIGHTLY_BETTER, SLIGHTLY_WORSE = "slightly better", "slightly worse"
SLIGHTLY = {BETTER: SLIGHTLY_BETTER, WORSE: SLIGHTLY_WORSE}  # by less than the margin
LINEAR = "linear"
REFERENCES = (MAJORITY, LINEAR, PRETRAINED)  # recommended where they do as well: simplest first
VERDICT_WORDS: dict[str, str] = read_yaml("names")["verdicts"]


def reading_of(difference: results.Difference, items_needed: int | None = None) -> str:
    """Return the verdict on a difference: a key of VERDICT_WORDS that its interval bears out.

    What is undecided is so for the seeds, or the test items, that would find a difference of its
    size; without any it is an estimate.
    """
    if difference.interval_pp is None:
        return UNTESTED
    if difference.verdict == UNDECIDED and not (difference.seeds_needed or items_needed):
        return ESTIMATE
    if difference.verdict != SAME:
        return difference.verdict
    return SLIGHTLY.get(side_of(difference.interval_pp), SAME)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TestedDifference(results.Difference):
    """A tested difference (docs/read/statistics.md); `one_seed`: both models have one run."""

    first: str
    second: str
    method: results.Significance
    measure: Measure
    one_seed: bool = False

    @property
    def reading(self) -> str:
        """The verdict: a key of VERDICT_WORDS."""
        return reading_of(self)

    @property
    def verdict_words(self) -> str:
        """The reading in words, of what is undecided with the seeds that would decide."""
        words = VERDICT_WORDS[self.reading].format(
            within=self.margin_words, reason=self.no_interval, bound=self.bound_words
        )
        return f"{words}: {self.seeds_needed:,} seeds" if self.reading == UNDECIDED else words

    @property
    def bound_words(self) -> str:
        """The points within which the difference is shown to lie, such as "1.4 points"."""
        return self.measure.points(round(bound_of(self.interval_pp or (0.0, 0.0)), 1))

    @property
    def no_interval(self) -> str:
        """The reason for a missing interval."""
        return f"one {'seed' if self.one_seed else f'test {self.measure.item}'} has no interval"

    @property
    def margin_words(self) -> str:
        """The margin within which two models are practically the same, such as "a point"."""
        return self.measure.points(self.method.equivalence_margin)


class AttentionComparison(NamedTuple):
    """The tests of an experiment's first attention variant against what it is compared with."""

    variant: str
    baseline: TestedDifference | None  # None without a baseline
    primary: TestedDifference  # over its control
    strongest_reference_model: TestedDifference | None  # see `compare_attention`


def attention_of(result: ExperimentResult) -> str:
    """Return the first variant that answers the study's question; empty: none."""
    return next(iter(result.attention), "")


def compare_attention(
    result: ExperimentResult, differences: list[TestedDifference]
) -> AttentionComparison | None:
    """Return what an experiment's first attention variant is compared with; None: nothing.

    The strongest reference model is the one that attention beats least: one that wins comes first,
    and one that is shown to be beaten last.
    """
    variant, order = attention_of(result), {WORSE: 0, BETTER: 2}
    own = {pair.second: pair for pair in differences if pair.first == variant}
    gain = own.pop(BASELINE, None)
    primary = own.get(result.control, gain)
    if primary is None:
        return None
    models = [pair for pair in own.values() if pair.second in result.reference_models]
    models.sort(key=lambda pair: (order.get(pair.verdict, 1), pair.mean_pp))
    return AttentionComparison(variant, gain, primary, next(iter(models), None))


def tested_differences(
    result: ExperimentResult, method: results.Significance
) -> list[TestedDifference]:
    """Return every difference of an experiment: those of its question first, the gains first."""
    answers = {variant: index for index, variant in enumerate(result.attention)}
    known: dict[str, Any] = {"method": method, "measure": measure_of(result)}
    tested = []
    for first, others in result.comparisons.items():
        known["one_seed"] = len(result.compared_score(result.models[first]).values) == 1
        for second in sorted(others, key=lambda name: name != BASELINE):
            pair = {"first": first, "second": second}
            tested.append(TestedDifference(**known, **pair, **vars(others[second])))
    return sorted(tested, key=lambda pair: answers.get(pair.first, len(answers)))


def recommend(result: ExperimentResult, method: results.Significance) -> str:
    """Return the simplest model whose score is within the margin of the best one.

    Reference models are simpler than networks, and of these the one with fewest parameters is. ""
    without a linear model, for generated text, where that model had not converged, and where
    another might leave it behind if it were trained longer.
    """
    if LINEAR not in result.reference_models or result.corpus.statistics.generated:
        return ""
    models, sign = result.models, result.sign
    networks = sorted(models, key=lambda n: (models[n].parameters, -sign * result.score_of(n)))
    names = [*filter(result.reference_models.__contains__, REFERENCES), *networks]
    scores = {name: sign * result.score_of(name) for name in names}
    margin = method.equivalence_margin / 100
    enough = max(scores.values()) - margin
    found = next(name for name, score in scores.items() if score >= enough)
    possible = (scores[name] + models[name].rise_pp(result.metric) / 100 for name in models)
    is_open = found in result.models and not result.models[found].has_converged
    return "" if is_open or scores[found] < max(possible) - margin else found
