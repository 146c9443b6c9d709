"""The answer in words: one honest sentence an experiment, chosen by its statistics and by nothing
else.
"""

import dataclasses

from heed.evaluation.results import (
    Effect,
    ExperimentResult,
    Gain,
    ModelResult,
    OpponentResult,
    OtherTests,
    paired_gain,
)
from heed.report.formats import coverage, interval, points, probability
from heed.report.language import say

CONTROLS = ("mean", "wide", "uniform")
PAIR = ("baseline", "attention")


@dataclasses.dataclass(frozen=True)
class Answer:
    """A verdict of a few words, and the sentence behind it."""

    verdict: str
    sentence: str


@dataclasses.dataclass(frozen=True)
class Tested:
    """A difference of accuracies and what it is worth (docs/statistics.md); in percentage points
    but for the p values.

    Interval, p and the like are None where there is one seed only.
    """

    first: str
    second: str
    family: str
    mean: float
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    alpha: float
    seeds_needed: int | None
    detectable: float | None
    effect: Effect
    others: OtherTests

    @property
    def significant(self) -> str:
        """Return better or worse where the corrected p says so, and nothing where it does not."""
        if self.p_holm is None or self.p_holm >= self.alpha:
            return ""
        return "better" if self.mean > 0 else "worse"

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends of the interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def size(self) -> str:
        """The difference with its interval and its corrected p, as a sentence prints them."""
        if self.low is None:
            return say("{gain} p.p.", gain=points(self.mean))
        sign = "" if probability(self.p_holm).startswith("<") else "= "
        return say(
            "{gain} p.p. ({covers} interval {interval}, corrected p {p})",
            gain=points(self.mean),
            covers=coverage(self.alpha),
            interval=interval(self.ends),
            p=sign + probability(self.p_holm),
        )


def difference(result: ExperimentResult, other: ExperimentResult, variant: str) -> Gain:
    """Return the figure of a variant in one experiment minus that in the other, paired by seed."""
    ours, theirs = (each.compared_figure(each.models[variant]).values for each in (result, other))
    return paired_gain(ours, theirs)


def tested(result: ExperimentResult, alpha: float) -> list[Tested]:
    """Return every comparison of an experiment, attention's first."""
    comparisons = []
    for first, others in sorted(
        result.comparisons.items(), key=lambda item: item[0] != "attention"
    ):
        for second, entry in sorted(others.items(), key=lambda item: item[0] != "baseline"):
            low, high = entry.interval_pp or (None, None)
            comparisons.append(
                Tested(
                    first=first,
                    second=second,
                    family=entry.family,
                    mean=entry.mean_pp,
                    low=low,
                    high=high,
                    p=entry.p,
                    p_holm=entry.p_holm,
                    alpha=alpha,
                    seeds_needed=entry.seeds_needed,
                    detectable=entry.detectable_pp,
                    effect=entry.effect,
                    others=entry.others,
                )
            )
    return comparisons


def answer(result: ExperimentResult, seeds: int, alpha: float) -> Answer:
    """Return what one experiment of the comparison says: bad news first, and no more than the
    statistics carry.

    Args:
        result: the experiment in the comparison.
        seeds: how many seeds the study has.
        alpha: below which corrected p a difference is significant.

    """
    models = result.models
    if missing := [variant for variant in PAIR if variant not in models]:
        names = say(" and no ").join(missing)
        return Answer(
            say("no comparison"),
            say("No comparison, since the study has no {names} model.", names=names),
        )
    every = tested(result, alpha)
    own = {each.second: each for each in every if each.first == "attention"}
    gain = own.pop("baseline")
    rivals = sorted(
        own.values(), key=lambda each: each.second in models
    )  # opponents first: their win is the first news
    better = [each for each in rivals if each.significant == "worse"]
    level = [each for each in rivals if each.mean <= 0 and not each.significant]
    verdict, finding = _finding(gain, seeds)
    accuracy = f"{result.compared_figure(models['attention']).mean:.4f}"
    names = _and([_named(each, result) for each in better]) if better else ""
    parts = (
        [say("{names} did better than attention ({accuracy})", names=names, accuracy=accuracy)]
        if better
        else []
    )
    parts += [_level(level, result, named=not better)] if level else []
    parts.append(finding)
    if gain.significant == "better":
        controls = [each for name, each in own.items() if is_control(name, models)]
        if any(each.significant == "worse" for each in controls):
            verdict = say("gains, but not by attention")
        elif any(each.significant == "" for each in controls):
            verdict = say("gains, perhaps not by attention")
        parts += [
            _over_control(each) for each in controls if each not in level and each.significant
        ]
        if unclear := [
            _beyond(each) for each in controls if each not in level and not each.significant
        ]:
            parts.append(
                say("{gains} may be chance: the gain need not be attention's", gains=_and(unclear))
            )
        parts += (
            [] if controls else [say("no control was trained, so the gain need not be attention's")]
        )
    parts += [_pair(each) for each in every if each.family == "pairs"]
    sentence = "; ".join(parts)
    return Answer(
        verdict + (say(", not the best") if better else ""),
        sentence[0].upper() + sentence[1:].removesuffix(".") + ".",
    )


