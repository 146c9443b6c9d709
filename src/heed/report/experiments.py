"""The experiments of a study for the chapters: their scores, and the talk's scores."""

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.corpora.kinds import KINDS
from heed.corpora.table import KIND as OWN
from heed.evaluation.results import (
    NOT_CONVERGED,
    SAME,
    UNDECIDED,
    Comparison,
    Corpus,
    ExperimentResult,
    Gain,
    paired_gain,
)
from heed.report.differences import (
    AttentionComparison,
    TestedDifference,
    compare_attention,
    leading,
    recommend,
    tested_differences,
)
from heed.report.measures import Measure, equal_weights_control, measure_of
from heed.report.published import (
    NO_SCORES,
    TALK_VARIANTS,
    Talk,
    TalkTest,
    experiment_scores,
    read_published,
    talk_gain,
    talk_test,
)
from heed.report.words import experiment_sentences, experiment_words

if TYPE_CHECKING:
    from heed.study import Experiment as Declared
    from heed.study import Params

# Verdicts on the talk's gain, beside UNDECIDED.
REPRODUCED, NOT_REPRODUCED, NOT_COMPARABLE = "reproduced", "not reproduced", "not comparable"


@dataclasses.dataclass(frozen=True)
class Reproduction:
    """Whether the talk's gain was reproduced; a sentence says why."""

    verdict: str  # empty where the talk or this study has no gain
    sentence: str

    def __str__(self) -> str:
        """Return the sentence."""
        return self.sentence


@dataclasses.dataclass(frozen=True)
class Line:
    """The talk's scores in an experiment's row of the first table."""

    talk: tuple[str, str] | None  # baseline, attention
    talk_gain: float | None
    comparable: bool  # whether the talk's scores can be compared with ours
    reproduction: Reproduction | None  # None where the talk has no such experiment
    talk_test: TalkTest | None = None  # of its gain, over its test documents


@dataclasses.dataclass(frozen=True)
class Degradation:
    """The change of a model's score when its hyperparameters are degraded, and the talk's.

    In percentage points; the talk's is one of accuracy, and None beside another metric.
    """

    variant: str
    change: Gain
    talk: float | None


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One experiment of the report."""

    key: str
    title: str
    result: ExperimentResult
    measure: Measure  # by which its models are compared
    mark: str  # generated text, reduced corpus: in every file with its numbers
    generated: bool
    corpus_name: str
    leading: TestedDifference | None  # what the report says first: see `leading`
    advice: str  # the model to use on a corpus of one's own; empty on others
    line: Line
    attention_comparison: AttentionComparison | None  # of attention against its compared models
    comparisons: list[TestedDifference]
    talk: dict[str, Talk]  # the talk's scores by variant
    # title of the experiment whose hyperparameters this one degrades, or nothing
    degraded_from: str
    degradations: list[Degradation]
    printed_mark: str = ""  # after its title, unless the page begins with it
    publishable: bool = False  # whether its text may be: generated, or in the public domain

    @functools.cached_property
    def words(self) -> dict[str, str]:
        """The names in words of its models and reference models."""
        return experiment_words(self._hyperparameters)

    @functools.cached_property
    def sentences(self) -> dict[str, str]:
        """The names of the same within a sentence, after "beats"."""
        return experiment_sentences(self._hyperparameters)

    @property
    def _hyperparameters(self) -> dict[str, Any]:
        models = {name: each.hyperparameters for name, each in self.result.models.items()}
        return models | dict.fromkeys(self.result.reference_models)

    @property
    def gain(self) -> TestedDifference | None:
        """Attention over the baseline; None without one of the two."""
        return self.attention_comparison.baseline if self.attention_comparison else None


def read_experiments(params: "Params", comparison: Comparison, folder: Path) -> list[Experiment]:
    """Return the experiments in the order of params.yaml; `folder` has the talk's scores.

    Raises HeedError: params.yaml names an experiment that the talk does not have.
    """
    published = read_published(folder)
    talk = {
        name: experiment_scores(
            published, declared.published.experiment, f"experiments.{name}.published.experiment"
        )
        if declared.published
        else {}
        for name, declared in params.experiments.items()
        if name in comparison.experiments
    }
    experiments = [_experiment(name, params, comparison, talk) for name in talk]
    if all(each.generated for each in experiments):
        return experiments
    return [dataclasses.replace(each, printed_mark=each.mark) for each in experiments]


def _experiment(
    name: str, params: "Params", comparison: Comparison, talk: dict[str, dict[str, Talk]]
) -> Experiment:
    declared, result = params.experiments[name], comparison.experiments[name]
    method = comparison.significance
    original, degraded_from, degradations = declared.suboptimal_of, "", []
    if original in comparison.experiments:
        degraded_from = params.experiments[original].title
        before = comparison.experiments[original]
        degradations = _degradations(result, before, talk[name], talk[original])
    comparisons = tested_differences(result, method)
    compared = compare_attention(result, comparisons)
    return Experiment(
        key=name, title=declared.title, result=result, measure=measure_of(result),
        mark=mark(result.corpus), generated=result.corpus.statistics.generated,
        corpus_name=result.corpus.name,
        leading=leading(result, compared, comparisons),
        advice=recommend(result, method) if result.corpus.statistics.kind == OWN.name else "",
        line=_line(declared, result, talk[name], compared.baseline if compared else None),
        attention_comparison=compared, comparisons=comparisons, talk=talk[name],
        degraded_from=degraded_from, degradations=degradations,
        publishable=may_publish_text(result.corpus),
    )  # fmt: skip


def may_publish_text(corpus: Corpus) -> bool:
    """Return whether what is published may have a corpus's text: generated, or public domain."""
    kind = KINDS.get(corpus.statistics.kind)
    return corpus.statistics.generated or bool(kind and kind.source.public_domain)


