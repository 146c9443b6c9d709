"""The answer of each experiment in words: its sentence, chosen by its tests alone.

The primary comparison leads: the first variant that answers the study's question over its control.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from heed.evaluation.results import (
    BASELINE,
    BETTER,
    SAME,
    UNDECIDED,
    WORSE,
    Difference,
    ExperimentResult,
    Significance,
)
from heed.hyperparameters import ENCODERS
from heed.hyperparameters.pretrained import PRETRAINED
from heed.report.formats import format_coverage, format_interval, format_p
from heed.report.measures import Measure, describe_reference_models, measure_of
from heed.report.sentences import AHEAD, NETWORKS, OPEN, OTHERS, QUESTION, SCORES, SHOWN, UNTESTED

LINEAR = "linear"
REFERENCES = (LINEAR, PRETRAINED)  # that are recommended where they do as well: simplest first


@dataclasses.dataclass(frozen=True)
class Answer:
    """The sentence on an experiment, with scores, and what can and cannot be said in items."""

    sentence: str
    shown: tuple[str, ...]
    open: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class TestedDifference:
    """A difference of two models by name, with its tests (docs/statistics.md)."""

    first: str
    second: str
    result: Difference
    method: Significance
    measure: Measure
    one_seed: bool = False  # whether both models have one run

    @property
    def mean(self) -> float:
        """The difference in percentage points, or in points of the metric."""
        return self.result.mean_pp

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends of the interval; None with one seed, or one test document."""
        return self.result.interval_pp

    @property
    def no_interval(self) -> str:
        """Why there is no interval; empty where there is one."""
        if self.ends is not None:
            return ""
        return f"one {'seed' if self.one_seed else f'test {self.measure.item}'} has no interval"

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return self.ends and self.ends[0]

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return self.ends and self.ends[1]

    @property
    def verdict(self) -> str:
        """One of `heed.evaluation.results.VERDICTS`."""
        return self.result.verdict

    @property
    def situation(self) -> str:
        """The verdict, or that there is no test: a key of the tables in sentences.py."""
        return UNTESTED if self.ends is None else self.verdict

    @property
    def remark(self) -> str:
        """What stands beside the verdict of two models that were not tuned alike; else nothing."""
        return "" if self.result.tuned_alike else "not tuned alike"

    @property
    def size(self) -> str:
        """The difference with its interval and its corrected p, for a sentence."""
        gain = self.measure.difference(self.mean)
        if self.ends is None:
            return gain
        p, covers = format_p(self.result.p_corrected), format_coverage(self.method.alpha)
        covers = f"simultaneous {covers}" if self.result.tests > 1 else covers
        shown = f"corrected p {p if p.startswith('<') else f'= {p}'}"
        shown = f"equal within {self.within}" if self.verdict == SAME else shown
        return f"{gain} ({covers} interval {format_interval(self.ends)}, {shown})"

    @property
    def within(self) -> str:
        """The least margin within which the difference is shown to lie, with its unit."""
        return self.measure.limit(self.result.equal_within_pp or 0.0, 2)


@dataclasses.dataclass(frozen=True)
class AttentionComparison:
    """The tests of an experiment's first attention variant against each of its compared models.

    `compared_models` has them all but the baseline, the reference models first; `further` are of
    other variants: over the baseline where they answer the study's question, and of variants over
    their own baseline or their own mean.
    """

    variant: str
    baseline: TestedDifference | None  # None without a baseline
    primary: TestedDifference  # over its control
    compared_models: list[TestedDifference]
    reference_models: list[TestedDifference]
    further: list[TestedDifference]

    @property
    def of_question(self) -> list[TestedDifference]:
        """The primary comparison, and that with the baseline where it is another one."""
        return _unique([self.primary, self.baseline])

    @property
    def strongest_reference_model(self) -> TestedDifference | None:
        """The reference model that the variant beats least.

        One that wins comes first, and one that is shown to be beaten last.
        """
        order = {WORSE: 0, BETTER: 2}
        return min(
            self.reference_models,
            key=lambda each: (order.get(each.verdict, 1), each.mean),
            default=None,
        )


def compare_attention(
    result: ExperimentResult, differences: list[TestedDifference]
) -> AttentionComparison | None:
    """Return the standing of an experiment's first variant that answers the study's question.

    None where there is no such variant, or neither control nor baseline. `differences` are all of
    the experiment's.
    """
    variant = next(iter(result.attention), "")
    own = {each.second: each for each in differences if each.first == variant}
    gain = own.pop(BASELINE, None)
    primary = own.get(result.control, gain)
    if primary is None:
        return None
    # Reference models first: that one of them wins is the most important news.
    compared = sorted(own.values(), key=lambda each: each.second in result.models)
    others = {(name, BASELINE) for name in result.attention[1:]}
    further = [
        each
        for each in differences
        if (each.first, each.second) in others
        or each.second in (f"{each.first}-{BASELINE}", f"{each.first}-mean")
    ]
    further.sort(key=lambda each: each.second != BASELINE)
    references = [each for each in compared if each.second in result.reference_models]
    return AttentionComparison(variant, gain, primary, compared, references, further)


