"""The experiments of a study for the chapters: their figures, and the talk's figures."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from heed.evaluation.results import (
    BASELINE,
    BETTER,
    NOT_CONVERGED,
    SAME,
    UNDECIDED,
    WORSE,
    Comparison,
    Corpus,
    ExperimentResult,
    Gain,
)
from heed.recipe import CorpusFacts
from heed.report.answer import (
    Answer,
    Standing,
    TestedDifference,
    answer,
    paired_change,
    read_standing,
    tested_differences,
)
from heed.report.formats import format_count
from heed.report.language import say, say_count
from heed.report.measures import Measure, measure_of
from heed.report.published import (
    NO_FIGURES,
    TALK_VARIANTS,
    Talk,
    experiment_figures,
    read_published,
    talk_gain,
)
from heed.report.settings import Setting, model_settings

if TYPE_CHECKING:
    from heed.study import Experiment as Declared
    from heed.study import Params


# What may be said of the talk's gain, beside UNDECIDED.
REPRODUCED, NOT_REPRODUCED, NOT_COMPARABLE = "reproduced", "not reproduced", "not comparable"


@dataclasses.dataclass(frozen=True)
class Reproduction:
    """Whether the talk's gain was reproduced; a sentence says why.

    `verdict` is empty where the talk or this study has no gain.
    """

    verdict: str
    sentence: str

    def __str__(self) -> str:
        """Return the sentence."""
        return self.sentence


@dataclasses.dataclass(frozen=True)
class Line:
    """An experiment's row of the first table; figures are None without such a model."""

    baseline: float | None
    attention: float | None
    gain: Gain | None
    controls: dict[str, float]  # without a score function, or with equal weights
    variants: dict[str, float]  # with a score function
    opponents: dict[str, float]
    talk: tuple[str, str] | None  # baseline, attention
    talk_gain: float | None
    comparable: bool  # whether the talk's figures can be compared with ours
    reproduction: Reproduction | None  # None where the talk has no such experiment


@dataclasses.dataclass(frozen=True)
class Degradation:
    """The change of a model's figure when its hyperparameters are degraded, and the talk's.

    In percentage points; the talk's is one of accuracy, and None beside another figure.
    """

    variant: str
    change: Gain
    talk: float | None


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One experiment of the report."""

    key: str
    title: str
    measure: Measure  # by which its models are compared
    mark: str  # generated text, reduced corpus: printed with all of its numbers
    generated: bool
    corpus_name: str
    corpus: str
    answer: Answer
    line: Line
    standing: Standing | None  # of attention against its rivals
    comparisons: list[TestedDifference]
    settings: dict[str, list[Setting]]  # of each model, by variant: the compared two first
    talk: dict[str, Talk]  # the talk's figures by variant
    # title of the experiment whose hyperparameters this one degrades, or nothing
    degraded_from: str
    degradations: list[Degradation]

    @property
    def gain(self) -> TestedDifference | None:
        """Attention over the baseline; None without one of the two."""
        return self.standing.baseline if self.standing else None


def read_experiments(params: "Params", comparison: Comparison, folder: Path) -> list[Experiment]:
    """Return the experiments in the order of params.yaml; `folder` has the talk's figures.

    Raises:
        HeedError: params.yaml names an experiment that the talk does not have.

    """
    published = read_published(folder)
    return [
        _experiment(name, params, comparison, published)
        for name in params.experiments
        if name in comparison.experiments
    ]


def _experiment(
    name: str,
    params: "Params",
    comparison: Comparison,
    published: dict[str, dict[str, Talk]],
) -> Experiment:
    declared, result = params.experiments[name], comparison.experiments[name]
    seeds, method = comparison.seeds, comparison.significance
    talk = _talk_figures(name, declared, published)
    original, degraded_from, degradations = declared.suboptimal_of, "", []
    if original in comparison.experiments:
        degraded_from = params.experiments[original].title
        original_talk = _talk_figures(original, params.experiments[original], published)
        degradations = _degradations(result, comparison.experiments[original], talk, original_talk)
    comparisons = tested_differences(result, method)
    pair = (BASELINE, *result.attention[:1])
    standing = read_standing(result, comparisons)
    return Experiment(
        key=name,
        title=declared.title,
        measure=measure_of(result),
        mark=mark(result.corpus),
        generated=is_generated(result.corpus),
        corpus_name=result.corpus.name,
        corpus=_describe_corpus(result, seeds),
        answer=answer(result, method, seeds),
        line=_line(declared, result, talk, standing.baseline if standing else None),
        standing=standing,
        comparisons=comparisons,
        settings=_settings(result, pair, talk),
        talk=talk,
        degraded_from=degraded_from,
        degradations=degradations,
    )


def mark(corpus: Corpus) -> str:
    """Return the warning that is printed with all numbers of a corpus; empty for most corpora."""
    generated = say("generated text") if is_generated(corpus) else ""
    reduced = say("reduced corpus") if corpus.facts.reduced else ""
    return ", ".join(filter(None, [generated, reduced]))


def is_generated(corpus: Corpus) -> bool:
    """Return whether heed made the text of a corpus."""
    return corpus.facts.generated


def _talk_figures(
    name: str, declared: "Declared", published: dict[str, dict[str, Talk]]
) -> dict[str, Talk]:
    """Return the talk's figures of an experiment by variant; none where params.yaml names none."""
    if not declared.published:
        return {}
    return experiment_figures(
        published, declared.published.experiment, f"experiments.{name}.published.experiment"
    )


