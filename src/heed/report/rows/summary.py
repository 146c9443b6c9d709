"""The rows over all experiments: scores, verdicts, the talk's gains, and the first screen."""

import statistics
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from heed.evaluation.looks import said_of_looks
from heed.evaluation.results import BASELINE, BETTER, NOT_CONVERGED, UNDECIDED, is_coarse
from heed.explanation.test import measured
from heed.report.browser import Browser, Document, excerpt, shade_sentences, typical_documents
from heed.report.differences import ESTIMATE, LINEAR, SLIGHTLY_BETTER, UNTESTED, TestedDifference
from heed.report.experiments import Experiment
from heed.report.measures import degenerate_seeds, equal_weights_control, report_of
from heed.report.published import RESULTS
from heed.report.results import Results
from heed.report.rows import Rows, known
from heed.report.words import model_kind

MOST_ROWS, MOST_MODELS = 8, 6  # of the first screen's table
SHOWN_WORDS = 24  # of its text


def summary(results: Results) -> Iterator[Rows]:
    """Yield a table for each metric by which experiments compare: all models, with gains."""
    used = set[str]()
    for measure in dict.fromkeys(each.measure for each in results.experiments):
        name = f"summary_{measure.task}" if used else "summary"
        name = f"{name}_{measure.metric}" if name in used else name
        used.add(name)
        own = [each for each in results.experiments if each.measure == measure]
        variants, fitted = dict[str, None](), set[str]()  # with columns: controls come first
        for each in own:
            others = [name for name in each.result.models if name not in (BASELINE, each.attention)]
            variants |= dict.fromkeys(sorted(others, key=lambda n: n not in each.result.controls))
            fitted |= each.result.reference_models.keys()
        references = filter(fitted.__contains__, report_of(measure.task).REFERENCE_MODELS)
        digits = {True: "hundreds", False: "share"}[measure.in_hundreds]
        facts = {"name": name, "scores": [*variants, *references], "digits": digits}
        yield Rows([*map(_summary, own)], facts)


def _scores(experiment: Experiment, factor: float = 1) -> Mapping[str, Any]:
    result = experiment.result
    names = (*result.models, *result.reference_models)
    return known({name: factor * result.score_of(name) for name in names})


def _summary(experiment: Experiment) -> dict[str, Any]:
    attention, result = experiment.attention, experiment.result
    scores = _scores(experiment, experiment.measure.scaled(1))
    changes = {each["variant"]: each["change"].mean_pp for each in experiment.degradations}
    return {
        "experiment": experiment, "changes": known(changes), "scores": scores,
        "mean_gain": result.models[attention].gain if attention else None,
        "attention": scores[attention],
    }  # fmt: skip


def verdicts(results: Results) -> Rows:
    """Return the verdicts on attention, with columns for what any experiment is compared with."""
    experiments = results.experiments
    compared = [each.attention_comparison for each in experiments if each.attention_comparison]
    facts = {
        "control": bool(compared), "baseline": any(each.baseline for each in compared),
        "reference": any(each.strongest_reference_model for each in compared),
        "has_talk": any(each.line.reproduction for each in experiments),
    }  # fmt: skip
    return Rows([{"experiment": each} for each in experiments], facts)


