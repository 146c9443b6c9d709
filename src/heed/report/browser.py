"""The document browser: a model's weights in documents (Yang et al. 2016, figures 5 and 6).

There is a page for each model, in a folder of its own: a copy of the report without corpus text
leaves this folder out.
"""

import dataclasses
import itertools
import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heed.files import reading
from heed.hyperparameters.classifier import Architecture
from heed.paths import PREDICTED
from heed.recipe import CorpusStatistics


@dataclasses.dataclass(frozen=True)
class Piece:
    """A word with its `shade` from 0 to 1, or the text between two words, with None."""

    text: str
    shade: float | None = None
    weight: float = 0.0
    rationale: bool = False


@dataclasses.dataclass(frozen=True)
class Sentence:
    """The pieces of a sentence; hierarchical models have its `weight` and `shade`.

    `shade` is the weight over the largest weight of the document's sentences.
    """

    pieces: list[Piece]
    weight: float | None = None
    shade: float = 0.0


@dataclasses.dataclass(frozen=True)
class Legend:
    """The legend of shaded texts: whether words and sentences are marked."""

    rationale: bool
    sentences: bool


@dataclasses.dataclass(frozen=True)
class ShadedText:
    """A text as a model read it: its words shaded by weight."""

    sentences: list[Sentence]

    @property
    def full_colour(self) -> float:
        """The weight of a word that has the full colour; 0 where there is none.

        The shades of a hierarchical model's words are not those of their weights.
        """
        sentences = (each for each in self.sentences if each.weight is None)
        shaded = [
            (each.shade, each.weight) for one in sentences for each in one.pieces if each.shade
        ]
        shade, weight = max(shaded, default=(1.0, 0.0))
        return weight / shade


MAX_WORDS = 10  # in the table of each document
POOLINGS = {
    "last": "the pooling reads the last state of each direction",
    "mean": "the pooling counts all positions alike",
    "max": "a word’s weight in the pooling is the share of features that have their maximum at "
    "this word",
    "attention": "a word’s weight in the pooling is that of a learned query",
    "max-attention": "a word’s weight in the pooling is that of the text’s own maximum as query",
}
ENCODED = {
    "embeddings": " There is no recurrence: the weights are of the words’ embeddings themselves, "
    "and no word has read another.",
    "transformer": " The states come from a transformer: each of them has read all words, through "
    "attention that is not part of these weights.",
}
# kind of rationale → what its words are; generated: planted by heed, in text that it made
RATIONALE = {
    "generated": "the words that decide the label, planted when heed generated the text",
    "planted": "the words that the label is of, planted in other text by the corpus’s authors",
    "passage": "the words of the sentence that the label is of, put before others by the corpus’s "
    "authors: most of them do not decide it",
    "human": "the words that people marked as the reason for the label",
    "given": "the words that the corpus’s own file marks",
}
MIN_SHADE = 0.05  # of the full colour: words below it are not shaded
# The full colour is the heaviest word's, but at least so many times the mean: without it, a text
# whose words weigh all alike would have the full colour everywhere.
FULL_COLOUR = 3


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
    text: str
    tokens: pd.DataFrame  # a row for each token that was read, as weights.parquet has it
    sentences: list[Sentence]
    unread: str
    heaviest: list[tuple[str, float]]  # the words with the largest weights
    predictions: list[VariantPredictions]

    @property
    def right(self) -> bool:
        """Whether the model predicted the true class."""
        return self.label == self.predicted

    @property
    def rationale_share(self) -> float:
        """The share of weight on its rationale; NaN where it has none."""
        weights, rationale = self.tokens["weight"], self.tokens["rationale"]
        return float(weights[rationale].sum()) if rationale.any() else math.nan


@dataclasses.dataclass(frozen=True)
class Browser:
    """The content of one model's page.

    A rule chose its documents, so no mean, median or share over them is one of the corpus.
    """

    documents: list[Document]
    legend: Legend  # of the shaded texts
    classes: list[str]  # the true classes that occur