def tested_differences(result: ExperimentResult, method: Significance) -> list[TestedDifference]:
    """Return every difference of an experiment: those of its question first, the gains first."""
    measure = measure_of(result)
    answers = {variant: index for index, variant in enumerate(result.attention)}
    tested = [
        TestedDifference(
            first,
            second,
            difference,
            method,
            measure,
            len(result.compared_score(result.models[first]).values) == 1,
        )
        for first, others in result.comparisons.items()
        for second, difference in sorted(others.items(), key=lambda item: item[0] != BASELINE)
    ]
    return sorted(tested, key=lambda each: answers.get(each.first, len(answers)))


def answer(result: ExperimentResult, method: Significance) -> Answer:
    """Return the answer of one experiment: only what the tests support."""
    compared = compare_attention(result, tested_differences(result, method))
    named, listed = (_named(compared, result), _listed(compared)) if compared else ([], [])
    # every score has one decimal more where that tells the two of a clause apart
    more = int(any(_alike(each, result, 0) and not _alike(each, result, 1) for each in named))
    clauses = [*_clauses(named, result, more)]
    recommended = recommend(result, method) if _is_tested(compared, result) else ""
    if recommended:
        best = _best_network(result, named, recommended, more)
        clauses = [_advice(recommended, result, more), *clauses, *best]
    sentence = "; ".join(clauses)
    shown, unknown = (
        tuple(_item(each, result, table) for each in listed if each.situation in table)
        for table in (SHOWN, OPEN)
    )
    return Answer(f"{sentence[0].upper()}{sentence[1:]}.", shown, unknown)


def _is_tested(compared: AttentionComparison | None, result: ExperimentResult) -> bool:
    if compared is not None:
        return compared.primary.situation != UNTESTED
    return any(len(result.compared_score(each).values) > 1 for each in result.models.values())


def _clauses(named: list[TestedDifference], result: ExperimentResult, more: int) -> Iterator[str]:
    """Yield a clause for each comparison that the sentence names, or what is missing for one."""
    for each in named:
        is_led = each is named[0] or each.first != named[0].first
        yield _clause(each, result, QUESTION if is_led else OTHERS, more)
    if not named:
        missing = [] if BASELINE in result.models else ["baseline"]
        missing += [] if result.attention else ["variant that answers the study's question"]
        yield f"no comparison: no {' and no '.join(missing)}"


def _named(compared: AttentionComparison, result: ExperimentResult) -> list[TestedDifference]:
    """Return the comparisons that the sentence names, the primary one first, then what is beaten.

    Beside these that of the best model that does better, of one with attention before all others;
    the baseline; the reference models, of which the trivial one is named unless it is beaten;
    another variant that beats the baseline where this one does not.
    """
    gain, judged = compared.baseline, _unique([compared.baseline, *compared.compared_models])
    ahead = [each for each in judged if each.verdict == WORSE and each.second in result.models]
    ahead.sort(key=lambda each: (not _attends(each.second, result), each.mean))
    references = [
        each
        for each in compared.reference_models
        if each.result.family != "trivial" or each.situation in (WORSE, SAME, UNDECIDED)
    ]
    rest = sorted(_unique([*ahead[:1], gain, *references]), key=lambda each: each.verdict != BETTER)
    if getattr(gain, "verdict", "") != BETTER:
        won = (BASELINE, BETTER)
        rest += [each for each in compared.further if (each.second, each.verdict) == won][:1]
    return _unique([compared.primary, *rest])


def _listed(compared: AttentionComparison) -> list[TestedDifference]:
    """Return the comparisons that the lists have: all of the judged variant but trivial ones."""
    judged = [compared.primary, compared.baseline, *compared.compared_models, *compared.further]
    return [each for each in _unique(judged) if each.result.family != "trivial"]


def _unique(differences: Sequence[TestedDifference | None]) -> list[TestedDifference]:
    return [*{(each.first, each.second): each for each in differences if each}.values()]


def _attends(name: str, result: ExperimentResult) -> bool:
    return bool(result.models[name].hyperparameters.attends)


def _alike(each: TestedDifference, result: ExperimentResult, more: int) -> bool:
    """Return whether both scores print the same, with so many more decimals."""
    first, second = (result.score_of(model) for model in (each.first, each.second))
    return each.measure.short(first, more=more) == each.measure.short(second, more=more)


def _clause(
    each: TestedDifference, result: ExperimentResult, table: dict[str, str], more: int
) -> str:
    name, short = "attention", each.measure.short
    own, score = (result.score_of(model) for model in (each.first, each.second))
    printed = {"own": short(own, named=True, more=more), "score": short(score, more=more)}
    text = table[each.situation].format(
        name=name if each.first == "attention" else f"{name} ({each.first})",
        other=_with_attention(each, describe_model(each.second, result), result),
        scores=SCORES[_alike(each, result, more)].format(**printed),
        unfinished=_unfinished(each, result),
        reason=each.no_interval,
        **printed,
    )
    return f"{text} ({each.remark})" if each.remark else text


