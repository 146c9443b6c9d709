"""The document browser: a model's attention weights in documents (Yang et al. 2016, figures 5, 6).

There is a page for each model, in a folder of its own: an edition of the report without corpus text
leaves this folder out.
"""

import dataclasses
from pathlib import Path
from typing import Any

import pandas as pd

from heed.files import reading
from heed.hyperparameters.classifier import Architecture
from heed.paths import PREDICTED
from heed.recipe import CorpusFacts
from heed.report.language import say
from heed.tasks.multilabel.labels import joined

MAX_WORDS = 10  # in the table of each document
POOLINGS = {
    "last": "the pooling reads the last state of each direction",
    "mean": "the pooling counts all positions alike",
    "max": "a word’s weight in the pooling is the share of features that have their maximum at "
    "this word",
    "attention": "a word’s weight in the pooling is that of a learned query",
    "max-attention": "a word’s weight in the pooling is that of the text’s own maximum as query",
}
# kind of evidence → what its words are; generated: planted by heed, in text that it made
EVIDENCE = {
    "generated": "the words that decide the label, planted when heed generated the text",
    "planted": "the words that the label is of, planted in other text by the corpus’s authors",
    "human": "the words that people marked as the reason for the label",
    "given": "the words that the corpus’s own file marks",
}
MIN_SHADE = 0.05  # of a document's largest weight: words below it are not shaded


@dataclasses.dataclass(frozen=True)
class Piece:
    """A word with its `shade` from 0 to 1, or the text between two words, with None."""

    text: str
    shade: float | None = None
    weight: float = 0.0
    evidence: bool = False


@dataclasses.dataclass(frozen=True)
class Sentence:
    """The pieces of a sentence; hierarchical models have its `weight` and `shade`.

    `shade` is the weight over the largest weight of the document's sentences.
    """

    pieces: list[Piece]
    weight: float | None = None
    shade: float = 0.0


@dataclasses.dataclass(frozen=True)
class VariantPredictions:
    """The predictions of a variant for a document, over the seeds that were tested on it."""

    variant: str
    classes: list[tuple[str, int]]  # with counts, the most frequent first
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
    heaviest: list[tuple[str, float]]  # the words with the largest weights
    predictions: list[VariantPredictions]

    @property
    def right(self) -> bool:
        """Whether the model predicted the truth."""
        return self.label == self.predicted


@dataclasses.dataclass(frozen=True)
class Evidence:
    """The shares of weight on evidence and of words that are evidence, with documents."""

    weight: float
    words: float
    documents: int


@dataclasses.dataclass(frozen=True)
class Browser:
    """The content of one model's page."""

    documents: list[Document]
    evidence: Evidence | None
    sentences: bool
    classes: list[str]  # the true classes that occur


def describe_weights(hyperparameters: Architecture) -> str:
    """Return what a word's weight means, and that a linear branch has a part in the prediction."""
    sentences = [_describe_pooling(hyperparameters)]
    if hyperparameters.encoder == "transformer":
        sentences.append(
            say(
                "The states come from a transformer: each of them has read all words, through "
                "attention that is not part of these weights."
            )
        )
    if hyperparameters.linear_branch != "none":
        sentences.append(
            say(
                "The prediction is the network's and the linear branch's together: what the "
                "branch adds (linear_branch: {features}) is in no word's weight.",
                features=hyperparameters.linear_branch,
            )
        )
    return " ".join(sentences)


def describe_evidence(facts: CorpusFacts) -> str:
    """Return what the evidence of a corpus is; empty when it has none."""
    if facts.evidence is None:
        return ""
    is_generated = facts.generated and facts.evidence.kind == "planted"
    description = EVIDENCE["generated" if is_generated else facts.evidence.kind]
    return say(description)


def _describe_pooling(hyperparameters: Architecture) -> str:
    """Return the meaning of a word's weight, which depends on the pooling."""
    pooling = POOLINGS[hyperparameters.pooling]
    if hyperparameters.attention == "none":
        return say("Here {pooling}.", pooling=say(pooling))
    return say(
        (
            "Here self-attention comes first, with the mean over its heads; {pooling}, and its "
            "weights are multiplied by those of self-attention."
        ),
        pooling=say(pooling),
    )