def best(results: Results) -> Rows | None:
    """Return the best models of a study of one or two experiments, and those that are needed."""
    experiments = results.experiments
    if len(experiments) > 2:
        return None
    records = [
        each.named(name)
        | {"difference": each.difference(each.attention, name), "score": each.short_score(name)}
        for each in experiments
        for name in _best(each, MOST_MODELS // len(experiments))
    ]
    return Rows(records, {"several": len(experiments) > 1})


def _best(experiment: Experiment, most: int) -> list[str]:
    result, sign = experiment.result, experiment.result.sign
    names = [*result.models, *result.learned_reference_models]
    order = sorted(names, key=lambda name: -sign * result.score_of(name))
    needed = [experiment.attention, result.control or BASELINE, LINEAR, "statistical"]
    kept = sorted(order, key=lambda name: (name not in needed, order.index(name)))[:most]
    return [*filter(kept.__contains__, order)]


def questions(results: Results) -> Rows | None:
    """Return the primary comparison of each experiment, of a study with three or more."""
    if len(results.experiments) <= 2:
        return None
    records = []
    for found in findings(results)[:MOST_ROWS]:
        own, leading = found["experiment"], found["difference"]
        pair = (leading.first, leading.second)
        first, second = (own.measure.short(own.result.score_of(name), digits=0) for name in pair)
        attention, other = (own.words[name] for name in pair)
        record = {"experiment": own, "difference": leading, "own": first, "score": second}
        records.append(record | {"attention": attention, "other": other})
    names = {"own": "Attention", "without": "Without"}
    for key, shown in (("attention", "own"), ("other", "without")):
        if len(same := {each[key] for each in records}) == 1:  # then the heading says it once
            names[shown] = next(iter(same)).capitalize()
            records = [each | {key: ""} for each in records]
    return Rows(records, names)


def talk(results: Results) -> Rows | None:
    """Return the talk's gains, tested over its documents, beside ours; None without any."""
    records = []
    for each in results.experiments:
        if each.line.talk_test:
            scores = _scores(each)
            pair = (scores[name] for name in (BASELINE, each.attention) if name in scores)
            ours, of_talk = " → ".join(map("{:.4f}".format, pair)), " → ".join(each.line.talk or ())
            record = {"talk_scores": of_talk, "our_scores": ours}
            records.append(record | {"experiment": each, "scores": scores})
    published = (each for each in results.sources.all() if each.path.endswith(RESULTS))
    sources = (*published, *results.comparison_sources)
    return Rows(records, sources=sources) if records else None


def finding(experiment: Experiment, difference: TestedDifference) -> dict[str, Any]:
    """Return an experiment with the comparison that a report says first, as sentences name it.

    baseline: attention over the baseline, where that is another one. over_last: the same, where it
    reads the last state alone. reference: over the strongest reference model that learns.
    """
    result, gain, reading = experiment.result, experiment.gain, difference.reading
    baseline = result.models.get(BASELINE)
    kind = model_kind(BASELINE, baseline.hyperparameters) if baseline else ""
    compared = experiment.attention_comparison
    reference = compared.strongest_reference_model if compared else None
    is_learned = reference and reference.second in result.learned_reference_models
    return {
        "experiment": experiment, "difference": difference, "reading": reading,
        "helps": reading in (BETTER, SLIGHTLY_BETTER),
        "is_open": reading in (UNDECIDED, ESTIMATE, NOT_CONVERGED, UNTESTED),
        "attention": experiment.sentences[difference.first],
        "other": experiment.sentences[difference.second],
        "baseline": None if gain and gain.second == difference.second else gain,
        "over_last": gain if kind.startswith("last") else None,
        "reference": reference if is_learned else None,
        "title": f"“{experiment.title.rstrip('.?!')}”",
    }  # fmt: skip


def findings(results: Results) -> list[dict[str, Any]]:
    """Return the findings of all experiments that compare attention with anything."""
    return [finding(each, each.leading) for each in results.experiments if each.leading]


def cautions(results: Results) -> dict[str, Any]:
    """Return what weakens findings; `missing`: that with the largest difference likely missed."""
    found = findings(results)
    coarse = [each for each in found if is_coarse(each["difference"].detectable_pp)]
    return {
        "generated": all(each.generated for each in results.experiments),
        "open": [each for each in found if each["is_open"]],
        "missing": max(coarse, key=lambda each: each["difference"].detectable_pp, default=None),
        "uncontrolled": [*filter(_lacks_control, found)],
        "degenerate": any(
            degenerate_seeds(model, each.result, results.comparison.seeds_of(each.key))
            for each in results.experiments
            for model in each.result.models.values()
        ),
        "differently_tuned": not all(each["difference"].tuned_alike for each in found),
    }


def _lacks_control(found: dict[str, Any]) -> bool:
    """Return whether a gain is over the baseline alone, so that it need not be one of weights."""
    result, difference = found["experiment"].result, found["difference"]
    control = equal_weights_control(result, difference.first) or result.controls
    return difference.second == BASELINE and difference.verdict == BETTER and not control


def looks(results: Results) -> list[str]:
    """Return what is to be said of several looks at a study; mostly nothing."""
    method, seeds_of = results.comparison.significance, results.comparison.seeds_of
    said = (said_of_looks(method, len(seeds_of(each.key))) for each in results.experiments)
    return [*filter(None, dict.fromkeys(said))]


def example(results: Results) -> dict[str, Any] | None:
    """Return one text: a real one before a generated one, and of where attention helps."""
    found = findings(results)
    for each in sorted(found, key=lambda one: (one["experiment"].generated, not one["helps"])):
        experiment, variant = each["experiment"], each["difference"].first
        browser = results.browsers.get(results.models(experiment).get(variant, ""))
        if browser and results.prints_texts(experiment):
            document = _first_document(browser)
            tokens = excerpt(document.tokens, SHOWN_WORDS)
            shaded = shade_sentences(document.text, document.tokens, tokens.index)
            share, explained = explained_share(results, experiment, variant)
            about = {"document": document, "text": shaded, "legend": browser.legend}
            return about | {"experiment": experiment, "share": share, "explained": explained}
    return None


def explained_share(
    results: Results, experiment: Experiment, variant: str
) -> tuple[float | None, int]:
    """Return the mean share of weight on the rationale over the explained texts, and their number.

    Only that sample is drawn at random: a rule chooses the documents of the browser.
    """
    for each in results.explanations_of(experiment):
        rows = measured(each.summary, "adversarial_weights", "rationale_weight")
        if each.variant == variant and len(rows):
            return statistics.fmean(rows["mean"].tolist()), int(rows["documents"].max())
    return None, 0


def _first_document(browser: Browser) -> Document:
    """Return a short typical text that attention gets right, with a rationale if there is any."""
    documents = browser.documents
    right = [each for each in documents if each.right] or documents
    marked = [each for each in right if each.tokens["rationale"].any()] or right
    table = pd.DataFrame(
        {"label": each.label, "share": each.rationale_share, "shown": each in marked,
         "largest": each.tokens["weight"].max(), "words": len(each.tokens)}
        for each in documents
    )  # fmt: skip
    typical = [documents[row] for row in typical_documents(table, len(table)).values()]
    return min(typical, key=lambda each: (len(each.tokens), each.id))