def _with_attention(each: TestedDifference, other: str, result: ExperimentResult) -> str:
    """Return the other model in words: attention that does better is no loss of attention."""
    is_ahead = each.situation == WORSE and each.second in result.models
    return AHEAD.format(other=other) if is_ahead and _attends(each.second, result) else other


def _item(each: TestedDifference, result: ExperimentResult, table: dict[str, str]) -> str:
    text = table[each.situation].format(
        first=each.first,
        second=_with_attention(each, each.second, result),
        gain=each.measure.difference(each.mean),
        interval=format_interval(each.ends),
        within=each.within,
        unfinished=_unfinished(each, result),
        reason=each.no_interval,
    )
    return f"{text}, {each.remark}" if each.remark else text


def _unfinished(each: TestedDifference, result: ExperimentResult) -> str:
    """Return which of both models had not converged."""
    names = (name for name in (each.first, each.second) if name in result.models)
    return join([name for name in names if not result.models[name].has_converged])


def describe_model(name: str, result: ExperimentResult) -> str:
    """Return a model in words: a reference model, or how a network reads a text and its name."""
    if name in result.reference_models:
        known = describe_reference_models([result.task]).get(name)
        return (known and known.in_sentence) or f"the {name} model"
    words = describe_network(name, result)
    return words if name in words.lower() else f"{words} ({name})"


def describe_network(name: str, result: ExperimentResult) -> str:
    """Return how a network reads a text, in words."""
    encoder = ENCODERS.get(getattr(result.models[name].hyperparameters, "encoder", ""))
    label = encoder.label if encoder else ""
    return NETWORKS[_network(name, result)].format(encoder=label, name=name)


def _network(name: str, result: ExperimentResult) -> str:
    """Return the key of NETWORKS: a control by its name, others by how they read a text."""
    role = "control" if name in result.controls else "baseline" if name == BASELINE else "variant"
    if role == "control" and name in NETWORKS:
        return name
    return _reading(result.models[name].hyperparameters) or role


def _reading(h: Any) -> str:
    """Return the key of NETWORKS by how a network reads a text; empty where none says it."""
    pooling, attention = getattr(h, "pooling", ""), getattr(h, "attention", "")
    if getattr(h, "decoder", "") == "last-state" and not h.repeats_context:
        return "last-state"
    if getattr(h, "encoder", "") == "transformer" and not h.score_functions.keys() - {"scaled-dot"}:
        return "transformer"
    if attention == "uniform":
        return "uniform"
    reads_last = pooling == "last" and h.is_recurrent
    return pooling if attention == "none" and (pooling in ("mean", "max") or reads_last) else ""


def recommend(result: ExperimentResult, method: Significance) -> str:
    """Return the simplest model whose score is within the margin of the best one.

    Reference models are simpler than networks, and of these the one with fewest parameters is. ""
    without a linear model, for generated text, where that model had not converged, and where
    another might leave it behind if it were trained longer.
    """
    if LINEAR not in result.reference_models or result.corpus.statistics.generated:
        return ""
    networks = sorted(
        result.models,
        key=lambda n: (result.models[n].parameters, -result.sign * result.score_of(n)),
    )
    names = [*filter(result.reference_models.__contains__, REFERENCES), *networks]
    scores = {name: result.sign * result.score_of(name) for name in names}
    margin = method.equivalence_margin / 100
    enough = max(scores.values()) - margin
    found = next(name for name, score in scores.items() if score >= enough)
    possible = (scores[n] + each.rise_pp(result.metric) / 100 for n, each in result.models.items())
    is_open = found in result.models and not result.models[found].has_converged
    return "" if is_open or scores[found] < max(possible) - margin else found


def _advice(recommended: str, result: ExperimentResult, more: int) -> str:
    """Return the clause that names the model to use."""
    is_reference = recommended in result.reference_models
    model = f"the {recommended} model" if is_reference else f"the network {recommended}"
    score = measure_of(result).short(result.score_of(recommended), True, more)
    return f"use {model}: {score}"


def _best_network(
    result: ExperimentResult, named: list[TestedDifference], recommended: str, more: int
) -> Iterator[str]:
    """Yield the clause on the best network, where it is better than those that clauses name."""
    best = max(result.models, key=lambda name: result.sign * result.score_of(name))
    short = partial(measure_of(result).short, more=more)
    score = short(result.score_of(best))
    known = {recommended, *(name for each in named for name in (each.first, each.second))}
    if score not in {short(result.score_of(name)) for name in known & result.models.keys()}:
        yield f"the best network, {best}, has {score}"


def join(names: list[str]) -> str:
    """Return names in a sentence; nothing without any."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
