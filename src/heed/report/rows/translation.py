"""The rows of a translation: the scores of all models, every run's, and example sentences."""

import re
from collections import Counter
from typing import Any

import numpy as np

from heed.evaluation.results import mean_and_std
from heed.paths import LONGER, MODEL_PREDICTION
from heed.recipe import read_prediction
from heed.report.experiments import Experiment
from heed.report.figures.translation import read_sentences
from heed.report.figures.variants import drawn_variants
from heed.report.formats import format_number
from heed.report.results import Results, read_table
from heed.report.rows import Rows, known
from heed.tasks.translation.metrics import signatures
from heed.tasks.translation.recipe import SCALE, Prediction

SHOWN_METRICS = ("bleu", "chrf", "rouge_l_recall", "rouge_l_precision")
SHIFTED, IBM1 = "aer_shifted", "ibm1_agreement"  # in summary.csv only: no sums of statistics
ALIGNMENT = {
    "aer": {"aer": "Alignment error", SHIFTED: "Shifted by one"},
    IBM1: {IBM1: "Agreement with IBM model 1"},
}
WORD = re.compile(r"\w+|[^\w\s]")


def _scored(results: Results, experiment: Experiment) -> list[dict[str, Any]]:
    """Return all models with `values` up to 100, `stds` in points, `core_minutes` each."""
    result, records = experiment.result, []
    for variant, of in (result.models | result.reference_models).items():
        scores, model = dict(of.summary), result.models.get(variant)
        minutes = None
        if model:
            evaluated = read_table(results.evaluation_folder(model.model) / "summary.csv")
            for name in {SHIFTED, IBM1}.intersection(evaluated):
                scores[name] = mean_and_std(evaluated[name].tolist())
            times = results.training_times(model.model)
            times.pop(LONGER, None)
            minutes = float(np.mean([time.core_minutes for time in times.values()]))
        stds = {name: score.std_pp for name, score in scores.items()}
        notes = {n: f"± {format_number(std, 2)}" for n, std in stds.items() if std is not None}
        record = {
            "scores": scores, "values": known({name: 100 * e.mean for name, e in scores.items()}),
            "stds": known(stds), "notes": known(notes), "core_minutes": minutes,
            "parameters": model and model.parameters, "gain": experiment.gain_of(variant),
        }  # fmt: skip
        records.append(experiment.named(variant) | record)
    return records


def translation(results: Results, experiment: Experiment) -> Rows:
    """Return the scores of all models and reference models."""
    scored = _scored(results, experiment)
    measured = {metric for record in scored for metric in record["scores"]}
    linked = next((columns for name, columns in ALIGNMENT.items() if name in measured), {})
    folders = map(results.evaluation_folder, results.models(experiment).values())
    files = results.sources.add(*(folder / "summary.csv" for folder in folders))
    unknown = any(record["values"]["unknown_words"] for record in scored)
    metrics = {name: SCALE.names[name] for name in SHOWN_METRICS}
    facts = {"metrics": metrics, "linked": linked, "unknown": unknown, "no_unknown": not unknown}
    sources = (*results.comparison_sources, *files, results.times_source)
    return Rows(scored, facts, sources=sources)


def settings(results: Results, experiment: Experiment) -> dict[tuple[Any, ...], list[str]]:
    """Return models in words by beam, length penalty, sacrebleu's signatures."""
    found: dict[tuple[Any, ...], list[str]] = {}
    for variant, model in results.models(experiment).items():
        path = results.prediction_folder(model) / MODEL_PREDICTION
        used: Prediction = read_prediction(path, "translation", f"heed score {experiment.key}")
        key = (used.beam, used.length_penalty, *signatures(used).values())
        found.setdefault(key, []).append(experiment.words[variant])
    return found


def examples(results: Results, experiment: Experiment) -> Rows | None:
    """Return sentences with their reference and the translations of some models."""
    if not results.prints_texts(experiment):
        return None
    records, drawn = [], drawn_variants(results, experiment)
    for number, sentence in enumerate(read_sentences(results, experiment), 1):
        texts = {"source": sentence.source, "reference": sentence.reference}
        for of, text in (texts | {name: sentence.translations[name] for name in drawn}).items():
            wrong = count_wrong(text, sentence.reference) if of in sentence.translations else None
            record = {"number": number, "of": of, "text": text, "wrong": wrong}
            records.append(record | {"words": f"{number} {experiment.words.get(of, of)}"})
    models = results.models(experiment).values()
    files = [results.prediction_folder(model) / "sentences.parquet" for model in models]
    return Rows(records, sources=results.sources.add(*files))


def count_wrong(hypothesis: str, reference: str) -> int:
    """Return the number of words of a translation that the reference does not have as often."""
    return (Counter(WORD.findall(hypothesis)) - Counter(WORD.findall(reference))).total()