def describe_weights(hyperparameters: Architecture) -> str:
    """Return the meaning of a word's weight."""
    h, pooling = hyperparameters, POOLINGS[hyperparameters.pooling]
    pooling += " and the mean of the embeddings" * (h.skip and h.pooling == "last")
    text = (
        f"Here {pooling}."
        if h.attention == "none"
        else f"Here self-attention comes first, with the mean over its heads; {pooling}, and its "
        "weights are multiplied by those of self-attention."
    )
    return text + ENCODED.get(h.encoder, "")


def describe_rationale(statistics: CorpusStatistics) -> str:
    """Return what the rationale of a corpus is; empty when it has none."""
    if statistics.rationale is None:
        return ""
    is_generated = statistics.generated and statistics.rationale.kind == "planted"
    return RATIONALE["generated" if is_generated else statistics.rationale.kind]


def read_browser(folder: Path, others: dict[str, Path]) -> Browser:
    """Return the browser of a model from its predictions; `others` are of the variants beside it.

    Raises HeedError: a file is missing or broken.
    """
    documents, weights = (
        read_prediction_table(folder / f"{name}.parquet") for name in ("documents", "weights")
    )
    tokens = dict(list(weights.groupby("id", sort=False)))
    predictions: dict[str, list[VariantPredictions]] = {name: [] for name in documents["id"]}
    for variant, other in others.items():
        for name, rows in read_predictions(other, [*predictions]).items():
            predictions[name].append(_count_predictions(variant, rows))
    rows_of_documents: list[Any] = list(documents.itertuples())  # mypy does not know their types
    has_rationale, has_sentences = weights["rationale"], weights["sentence_weight"].notna()
    return Browser(
        [_document(row, tokens[row.id], predictions[row.id]) for row in rows_of_documents],
        Legend(bool(has_rationale.any()), bool(has_sentences.any())),
        sorted(set(documents["label"])),
    )


def list_documents(documents: list[Document], shown: Collection[str] = ()) -> pd.DataFrame:
    """Return the documents as `typical_documents` takes them; `shown` are ids."""
    return pd.DataFrame(
        {
            "label": [each.label for each in documents],
            "share": [each.rationale_share for each in documents],
            "largest": [each.tokens["weight"].max() for each in documents],
            "words": [len(each.tokens) for each in documents],
            "shown": [each.id in shown for each in documents],
        }
    )


def typical_documents(documents: pd.DataFrame, limit: int) -> dict[str, int]:
    """Return by class the row of the document that is nearest to the median of its class.

    The median is of `share`, the weight on the rationale, or in a class without one of `largest`,
    the largest weight of a word. Those with `shown` are chosen from; of as near ones that with the
    fewest `words`, then the first. Of more classes than `limit`, those with the most documents.
    """
    labels = documents["label"]
    has_share = documents["share"].groupby(labels).transform("count") > 0
    values = documents["share"].where(has_share, documents["largest"])
    distance = (values - values.groupby(labels).transform("median")).abs().round(9)
    order = documents.assign(distance=distance).sort_values(["distance", "words"], kind="stable")
    order = order[order["shown"]]
    classes = labels.value_counts(sort=False)[order["label"].unique()].nlargest(limit).index
    return {str(label): order.index[order["label"] == label][0] for label in sorted(classes)}


def read_predictions(folder: Path, names: list[str]) -> dict[str, pd.DataFrame]:
    """Return a model's predictions of these test documents by id, with its seeds in order.

    Raises HeedError: a broken file.
    """
    table = read_prediction_table(folder / PREDICTED)
    table = table[(table["split"] == "test") & table["id"].isin(names)].sort_values("seed")
    return {str(name): rows for name, rows in table.groupby("id", sort=False)}


def read_prediction_table(path: Path, columns: list[str] | None = None) -> pd.DataFrame:
    """Return a table of `heed score`. Raises HeedError: it is missing or broken."""
    with reading(path, f"heed score {path.parent.parent.name}"):
        return pd.read_parquet(path, columns=columns)


