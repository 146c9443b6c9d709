"""The document browser: a model's weights in documents (Yang et al. 2016, figures 5 and 6)."""

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heed.files import reading
from heed.paths import PREDICTED

MAX_WORDS = 10  # in the table of each document
MIN_SHADE = 0.05  # of the full colour: words below it are not shaded
# The full colour is the heaviest word's, but at least this multiple of the mean: without it, a text
# whose words weigh all alike would have the full colour everywhere.
FULL_COLOUR = 3


class Piece(NamedTuple):
    """A word with its `shade` from 0 to 1, or the text between two words, with None."""

    text: str
    shade: float | None = None
    weight: float = 0.0
    rationale: bool = False


class Sentence(NamedTuple):
    """Its pieces; in a hierarchical model its `weight`, and `shade`: over the largest weight."""

    pieces: list[Piece]
    weight: float | None = None
    shade: float = 0.0


class Legend(NamedTuple):
    """The legend of shaded texts: whether words and sentences are marked."""

    rationale: bool
    sentences: bool


@dataclasses.dataclass(frozen=True, eq=False)
class ShownDocument:
    """One document of the browser, chosen by `rule`."""

    tokens: pd.DataFrame  # a row for each token that was read, as weights.parquet has it
    # of each variant over the seeds that were tested on it: `classes` with counts, the most
    # frequent first, and how often they are `right`
    predictions: list[dict[str, Any]]
    id: str
    text: str
    label: str
    predicted: str
    probability: float
    rule: str

    @property
    def right(self) -> bool:
        """Whether the model predicted the true class."""
        return self.label == self.predicted

    @property
    def rationale_share(self) -> float:
        """The share of weight on its rationale; NaN where it has none."""
        weights, rationale = self.tokens["weight"], self.tokens["rationale"]
        return float(weights[rationale].sum()) if rationale.any() else math.nan

    @property
    def sentences(self) -> list[Sentence]:
        """The whole text that was read, shaded."""
        return shade_sentences(self.text, self.tokens)

    @property
    def unread(self) -> str:
        """The rest of the text, beyond the length cap."""
        return self.text[self.tokens["end"].max() :].strip()

    @property
    def heaviest(self) -> list[tuple[str, float]]:
        """The words with the largest weights."""
        words = self.tokens.nlargest(MAX_WORDS, "weight")
        return [(self.text[word.start : word.end], word.weight) for word in _rows(words)]


class Browser(NamedTuple):
    """A model's page; a rule chose its documents, so no mean over them is one of the corpus."""

    documents: list[ShownDocument]
    legend: Legend  # of the shaded texts


def read_browser(folder: Path, others: dict[str, Path]) -> Browser:
    """Return a model's browser; `others`: predictions beside it. Raises HeedError, of a file."""
    names = "documents.parquet", "weights.parquet"
    documents, weights = (read_prediction_table(folder / name) for name in names)
    tokens: dict[Any, pd.DataFrame] = dict(list(weights.groupby("id", sort=False)))
    predictions: dict[str, list[dict[str, Any]]] = {name: [] for name in documents["id"]}
    for variant, other in others.items():
        table = read_prediction_table(other / PREDICTED)
        table = table[(table["split"] == "test") & table["id"].isin(documents["id"])]
        for name, rows in table.groupby("id", sort=False):
            right = rows["label"] == rows["predicted"]
            often = "always" if right.all() else "sometimes" if right.any() else "never"
            classes = Counter(sorted(rows["predicted"])).most_common()
            predictions[str(name)].append({"variant": variant, "classes": classes, "right": often})
    read = [ShownDocument(tokens[e.id], predictions[e.id], **e._asdict()) for e in _rows(documents)]
    has_sentences = bool(weights["sentence_weight"].notna().any())
    return Browser(read, Legend(bool(weights["rationale"].any()), has_sentences))