def is_control(name: str, models: dict[str, ModelResult]) -> bool:
    """Return whether a variant can gain without attention: a control by name, or a model that has
    no score function.
    """
    if name not in models or name in PAIR:
        return False
    return name in CONTROLS or not models[name].hyperparameters.score_functions


def _finding(gain: Tested, seeds: int) -> tuple[str, str]:
    if gain.p_holm is None:
        return say("cannot tell"), say(
            "one seed cannot tell: the difference to the baseline was {size}", size=gain.size
        )
    if gain.significant == "better":
        return say("helps"), say("attention did better than the baseline: {size}", size=gain.size)
    if gain.significant == "worse":
        return say("hurts"), say("attention did worse than the baseline: {size}", size=gain.size)
    if gain.p is not None and gain.p < gain.alpha:
        return say("cannot tell"), say(
            (
                "the difference to the baseline, {size}, would count in an experiment alone; "
                "among several it may be chance"
            ),
            size=gain.size,
        )
    return say("cannot tell"), say(
        "no difference to the baseline seen: {seeds} seeds cannot tell {size} from chance; "
        "{needed}",
        seeds=seeds,
        size=gain.size,
        needed=_needed(gain),
    )


def _needed(gain: Tested) -> str:
    if gain.seeds_needed is None:
        return say("a difference of this size would need more test documents, not only more seeds")
    return say(
        "to see a difference of this size would take about {seeds} seeds", seeds=gain.seeds_needed
    )


def _level(level: list[Tested], result: ExperimentResult, named: bool) -> str:
    names = _and([_named(each, result) for each in level])
    if not named:
        return say(
            "{names} did at least as well as attention: no difference can be shown", names=names
        )
    accuracy = f"{result.compared_figure(result.models['attention']).mean:.4f}"
    return say(
        "{names} did at least as well as attention ({accuracy}): no difference can be shown",
        names=names,
        accuracy=accuracy,
    )


def _over_control(control: Tested) -> str:
    called = _called(control.second, model=True)
    if control.significant == "better":
        return say(
            "over {called} it gained {size}: that part is attention's own",
            called=called,
            size=control.size,
        )
    return say("{called} gained more, without attention", called=called)


def _beyond(control: Tested) -> str:
    return say(
        "{size} over {called}", size=control.size, called=_called(control.second, model=True)
    )


def _pair(each: Tested) -> str:
    if each.significant == "better":
        return say(
            "{first} did better than {second}: {size}",
            first=each.first,
            second=each.second,
            size=each.size,
        )
    if each.significant == "worse":
        return say(
            "{first} did worse than {second}: {size}",
            first=each.first,
            second=each.second,
            size=each.size,
        )
    return say(
        "{first} cannot be told from {second}: {size}",
        first=each.first,
        second=each.second,
        size=each.size,
    )


def _named(each: Tested, result: ExperimentResult) -> str:
    """Return how a rival is called, with its figure."""
    rivals: dict[str, ModelResult | OpponentResult] = {**result.opponents, **result.models}
    return (
        f"{_called(each.second, each.second in result.models)} "
        f"({result.compared_figure(rivals[each.second]).mean:.4f})"
    )


def _called(name: str, model: bool) -> str:
    if not model:
        return say("the {name} model", name=name)
    return (
        say("the control {name}", name=name)
        if name in CONTROLS
        else say("the variant {name}", name=name)
    )


def _and(names: list[str]) -> str:
    return say(" and ").join(filter(None, [", ".join(names[:-1]), names[-1]]))