def mark(corpus: Corpus) -> str:
    """Return the warning that is printed with all numbers of a corpus; empty for most corpora."""
    generated = "generated text" if corpus.statistics.generated else ""
    reduced = "reduced corpus" if corpus.statistics.reduced else ""
    return ", ".join(filter(None, [generated, reduced]))


def _line(
    declared: "Declared",
    result: ExperimentResult,
    talk: dict[str, Talk],
    gain: TestedDifference | None,
) -> Line:
    baseline, attention = (
        talk.get(variant, NO_SCORES).average_scores("accuracy").get("f1", "")
        for variant in TALK_VARIANTS
    )
    published, of_talk = declared.published, talk_gain(talk)
    comparable = bool(published and published.comparable and not mark(result.corpus))
    reproduction = _reproduction(of_talk, gain) if comparable else None
    if published and not comparable:
        reasons = filter(None, [published.reason, mark(result.corpus)])
        reproduction = Reproduction(NOT_COMPARABLE, f"not comparable: {'; '.join(reasons)}")
    printed = (baseline, attention) if baseline and attention else None
    return Line(printed, of_talk, comparable, reproduction, talk_test(talk))


def _reproduction(talk_gain: float | None, gain: TestedDifference | None) -> Reproduction:
    """Return whether the talk's gain, on a comparable corpus, was reproduced."""
    if talk_gain is None or gain is None:
        return Reproduction("", "comparable, but one of the two has no gain")
    if gain.ends is None:
        return Reproduction(UNDECIDED, f"undecided: {gain.no_interval}")
    if gain.verdict == NOT_CONVERGED:
        return Reproduction(UNDECIDED, "undecided: trainings of ours had not converged")
    if not gain.ends[0] <= talk_gain <= gain.ends[1]:
        outside = "not reproduced: the talk’s gain lies outside our interval"
        return Reproduction(NOT_REPRODUCED, outside)
    if gain.is_decided:
        return Reproduction(REPRODUCED, "reproduced: the talk’s gain lies in our interval")
    ours = "is practically none" if gain.verdict == SAME else "may be chance"
    text = f"undecided: the talk’s gain lies in our interval, but ours {ours}"
    return Reproduction(UNDECIDED, text)


def _degradations(
    degraded: ExperimentResult,
    original: ExperimentResult,
    degraded_talk: dict[str, Talk],
    original_talk: dict[str, Talk],
) -> list[Degradation]:
    degradations = []
    for variant in TALK_VARIANTS:
        if variant in degraded.models and variant in original.models:
            after, before = (
                talk.get(variant, NO_SCORES).summary.get("accuracy")
                for talk in (degraded_talk, original_talk)
            )
            talk_change = None
            if after and before and measure_of(degraded).is_accuracy:
                talk_change = 100 * (float(after) - float(before))
            values, original_values = (
                each.compared_score(each.models[variant]).values for each in (degraded, original)
            )
            change = paired_gain(values, original_values, degraded.sign)
            degradations.append(Degradation(variant, change, talk_change))
    return degradations


@dataclasses.dataclass(frozen=True)
class WeightsGain:
    """The gain of a model over the same one with equal weights: its control, where it has one.

    `value` is the control's figure; `gain` is in percentage points, its interval of the test.
    """

    value: float | None = None
    control: str = ""
    gain: float | None = None
    interval: tuple[float, float] | None = None


def weights_gain(experiment: Experiment, variant: str) -> WeightsGain:
    """Return the gain of a variant over its control with equal weights."""
    result = experiment.result
    control = equal_weights_control(result, variant)
    if not control:
        return WeightsGain()
    ends = {(each.first, each.second): each.ends for each in experiment.comparisons}
    value = result.score_of(control)
    gain = 100 * (result.score_of(variant) - value)
    return WeightsGain(value, control, gain, ends.get((variant, control)))
