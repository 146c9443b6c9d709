"""Models with heed's presets beside the linear model: docs/reference/presets.md.

`python -m benchmarks.presets [DATASET ...] [--variants NAME ...] [--seeds N ...] [--set KEY=VALUE
...]`. Downloads (HEED_MIRROR: docs/reference/corpora.md) and tokenizes the corpora in a temporary
folder, or in `--folder`. A dataset is a corpus or a part of it; `--set` changes hyperparameters of
the preset. Its models are the variants of `heed corpus add` with the
preset that this chooses. They are scored on documents of the training and validation splits that
neither train nor select; where a dataset leaves none, on those that select. The test split is
neither trained nor scored on. Other lines than those of the table go to stderr.
"""

import argparse
import contextlib
import dataclasses
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pandas as pd
import yaml
from sklearn.model_selection import train_test_split

from heed.corpora.kinds import download
from heed.paths import RAW, TOKENS
from heed.recipe import Recipe
from heed.study import Params, parse
from heed.study.experiments import Experiment
from heed.study.own_entries import TEST, VALIDATION, VARIANTS
from heed.study.recipes import resolve
from heed.tasks.classification import reference_models
from heed.tasks.classification.metrics import make_metrics
from heed.tasks.classification.prediction import ClassificationPredictor
from heed.tasks.classification.recipe import Data
from heed.tasks.classification.rules import PRESETS, choose_preset
from heed.tokens.arrays import Tokens, load_tokens
from heed.tokens.corpus import tokenize
from heed.training.run import longer_recipe, train_model

# The corpora of heed's studies.
STUDY = """\
study: {name: presets, title: Presets}
seeds: [1, 2, 3, 4, 5]
sources:
  letters: {kind: letters, files: [classifier_data_eval.json]}
  few-shot-01: {kind: few-shot-01}
  imdb: {kind: imdb}
  movies: {kind: movies}
  sst-wiki: {kind: sst-wiki}
corpora:
  letters-pieces:
    {source: letters, kind: letters-pieces,
     split: {kind: folds, k: 5, grouped: true, validation: 0.1}}
  news-headlines:
    {source: few-shot-01, kind: news-headlines, tokenizer: whitespace, split: &fifth
     {kind: random, test: 0.2, validation: 0.1}}
  joined:
    {source: few-shot-01, kind: news-headlines-joined, tokenizer: whitespace, split: *fifth}
  imdb:
    {source: imdb, kind: imdb, tokenizer: en, split: {kind: random, test: 10000, validation: 0.1}}
  movies: {source: movies, kind: movies, tokenizer: whitespace, split: {kind: given}}
  sst-wiki: {source: sst-wiki, kind: sst-wiki, tokenizer: whitespace, split: {kind: given}}
searches: {}
defaults: {classification: {}}
"""


@dataclasses.dataclass(frozen=True)
class Dataset:
    """A corpus or a part of it.

    classes: the largest ones; None for all.
    train: documents to train; a ninth as many more select. None for all.
    scored: documents to score at most.
    """

    corpus: str
    label: str
    classes: int | None = None
    train: int | None = None
    scored: int = 0


