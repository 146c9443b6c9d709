"""What the first screen says: findings, what weakens them, and one text."""

import dataclasses
import statistics

from heed.evaluation.results import BASELINE, BETTER, NOT_CONVERGED, UNDECIDED, is_coarse
from heed.explanation.test import measured
from heed.report.browser import (
    Browser,
    Document,
    Legend,
    ShadedText,
    excerpt,
    list_documents,
    shade_sentences,
    typical_documents,
)
from heed.report.differences import SLIGHTLY_BETTER, UNTESTED, TestedDifference
from heed.report.experiments import Experiment
from heed.report.measures import degenerate_sentence, equal_weights_control
from heed.report.results import Results

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
    uncontrolled: list[Experiment]
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
        _misses(found),
        [each.experiment for each in found if _lacks_control(each)],
        [*filter(None, sentences)],
        [each for each in found if each.difference.remark],
    )


def _misses(found: list[Finding]) -> str:
    detectable = (
        (each.difference.result.detectable_pp or 0.0, each.experiment.measure)
        for each in found
        if is_coarse(each.difference.result.detectable_pp)
    )
    largest, measure = max(detectable, key=lambda each: each[0], default=(0.0, None))
    return measure.limit(largest, 1) if measure else ""


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
    text: ShadedText
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
        text = ShadedText(shade_sentences(document.text, document.tokens, tokens.index))
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
