"""The rows over all experiments: scores, verdicts, the talk's gains, and the first screen."""

import statistics
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from heed.evaluation.looks import said_of_looks
from heed.evaluation.results import BASELINE, BETTER, NOT_CONVERGED, UNDECIDED, is_coarse
from heed.explanation.test import measured
from heed.report.browser import Browser, ShownDocument, excerpt, shade_sentences, typical_documents
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
    for measure in dict.fromkeys(experiment.measure for experiment in results.experiments):
        name = f"summary_{measure.task}" if used else "summary"
        name = f"{name}_{measure.metric}" if name in used else name
        used.add(name)
        own = [experiment for experiment in results.experiments if experiment.measure == measure]
        variants, fitted = dict[str, None](), set[str]()  # with columns: controls come first
        for experiment in own:
            result, pair = experiment.result, (BASELINE, experiment.attention)
            others = [name for name in result.models if name not in pair]
            variants |= dict.fromkeys(sorted(others, key=lambda n: n not in result.controls))
            fitted |= result.reference_models.keys()
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
    changes = {change["variant"]: change["change"].mean_pp for change in experiment.degradations}
    return {
        "experiment": experiment, "changes": known(changes), "scores": scores,
        "mean_gain": result.models[attention].gain if attention else None,
        "attention": scores[attention],
    }  # fmt: skip


def verdicts(results: Results) -> Rows:
    """Return the verdicts on attention, with columns for what any experiment is compared with."""
    experiments = results.experiments
    compared = [*filter(None, (experiment.attention_comparison for experiment in experiments))]
    facts = {
        "control": bool(compared), "baseline": any(comparison.baseline for comparison in compared),
        "reference": any(comparison.strongest_reference_model for comparison in compared),
        "has_talk": any(experiment.against_talk.reproduction for experiment in experiments),
    }  # fmt: skip
    return Rows([{"experiment": experiment} for experiment in experiments], facts)


def best(results: Results) -> Rows | None:
    """Return the best models of a study of one or two experiments, and those that are needed."""
    experiments = results.experiments
    if len(experiments) > 2:
        return None
    records = [
        experiment.named(name)
        | {"difference": experiment.difference(experiment.attention, name),
           "score": experiment.short_score(name)}
        for experiment in experiments
        for name in _best(experiment, MOST_MODELS // len(experiments))
    ]  # fmt: skip
    return Rows(records, {"several": len(experiments) > 1})


def _best(experiment: Experiment, most: int) -> list[str]:
    result, sign = experiment.result, experiment.result.sign
    names = [*result.models, *result.learned_reference_models]
    order = sorted(names, key=lambda name: -sign * result.score_of(name))
    needed = [experiment.attention, result.control, order[0], BASELINE, LINEAR, "statistical"]
    kept = [name for name in dict.fromkeys([*needed, *order]) if name in names][:most]
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
        if len(same := {record[key] for record in records}) == 1:  # then the heading says it once
            names[shown] = next(iter(same)).capitalize()
            records = [record | {key: ""} for record in records]
    return Rows(records, names)


def talk(results: Results) -> Rows | None:
    """Return the talk's gains, tested over its documents, beside ours; None without any."""
    records = []
    for experiment in results.experiments:
        scores, talk = _scores(experiment), experiment.against_talk
        if talk.talk_test:
            pair = (scores[name] for name in (BASELINE, experiment.attention) if name in scores)
            ours, of_talk = " → ".join(map("{:.4f}".format, pair)), " → ".join(talk.talk or ())
            record = {"talk_scores": of_talk, "our_scores": ours}
            records.append(record | {"experiment": experiment, "scores": scores})
    published = (source for source in results.sources.all() if source.path.endswith(RESULTS))
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
    leading = ((experiment, experiment.leading) for experiment in results.experiments)
    return [finding(experiment, found) for experiment, found in leading if found]


def cautions(results: Results) -> dict[str, Any]:
    """Return what weakens findings; `missing`: that with the largest difference likely missed."""
    found = findings(results)
    coarse = [record for record in found if is_coarse(record["difference"].detectable_pp)]
    return {
        "generated": all(experiment.generated for experiment in results.experiments),
        "open": [record for record in found if record["is_open"]],
        "missing": max(coarse, key=lambda record: record["difference"].detectable_pp, default=None),
        "uncontrolled": [*filter(_lacks_control, found)],
        "degenerate": any(
            degenerate_seeds(model, experiment.result, results.comparison.seeds_of(experiment.key))
            for experiment in results.experiments
            for model in experiment.result.models.values()
        ),
        "differently_tuned": [record for record in found if not record["difference"].tuned_alike],
    }


def _lacks_control(found: dict[str, Any]) -> bool:
    """Return whether a gain is over the baseline alone, so that it need not be one of weights."""
    result, difference = found["experiment"].result, found["difference"]
    control = equal_weights_control(result, difference.first) or result.controls
    return difference.second == BASELINE and difference.verdict == BETTER and not control


def looks(results: Results) -> list[str]:
    """Return what is to be said of several looks at a study; mostly nothing."""
    method, seeds_of = results.comparison.significance, results.comparison.seeds_of
    counts = (len(seeds_of(experiment.key)) for experiment in results.experiments)
    return [*filter(None, dict.fromkeys(said_of_looks(method, count) for count in counts))]


def example(results: Results) -> dict[str, Any] | None:
    """Return one text: a real one before a generated one, and of where attention helps."""
    found = findings(results)
    found.sort(key=lambda record: (record["experiment"].generated, not record["helps"]))
    for record in found:
        experiment, variant = record["experiment"], record["difference"].first
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
    for explanation in results.explanations_of(experiment):
        rows = measured(explanation.summary, "adversarial_weights", "rationale_weight")
        if explanation.variant == variant and len(rows):
            return statistics.fmean(rows["mean"].tolist()), int(rows["documents"].max())
    return None, 0


def _first_document(browser: Browser) -> ShownDocument:
    """Return a short typical text that attention gets right, with a rationale if there is any."""
    documents = browser.documents
    right = [document for document in documents if document.right] or documents
    marked = [document for document in right if document.tokens["rationale"].any()] or right
    table = pd.DataFrame(
        {"label": document.label, "share": document.rationale_share, "shown": document in marked,
         "largest": document.tokens["weight"].max(), "words": len(document.tokens)}
        for document in documents
    )  # fmt: skip
    typical = [documents[row] for row in typical_documents(table, len(table)).values()]
    return min(typical, key=lambda document: (len(document.tokens), document.id))
