"""The experiments of a study for the chapters: their scores, and the talk's scores."""

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heed.corpora.kinds import KINDS
from heed.corpora.table import KIND as OWN
from heed.evaluation.results import (
    BASELINE,
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
    attention_of,
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
    talk_test,
)
from heed.report.words import experiment_sentences, experiment_words

if TYPE_CHECKING:
    from heed.study import Experiment as Declared
    from heed.study import Params

# Verdicts on the talk's gain, beside UNDECIDED.
REPRODUCED, NOT_REPRODUCED, NOT_COMPARABLE = "reproduced", "not reproduced", "not comparable"


class Reproduction(NamedTuple):
    """Whether the talk's gain was reproduced, and why."""

    verdict: str  # empty where the talk or this study has no gain
    reason: str

    def __str__(self) -> str:
        """Return both in a sentence."""
        return ": ".join(filter(None, self))


@dataclasses.dataclass(frozen=True)
class Line:
    """The talk's scores in an experiment's row of the first table."""

    talk: tuple[str, str] | None  # baseline, attention
    talk_gain: float | None
    comparable: bool  # whether the talk's scores can be compared with ours
    reproduction: Reproduction | None  # None where the talk has no such experiment
    talk_test: TalkTest | None = None  # of its gain, over its test documents


class Degradation(NamedTuple):
    """The change of a model's score when its hyperparameters are degraded, and the talk's.

    The talk's is in percentage points of accuracy, and None beside another metric.
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
        return experiment_words(self.hyperparameters)

    @functools.cached_property
    def sentences(self) -> dict[str, str]:
        """The names of the same within a sentence, after "beats"."""
        return experiment_sentences(self.hyperparameters)

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """Those of every network by variant, and None of a reference model."""
        models = {name: each.hyperparameters for name, each in self.result.models.items()}
        return models | dict.fromkeys(self.result.reference_models)

    @property
    def link(self) -> str:
        """The address of its section."""
        return f"#experiment-{self.key}"

    @property
    def attention(self) -> str:
        """The first variant that answers the study's question; empty: none."""
        return attention_of(self.result)

    def difference(self, first: str, *seconds: str) -> TestedDifference | None:
        """Return the difference of a model and the first of these that it was tested with."""
        tested = {(each.first, each.second): each for each in self.comparisons}
        return next((tested[first, each] for each in seconds if (first, each) in tested), None)

    def gain_of(self, variant: str) -> TestedDifference | None:
        """Return the gain over the variant's own baseline, or else over that of all."""
        return self.difference(variant, f"{variant}-{BASELINE}", BASELINE)

    @property
    def variants(self) -> list[str]:
        """Its models, the baseline and attention first."""
        return sorted(self.result.models, key=lambda name: name not in (BASELINE, self.attention))

    def named(self, variant: str) -> dict[str, Any]:
        """Return what every row of a model has: the experiment, its name, in words too, a link."""
        link = f"#glossary-{variant}"
        return {
            "experiment": self, "variant": variant, "words": self.words[variant], "link": link,
        }  # fmt: skip

    @property
    def gain(self) -> TestedDifference | None:
        """Attention over the baseline; None without one of the two."""
        return self.attention_comparison.baseline if self.attention_comparison else None


def read_experiments(params: "Params", comparison: Comparison, folder: Path) -> list[Experiment]:
    """Return the experiments in the order of params.yaml; `folder` has the talk's scores.

    Raises HeedError: params.yaml names an experiment that the talk does not have.
    """
    published, talk = read_published(folder), dict[str, dict[str, Talk]]()
    for name in filter(comparison.experiments.__contains__, params.experiments):
        declared = params.experiments[name].published
        key = f"experiments.{name}.published.experiment"
        talk[name] = experiment_scores(published, declared.experiment, key) if declared else {}
    experiments = [_experiment(name, params, comparison, talk) for name in talk]
    if all(each.generated for each in experiments):
        return experiments
    return [dataclasses.replace(each, printed_mark=each.mark) for each in experiments]


