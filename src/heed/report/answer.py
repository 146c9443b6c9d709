"""The answer of each experiment in words: a verdict and sentences, chosen by its tests alone."""

import dataclasses

from heed.evaluation.results import (
    BASELINE,
    BETTER,
    NOT_CONVERGED,
    SAME,
    UNDECIDED,
    WORSE,
    Difference,
    ExperimentResult,
    Significance,
)
from heed.hyperparameters.pretrained import PRETRAINED
from heed.report.formats import format_coverage, format_interval, format_number, format_p
from heed.report.language import say, say_count
from heed.report.measures import Measure, degenerate_sentence, equal_weights_control, measure_of

LINEAR = "linear"
REFERENCES = (LINEAR, PRETRAINED)  # that are recommended where they do as well: simplest first


@dataclasses.dataclass(frozen=True)
class Answer:
    """A verdict of a few words, and the sentences on it, which have bad news first.

    `advice` is the sentence that names the model to use, and `recommended` this model; both are
    empty where there is no linear model to compare with, and for generated text.
    """

    verdict: str
    sentences: tuple[str, ...]
    advice: str = ""
    recommended: str = ""


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
        return say(
            "one seed has no interval"
            if self.one_seed
            else "one test sentence has no interval"
            if self.measure.is_of_sentences
            else "one test document has no interval"
        )

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
    def remark(self) -> str:
        """What stands beside the verdict of two models that were not tuned alike; else nothing."""
        return "" if self.result.tuned_alike else say("not tuned alike")

    @property
    def might_count_alone(self) -> bool:
        """Whether the difference is significant before the correction for several comparisons."""
        return self.result.p is not None and self.result.p < self.method.alpha

    @property
    def size(self) -> str:
        """The difference with its interval and its corrected p, for a sentence."""
        gain = self.measure.difference(self.mean)
        if self.ends is None:
            return gain
        p, covers = format_p(self.result.p_corrected), format_coverage(self.method.alpha)
        return say(
            "{gain} ({covers} interval {interval}, equal within {within})"
            if self.verdict == SAME
            else "{gain} ({covers} interval {interval}, corrected p {p})",
            gain=gain,
            covers=say("simultaneous {covers}", covers=covers) if self.result.tests > 1 else covers,
            interval=format_interval(self.ends),
            p=p if p.startswith("<") else f"= {p}",
            within=self.measure.limit(self.result.equal_within_pp or 0.0, 2),
        )


@dataclasses.dataclass(frozen=True)
class AttentionComparison:
    """The tests of an experiment's first attention variant against each of its compared models.

    `compared_models` are the reference models, then the other models; `controls` are some of these.
    `other_gains` are over the baseline, of further variants that answer the study's question;
    `pairs` are of variants over their own baseline or their own mean.
    """

    variant: str
    baseline: TestedDifference
    compared_models: list[TestedDifference]
    controls: list[TestedDifference]
    reference_models: list[TestedDifference]
    other_gains: list[TestedDifference]
    pairs: list[TestedDifference]
    # Whether the baseline is a recurrent network whose last states are all that is read of a text.
    is_last_state: bool
    is_control: bool  # whether the baseline is the variant with equal weights

    @property
    def better_models(self) -> list[TestedDifference]:
        """The compared models with a better score."""
        return [each for each in self.compared_models if each.mean < 0]

    @property
    def strongest_control(self) -> TestedDifference | None:
        """The control that the variant beats least."""
        return _strongest(self.controls)

    @property
    def strongest_reference_model(self) -> TestedDifference | None:
        """The reference model that the variant beats least."""
        return _strongest(self.reference_models)


def _strongest(compared_models: list[TestedDifference]) -> TestedDifference | None:
    """Return the rival that is beaten least; None where there is none.

    One that wins comes first, and one that is shown to be beaten last: then all others are, too.
    """
    order = {WORSE: 0, BETTER: 2}
    return min(
        compared_models, key=lambda each: (order.get(each.verdict, 1), each.mean), default=None
    )


