"""The experiments of a study for the chapters: their scores, and the talk's scores."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from heed.corpora.kinds import KINDS
from heed.corpora.table import KIND as OWN
from heed.evaluation import results
from heed.evaluation.results import BASELINE, UNDECIDED, Comparison, Corpus, ExperimentResult
from heed.hyperparameters.pretrained import PRETRAINED
from heed.report import differences, published
from heed.report.differences import AttentionComparison, TestedDifference
from heed.report.measures import Measure, measure_of
from heed.report.published import NO_SCORES, TALK_VARIANTS, Talk, TalkTest
from heed.report.words import experiment_sentences, experiment_words
from heed.study import Params
from heed.study.experiments import Published

Talks = dict[str, Talk]  # the talk's scores of an experiment, by variant
# Verdicts on the talk's gain, beside UNDECIDED.
REPRODUCED, NOT_REPRODUCED, NOT_COMPARABLE = "reproduced", "not reproduced", "not comparable"


class Reproduction(NamedTuple):
    """Whether the talk's gain was reproduced, and why."""

    verdict: str  # empty where the talk or this study has no gain
    reason: str

    def __str__(self) -> str:
        return ": ".join(filter(None, self))


class TalkComparison(NamedTuple):
    """The talk's scores in an experiment's row of the first table."""

    talk: tuple[str, ...] | None  # baseline, attention
    talk_gain: float | None
    comparable: bool  # whether the talk's scores can be compared with ours
    reproduction: Reproduction | None  # None where the talk has no such experiment
    talk_test: TalkTest | None = None  # of its gain, over its test documents


@dataclass(frozen=True)
class Experiment:
    """One experiment of the report."""

    key: str
    title: str
    result: ExperimentResult
    measure: Measure  # by which its models are compared
    mark: str  # generated text, reduced corpus: in every file with its numbers
    generated: bool
    corpus_name: str
    advice: str  # the model to use on a corpus of one's own; empty on others
    against_talk: TalkComparison
    attention_comparison: AttentionComparison | None  # of attention against its compared models
    comparisons: list[TestedDifference]
    talk: Talks
    # title of the experiment whose hyperparameters this one degrades, or nothing
    degraded_from: str
    degradations: list[dict[str, Any]]  # see `_degradations`
    printed_mark: str = ""  # after its title, unless the page begins with it
    publishable: bool = False  # whether its text may be: generated, or in the public domain

    @functools.cached_property
    def words(self) -> dict[str, str]:
        """The names in words of its models and reference models."""
        return experiment_words(self.hyperparameters)

    @functools.cached_property
    def sentences(self) -> dict[str, str]:
        """The names of the models within a sentence, after "beats"."""
        return experiment_sentences(self.hyperparameters)

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The hyperparameters of every network by variant; None for a reference model."""
        models = {name: model.hyperparameters for name, model in self.result.models.items()}
        return models | dict.fromkeys(self.result.reference_models)

    @property
    def link(self) -> str:
        """The address of its section."""
        return f"#experiment-{self.key}"

    @property
    def leading(self) -> TestedDifference | None:
        """What the report says first: the primary comparison.

        Without another network it is that with the pretrained encoder, which such a study asks
        about, or else with the best reference model.
        """
        if self.attention_comparison:
            return self.attention_comparison.primary
        found = (self.difference(self.attention, n) for n in self.result.learned_reference_models)
        return min(
            filter(None, found),
            key=lambda pair: (pair.second != PRETRAINED, pair.mean_pp),
            default=None,
        )

    @property
    def attention(self) -> str:
        """The first variant that answers the study's question; empty: none."""
        return differences.attention_of(self.result)

    def difference(self, first: str, *seconds: str) -> TestedDifference | None:
        """Return the difference of a model and the first of these that it was tested with."""
        tested = {(pair.first, pair.second): pair for pair in self.comparisons}
        return next(filter(None, (tested.get((first, second)) for second in seconds)), None)

    def gain_of(self, variant: str) -> TestedDifference | None:
        """Return the gain over the variant's own baseline, or else over that of all."""
        return self.difference(variant, f"{variant}-{BASELINE}", BASELINE)

    def short_score(self, name: str, named: bool = False) -> str:
        """Return the score of a model for a sentence, `named` with that of the metric."""
        return self.measure.short(self.result.score_of(name), named)

    @property
    def variants(self) -> list[str]:
        """The models of the experiment, the baseline and attention first."""
        return sorted(self.result.models, key=lambda name: name not in (BASELINE, self.attention))

    def named(self, variant: str) -> dict[str, Any]:
        """Return what every row of a model has: the experiment, its name, in words too, a link."""
        about = {"words": self.words[variant], "link": f"#glossary-{variant}"}
        return {"experiment": self, "variant": variant} | about

    @property
    def pair(self) -> tuple[str, ...]:
        """The models without and with attention; empty if one is missing."""
        has_both = self.attention and BASELINE in self.result.models
        return (BASELINE, self.attention) if has_both else ()

    @property
    def gain(self) -> TestedDifference | None:
        """Attention over the baseline; None without one of the two."""
        return self.attention_comparison.baseline if self.attention_comparison else None


