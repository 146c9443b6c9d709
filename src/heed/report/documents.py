"""The document browser: what a model attended to, word by word, as in Yang et al. 2016, figures 5
and 6.

One page a model, so that an edition without any corpus text is the same report without this folder.
"""

import dataclasses
from pathlib import Path
from typing import Any

import pandas as pd

from heed.files import reading
from heed.hyperparameters import Architecture
from heed.paths import PREDICTED
from heed.report.language import say

READ_FIRST = 10  # words in each document's table
POOLINGS = {
    "last": "the pooling reads the last state of each direction",
    "mean": "the pooling counts all positions alike",
    "max": "a word’s weight in the pooling is the share of features whose maximum stands there",
    "attention": "a word’s weight in the pooling is that of a learned query",
    "max-attention": "a word’s weight in the pooling is that of the text’s own maximum as query",
}
FAINT = 0.05  # of a document's largest weight: words below it are not shaded


@dataclasses.dataclass(frozen=True)
class Piece:
    """A stretch of text: a word with its `shade` from 0 to 1, or what stands between words, with
    None.
    """

    text: str
    shade: float | None = None
    weight: float = 0.0
    evidence: bool = False


@dataclasses.dataclass(frozen=True)
class Sentence:
    """Pieces of one sentence; `weight` for models that know sentences, with `shade` relative to the
    largest.
    """

    pieces: list[Piece]
    weight: float | None = None
    shade: float = 0.0


@dataclasses.dataclass(frozen=True)
class Said:
    """What a variant said of a document over the seeds that were tested on it: classes with how
    often, most often first.
    """

    variant: str
    classes: list[tuple[str, int]]
    right: str  # always, sometimes, never


@dataclasses.dataclass(frozen=True)
class Document:
    """One document of the browser."""

    id: str
    label: str
    predicted: str
    probability: float
    rule: str
    sentences: list[Sentence]
    unread: str
    first: list[tuple[str, float]]  # the words with the largest weights
    said: list[Said]

    @property
    def right(self) -> bool:
        """Whether the model predicted the truth."""
        return self.label == self.predicted


@dataclasses.dataclass(frozen=True)
class Evidence:
    """The share of weight on planted evidence, the share of words that are evidence, and in how
    many documents.
    """

    weight: float
    words: float
    documents: int


@dataclasses.dataclass(frozen=True)
class Browser:
    """All that one model's page shows."""

    documents: list[Document]
    evidence: Evidence | None
    sentences: bool
    classes: list[str]  # that occur as truth


def how(hyperparameters: Architecture) -> str:
    """Return, in a sentence, what one weight a word means for this model: weights differ by
    pooling.
    """
    pooling = POOLINGS[hyperparameters.pooling]
    if hyperparameters.attention == "none":
        return say("Here {pooling}.", pooling=say(pooling))
    return say(
        (
            "Here self-attention comes first, with the mean over its heads; {pooling}, and hands "
            "its weights on through it."
        ),
        pooling=say(pooling),
    )


def browser(folder: Path, others: dict[str, Path]) -> Browser:
    """Return the page of the model whose predictions are in `folder`, beside what `others`
    (variant: folder) said of its documents.

    Raises:
        HeedError: a file is missing or broken.

    """
    documents, weights = _read(folder / "documents.parquet"), _read(folder / "weights.parquet")
    tokens = dict(list(weights.groupby("id", sort=False)))
    said: dict[str, list[Said]] = {name: [] for name in documents["id"]}
    for variant, other in others.items():
        answers = _read(other / PREDICTED, ["id", "split", "label", "predicted"])
        answers = answers[(answers["split"] == "test") & answers["id"].isin(said)]
        for name, rows in answers.groupby("id", sort=False):
            said[str(name)].append(_said(variant, rows))
    found = [_document(row, tokens[row.id], said[row.id]) for row in _rows(documents)]
    sentences = bool(weights["sentence_weight"].notna().any())
    return Browser(found, _evidence(weights), sentences, sorted(set(documents["label"])))


def _read(path: Path, columns: list[str] | None = None) -> pd.DataFrame:
    with reading(path, f"heed predict {path.parent.name}"):
        return pd.read_parquet(path, columns=columns)


def _said(variant: str, rows: pd.DataFrame) -> Said:
    counts = rows["predicted"].value_counts()
    classes = sorted(
        ((str(name), int(count)) for name, count in counts.items()),
        key=lambda each: (-each[1], each[0]),
    )
    right = int((rows["label"] == rows["predicted"]).sum())
    return Said(
        variant, classes, "always" if right == len(rows) else "sometimes" if right else "never"
    )


def _rows(frame: pd.DataFrame) -> list[Any]:
    """Return the rows as named tuples, whose types no checker knows."""
    return list(frame.itertuples())


def _evidence(weights: pd.DataFrame) -> Evidence | None:
    planted = weights.groupby("id")["evidence"].transform("any")
    part = weights[planted]
    if part.empty:
        return None
    by_document = part.groupby("id")
    weight = (part["weight"] * part["evidence"]).groupby(part["id"]).sum()
    return Evidence(float(weight.mean()), float(by_document["evidence"].mean().mean()), len(weight))


def _document(row: Any, tokens: pd.DataFrame, said: list[Said]) -> Document:
    largest = max(float(tokens["weight"].max()), 1e-12)
    of_sentences = tokens.groupby("sentence")["sentence_weight"].first()
    top = float(of_sentences.max()) if of_sentences.notna().any() else None
    sentences: list[Sentence] = []
    at = 0
    for number, part in tokens.groupby("sentence"):
        pieces = []
        for word in _rows(part):
            if word.start > at:
                pieces.append(
                    Piece(_between(row.text[at : word.start], skipped=bool(at) or word.start > 0))
                )
            shade = float(word.weight) / largest
            text = row.text[word.start : word.end]
            pieces.append(
                Piece(
                    text, shade if shade >= FAINT else None, float(word.weight), bool(word.evidence)
                )
            )
            at = word.end
        weight = float(of_sentences.loc[number])
        sentences.append(
            Sentence(pieces) if top is None else Sentence(pieces, weight, weight / top)
        )
    heaviest = tokens.nlargest(READ_FIRST, "weight", keep="first")
    first = [(row.text[word.start : word.end], float(word.weight)) for word in _rows(heaviest)]
    return Document(
        row.id,
        row.label,
        row.predicted,
        float(row.probability),
        row.rule,
        sentences,
        row.text[at:].strip(),
        first,
        said,
    )


def _between(text: str, skipped: bool) -> str:
    """Return what stands between two words that were read: white space, or an ellipsis for words
    that were not read.
    """
    return text if text.isspace() or not skipped else " […] "