def compare_attention(
    result: ExperimentResult, differences: list[TestedDifference]
) -> AttentionComparison | None:
    """Return the standing of an experiment's first variant that answers the study's question.

    None where there is no such variant, or no baseline. `differences` are all of the experiment's.
    """
    if BASELINE not in result.models or not result.attention:
        return None
    variant, *others = result.attention
    gain, *compared = (each for each in differences if each.first == variant)
    # Reference models first: that one of them wins is the most important news.
    compared.sort(key=lambda each: each.second in result.models)
    h = result.models[BASELINE].hyperparameters
    reads_last = getattr(h, "pooling", "") == "last" and h.is_recurrent and not h.score_functions
    return AttentionComparison(
        variant,
        gain,
        compared,
        [each for each in compared if each.second in result.controls],
        [each for each in compared if each.second in result.reference_models],
        [each for each in differences if each.first in others and each.second == BASELINE],
        [each for each in differences if each.second in _own_controls(each.first)],
        reads_last,
        equal_weights_control(result, variant) == BASELINE,
    )


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


def _own_controls(variant: str) -> tuple[str, str]:
    return f"{variant}-{BASELINE}", f"{variant}-mean"


def answer(result: ExperimentResult, method: Significance, seeds: list[int]) -> Answer:
    """Return the answer of one experiment: bad news first, and only what the tests support.

    `seeds` are those of the study, in the order of the runs.
    """
    tested = tested_differences(result, method)
    compared, recommended = compare_attention(result, tested), recommend(result, method)
    advice = _advice(recommended, result, tested, compared) if recommended else ""
    if compared is None:
        return dataclasses.replace(_no_comparison(result), advice=advice, recommended=recommended)
    gain, ahead = compared.baseline, compared.better_models
    sentences = [
        degenerate_sentence(result, seeds),
        *(_better_sentence(each, result) for each in ahead),
        _gain_sentence(gain, result),
        _doubt_sentence(gain),
    ]
    if gain.verdict == BETTER:
        others = [each for each in compared.controls if each not in ahead]
        sentences += [_control_sentence(each, result) for each in others]
        if not compared.controls and not compared.is_control:
            sentences.append(say("no control was trained, so the gain need not be attention's"))
    sentences += [_gain_sentence(each, result) for each in compared.other_gains]
    sentences += [
        say(
            "{first} against {second}: {verdict}, {size}",
            first=pair.first,
            second=pair.second,
            verdict=verdict_text(pair.verdict),
            size=pair.size,
        )
        for pair in compared.pairs
    ]
    texts = (f"{text[0].upper()}{text[1:].removesuffix('.')}." for text in sentences if text)
    return Answer(_verdict(compared, result), tuple(texts), advice, recommended)


def recommend(result: ExperimentResult, method: Significance) -> str:
    """Return the simplest model whose score is within the margin of the best one; "" without a
    linear model, and for generated text.

    Reference models are simpler than networks, and of these the one with fewest parameters is.
    """
    if LINEAR not in result.reference_models or result.corpus.statistics.generated:
        return ""
    networks = sorted(
        result.models,
        key=lambda n: (result.models[n].parameters, -result.sign * result.score_of(n)),
    )
    names = [*_references(result), *networks]
    scores = {name: result.sign * result.score_of(name) for name in names}
    enough = max(scores.values()) - method.equivalence_margin / 100
    return next(name for name, score in scores.items() if score >= enough)


def _references(result: ExperimentResult) -> list[str]:
    return [name for name in REFERENCES if name in result.reference_models]