def _settings(
    result: ExperimentResult, first: tuple[str, ...], talk: dict[str, Talk]
) -> dict[str, list[Setting]]:
    """Return the hyperparameters of the models by variant, those of `first` before all others."""
    return {
        variant: model_settings(
            result.models[variant], talk.get(variant, NO_FIGURES) if talk else None
        )
        for variant in sorted(result.models, key=lambda each: each not in first)
    }


def _describe_corpus(result: ExperimentResult, seeds: list[int]) -> str:
    corpus = result.corpus
    text = _describe_size(result)
    if corpus.folds:
        text += say("{folds} folds, seed s tests on fold (s − 1) mod {folds}; ", folds=corpus.folds)
    listed = ", ".join(map(str, seeds))
    text += say_count(
        "{count} seed ({seeds}).", "{count} seeds ({seeds}).", len(seeds), seeds=listed
    )
    text += _describe_near_duplicates(result) + describe_vectors(corpus.facts)
    text += (
        say(" Its text is generated: the figures say nothing about real text.")
        if is_generated(corpus)
        else ""
    )
    return text + (
        say(" REDUCED: a random part of its source, or of its training part.")
        if corpus.facts.reduced
        else ""
    )


def _describe_size(result: ExperimentResult) -> str:
    """Return the name of the corpus, and how many documents or pairs it has in each part."""
    facts = result.corpus.facts
    values = {
        "name": result.corpus.name,
        "documents": format_count(facts.documents),
        "tokens": format_count(facts.tokens),
        **{part: format_count(count) for part, count in facts.parts.items()},
    }
    if not measure_of(result).is_of_sentences:
        return say(
            "Corpus {name}: {documents} documents, {tokens} tokens; in fold 0 {train} to train, "
            "{validation} to validate, {test} to test; "
            if result.corpus.folds
            else "Corpus {name}: {documents} documents, {tokens} tokens; {train} to train, "
            "{validation} to validate, {test} to test; ",
            **values,
        )
    return say(
        "Corpus {name}: {documents} pairs of sentences, {tokens} tokens; {train} to train, "
        "{validation} to validate, {test} to test; ",
        **values,
    )


def _describe_near_duplicates(result: ExperimentResult) -> str:
    """Return how many test documents have a near duplicate in train, of all folds together."""
    facts = result.corpus.facts
    near = facts.near_duplicates
    tested = facts.documents if result.corpus.folds else facts.parts["test"]
    values = {
        "count": format_count(near.total),
        "tested": format_count(tested),
        "share": f"{near.total / tested:.1%}",
    }
    if not measure_of(result).is_of_sentences:
        return say(
            " Test documents with a near duplicate in train: {count} of {tested} ({share})."
            if near.complete
            else (
                " Test documents with a near duplicate in train: at least {count} of {tested} "
                "({share})."
            ),
            **values,
        )
    return say(
        " Test sentences with a near duplicate in train: {count} of {tested} ({share})."
        if near.complete
        else (
            " Test sentences with a near duplicate in train: at least {count} of {tested} "
            "({share})."
        ),
        **values,
    )


