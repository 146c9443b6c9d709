"""The stages `reference_models` and `pretrained`: reference models from outside, on each fold."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from heed.files import (
    HeedError,
    read_json,
    reading,
    verify_checksums,
    write_json,
    writing_folder,
)
from heed.paths import (
    EMBEDDINGS,
    ENCODER_FACTS,
    REFERENCE_MODELS,
    STATISTICS,
    TOKENS,
    VECTORS,
    pretrained_folder,
)
from heed.task import task_module
from heed.task.interface import DeclaredExperiment, Fitted
from heed.terminal import print_line
from heed.tokens.arrays import load_tokens, open_array
from heed.tokens.meta import Meta


def write_reference_models(name: str, experiment: DeclaredExperiment) -> None:
    """Fit the reference models of an experiment; write results/reference_models/NAME.

    Raises HeedError: no tokens; a corpus without the experiment's label; nothing to learn.
    """
    tokens = load_tokens(TOKENS / experiment.corpus)
    data = _resolve_data(name, experiment, tokens.meta)
    fitted: Fitted = task_module(experiment.task, "reference_models").fit(tokens, data, experiment)
    with writing_folder(REFERENCE_MODELS / name, checksums=True) as out:
        _write(fitted, out)


def write_pretrained(corpus: str, experiments: Mapping[str, DeclaredExperiment]) -> None:
    """Fit the linear model on the vectors of a corpus's documents, for each experiment on it.

    Writes results/reference_models/CORPUS.pretrained/EXPERIMENT. Raises HeedError: no tokens, no
    vectors, or those of other documents.
    """
    tokens, folder, command = (
        load_tokens(TOKENS / corpus),
        EMBEDDINGS / corpus,
        f"heed embed {corpus}",
    )
    verify_checksums(folder, command)
    with reading(folder / VECTORS, command):
        vectors = open_array(folder / VECTORS)
    facts = read_json(folder / ENCODER_FACTS, command)
    if len(vectors) != tokens.meta.documents:
        raise HeedError(f"{folder}: of other documents than data/tokens. Run again: {command}")
    with writing_folder(pretrained_folder(corpus), checksums=True) as out:
        for name, experiment in experiments.items():
            data = _resolve_data(name, experiment, tokens.meta)
            part = task_module(experiment.task, "reference_models")
            fitted: Fitted = part.fit_pretrained(tokens, data, experiment, vectors)
            (out / name).mkdir()
            _write(fitted, out / name)
            write_json(out / name / ENCODER_FACTS, facts)
            for key, folds in fitted.selection.items():
                if key.startswith("validation_"):  # for each fold the scores of all C
                    score = fmean(map(max, folds))
                    print_line(f"{name}: pretrained: {key.replace('_', ' ')} {score:.4f}")


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