def _advice(
    recommended: str,
    result: ExperimentResult,
    tested: list[TestedDifference],
    compared: AttentionComparison | None,
) -> str:
    """Return the sentence that names the model to use, the best of other kinds, and the gain."""
    best = max(result.models, key=lambda name: result.sign * result.score_of(name))
    network = recommended if recommended in result.models else best
    intervals = {(each.first, each.second): each.ends for each in tested}

    def size(first: str, second: str, pattern: str = "{size}, {interval}") -> str:
        mean = 100 * result.sign * (result.score_of(first) - result.score_of(second))
        text, ends = measure_of(result).difference(mean, 1), intervals.get((first, second))
        return pattern.format(size=text, interval=format_interval(ends, 1)) if ends else text

    parts = []
    for name in _references(result):
        if name != recommended:
            words = {"model": name_model(name, result), "score": _short(name, result)}
            over = {"name": network, "size": size(network, name)}
            parts.append(
                say("{model} has {score} ({name} over it: {size})", **words, **over)
                if network == recommended
                else say("{model} has {score}", **words)
            )
    if network != recommended:
        name = network
        if not result.models[network].has_converged:
            name = say("{name}, not converged", name=network)
        values = {"score": _short(network, result), "size": size(network, recommended)}
        parts.append(say("the best network has {score} ({name}: {size})", name=name, **values))
    if compared:
        over_baseline = (
            "{name} over the last state {size}"
            if compared.is_last_state
            else "{name} over the baseline {size}"
        )
        gain = size(compared.variant, BASELINE, "{size} ({interval})")
        parts.append(say(over_baseline, name=compared.variant, size=gain))
    model, score = name_model(recommended, result), _short(recommended, result)
    return say("Use {model}: {score}; {others}.", model=model, score=score, others=_join(parts))


def name_model(name: str, result: ExperimentResult) -> str:
    """Return a model in a sentence: a reference model, or the network of a variant."""
    is_reference = name in result.reference_models
    return say("the {name} model" if is_reference else "the network {name}", name=name)


def _short(name: str, result: ExperimentResult) -> str:
    measure = measure_of(result)
    return format_number(measure.scaled(result.score_of(name)), 1 if measure.in_hundreds else 3)


def _no_comparison(result: ExperimentResult) -> Answer:
    missing = [] if BASELINE in result.models else [say("baseline")]
    missing += [] if result.attention else [say("variant that answers the study's question")]
    names = say(" and no ").join(missing)
    sentence = say("No comparison, since there is no {names}.", names=names)
    return Answer(say("no comparison"), (sentence,))


def verdict_text(verdict: str) -> str:
    """Return a verdict in the report's language."""
    return say(
        {
            BETTER: "better",
            WORSE: "worse",
            SAME: "practically the same",
            UNDECIDED: "undecided",
            NOT_CONVERGED: "not converged",
        }[verdict]
    )


def _verdict(compared: AttentionComparison, result: ExperimentResult) -> str:
    """Return the verdict of an experiment: over the baseline, over the controls, against others."""
    verdict = compared.baseline.verdict
    over_baseline = {
        BETTER: say("beats the baseline"),
        WORSE: say("worse than the baseline"),
        SAME: say("practically the same as the baseline"),
    }
    parts = [over_baseline.get(verdict, verdict_text(verdict))]
    level = [each for each in compared.controls if each.verdict not in (BETTER, WORSE)]
    if level and verdict == BETTER:
        names = _join([_describe(each.second, result) for each in level])
        parts.append(say("not shown better than {names}", names=names))
    losses = [each for each in compared.compared_models if each.verdict == WORSE]
    parts += [say("{name} wins", name=_describe(each.second, result)) for each in losses]
    return "; ".join(parts)


def _gain_sentence(gain: TestedDifference, result: ExperimentResult) -> str:
    situation = gain.verdict
    if gain.ends is None:
        items = ONE_SENTENCE if gain.measure.is_of_sentences else ONE_DOCUMENT
        situation = ONE_SEED if gain.one_seed else items
    elif gain.verdict == UNDECIDED and gain.might_count_alone:
        situation = CHANCE
    return say(
        {
            ONE_SEED: "one seed decides nothing: {name} against the baseline was {size}",
            ONE_SENTENCE: "one test sentence decides nothing: {name} against the baseline was "
            "{size}",
            ONE_DOCUMENT: "one test document decides nothing: {name} against the baseline was "
            "{size}",
            BETTER: "{name} did better than the baseline: {size}",
            WORSE: "{name} did worse than the baseline: {size}",
            SAME: "{name} and the baseline are practically the same: {size}, within {margin}",
            NOT_CONVERGED: "{name} against the baseline was {size}, which decides nothing: "
            "{reason}",
            UNDECIDED: "{name} against the baseline was {size}: too uncertain to call",
            CHANCE: "{name} against the baseline was {size}: it may be chance",
        }[situation],
        name=gain.first,
        size=gain.size,
        margin=gain.measure.margin(gain.method.equivalence_margin),
        reason=_not_converged(gain, result),
    )


