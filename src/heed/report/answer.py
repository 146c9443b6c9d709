"""The answer of each experiment in words: a verdict and a sentence, chosen by its tests alone."""

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
from heed.report.formats import format_coverage, format_interval, format_p, format_points
from heed.report.language import say

CONTROLS = ("mean", "wide", "uniform")
PAIR = ("baseline", "attention")


@dataclasses.dataclass(frozen=True)
class Answer:
    """A verdict of a few words, and a sentence with its reasons."""

    verdict: str
    sentence: str


@dataclasses.dataclass(frozen=True)
class TestedDifference:
    """A difference of accuracies with its tests (docs/statistics.md).

    In percentage points but for the p values. Interval and p are None with one seed.
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
        """Better or worse where the corrected p is below alpha; else empty."""
        if self.p_holm is None or self.p_holm >= self.alpha:
            return ""
        return "better" if self.mean > 0 else "worse"

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends of the interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def size(self) -> str:
        """The difference with its interval and its corrected p, for a sentence."""
        if self.low is None:
            return say("{gain} p.p.", gain=format_points(self.mean))
        sign = "" if format_p(self.p_holm).startswith("<") else "= "
        return say(
            "{gain} p.p. ({covers} interval {interval}, corrected p {p})",
            gain=format_points(self.mean),
            covers=format_coverage(self.alpha),
            interval=format_interval(self.ends),
            p=sign + format_p(self.p_holm),
        )


def paired_change(result: ExperimentResult, other: ExperimentResult, variant: str) -> Gain:
    """Return the figure of a variant in one experiment minus that in another, paired by seed."""
    values, other_values = (
        each.compared_figure(each.models[variant]).values for each in (result, other)
    )
    return paired_gain(values, other_values)


def tested_differences(result: ExperimentResult, alpha: float) -> list[TestedDifference]:
    """Return every difference of an experiment, those of attention first."""
    differences = []
    for first, others in sorted(
        result.comparisons.items(), key=lambda item: item[0] != "attention"
    ):
        for second, entry in sorted(others.items(), key=lambda item: item[0] != "baseline"):
            low, high = entry.interval_pp or (None, None)
            differences.append(
                TestedDifference(
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
    return differences


def answer(result: ExperimentResult, seeds: int, alpha: float) -> Answer:
    """Return the answer of one experiment: bad news first, and only what the tests support.

    Args:
        result: the experiment in the comparison.
        seeds: the number of seeds of the study.
        alpha: the level: a difference with a smaller corrected p is significant.

    """
    models = result.models
    if missing := [variant for variant in PAIR if variant not in models]:
        names = say(" and no ").join(missing)
        return Answer(
            say("no comparison"),
            say("No comparison, since the study has no {names} model.", names=names),
        )
    differences = tested_differences(result, alpha)
    rivals = {each.second: each for each in differences if each.first == "attention"}
    gain = rivals.pop("baseline")
    # Opponents first: that one of them wins is the most important news.
    ordered = sorted(rivals.values(), key=lambda each: each.second in models)
    better = [each for each in ordered if each.significant == "worse"]
    level = [each for each in ordered if each.mean <= 0 and not each.significant]
    verdict, sentence = _gain_verdict(gain, seeds)
    sentences = [*_rival_sentences(better, level, result), sentence]
    if gain.significant == "better":
        controls = [each for name, each in rivals.items() if is_control(name, models)]
        verdict = _control_verdict(controls) or verdict
        sentences += _control_sentences(controls, level)
    sentences += [_pair_sentence(each) for each in differences if each.family == "pairs"]
    text = "; ".join(sentences)
    return Answer(
        verdict + (say(", not the best") if better else ""),
        text[0].upper() + text[1:].removesuffix(".") + ".",
    )


def is_control(name: str, models: dict[str, ModelResult]) -> bool:
    """Return whether a variant is a control: by its name, or since it has no score function."""
    if name not in models or name in PAIR:
        return False
    return name in CONTROLS or not models[name].hyperparameters.score_functions


def _gain_verdict(gain: TestedDifference, seeds: int) -> tuple[str, str]:
    """Return the verdict on attention over the baseline, and its sentence."""
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
        needed=_seeds_sentence(gain),
    )


def _seeds_sentence(gain: TestedDifference) -> str:
    """Return how many seeds would detect a difference of this size."""
    if gain.seeds_needed is None:
        return say("a difference of this size would need more test documents, not only more seeds")
    return say(
        "to see a difference of this size would take about {seeds} seeds", seeds=gain.seeds_needed
    )


def _rival_sentences(
    better: list[TestedDifference], level: list[TestedDifference], result: ExperimentResult
) -> list[str]:
    """Return what is said of rivals that are better than attention, or at least as good."""
    accuracy = f"{result.compared_figure(result.models['attention']).mean:.4f}"
    sentences = []
    if better:
        names = _join([_name_with_figure(each, result) for each in better])
        sentences.append(
            say("{names} did better than attention ({accuracy})", names=names, accuracy=accuracy)
        )
    if level:
        names = _join([_name_with_figure(each, result) for each in level])
        if better:  # the first sentence has attention's accuracy
            text = say(
                "{names} did at least as well as attention: no difference can be shown", names=names
            )
        else:
            text = say(
                "{names} did at least as well as attention ({accuracy}): no difference can be "
                "shown",
                names=names,
                accuracy=accuracy,
            )
        sentences.append(text)
    return sentences


def _control_verdict(controls: list[TestedDifference]) -> str:
    """Return the verdict where a control gains as much as attention; empty where none does."""
    if any(each.significant == "worse" for each in controls):
        return say("gains, but not by attention")
    if any(each.significant == "" for each in controls):
        return say("gains, perhaps not by attention")
    return ""


def _control_sentences(
    controls: list[TestedDifference], level: list[TestedDifference]
) -> list[str]:
    """Return what is said of the controls, but for those of `level`, which are named already."""
    others = [each for each in controls if each not in level]
    sentences = [_control_sentence(each) for each in others if each.significant]
    if undecided := [_gain_over(each) for each in others if not each.significant]:
        sentences.append(
            say("{gains} may be chance: the gain need not be attention's", gains=_join(undecided))
        )
    if not controls:
        sentences.append(say("no control was trained, so the gain need not be attention's"))
    return sentences


def _control_sentence(control: TestedDifference) -> str:
    called = _describe(control.second, is_model=True)
    if control.significant == "better":
        return say(
            "over {called} it gained {size}: that part is attention's own",
            called=called,
            size=control.size,
        )
    return say("{called} gained more, without attention", called=called)


def _gain_over(control: TestedDifference) -> str:
    return say(
        "{size} over {called}",
        size=control.size,
        called=_describe(control.second, is_model=True),
    )


def _pair_sentence(pair: TestedDifference) -> str:
    names = {"first": pair.first, "second": pair.second, "size": pair.size}
    if pair.significant == "better":
        return say("{first} did better than {second}: {size}", **names)
    if pair.significant == "worse":
        return say("{first} did worse than {second}: {size}", **names)
    return say("{first} cannot be told from {second}: {size}", **names)


def _name_with_figure(difference: TestedDifference, result: ExperimentResult) -> str:
    """Return the description of the second model of a difference, with its figure."""
    name = difference.second
    rivals: dict[str, ModelResult | OpponentResult] = {**result.opponents, **result.models}
    figure = result.compared_figure(rivals[name]).mean
    return f"{_describe(name, name in result.models)} ({figure:.4f})"


def _describe(name: str, is_model: bool) -> str:
    """Return a model or an opponent as a sentence names it."""
    if not is_model:
        return say("the {name} model", name=name)
    return (
        say("the control {name}", name=name)
        if name in CONTROLS
        else say("the variant {name}", name=name)
    )


def _join(names: list[str]) -> str:
    """Return the names as a list in a sentence."""
    return say(" and ").join(filter(None, [", ".join(names[:-1]), names[-1]]))
