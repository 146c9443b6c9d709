"""The stages `reference_models` and `pretrained`: reference models from outside, on each fold."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from heed.files import HeedError, read_json, reading, verify_checksums, write_json, writing_folder
from heed.hyperparameters.pretrained import Encoder, Pretrained
from heed.paths import (
    EMBEDDINGS,
    ENCODER_FACTS,
    REFERENCE_MODELS,
    STATISTICS,
    TOKENS,
    VECTORS,
    encoder_explanation_folder,
    pretrained_folder,
)
from heed.progress import progress_bar
from heed.tables import write_csv
from heed.task import task_module
from heed.task.interface import DeclaredExperiment, Fitted
from heed.terminal import print_line
from heed.tokens.arrays import load_tokens, open_array
from heed.tokens.meta import Meta
from heed.training import machine

# from a report of progress, the tables of each reading of an encoder's attention
Explains = Callable[[Callable[[int, int], None]], dict[str, dict[str, pd.DataFrame]]]


def write_reference_models(name: str, experiment: DeclaredExperiment) -> None:
    """Fit the reference models of an experiment; write results/reference_models/NAME.

    Raises HeedError: no tokens; a corpus without the experiment's label; nothing to learn.
    """
    tokens = load_tokens(TOKENS / experiment.corpus)
    data = _resolve_data(name, experiment, tokens.meta)
    fitted: Fitted = task_module(experiment.task, "reference_models").fit(tokens, data, experiment)
    with writing_folder(REFERENCE_MODELS / name, checksums=True) as out:
        _write(fitted, out)


def write_pretrained(
    corpus: str, declared: Pretrained, encoder: Encoder,
    experiments: Mapping[str, DeclaredExperiment], cores: int,
) -> None:  # fmt: skip
    """Fit the linear model on the vectors of a corpus's documents, or tune their encoder, for each
    experiment on it.

    Writes results/reference_models/CORPUS.pretrained/EXPERIMENT, and the tests of its attention in
    results/explain/CORPUS.pretrained/EXPERIMENT. Raises HeedError: no tokens, no vectors, or those
    of other documents; an encoder that is not the declared one.
    """
    machine.make_deterministic()
    tokens = load_tokens(TOKENS / corpus)
    folder, command = EMBEDDINGS / corpus, f"heed pretrained --vectors {corpus}"
    verify_checksums(folder, command)
    with reading(folder / VECTORS, command):
        vectors = open_array(folder / VECTORS)
    facts = read_json(folder / ENCODER_FACTS, command) | ({"tuned": True} if declared.tune else {})
    if len(vectors) != tokens.meta.documents:
        raise HeedError(f"{folder}: has other documents than data/tokens. Run again: {command}")
    with (
        writing_folder(pretrained_folder(corpus), checksums=True) as out,
        writing_folder(encoder_explanation_folder(corpus), checksums=True) as explained,
    ):
        for name, experiment in experiments.items():
            data = _resolve_data(name, experiment, tokens.meta)
            part = task_module(experiment.task, "encoders")
            fit = part.tune if declared.tune else part.fit_frozen
            fitted, load = fit(tokens, data, experiment, vectors, encoder, declared)
            (out / name).mkdir()
            _write(fitted, out / name)
            write_json(out / name / ENCODER_FACTS, facts)
            for key, folds in fitted.selection.items():
                if key.startswith("validation_"):  # for each fold the scores of all C, or epochs
                    score = fmean(map(max, folds))
                    print_line(f"{name}: pretrained: {key.replace('_', ' ')} {score:.4f}")
            if declared.explain:
                explain = functools.partial(
                    part.explain_encoder, load(), tokens, data, declared.explain, cores
                )
                _write_explanation(name, explain, explained / name)


def _write_explanation(name: str, explain: Explains, folder: Path) -> None:
    """Write the tables of each reading of an encoder's attention, and print their means."""
    with progress_bar(f"{name}: attention of the encoder") as bar:
        explained = explain(bar.update)
    means = {}
    for kind, tables in explained.items():
        summary = tables.pop("summary")
        (folder / kind).mkdir(parents=True)
        for table, values in tables.items():
            values.to_parquet(folder / kind / f"{table}.parquet", index=False)
        write_csv(folder / kind / "summary.csv", summary)
        of_all = summary[summary["class"].isna()].fillna({"ranking": ""})
        means[kind] = of_all.dropna(subset="mean").set_index(["measure", "ranking"])["mean"]
        means[kind]["marks_weight", ""] = tables["documents"]["marks_weight"].mean()
    table = pd.DataFrame(means).to_string(float_format="{:.3f}".format)
    print_line(f"{name}: means over {len(tables['documents'])} test documents\n{table}")


def _resolve_data(name: str, experiment: DeclaredExperiment, meta: Meta) -> Any:
    values = dataclasses.asdict(experiment.data)
    schema = task_module(experiment.task, "recipe")
    return schema.resolve_data(values, meta, f"experiments.{name}.data")


def _write(fitted: Fitted, out: Path) -> None:
    """Write the predictions, the statistics and the choice of an experiment's reference models."""
    statistics = []
    for (reference_model, fold), table in fitted.predictions.items():
        table.to_parquet(out / f"{reference_model}-{fold}.parquet", index=False)
        test = table[table["split"] == "test"]
        fold_statistics = fitted.statistics(test)
        fold_statistics.insert(0, "reference_model", reference_model)
        fold_statistics.insert(1, "fold", fold)
        fold_statistics.insert(2, "id", test["id"].to_numpy())
        statistics.append(fold_statistics)
    pd.concat(statistics, ignore_index=True).to_parquet(out / STATISTICS, index=False)
    write_json(out / "reference_models.json", fitted.selection)