def read_prediction_table(path: Path) -> pd.DataFrame:
    """Return a table of `heed score`. Raises HeedError: it is missing or broken."""
    with reading(path, f"heed score {path.parent.parent.name}"):
        return pd.read_parquet(path)


def _rows(table: pd.DataFrame) -> Iterable[Any]:
    return table.itertuples(index=False)


def typical_documents(documents: pd.DataFrame, limit: int) -> dict[str, int]:
    """Return by class the row of the document that is nearest to the median of its class.

    The median is of `share`, the weight on the rationale, or in a class without one of `largest`,
    the largest weight of a word. Only documents with `shown` are chosen; ties go to the fewest
    `words`, then to the first. More classes than `limit`: those with the most documents.
    """
    labels = documents["label"]
    has_share = documents["share"].groupby(labels).transform("count") > 0
    values = documents["share"].where(has_share, documents["largest"])
    distance = (values - values.groupby(labels).transform("median")).abs().round(9)
    order = documents.assign(distance=distance).sort_values(["distance", "words"], kind="stable")
    order = order[order["shown"]]
    classes = labels.value_counts(sort=False)[order["label"].unique()].nlargest(limit).index
    return {str(label): order.index[order["label"] == label][0] for label in sorted(classes)}


def shade_sentences(
    text: str, tokens: pd.DataFrame, shown: pd.Index | None = None
) -> list[Sentence]:
    """Return the sentences of a text with the weights of its tokens, or of those that are shown.

    Shades are relative to the heaviest of all tokens (see `full_colour`). A hierarchical model's
    word is shaded by sqrt(p_s) p_w, with the weights p_s of its sentence and p_w within the
    sentence, so that words of light sentences can be seen as well (Yang et al. 2016, section 3.6).
    """
    strengths = tokens["weight"] / np.sqrt(tokens["sentence_weight"].fillna(1.0).clip(lower=1e-12))
    largest = float(tokens["sentence_weight"].max())  # NaN where no sentence has a weight
    tokens = tokens.assign(shade=strengths / full_colour(strengths.to_numpy()))
    tokens = tokens if shown is None else tokens.loc[shown]
    sentences, end = [], math.inf  # of the word before
    for _, words in tokens.groupby("sentence", sort=False):
        pieces = []
        for word in _rows(words):
            if word.start > end:  # white space, or an ellipsis for words left out
                between = text[int(end) : word.start]
                pieces.append(Piece(between if between.isspace() else " […] "))
            shade, end = word.shade if word.shade >= MIN_SHADE else None, word.end
            pieces.append(Piece(text[word.start : end], shade, word.weight, bool(word.rationale)))
        own = float(words["sentence_weight"].iloc[-1])
        sentences.append(Sentence(pieces, *([] if math.isnan(largest) else [own, own / largest])))
    return sentences


def full_colour(weights: np.ndarray) -> float:
    """Return the weight that has the full colour: the largest, or three times the mean."""
    return max(float(weights.max()), FULL_COLOUR * float(weights.mean()), 1e-12)


def excerpt(tokens: pd.DataFrame, words: int) -> pd.DataFrame:
    """Return at most `words` successive tokens: those with the most weight on the rationale.

    Ties, to the percent, go to the most weight, then to the most words of the rationale. If there
    is room, a quarter of the words comes before it.
    """
    if len(tokens) <= words:
        return tokens
    weights, rationale = tokens["weight"], tokens["rationale"].fillna(0).astype(float)
    values = np.stack([weights * rationale, weights, rationale])
    sums = np.cumsum(np.pad(values, ((0, 0), (1, 0))), axis=1)
    on_rationale, weight, count = sums[:, words:] - sums[:, :-words]
    found = [*zip(on_rationale.round(2), weight.round(6), count, strict=True)]
    best = max(found)
    starts = np.array([start for start, score in enumerate(found) if score == best])
    adjoining = starts[starts - starts[0] == np.arange(len(starts))]
    start = max(int(adjoining[-1]) - words // 4, int(adjoining[0]))
    return tokens.iloc[start : start + words]