def _experiment(
    name: str, params: "Params", comparison: Comparison, talk: dict[str, dict[str, Talk]]
) -> Experiment:
    declared, result = params.experiments[name], comparison.experiments[name]
    method, statistics = comparison.significance, result.corpus.statistics
    original, degradations = declared.suboptimal_of or "", list[Degradation]()
    if before := comparison.experiments.get(original):
        degradations = [*_degradations((result, talk[name]), (before, talk[original]))]
    comparisons = tested_differences(result, method)
    compared = compare_attention(result, comparisons)
    return Experiment(
        key=name, title=declared.title, result=result, measure=measure_of(result),
        mark=mark(result.corpus), generated=statistics.generated, corpus_name=result.corpus.name,
        leading=leading(result, compared, comparisons),
        advice=recommend(result, method) if statistics.kind == OWN.name else "",
        line=_line(declared, result, talk[name], compared.baseline if compared else None),
        attention_comparison=compared, comparisons=comparisons, talk=talk[name],
        degraded_from=params.experiments[original].title if before else "",
        degradations=degradations, publishable=may_publish_text(result.corpus),
    )  # fmt: skip


def may_publish_text(corpus: Corpus) -> bool:
    """Return whether what is published may have a corpus's text: generated, or public domain."""
    kind = KINDS.get(corpus.statistics.kind)
    return corpus.statistics.generated or bool(kind and kind.source.public_domain)


def mark(corpus: Corpus) -> str:
    """Return the warning that is printed with all numbers of a corpus; empty for most corpora."""
    statistics = corpus.statistics
    marks = {"generated text": statistics.generated, "reduced corpus": statistics.reduced}
    return ", ".join(words for words, is_true in marks.items() if is_true)


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
    published, tested, marked = declared.published, talk_test(talk), mark(result.corpus)
    of_talk = tested.gain_pp if tested else None
    comparable = bool(published and published.comparable and not marked)
    reproduction = _reproduction(of_talk, gain) if comparable else None
    if published and not comparable:
        reasons = "; ".join(filter(None, [published.reason, marked]))
        reproduction = Reproduction(NOT_COMPARABLE, reasons)
    printed = (baseline, attention) if baseline and attention else None
    return Line(printed, of_talk, comparable, reproduction, tested)


def _reproduction(talk_gain: float | None, gain: TestedDifference | None) -> Reproduction:
    """Return whether the talk's gain, on a comparable corpus, was reproduced."""
    if talk_gain is None or gain is None:
        return Reproduction("", "comparable, but one of the two has no gain")
    if gain.ends is None:
        return Reproduction(UNDECIDED, gain.no_interval)
    if gain.verdict == NOT_CONVERGED:
        return Reproduction(UNDECIDED, "trainings of ours had not converged")
    if not gain.ends[0] <= talk_gain <= gain.ends[1]:
        return Reproduction(NOT_REPRODUCED, "the talk’s gain lies outside our interval")
    inside = "the talk’s gain lies in our interval"
    if gain.is_decided:
        return Reproduction(REPRODUCED, inside)
    ours = "is practically none" if gain.verdict == SAME else "may be chance"
    return Reproduction(UNDECIDED, f"{inside}, but ours {ours}")


def _degradations(*both: tuple[ExperimentResult, dict[str, Talk]]) -> Iterator[Degradation]:
    """Yield those of an experiment's models; `both` are it and the one that it degrades."""
    (degraded, _), (original, _) = both
    for variant in TALK_VARIANTS:
        if variant not in degraded.models or variant not in original.models:
            continue
        ours, former = (each.compared_score(each.models[variant]).values for each, _ in both)
        scores = [talk.get(variant, NO_SCORES).summary.get("accuracy", "") for _, talk in both]
        talk_change = None
        if all(scores) and measure_of(degraded).is_accuracy:
            after, before = map(float, scores)
            talk_change = 100 * (after - before)
        yield Degradation(variant, paired_gain(ours, former, degraded.sign), talk_change)


class WeightsGain(NamedTuple):
    """The gain of a model over the same one with equal weights: its control, where it has one.

    `gain` is in percentage points, and so is its interval, that of the test.
    """

    control: str = ""
    gain: float | None = None
    interval: tuple[float, float] | None = None


def weights_gain(experiment: Experiment, variant: str) -> WeightsGain:
    """Return the gain of a variant over its control with equal weights."""
    result = experiment.result
    control = equal_weights_control(result, variant)
    if not control:
        return WeightsGain()
    gain = 100 * (result.score_of(variant) - result.score_of(control))
    tested = experiment.difference(variant, control)
    return WeightsGain(control, gain, tested.ends if tested else None)