def _count_predictions(variant: str, rows: pd.DataFrame) -> VariantPredictions:
    counts = rows["predicted"].value_counts()
    classes = sorted(
        ((str(name), int(count)) for name, count in counts.items()),
        key=lambda each: (-each[1], each[0]),
    )
    right = rows["label"] == rows["predicted"]
    often = "always" if right.all() else "sometimes" if right.any() else "never"
    return VariantPredictions(variant, classes, often)


def _document(row: Any, tokens: pd.DataFrame, predictions: list[VariantPredictions]) -> Document:
    heaviest = tokens.sort_values("weight", ascending=False, kind="stable").iloc[:MAX_WORDS]
    words = zip(*(heaviest[name].tolist() for name in ("start", "end", "weight")), strict=True)
    return Document(
        row.id, row.label, row.predicted, float(row.probability), row.rule, row.text, tokens,
        shade_sentences(row.text, tokens), row.text[tokens["end"].max() :].strip(),
        [(row.text[start:end], weight) for start, end, weight in words], predictions,
    )  # fmt: skip


def shade_sentences(
    text: str, tokens: pd.DataFrame, shown: pd.Index | None = None
) -> list[Sentence]:
    """Return the sentences of a text with the weights of its tokens, or of those that are shown.

    Shades are relative to the heaviest of all tokens (see `full_colour`). A hierarchical model's
    word is shaded by sqrt(p_s) p_w, with the weights p_s of its sentence and p_w within the
    sentence, so that words of light sentences can be seen as well (Yang et al. 2016, section 3.6).
    """
    strengths = tokens["weight"] / np.sqrt(tokens["sentence_weight"].fillna(1.0).clip(lower=1e-12))
    shades = strengths / full_colour(strengths.to_numpy())
    names = ("sentence", "start", "end", "shade", "weight", "rationale", "sentence_weight")
    largest = float(tokens["sentence_weight"].max())  # NaN where no sentence has a weight
    tokens = tokens.assign(shade=shades).loc[tokens.index if shown is None else shown]
    words = zip(*(tokens[name].tolist() for name in names), strict=True)
    sentences: list[Sentence] = []
    end = int(tokens["start"].iloc[0]) if len(tokens) else 0  # of the word before
    for _, group in itertools.groupby(words, key=lambda word: word[0]):
        pieces, of_sentence = [], [*group]
        for _, start, word_end, shade, weight, is_rationale, _ in of_sentence:
            if start > end:  # white space, or an ellipsis for words left out
                between = text[end:start]
                pieces.append(Piece(between if between.isspace() else " […] "))
            seen = shade if shade >= MIN_SHADE else None
            pieces.append(Piece(text[start:word_end], seen, weight, bool(is_rationale)))
            end = word_end
        own = of_sentence[-1][-1]
        known = () if math.isnan(largest) else (own, own / largest)
        sentences.append(Sentence(pieces, *known))
    return sentences


def full_colour(weights: np.ndarray) -> float:
    """Return the weight that has the full colour: the largest, or three times the mean."""
    return max(float(weights.max()), FULL_COLOUR * float(weights.mean()), 1e-12)


def excerpt(tokens: pd.DataFrame, words: int) -> pd.DataFrame:
    """Return at most so many successive tokens: those with the most weight on the rationale.

    Of as much, to the percent, those with the most weight, then with the most words of the
    rationale. Where there is room, a quarter of the words stands before it.
    """
    if len(tokens) <= words:
        return tokens
    weights, rationale = tokens["weight"], tokens["rationale"].fillna(0).astype(float)
    values = np.stack([weights * rationale, weights, rationale])
    sums = np.cumsum(np.pad(values, ((0, 0), (1, 0))), axis=1)
    on_rationale, weight, count = sums[:, words:] - sums[:, :-words]
    found = [*zip(on_rationale.round(2), weight.round(6), count, strict=True)]
    best = max(found)
    starts = np.array([start for start, each in enumerate(found) if each == best])
    adjoining = starts[starts - starts[0] == np.arange(len(starts))]
    start = max(int(adjoining[-1]) - words // 4, int(adjoining[0]))
    return tokens.iloc[start : start + words]
