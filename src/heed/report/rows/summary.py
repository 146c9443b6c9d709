"""The rows over all experiments: scores, verdicts, the talk's gains, and the first screen."""

import dataclasses
import statistics
from collections.abc import Callable, Iterator
from typing import Any

from heed.evaluation.results import BASELINE, BETTER, NOT_CONVERGED, UNDECIDED, is_coarse
from heed.explanation.test import measured
from heed.report.browser import (
    Browser,
    Document,
    Legend,
    Sentence,
    excerpt,
    list_documents,
    shade_sentences,
    typical_documents,
)
from heed.report.differences import SLIGHTLY_BETTER, UNTESTED, AttentionComparison, TestedDifference
from heed.report.experiments import Experiment
from heed.report.measures import (
    Measure,
    degenerate_sentence,
    describe_reference_models,
    equal_weights_control,
)
from heed.report.published import RESULTS
from heed.report.results import Results
from heed.report.rows import Known, Rows
from heed.report.words import model_kind

MOST_ROWS, MOST_MODELS = 8, 6  # of the first screen's table
LINEAR, PRETRAINED, MEAN = "linear", "pretrained", "mean"


def attention_of(experiment: Experiment) -> str:
    """Return the first variant that answers the study's question; "" without one."""
    return next(iter(experiment.result.attention), "")


def scaled_scores(experiment: Experiment) -> dict[str, float]:
    """Return the score of each model and reference model on the scale that it is printed on."""
    result = experiment.result
    names = (*result.models, *result.reference_models)
    return {name: experiment.measure.scaled(result.score_of(name)) for name in names}


def by_measure(experiments: list[Experiment]) -> dict[Measure, list[Experiment]]:
    """Return the experiments by the metric of their comparisons, in order."""
    groups: dict[Measure, list[Experiment]] = {}
    for each in experiments:
        groups.setdefault(each.measure, []).append(each)
    return groups


# --- every experiment: files ----------------------------------------------------------------------


def summary(results: Results) -> Iterator[Rows]:
    """Yield a table for each metric by which experiments compare: all models, with gains."""
    used: set[str] = set()
    for measure, experiments in by_measure(results.experiments).items():
        name = f"summary_{measure.task}" if used else "summary"
        name = f"{name}_{measure.metric}" if name in used else name
        used.add(name)
        yield Rows([*map(_summary, experiments)], _summary_facts(name, experiments))


def _summary_facts(name: str, experiments: list[Experiment]) -> dict[str, Any]:
    measure, known = experiments[0].measure, (BASELINE, "")
    variants: dict[str, None] = {}
    for each in experiments:
        others = [n for n in each.result.models if n not in (*known, attention_of(each))]
        variants |= dict.fromkeys(sorted(others, key=lambda n: n not in each.result.controls))
    references = [
        name
        for name, model in describe_reference_models([measure.task]).items()
        if model.heading and any(name in each.result.reference_models for each in experiments)
    ]
    digits = "hundreds" if measure.in_hundreds else "share"
    return {"name": name, "scores": [*variants, *references], "digits": digits}


def _summary(experiment: Experiment) -> dict[str, Any]:
    attention, scores, line = attention_of(experiment), scaled_scores(experiment), experiment.line
    gain = experiment.result.models[attention].gain if attention else None
    changes = {each.variant: each.change.mean_pp for each in experiment.degradations}
    return {
        "experiment": experiment, "baseline": scores.get(BASELINE), "gain": experiment.gain,
        "attention": scores.get(attention), "mean_gain": gain, "scores": Known(scores),
        "talk": line.talk or ("", ""), "line": line, "changes": Known(changes),
    }  # fmt: skip


def verdicts(results: Results) -> Rows:
    """Return the verdicts on attention: over its control, the baseline, the best reference model.

    There are no columns for what no experiment is compared with.
    """
    experiments = results.experiments
    compared = [each.attention_comparison for each in experiments if each.attention_comparison]
    kinds: dict[str, Callable[[AttentionComparison], TestedDifference | None]] = {
        "control": lambda each: each.primary,
        "baseline": lambda each: each.baseline,
        "reference_model": lambda each: each.strongest_reference_model,
    }
    found = [kind for kind, get in kinds.items() if any(map(get, compared))]
    records = [
        {
            "experiment": each,
            "compared": {
                kind: get(each.attention_comparison) if each.attention_comparison else None
                for kind, get in kinds.items()
            },
        }
        for each in experiments
    ]
    has_talk = any(each.line.reproduction for each in experiments)
    return Rows(records, {"kinds": found, "has_talk": has_talk}, location="experiments")


# --- the first screen -----------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class BestRow:
    """A model beside attention: `difference` is attention minus this model."""

    experiment: Experiment
    name: str
    difference: TestedDifference | None

    @property
    def words(self) -> str:
        """Its name in words."""
        return self.experiment.words[self.name]

    @property
    def score(self) -> str:
        """Its score, for people."""
        return self.experiment.measure.short(self.experiment.result.score_of(self.name))


