"""Documents that attention fixed or broke: right in more, or in fewer, seeds than the baseline."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd

from heed.hyperparameters.classifier import Architecture
from heed.paths import PREDICTED
from heed.report.documents import Browser, Document, label_text, read_prediction_table

WORDS = 80  # of a longer document, those with the most weight in one piece


@dataclasses.dataclass(frozen=True)
class Answers:
    """A model's predictions of a document: a value for each seed that was tested on it.

    `probabilities` are of the true class; empty where a document has several labels.
    """

    right: tuple[bool, ...]
    predicted: tuple[str, ...]
    probabilities: tuple[float, ...]

    @property
    def seeds_right(self) -> int:
        """In how many seeds the model was right."""
        return sum(self.right)

    @property
    def probability(self) -> float | None:
        """The probability of the true class, mean over seeds."""
        return float(np.mean(self.probabilities)) if self.probabilities else None


@dataclasses.dataclass(frozen=True)
class ChangedDocument:
    """A document that two models do not get right in as many seeds.

    `tokens` are the shown ones, with the weights of attention.
    """

    document: Document
    tokens: pd.DataFrame
    baseline: Answers
    attention: Answers

    @property
    def change(self) -> int:
        """In how many more seeds attention was right than the baseline; negative: in fewer."""
        return self.attention.seeds_right - self.baseline.seeds_right


def read_changed_documents(
    browser: Browser, baseline: Path, attention: Path
) -> list[ChangedDocument]:
    """Return the documents of attention's browser whose number of right seeds changed.

    The largest change is first; ties are ordered by id.

    Args:
        browser: of the model with attention: only of its documents the weights are known.
        baseline: the predictions of the baseline.
        attention: the predictions of the model with attention.

    Raises:
        HeedError: a file is missing or broken.

    """
    documents = {document.id: document for document in browser.documents}
    without, with_attention = (
        read_answers(folder, list(documents)) for folder in (baseline, attention)
    )
    changed = [
        ChangedDocument(document, heaviest_part(document.tokens), without[name], each)
        for name, document in documents.items()
        if name in without and (each := with_attention[name])
        if each.seeds_right != without[name].seeds_right
    ]
    return sorted(changed, key=lambda each: (-abs(each.change), each.document.id))


def read_answers(folder: Path, names: list[str]) -> dict[str, Answers]:
    """Return a model's predictions of these test documents, by id.

    Raises:
        HeedError: the file is missing or broken.

    """
    table = read_prediction_table(folder / PREDICTED)
    table = table[(table["split"] == "test") & table["id"].isin(names)].sort_values("seed")
    return {str(name): _answers(rows) for name, rows in table.groupby("id", sort=False)}


def _answers(rows: pd.DataFrame) -> Answers:
    label, predicted = (rows[key].map(label_text) for key in ("label", "predicted"))
    true_class = f"p:{label.iloc[0]}"
    has_one_label = isinstance(rows["label"].iloc[0], str)
    return Answers(
        tuple(bool(each) for each in label == predicted),
        tuple(predicted),
        tuple(map(float, rows[true_class])) if has_one_label else (),
    )


def heaviest_part(tokens: pd.DataFrame) -> pd.DataFrame:
    """Return at most 80 successive tokens: those with the most weight, ties the first of them."""
    if len(tokens) <= WORDS:
        return tokens
    sums = np.cumsum(np.concatenate([[0.0], tokens["weight"].to_numpy(np.float64)]))
    start = int(np.argmax(np.round(sums[WORDS:] - sums[:-WORDS], 6)))
    return tokens.iloc[start : start + WORDS]


def fixed_weights(hyperparameters: Architecture, tokens: pd.DataFrame) -> pd.DataFrame | None:
    """Return tokens with the weights of a pooling that does not choose them.

    Of `last` half of the vector is from the last token and half from the first, with `mean` all
    tokens count alike; of a hierarchical model that is so of words in sentences and of sentences.
    None for another pooling, or with self-attention.

    Args:
        hyperparameters: of the model.
        tokens: all tokens of a document, as weights.parquet has them.

    """
    h = hyperparameters
    if h.pooling not in ("last", "mean") or h.attention != "none":
        return None
    if not h.hierarchical:
        weights = _pooled(np.zeros(len(tokens), int), h.pooling)
        return tokens.assign(weight=weights, sentence_weight=np.nan)
    sentences = tokens["sentence"].to_numpy()
    names, numbers = np.unique(sentences, return_inverse=True)
    of_sentences = _pooled(np.zeros(len(names), int), h.pooling)[numbers]
    return tokens.assign(
        weight=_pooled(numbers, h.pooling) * of_sentences, sentence_weight=of_sentences
    )


def _pooled(groups: np.ndarray, pooling: str) -> np.ndarray:
    """Return the weights of successive units within their groups; those of a group sum to 1."""
    sizes = np.bincount(groups)[groups]
    if pooling == "mean":
        return 1.0 / sizes
    is_first = np.append(True, groups[1:] != groups[:-1])
    is_last = np.append(groups[1:] != groups[:-1], True)
    return 0.5 * is_first + 0.5 * is_last