def read_browser(folder: Path, others: dict[str, Path]) -> Browser:
    """Return the browser of a model.

    Args:
        folder: the predictions of the model.
        others: the predictions of the variants that the page compares, by variant.

    Raises:
        HeedError: a file is missing or broken.

    """
    documents, weights = _read(folder / "documents.parquet"), _read(folder / "weights.parquet")
    tokens = dict(list(weights.groupby("id", sort=False)))
    predictions: dict[str, list[VariantPredictions]] = {name: [] for name in documents["id"]}
    for variant, other in others.items():
        table = _read(other / PREDICTED, ["id", "split", "label", "predicted"])
        table = table[(table["split"] == "test") & table["id"].isin(predictions)]
        table = table.assign(**{key: table[key].map(_text) for key in ("label", "predicted")})
        for name, rows in table.groupby("id", sort=False):
            predictions[str(name)].append(_count_predictions(variant, rows))
    return Browser(
        [_document(row, tokens[row.id], predictions[row.id]) for row in _rows(documents)],
        _evidence(weights),
        bool(weights["sentence_weight"].notna().any()),
        sorted(set(documents["label"])),
    )


def _read(path: Path, columns: list[str] | None = None) -> pd.DataFrame:
    with reading(path, f"heed predict {path.parent.name}"):
        return pd.read_parquet(path, columns=columns)


def _text(prediction: Any) -> str:
    """Return a class, or the classes of a multi-label prediction, as `documents` has them."""
    return prediction if isinstance(prediction, str) else joined(prediction)


def _count_predictions(variant: str, rows: pd.DataFrame) -> VariantPredictions:
    counts = rows["predicted"].value_counts()
    classes = sorted(
        ((str(name), int(count)) for name, count in counts.items()),
        key=lambda each: (-each[1], each[0]),
    )
    right = int((rows["label"] == rows["predicted"]).sum())
    return VariantPredictions(
        variant, classes, "always" if right == len(rows) else "sometimes" if right else "never"
    )


def _rows(frame: pd.DataFrame) -> list[Any]:
    """Return the rows as named tuples; mypy does not know their types."""
    return list(frame.itertuples())


def _evidence(weights: pd.DataFrame) -> Evidence | None:
    """Return the shares of evidence in the documents that have any; None without any."""
    weights = weights[weights.groupby("id")["evidence"].transform("any")]
    if weights.empty:
        return None
    by_document = weights.groupby("id")
    weight = (weights["weight"] * weights["evidence"]).groupby(weights["id"]).sum()
    return Evidence(float(weight.mean()), float(by_document["evidence"].mean().mean()), len(weight))


def _document(row: Any, tokens: pd.DataFrame, predictions: list[VariantPredictions]) -> Document:
    heaviest = tokens.nlargest(MAX_WORDS, "weight", keep="first")
    return Document(
        row.id,
        row.label,
        row.predicted,
        float(row.probability),
        row.rule,
        _sentences(row.text, tokens),
        row.text[tokens["end"].max() :].strip(),
        [(row.text[word.start : word.end], float(word.weight)) for word in _rows(heaviest)],
        predictions,
    )


def _sentences(text: str, tokens: pd.DataFrame) -> list[Sentence]:
    """Return the sentences of a text with the weights of its tokens."""
    largest = max(float(tokens["weight"].max()), 1e-12)
    weights = tokens.groupby("sentence")["sentence_weight"].first()
    largest_sentence = float(weights.max()) if weights.notna().any() else None
    sentences: list[Sentence] = []
    end = 0  # of the word before
    for number, words in tokens.groupby("sentence"):
        pieces = []
        for word in _rows(words):
            if word.start > end:
                pieces.append(Piece(_gap(text[end : word.start])))
            weight = float(word.weight)
            shade = weight / largest if weight / largest >= MIN_SHADE else None
            pieces.append(Piece(text[word.start : word.end], shade, weight, bool(word.evidence)))
            end = word.end
        if largest_sentence is None:
            sentences.append(Sentence(pieces))
        else:
            weight = float(weights.loc[number])
            sentences.append(Sentence(pieces, weight, weight / largest_sentence))
    return sentences


def _gap(text: str) -> str:
    """Return the text between two words: white space, or an ellipsis for words left out."""
    return text if text.isspace() else " […] "