def best(results: Results) -> Rows | None:
    """Return the models of a study with one or two experiments, the best first.

    Attention, its control and the linear model are always among them.
    """
    experiments = results.experiments
    if len(experiments) > 2:
        return None
    records = [row for each in experiments for row in _best(each, MOST_MODELS // len(experiments))]
    return Rows(records, {"several": len(experiments) > 1}, location="experiments")


def _best(experiment: Experiment, most: int) -> list[BestRow]:
    result, attention = experiment.result, attention_of(experiment)
    order = sorted(
        [*result.models, *result.learned_reference_models],
        key=lambda name: -result.sign * result.score_of(name),
    )
    needed = [attention, result.control or BASELINE, LINEAR, "statistical"]
    kept = sorted(order, key=lambda name: (name not in needed, order.index(name)))[:most]
    own = {each.second: each for each in experiment.comparisons if each.first == attention}
    return [BestRow(experiment, name, own.get(name)) for name in order if name in kept]


def questions(results: Results) -> Rows | None:
    """Return the primary comparison of each experiment, of a study with three or more."""
    experiments = results.experiments
    if len(experiments) <= 2:
        return None
    found = [each for each in experiments if each.leading][:MOST_ROWS]
    records = [*map(_question, found)]
    names = {"own": "Attention", "without": "Without"}
    for key, shown in (("attention", "own"), ("other", "without")):
        if len(same := {each[key] for each in records}) == 1:  # then the heading says it once
            names[shown] = next(iter(same)).capitalize()
            records = [each | {key: ""} for each in records]
    return Rows(records, names, location="experiments")


def _question(experiment: Experiment) -> dict[str, Any]:
    leading, measure, result = experiment.leading, experiment.measure, experiment.result
    assert leading
    return {
        "experiment": experiment, "link": f"#experiment-{experiment.key}", "difference": leading,
        "attention": experiment.words[leading.first], "other": experiment.words[leading.second],
        "own": measure.brief(result.score_of(leading.first)),
        "score": measure.brief(result.score_of(leading.second)),
    }  # fmt: skip


# --- the talk -------------------------------------------------------------------------------------


def talk(results: Results) -> Rows | None:
    """Return the talk's gains, tested over its documents, beside ours; None without any."""
    tested = [each for each in results.experiments if each.line.talk_test]
    if not tested:
        return None
    published = (each for each in results.sources.all() if each.path.endswith(RESULTS))
    return Rows([*map(_talk, tested)], sources=(*published, *results.comparison_sources))


def _talk(experiment: Experiment) -> dict[str, Any]:
    line, result = experiment.line, experiment.result
    scores = {name: result.score_of(name) for name in (*result.models, *result.reference_models)}
    attention, is_shown = attention_of(experiment), line.talk_test and line.talk_test.shown
    return {
        "experiment": experiment, "link": f"#experiment-{experiment.key}", "line": line,
        "talk": line.talk or ("", ""), "shown": "yes" if is_shown else "no",
        "talk_scores": " → ".join(line.talk or ()),
        "our_scores": " → ".join(f"{scores[n]:.4f}" for n in (BASELINE, attention) if n in scores),
        "gain": experiment.gain, "average": scores.get(MEAN), "linear": scores.get(LINEAR),
        "comparable": "yes" if line.comparable else "no",
    }  # fmt: skip


SHOWN_WORDS = 24  # of the text


@dataclasses.dataclass(frozen=True)
class Finding:
    """An experiment with the comparison that a report says first."""

    experiment: Experiment
    difference: TestedDifference

    @property
    def reading(self) -> str:
        """A key of differences.VERDICT_WORDS."""
        return self.difference.reading

    @property
    def helps(self) -> bool:
        """Whether attention is shown to be better, be it by little."""
        return self.reading in (BETTER, SLIGHTLY_BETTER)

    @property
    def is_open(self) -> bool:
        """Whether the comparison decides nothing."""
        return self.reading in (UNDECIDED, NOT_CONVERGED, UNTESTED)

    @property
    def attention(self) -> str:
        """The variant that answers the question, within a sentence."""
        return self.experiment.sentences[self.difference.first]

    @property
    def other(self) -> str:
        """What it is compared with, within a sentence."""
        return self.experiment.sentences[self.difference.second]

    @property
    def own(self) -> str:
        """The score of attention, with the metric's name unless it is accuracy."""
        return self.score(self.difference.first, named=True)

    def score(self, name: str, named: bool = False) -> str:
        """Return the score of a model for a sentence."""
        return self.experiment.measure.short(self.experiment.result.score_of(name), named)

    @property
    def baseline(self) -> TestedDifference | None:
        """Attention over the baseline, where that is another comparison than the first."""
        gain = self.experiment.gain
        is_other = gain is not None and gain.second != self.difference.second
        return gain if is_other else None

    @property
    def over_last(self) -> TestedDifference | None:
        """Attention over the baseline, where that reads the last state alone."""
        gain, models = self.experiment.gain, self.experiment.result.models
        is_last = gain and model_kind(BASELINE, models[BASELINE].hyperparameters).startswith("last")
        return gain if is_last else None

    @property
    def title(self) -> str:
        """The title of the experiment, within a sentence."""
        return f"“{self.experiment.title.rstrip('.?!')}”"

    @property
    def reference(self) -> TestedDifference | None:
        """Attention over the strongest reference model that is not trivial, if there is one."""
        compared = self.experiment.attention_comparison
        found = compared.strongest_reference_model if compared else None
        learned = self.experiment.result.learned_reference_models
        return found if found and found.second in learned else None


def findings(results: Results) -> list[Finding]:
    """Return the findings of all experiments that compare attention with anything."""
    return [Finding(each, each.leading) for each in results.experiments if each.leading]


@dataclasses.dataclass(frozen=True)
class Cautions:
    """What weakens the findings of a study, for its lines of what cannot be said."""

    generated: bool  # all text is
    open: list[Finding]
    seeds_needed: int | None  # of the one open finding
    misses: str  # the largest difference that a study is likely to miss; empty where all are small
    missing: Finding | None  # that may miss it
    uncontrolled: list[Finding]
    degenerate: list[str]
    differently_tuned: list[Finding]


def cautions(results: Results) -> Cautions:
    """Return what weakens the findings of a study."""
    found = findings(results)
    opened = [each for each in found if each.is_open]
    sentences = (
        degenerate_sentence(each.result, results.comparison.seeds_of(each.key))
        for each in results.experiments
    )
    return Cautions(
        all(each.generated for each in results.experiments),
        opened,
        opened[0].difference.result.seeds_needed if len(opened) == 1 else None,
        *_misses(found),
        [each for each in found if _lacks_control(each)],
        [*filter(None, sentences)],
        [each for each in found if each.difference.remark],
    )


def _misses(found: list[Finding]) -> tuple[str, Finding | None]:
    coarse = [each for each in found if is_coarse(each.difference.result.detectable_pp)]
    largest = max(coarse, key=lambda each: each.difference.result.detectable_pp or 0, default=None)
    size = largest.difference.result.detectable_pp if largest else None
    return (largest.experiment.measure.limit(size, 1), largest) if largest and size else ("", None)


def _lacks_control(finding: Finding) -> bool:
    """Return whether a gain is over the baseline alone, so that it need not be one of weights."""
    result, difference = finding.experiment.result, finding.difference
    control = equal_weights_control(result, difference.first)
    is_gain = difference.second == BASELINE and difference.verdict == BETTER
    return is_gain and not (control or result.controls)


@dataclasses.dataclass(frozen=True)
class Example:
    """A text as attention has read it, and the mean over the explained sample, if there is one."""

    experiment: Experiment
    document: Document
    text: list[Sentence]
    legend: Legend
    share: float | None  # of weight on the rationale, over all explained texts and seeds
    explained: int  # texts of each seed


def example(results: Results) -> Example | None:
    """Return one text: a real one before a generated one, and of where attention helps."""
    order = sorted(findings(results), key=lambda each: (each.experiment.generated, not each.helps))
    for each in order:
        experiment, variant = each.experiment, each.difference.first
        browser = results.browsers.get(results.models(experiment).get(variant, ""))
        if browser is None or not results.prints_texts(experiment):
            continue
        document = _first_document(browser)
        tokens = excerpt(document.tokens, SHOWN_WORDS)
        text = shade_sentences(document.text, document.tokens, tokens.index)
        share, explained = explained_share(results, experiment, variant)
        return Example(experiment, document, text, browser.legend, share, explained)
    return None


def explained_share(
    results: Results, experiment: Experiment, variant: str
) -> tuple[float | None, int]:
    """Return the mean share of weight on the rationale over the explained texts, and their number.

    Only that sample is drawn at random: documents of the browser are chosen by a rule, and no mean
    or median of theirs is one of the corpus.
    """
    for each in results.explanations:
        if (each.experiment.key, each.variant) == (experiment.key, variant):
            rows = measured(each.summary, "adversarial_weights", "rationale_weight")
            if len(rows):
                return statistics.fmean(rows["mean"].tolist()), int(rows["documents"].max())
    return None, 0


def _first_document(browser: Browser) -> Document:
    """Return a short text that attention gets right, of those with a rationale if there are any.

    It is the typical one of its class: nearest to the median of its class in `share`.
    """
    documents = browser.documents
    right = [each for each in documents if each.right] or documents
    known = [each for each in right if each.tokens["rationale"].any()] or right
    table = list_documents(documents, {each.id for each in known})
    typical = [documents[row] for row in typical_documents(table, len(table)).values()]
    return min(typical, key=lambda each: (len(each.tokens), each.id))
