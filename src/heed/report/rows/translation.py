"""The rows of a translation: the scores of all models, every run's, and example sentences."""

import dataclasses
import re
from collections import Counter
from typing import Any

import numpy as np

from heed.evaluation.results import BASELINE, MeanAndStd, mean_and_std
from heed.paths import MODEL_PREDICTION
from heed.recipe import read_prediction
from heed.report.differences import TestedDifference
from heed.report.experiments import Experiment
from heed.report.figures.translation import read_sentences
from heed.report.figures.variants import drawn_variants
from heed.report.formats import decimals, format_number
from heed.report.results import Results, read_table
from heed.report.rows import Known, Rows
from heed.tasks.translation.metrics import signatures
from heed.tasks.translation.recipe import SCALE, Prediction

SHOWN_METRICS = ("bleu", "chrf", "rouge_l_recall", "rouge_l_precision")
SHIFTED, IBM1 = "aer_shifted", "ibm1_agreement"  # in summary.csv only: no sums of statistics
ALIGNMENT = {
    "aer": {"aer": "Alignment error", SHIFTED: "Shifted by one"},
    IBM1: {IBM1: "Agreement with IBM model 1"},
}
WORD = re.compile(r"\w+|[^\w\s]")


@dataclasses.dataclass(frozen=True)
class Scored:
    """A model or a reference model, with its scores over seeds or folds."""

    name: str
    words: str
    scores: dict[str, MeanAndStd]
    parameters: int | None = None  # of a model
    gain: TestedDifference | None = None  # over the baseline
    core_minutes: float | None = None  # of a training, a mean over seeds

    @property
    def link(self) -> str:
        """The address of its entry in the glossary."""
        return f"#glossary-{self.name}"

    @property
    def values(self) -> dict[str, float | None]:
        """The mean of each metric, between 0 and 100; None where it has none."""
        return Known({name: 100 * each.mean for name, each in self.scores.items()})

    @property
    def stds(self) -> dict[str, float | None]:
        """The standard deviation of each metric over runs, in points."""
        return Known({name: each.std_pp for name, each in self.scores.items()})

    @property
    def notes(self) -> dict[str, str | None]:
        """The standard deviation of each metric, for people."""
        found = self.stds.items()
        return Known({name: f"± {format_number(std, 2)}" for name, std in found if std is not None})


def _scored(results: Results, experiment: Experiment) -> list[Scored]:
    result, words = experiment.result, experiment.words
    gains = {  # over the variant's own baseline, where it has one
        each.first: each
        for each in experiment.comparisons
        if each.second in (BASELINE, f"{each.first}-{BASELINE}")
    }
    models = []
    for variant, model in result.models.items():
        evaluated = read_table(results.evaluation_folder(model.model) / "summary.csv")
        scores = dict(model.summary)
        for name in {SHIFTED, IBM1}.intersection(evaluated):
            scores[name] = mean_and_std(evaluated[name].tolist())
        minutes = [each.core_minutes for each in results.training_times(model.model)]
        mean = float(np.mean(minutes)) if minutes else None
        gain = gains.get(variant)
        models.append(Scored(variant, words[variant], scores, model.parameters, gain, mean))
    references = result.reference_models.items()
    return models + [Scored(name, words[name], each.summary) for name, each in references]


def translation(results: Results, experiment: Experiment) -> Rows:
    """Return the scores of all models and reference models."""
    scored = _scored(results, experiment)
    measured = {metric for each in scored for metric in each.scores}
    linked = next((columns for name, columns in ALIGNMENT.items() if name in measured), {})
    folders = map(results.evaluation_folder, results.models(experiment).values())
    files = results.sources.add(*(folder / "summary.csv" for folder in folders))
    unknown = any(each.values["unknown_words"] for each in scored)
    facts = {
        "metrics": {name: SCALE.names[name] for name in SHOWN_METRICS}, "linked": linked,
        "unknown": unknown, "no_unknown": not unknown,
    }  # fmt: skip
    sources = (*results.comparison_sources, *files, results.times_source)
    return Rows(scored, facts, sources=sources, location=f"experiments.{experiment.key}")


def settings(results: Results, experiment: Experiment) -> dict[tuple[Any, ...], list[str]]:
    """Return the models in words by how they wrote and were scored.

    That is beam, length penalty, names of further references, and sacrebleu's signatures.
    """
    found: dict[tuple[Any, ...], list[str]] = {}
    for variant, model in results.models(experiment).items():
        path = results.prediction_folder(model) / MODEL_PREDICTION
        used: Prediction = read_prediction(path, "translation", f"heed score {model}")
        counts = read_table(results.evaluation_folder(model) / "summary.csv")["references"]
        is_one = counts.notna().all() and counts.nunique() == 1  # else sentences or folds differ
        named = signatures(used, int(counts[0]) if is_one else None).values()
        key = (used.beam, used.length_penalty, tuple(used.references), *named)
        found.setdefault(key, []).append(experiment.words[variant])
    return found


def seeds(results: Results, experiment: Experiment) -> Rows:
    """Return every score of every run of all models."""
    records, of_models = [], results.comparison.seeds_of(experiment.key)
    for each in _scored(results, experiment):
        for metric, scores in each.scores.items():
            runs = [f"seed {seed}" for seed in of_models]
            if each.parameters is None:  # a reference model's
                count = len(scores.values)
                runs = [f"fold {fold}" for fold in range(count)] if count > 1 else ["the only one"]
            for run, value in zip(runs, scores.values, strict=True):
                printed = decimals(6).plain(value)
                record = {"variant": each.name, "run": run, "metric": metric, "value": printed}
                records.append(record)
    return Rows(records)


def examples(results: Results, experiment: Experiment) -> Rows | None:
    """Return sentences with their reference and the translations of some models."""
    if not results.prints_texts(experiment):
        return None
    records: list[dict[str, Any]] = []
    for number, each in enumerate(read_sentences(results, experiment), 1):
        texts = {"source": each.source, "reference": each.reference}
        texts |= {name: each.translations[name] for name in drawn_variants(results, experiment)}
        for of, text in texts.items():
            wrong = count_wrong(text, each.reference) if of in each.translations else None
            of_words = f"{number} {experiment.words.get(of, of)}"
            records.append(
                {"number": number, "of": of, "words": of_words, "text": text, "wrong": wrong}
            )
    models = results.models(experiment).values()
    files = [results.prediction_folder(model) / "sentences.parquet" for model in models]
    return Rows(records, sources=results.sources.add(*files))


def count_wrong(hypothesis: str, reference: str) -> int:
    """Return the number of words of a translation that the reference does not have as often."""
    return (Counter(WORD.findall(hypothesis)) - Counter(WORD.findall(reference))).total()