def describe_vectors(facts: CorpusFacts) -> str:
    """Return how much of a corpus its word vectors cover; empty without any."""
    if facts.vectors is None:
        return ""
    return say(
        " Word vectors from a file, of {size} numbers each: {types} of the types and {tokens} of "
        "the test tokens have one.",
        size=facts.vectors.size,
        types=f"{facts.vectors.types:.1%}",
        tokens=f"{facts.vectors.tokens['test']:.1%}",
    )


def _line(
    declared: "Declared",
    data: ExperimentResult,
    talk: dict[str, Talk],
    gain: TestedDifference | None,
) -> Line:
    figures = {name: data.compared_figure(model).mean for name, model in data.models.items()}
    fitted = {
        name: data.compared_figure(opponent).mean for name, opponent in data.opponents.items()
    }
    attention = next(iter(data.attention), "")
    others = {name: value for name, value in figures.items() if name not in (BASELINE, attention)}
    printed = tuple(
        talk.get(variant, NO_FIGURES).average_figures("accuracy").get("f1", "")
        for variant in TALK_VARIANTS
    )
    return Line(
        baseline=figures.get(BASELINE),
        attention=figures.get(attention),
        gain=data.models[attention].gain if attention else None,
        controls={name: value for name, value in others.items() if name in data.controls},
        variants={name: value for name, value in others.items() if name not in data.controls},
        opponents=fitted,
        talk=(printed[0], printed[1]) if all(printed) else None,
        talk_gain=talk_gain(talk),
        comparable=bool(
            declared.published and declared.published.comparable and not mark(data.corpus)
        ),
        reproduction=_reproduction(declared, data.corpus, talk_gain(talk), gain),
    )


def _reproduction(
    declared: "Declared", corpus: Corpus, talk_gain: float | None, gain: TestedDifference | None
) -> Reproduction | None:
    """Return whether the talk's gain was reproduced.

    The gain on a reduced or generated corpus is never comparable.
    """
    if not declared.published:
        return None
    if not declared.published.comparable or mark(corpus):
        reasons = "; ".join(filter(None, [declared.published.reason, mark(corpus)]))
        return Reproduction(NOT_COMPARABLE, say("not comparable: {reasons}", reasons=reasons))
    if talk_gain is None or gain is None:
        return Reproduction("", say("comparable, but one of the two has no gain"))
    if gain.low is None or gain.high is None:
        return Reproduction(UNDECIDED, say("undecided: {reason}", reason=gain.no_interval))
    if gain.verdict == NOT_CONVERGED:
        return Reproduction(UNDECIDED, say("undecided: trainings of ours had not converged"))
    assert gain.whole is not None, "an interval is cut from a whole one"
    if not gain.whole[0] <= talk_gain <= gain.whole[1]:
        return Reproduction(
            NOT_REPRODUCED, say("not reproduced: the talk’s gain lies outside our interval")
        )
    if gain.verdict in (BETTER, WORSE):
        return Reproduction(REPRODUCED, say("reproduced: the talk’s gain lies in our interval"))
    if gain.verdict == SAME:
        none = say("undecided: the talk’s gain lies in our interval, but ours is practically none")
        return Reproduction(UNDECIDED, none)
    chance = say("undecided: the talk’s gain lies in our interval, but ours may be chance")
    return Reproduction(UNDECIDED, chance)


def _degradations(
    degraded: ExperimentResult,
    original: ExperimentResult,
    degraded_talk: dict[str, Talk],
    original_talk: dict[str, Talk],
) -> list[Degradation]:
    """Return the change of baseline and attention from the original experiment to the degraded."""
    degradations = []
    for variant in TALK_VARIANTS:
        if variant in degraded.models and variant in original.models:
            after, before = (
                talk.get(variant, NO_FIGURES).summary.get("accuracy")
                for talk in (degraded_talk, original_talk)
            )
            talk_change = None
            if after and before and measure_of(degraded).is_accuracy:
                talk_change = 100 * (float(after) - float(before))
            change = paired_change(degraded, original, variant)
            degradations.append(Degradation(variant, change, talk_change))
    return degradations