DATASETS = {
    "headlines4-400": Dataset("news-headlines", "category", 4, 400, 1500),
    "headlines4-2000": Dataset("news-headlines", "category", 4, 2000, 1500),
    "headlines20-4000": Dataset("news-headlines", "category", 20, 4000, 4000),
    "headlines": Dataset("news-headlines", "category"),
    "joined": Dataset("joined", "category"),
    "letters-author": Dataset("letters-pieces", "author"),
    "sst-wiki-1500": Dataset("sst-wiki", "sentiment", train=1500, scored=3000),
    "sst-wiki": Dataset("sst-wiki", "sentiment"),
    "movies": Dataset("movies", "sentiment"),
    "imdb-500": Dataset("imdb", "sentiment", train=500, scored=3000),
    "imdb-1500": Dataset("imdb", "sentiment", train=1500, scored=3000),
    "imdb": Dataset("imdb", "sentiment"),
}
SEEDS = (1, 2, 3)
COLUMNS = (
    "corpus (classes)", "train / select / scored", "tokens", "preset", "variant", "seeds",
    "accuracy", "macro F1", "linear", "difference", "twice the epochs", "CPU s",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class ReducedTokens(Tokens):
    """The tokens of a dataset; its split `test` has the documents to score.

    `meta` has the classes of the dataset alone, and no folds: `splits` are those of one seed.
    """

    splits: dict[str, np.ndarray]  # documents (rows of the corpus) by split, in their order

    def rows(self, split: str, fold: int) -> np.ndarray:
        return self.splits[split]

    def texts(self) -> Iterator[str]:
        """Yield the text of each document of the corpus; empty for one that is in no split."""
        used = set(np.concatenate([*self.splits.values()]).tolist())
        for row, text in enumerate(super().texts()):
            yield text if row in used else ""


@dataclasses.dataclass(frozen=True)
class Score:
    """The figures of a model on the documents to score; `seconds` of processor time it took."""

    accuracy: float
    macro_f1: float
    seconds: float
    validation: float = 0.0  # accuracy, of a network at the epoch that is kept


def reduce(tokens: Tokens, dataset: Dataset, seed: int) -> ReducedTokens:
    """Return the tokens of a dataset; the seed decides on the fold alone.

    Of the drawn documents as large a share selects as in the split of `heed corpus add`. The
    validation split is scored first.
    """
    fold = (seed - 1) % tokens.meta.folds if tokens.meta.folds else 0
    train, validation = tokens.rows("train", fold), tokens.rows("validation", fold)
    column = f"label_{dataset.label}"
    labels = tokens.documents([column])[column].to_numpy()
    names = tokens.meta.labels[dataset.label]
    if dataset.classes:
        names = _largest_classes(labels[train], dataset.classes)
        train, validation = (rows[np.isin(labels[rows], names)] for rows in (train, validation))
    splits = {"train": train, "validation": validation, "test": validation}
    if dataset.train:
        rest, drawn = train_test_split(
            train, test_size=round(dataset.train / (1 - VALIDATION)), random_state=0,
            stratify=labels[train],
        )  # fmt: skip
        keep, select = train_test_split(drawn, test_size=len(drawn) - dataset.train, random_state=0)
        rest = np.random.default_rng(0).permutation(rest)
        scored = np.concatenate([validation, rest])[: dataset.scored]
        splits = {"train": np.sort(keep), "validation": np.sort(select), "test": np.sort(scored)}
    meta = dataclasses.replace(tokens.meta, folds=0, labels={dataset.label: names})
    fields = {field.name: getattr(tokens, field.name) for field in dataclasses.fields(tokens)}
    return ReducedTokens(**{**fields, "meta": meta, "splits": splits})


def _largest_classes(labels: np.ndarray, count: int) -> list[str]:
    """Return the names of the largest classes, sorted; ties go to the first name."""
    names, sizes = np.unique(labels.astype(str), return_counts=True)
    largest = np.argsort(-sizes, kind="stable")[:count]
    return sorted(names[largest].tolist())


def make_study(name: str) -> Params:
    """Return the study of a dataset: an experiment DATASET-PRESET for each of heed's presets.

    Each has the variants of `heed corpus add`.
    """
    dataset = DATASETS[name]
    experiments, models = {}, {}
    data = {"label": dataset.label}
    for preset in PRESETS:
        if preset.startswith("sample-"):
            continue
        experiment = f"{name}-{preset}"
        section = {"task": "classification", "corpus": dataset.corpus, "data": data, "title": name}
        experiments[experiment] = section
        for variant, values in VARIANTS.items():
            models[f"{experiment}-{variant}"] = {
                "experiment": experiment,
                "preset": preset,
                **values,
            }
    added = yaml.safe_dump({"experiments": experiments, "models": models})
    return parse(STUDY + added, "benchmarks/presets.py")


def score_linear(tokens: ReducedTokens, experiment: Experiment) -> Score:
    """Return the score of an experiment's linear reference model."""
    label = experiment.data.label
    data = Data(label, tokens.meta.labels[label])
    started = time.process_time()
    with contextlib.redirect_stdout(sys.stderr):
        fitted = reference_models.fit(tokens, data, experiment)
    seconds = time.process_time() - started
    table = fitted.predictions["linear", 0]
    return _score(data, fitted.statistics(table[table["split"] == "test"]), seconds)


def score_model(tokens: ReducedTokens, recipe: Recipe[Any, Any], seed: int) -> Score:
    """Return the score of a recipe with a seed."""
    started = time.process_time()
    with tempfile.TemporaryDirectory() as work:
        trained = train_model(recipe, tokens, seed, lambda progress: None, Path(work))
    seconds = time.process_time() - started
    model, vocabulary = trained.learner.model.eval(), trained.learner.encoded.vocabulary
    predictor = ClassificationPredictor(model, vocabulary, recipe, trained.device)
    predictions = predictor.predict(tokens, trained.rows["test"])
    validation = trained.history[trained.best_epoch - 1]["validation_accuracy"]
    return _score(recipe.data, predictor.statistics(predictions), seconds, validation)


def _score(data: Data, statistics: pd.DataFrame, seconds: float, validation: float = 0.0) -> Score:
    scores = make_metrics(data).compute(statistics.to_numpy())
    return Score(scores["accuracy"], scores["macro_f1"], seconds, validation)


def measure(name: str, tokens: Tokens, params: Params, asked: argparse.Namespace) -> Iterator[str]:
    """Yield the row of each variant on the dataset of this name, in Markdown."""
    seeds = asked.seeds
    reduced = [reduce(tokens, DATASETS[name], seed) for seed in seeds]
    first = reduced[0]
    train = first.splits["train"]
    length = float(np.diff(tokens.offsets)[train].mean())
    preset = choose_preset(round(len(train) / (1 - TEST) / (1 - VALIDATION)), length)
    experiment = params.experiments[f"{name}-{preset}"]
    # without folds every seed has the same splits
    different = reduced if tokens.meta.folds else [first]
    linear = [score_linear(splits, experiment) for splits in different]
    sizes = " / ".join(f"{len(first.splits[split]):,}" for split in ("train", "validation", "test"))
    classes = len(first.meta.labels[DATASETS[name].label])
    cells = [f"{name} ({classes})", sizes, f"{length:.0f}", preset]
    for variant in asked.variants:
        recipe = resolve(params, f"{name}-{preset}-{variant}", {}, first.meta)
        recipe = recipe.changed({"device": "cpu"} | asked.changes)
        runs = zip(reduced, seeds, strict=True)
        scores = [score_model(splits, recipe, seed) for splits, seed in runs]
        longer = score_model(first, longer_recipe(recipe), seeds[0])
        cells_of_variant = [variant, ",".join(map(str, seeds)), *_metrics(scores, linear, longer)]
        yield _line([*cells, *cells_of_variant])


def _metrics(scores: list[Score], linear: list[Score], longer: Score) -> list[str]:
    """Return the cells of the figures: means over the seeds, and the sample standard deviation.

    Of twice the epochs it is what the first seed gains by them on validation, in points.
    """
    accuracies = [score.accuracy for score in scores]
    accuracy, reference_model = (fmean(accuracies), fmean(score.accuracy for score in linear))
    std = f" ± {100 * stdev(accuracies):.1f}" if len(scores) > 1 else ""
    return [
        f"{accuracy:.4f}{std}", f"{fmean(score.macro_f1 for score in scores):.4f}",
        f"{reference_model:.4f}", f"{100 * (accuracy - reference_model):+.1f}",
        f"{100 * (longer.validation - scores[0].validation):+.1f}",
        f"{fmean(score.seconds for score in scores):.0f}",
    ]  # fmt: skip


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def prepare(corpus: str, params: Params) -> Tokens:
    """Return a corpus, downloaded and tokenized in the working folder."""
    section = params.corpora[corpus]
    with contextlib.redirect_stdout(sys.stderr):
        raw = RAW / section.source
        download(section.source, params.sources[section.source], raw)
        tokenize(corpus, section, raw, TOKENS / corpus, processes=1)
    return load_tokens(TOKENS / corpus)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("datasets", nargs="*", metavar="DATASET", help=", ".join(DATASETS))
    parser.add_argument(
        "--variants", nargs="+", choices=VARIANTS, default=["attention-pooling", "self-attention"]
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--folder", type=Path, help="keeps the corpora; none: a temporary folder")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="KEY=VALUE", help="other values than the preset's"
    )
    options = parser.parse_args(arguments)
    options.changes = {k: yaml.safe_load(value) for k, value in (s.split("=") for s in options.set)}
    if unknown := [name for name in options.datasets if name not in DATASETS]:
        parser.error(f"unknown: {', '.join(unknown)}. Known: {', '.join(DATASETS)}")
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
    print(_line(COLUMNS) + "\n" + "|---" * len(COLUMNS) + "|", flush=True)
    with tempfile.TemporaryDirectory() as temporary, contextlib.chdir(options.folder or temporary):
        prepared: dict[str, Tokens] = {}
        for name in options.datasets or DATASETS:
            corpus, params = DATASETS[name].corpus, make_study(name)
            if corpus not in prepared:
                prepared[corpus] = prepare(corpus, params)
            for line in measure(name, prepared[corpus], params, options):
                print(line, flush=True)


if __name__ == "__main__":
    main()