def read_experiments(params: Params, comparison: Comparison, folder: Path) -> list[Experiment]:
    """Return the experiments as in params.yaml."""
    scores, talk = published.read_published(folder), dict[str, Talks]()
    for name in filter(comparison.experiments.__contains__, params.experiments):
        declared = params.experiments[name].published
        talk[name] = scores[declared.experiment] if declared else {}
    experiments = [_experiment(name, params, comparison, talk) for name in talk]
    if all(experiment.generated for experiment in experiments):
        return experiments
    return [replace(experiment, printed_mark=experiment.mark) for experiment in experiments]


def _experiment(
    name: str, params: Params, comparison: Comparison, talk: dict[str, Talks]
) -> Experiment:
    declared, result = params.experiments[name], comparison.experiments[name]
    method, statistics = comparison.significance, result.corpus.statistics
    marks = {"generated text": statistics.generated, "reduced corpus": statistics.reduced}
    marked = ", ".join(words for words, is_true in marks.items() if is_true)
    original = declared.suboptimal_of or ""
    before = comparison.experiments.get(original)
    both = [(result, talk[name]), (before, talk[original])] if before else []
    comparisons = differences.tested_differences(result, method)
    compared = differences.compare_attention(result, comparisons)
    return Experiment(
        key=name, title=declared.title, result=result, measure=measure_of(result),
        mark=marked, generated=statistics.generated, corpus_name=result.corpus.name,
        advice=differences.recommend(result, method) if statistics.kind == OWN.name else "",
        against_talk=_against_talk(declared.published, marked, talk[name], compared),
        attention_comparison=compared, comparisons=comparisons, talk=talk[name],
        degraded_from=params.experiments[original].title if before else "",
        degradations=[*_degradations(*both)], publishable=may_publish_text(result.corpus),
    )  # fmt: skip


def may_publish_text(corpus: Corpus) -> bool:
    """Return whether what is published may have a corpus's text: generated, or public domain."""
    kind = KINDS.get(corpus.statistics.kind)
    return corpus.statistics.generated or bool(kind and kind.source.public_domain)


def _against_talk(
    named: Published | None, mark: str, talk: Talks, compared: AttentionComparison | None
) -> TalkComparison:
    scores = (talk.get(variant, NO_SCORES).average_scores("accuracy") for variant in TALK_VARIANTS)
    printed = tuple(average.get("f1", "") for average in scores)
    tested = published.talk_test(talk)
    of_talk = tested.gain_pp if tested else None
    comparable = bool(named and named.comparable and not mark)
    reproduction = None
    if comparable:
        reproduction = _reproduction(of_talk, compared.baseline if compared else None)
    elif named:
        reasons = "; ".join(filter(None, [named.reason, mark]))
        reproduction = Reproduction(NOT_COMPARABLE, reasons)
    own = printed if all(printed) else None
    return TalkComparison(own, of_talk, comparable, reproduction, tested)


def _reproduction(talk_gain: float | None, gain: TestedDifference | None) -> Reproduction:
    if talk_gain is None or gain is None:
        return Reproduction("", "comparable, but one of the two has no gain")
    if gain.interval_pp is None:
        return Reproduction(UNDECIDED, gain.no_interval)
    if gain.verdict == results.NOT_CONVERGED:
        return Reproduction(UNDECIDED, "trainings of ours had not converged")
    if not gain.interval_pp[0] <= talk_gain <= gain.interval_pp[1]:
        return Reproduction(NOT_REPRODUCED, "the talk’s gain lies outside our interval")
    inside = "the talk’s gain lies in our interval"
    if gain.is_decided:
        return Reproduction(REPRODUCED, inside)
    ours = "is practically none" if gain.verdict == results.SAME else "may be chance"
    return Reproduction(UNDECIDED, f"{inside}, but ours {ours}")


def _degradations(*both: tuple[ExperimentResult, Talks]) -> Iterator[dict[str, Any]]:
    """Yield the changes by degraded hyperparameters; `both`: as they are, and before."""
    variants = (v for v in TALK_VARIANTS if both and all(v in result.models for result, _ in both))
    for variant in variants:
        degraded = both[0][0]
        ours, former = (result.compared_score(result.models[variant]).values for result, _ in both)
        scores = [talk.get(variant, NO_SCORES).summary.get("accuracy", "") for _, talk in both]
        change = results.paired_gain(ours, former, degraded.sign)
        is_known = all(scores) and measure_of(degraded).is_accuracy
        talk_change = 100 * (float(scores[0]) - float(scores[1])) if is_known else None
        yield {"variant": variant, "change": change, "talk": talk_change}
