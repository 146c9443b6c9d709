"""The sentences of a translation that the report shows: what models wrote, and their weights."""

import dataclasses
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heed.files import reading
from heed.report.blocks import Phrase, Source, Span
from heed.report.experiments import Experiment
from heed.report.results import Results
from heed.tasks.translation.alignment import Gold, parse_links

WORD = re.compile(r"\w+|[^\w\s]")


@dataclasses.dataclass(frozen=True)
class Sentence:
    """A pair of sentences with what each model made of it, by variant.

    `weights` are those of attention between the words, (reference words, source words), of the
    models that have any; `gold` is None for a sentence without gold links.
    """

    source: str
    reference: str
    source_words: list[str]
    reference_words: list[str]
    gold: Gold | None
    translations: dict[str, str]
    weights: dict[str, np.ndarray]


def sentence_sources(results: Results, experiment: Experiment, name: str) -> tuple[Source, ...]:
    """Return the sources of all models' tables `name`: sentences or weights."""
    models = results.models(experiment).values()
    return results.sources.add(*(_path(results, model, name) for model in models))


def read_sentences(results: Results, experiment: Experiment) -> list[Sentence]:
    """Return the sentences, which are the same for all models, in the order of their lengths.

    Raises HeedError: a file is missing or broken.
    """
    models = results.models(experiment)
    tables = {
        variant: _read(_path(results, model, "sentences")).set_index("id")
        for variant, model in models.items()
    }
    weights = {
        variant: dict(list(_read(_path(results, model, "weights")).groupby("id")))
        for variant, model in models.items()
    }
    return [
        _sentence(id_, tables, {name: each[id_] for name, each in weights.items() if id_ in each})
        for id_ in next(iter(tables.values())).index
    ]


def mark_wrong(hypothesis: str, reference: str) -> Phrase:
    """Return a translation with its wrong words marked: those that the reference does not have.

    A word that it has once is right once, as in BLEU's precision of single words (Papineni et al.
    2002, section 2.1).
    """
    left = Counter(WORD.findall(reference))
    texts: list[str | Span] = []
    end = 0
    for word in WORD.finditer(hypothesis):
        left[word[0]] -= 1
        if left[word[0]] < 0:
            texts += [hypothesis[end : word.start()], Span(word[0], "wrong")]
            end = word.end()
    return Phrase(tuple(filter(None, [*texts, hypothesis[end:]])))


def count_wrong(phrase: Phrase) -> int:
    """Return the number of words that are marked."""
    return sum(isinstance(text, Span) for text in phrase.texts)


def _path(results: Results, model: str, name: str) -> Path:
    return results.folder / "predict" / model / f"{name}.parquet"


def _read(path: Path) -> pd.DataFrame:
    with reading(path, f"heed score {path.parent.name}"):
        return pd.read_parquet(path)


def _sentence(
    id_: str, tables: dict[str, pd.DataFrame], weights: dict[str, pd.DataFrame]
) -> Sentence:
    rows: dict[str, Any] = {variant: table.loc[id_] for variant, table in tables.items()}
    row = next(iter(rows.values()))
    source_words, reference_words = list(row["source_words"]), list(row["reference_words"])
    gold = row["gold"]
    shape = len(reference_words), len(source_words)
    return Sentence(
        row["source"],
        row["reference"],
        source_words,
        reference_words,
        parse_links(gold, f"gold links of {id_}") if isinstance(gold, str) else None,
        {variant: row["hypothesis"] for variant, row in rows.items()},
        {variant: _matrix(table, shape) for variant, table in weights.items()},
    )


def _matrix(weights: pd.DataFrame, shape: tuple[int, int]) -> np.ndarray:
    """Return the weights of a sentence, (reference words, source words)."""
    matrix = np.zeros(shape)
    matrix[weights["target"].astype(int), weights["source"].astype(int)] = weights["weight"]
    return matrix