def _doubt_sentence(gain: TestedDifference) -> str:
    """Return the condition under which an undecided gain would count; empty for every other."""
    if gain.verdict != UNDECIDED or gain.ends is None or not gain.mean:
        return ""
    if gain.might_count_alone:
        return say("as the only comparison that difference would count, but not among several")
    if gain.result.seeds_needed is not None:
        return say_count(
            "to see a difference of this size would take about {count} seed: heed study --seeds "
            "{count}",
            "to see a difference of this size would take about {count} seeds: heed study --seeds "
            "{count}",
            gain.result.seeds_needed,
        )
    return say(
        "to see a difference of this size would take more test sentences, or over 1,000 seeds"
        if gain.measure.is_of_sentences
        else "to see a difference of this size would take more test documents, or over 1,000 seeds"
    )


def _not_converged(difference: TestedDifference, result: ExperimentResult) -> str:
    """Say which of both models did better with twice the epochs; empty where neither did."""
    reasons = []
    for name in (difference.first, difference.second):
        model = result.models.get(name)
        if model and (longer := model.longer_training) and longer.did_better:
            measure = Measure(result.task, longer.metric)
            reasons.append(f"{name} ({measure.difference(longer.difference_pp or 0.0)})")
    if not reasons:
        return ""
    return say("with twice the epochs {models} did better on validation", models=_join(reasons))


def _better_sentence(compared_model: TestedDifference, result: ExperimentResult) -> str:
    return say(
        {
            WORSE: "{compared_model} ({metric}) did better than {name} ({own}): {size}",
            SAME: "{compared_model} ({metric}) and {name} ({own}) are practically the same: {size}",
            NOT_CONVERGED: "{compared_model} ({metric}) was ahead of {name} ({own}), {size}, but "
            "{reason}",
        }.get(
            compared_model.verdict,
            "{compared_model} ({metric}) was ahead of {name} ({own}), {size}, too uncertain to "
            "call",
        ),
        compared_model=_describe(compared_model.second, result),
        metric=compared_model.measure.format(result.score_of(compared_model.second)),
        name=compared_model.first,
        own=compared_model.measure.format(result.score_of(compared_model.first)),
        size=compared_model.size,
        reason=_not_converged(compared_model, result),
    )


def _control_sentence(control: TestedDifference, result: ExperimentResult) -> str:
    return say(
        {
            BETTER: "over {control} it gained {size}",
            SAME: "{control} gained practically the same: {size} between them",
            NOT_CONVERGED: "{size} over {control}, but {reason}",
            UNDECIDED: "{size} over {control} may be chance: the gain need not be attention's",
        }[UNDECIDED if control.verdict == WORSE else control.verdict],
        control=_describe(control.second, result),
        size=control.size,
        reason=_not_converged(control, result),
    )


def _describe(name: str, result: ExperimentResult) -> str:
    return say(
        "the {name} model"
        if name in result.reference_models
        else "the control {name}"
        if name in result.controls
        else "the variant {name}",
        name=name,
    )


def _join(names: list[str]) -> str:
    return say(" and ").join(filter(None, [", ".join(names[:-1]), names[-1]]))


# Situations of a gain beside its verdicts: it has no interval, or is significant uncorrected.
ONE_SEED, ONE_SENTENCE, ONE_DOCUMENT, CHANCE = "one seed", "one sentence", "one document", "chance"
