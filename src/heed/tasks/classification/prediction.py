"""The predictions of a trained classifier: class probabilities, and the weights of tokens.

Rules choose the documents whose weights are written, never a person.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from heed.inputs.batches import EncodedCorpus
from heed.inputs.vocabulary import SPECIAL, Vocabulary
from heed.models.classifier import Classifier
from heed.paths import WEIGHTS
from heed.recipe import Recipe
from heed.records import is_visible
from heed.task import task_module
from heed.task.interface import Predictor
from heed.tasks.classification.learning import VOCABULARY, make_model, probabilities
from heed.tasks.classification.recipe import Data, Hyperparameters, Prediction
from heed.tokens.arrays import MarkedTokens, Tokens
from heed.training.checkpoint import load_weights, whole_run

DOCUMENTS = 200  # with the weights of their tokens
SHORT_DOCUMENTS = 2  # with the weights of each head
SHORTEST, LONGEST = 8, 40  # tokens of those: a heat map of more cannot be read word by word
HEAD_COLUMNS = [
    "id", "label", "predicted", "head", "query", "key", "query_word", "key_word", "rationale",
    "weight",
]  # fmt: skip


class WeightedDocument(NamedTuple):
    """A prediction of a document, (classes,), and the weights of the tokens at `positions`."""

    probability: np.ndarray
    positions: np.ndarray
    weights: np.ndarray
    sentence_weights: np.ndarray | None


@dataclasses.dataclass
class ClassificationPredictor(Predictor):
    """A trained classifier with its vocabulary, in evaluation mode; its task decides."""

    model: Classifier
    vocabulary: Vocabulary
    recipe: Recipe[Data, Hyperparameters]
    device: str
    # the last corpus that was encoded, to encode its lexicon once for all splits
    _corpus: tuple[Tokens, EncodedCorpus] | None = dataclasses.field(
        default=None, init=False, repr=False
    )

    def __post_init__(self) -> None:
        """Find the parts of the recipe's task."""
        task = self.recipe.task
        self._learning, self._metrics = task_module(task, "learning"), task_module(task, "metrics")

    def predict(self, tokens: Tokens, rows: np.ndarray) -> pd.DataFrame:
        """Return `id, label, predicted` and the probability `p:CLASS` of each class."""
        data, probabilities = self.recipe.data, self.probabilities(tokens, rows)
        documents = tokens.documents(["id", f"label_{data.label}"], rows)
        ids, label = (documents[name].to_numpy() for name in documents)
        return self._metrics.prediction_table(ids, label, probabilities, data.classes)

    def probabilities(self, tokens: Tokens, rows: np.ndarray) -> np.ndarray:
        """Return the probabilities of `rows`, float32 (rows, classes)."""
        batches = self._encode(tokens).evaluation_batches(rows)
        return probabilities(self.model, batches, rows, self.device, self._learning.activation)

    def knows(self, tokens: Tokens) -> np.ndarray:
        """Return whether the model knows any visible word of each document, (documents,)."""
        seen = np.fromiter(map(is_visible, tokens.lexicon), bool)
        is_known = seen & self._encode(tokens).known_types
        words = np.concatenate([[0], np.cumsum(is_known[tokens.ids])])[tokens.offsets]
        return np.asarray(words[1:] > words[:-1])

    def decide(self, probabilities: np.ndarray) -> list[Any]:
        """Return the predicted classes of probabilities (documents, classes)."""
        return [*self._metrics.decide(probabilities, self.recipe.data.classes)]

    def statistics(self, predictions: pd.DataFrame) -> pd.DataFrame:
        """Return the statistics of each document, as metrics.py defines them."""
        return self._metrics.statistics_table(predictions, self.recipe.data.classes)

    def explain(self, tokens: Tokens, predictions: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Return the tables `documents`, at most 200, `weights` of their tokens, and `heads`.

        documents: `id, text, label, predicted, probability, rule`.
        weights: `id, token, start, end, weight, sentence, sentence_weight, rationale`. Token and
            sentence are counted from 0, start and end are characters of the text.
        heads: each head of self-attention and pair of tokens of two short documents (lecture 000);
            rationale is of the key; the weights of a query sum to 1 over the keys.
        """
        certainties = self._metrics.certainties(predictions)
        rows, marked = tokens.rows_of(certainties["id"]), MarkedTokens(tokens)
        chosen = choose_documents(certainties, np.diff(tokens.offsets)[rows])
        of_chosen = rows[chosen["row"]]
        documents = certainties.iloc[chosen["row"]].assign(
            rule=chosen["rule"].to_numpy(),
            text=tokens.documents(["text"], of_chosen)["text"].to_numpy(),
        )
        read = self.reader(tokens)
        weights = [
            _token_table(name, tokens, row, read(row), marked)
            for name, row in zip(documents["id"], of_chosen, strict=True)
        ]
        order = ["id", "text", "label", "predicted", "probability", "rule"]
        return {
            "documents": documents[order].reset_index(drop=True),
            "weights": pd.concat(weights, ignore_index=True),
            "heads": self._head_weights(tokens, certainties, rows, marked),
        }

    @torch.inference_mode()
    def _head_weights(
        self, tokens: Tokens, certainties: pd.DataFrame, rows: np.ndarray, marked: MarkedTokens
    ) -> pd.DataFrame:
        lengths, tables = np.diff(tokens.offsets)[rows], [pd.DataFrame(columns=HEAD_COLUMNS)]
        lengths[lengths > self.recipe.hyperparameters.max_tokens] = 0  # these are not read whole
        for index in choose_short_documents(
            certainties["label"].to_numpy(),
            lengths,
            lambda index: bool(marked and marked.mask(rows[index]).any()),
        ):
            row = rows[index]
            batch = self._encode(tokens).batch(rows[[index]]).to(self.device)
            if (weights := self.model.head_weights(batch)) is None:
                break  # without self-attention
            of_heads = weights[0].float().cpu().numpy()
            types = tokens.ids[tokens.offsets[row] : tokens.offsets[row + 1]]
            words = np.asarray([tokens.lexicon[i] for i in types.tolist()], object)
            head, query, key = (index.ravel() for index in np.indices(of_heads.shape))
            table = pd.DataFrame(
                {
                    "head": head, "query": query, "key": key,
                    "query_word": words[query], "key_word": words[key],
                    "rationale": marked.mask(row)[key], "weight": of_heads.ravel(),
                }
            )  # fmt: skip
            certainty: Any = certainties.iloc[index][HEAD_COLUMNS[:3]]
            named = table.assign(**certainty)
            tables.append(named[HEAD_COLUMNS])
        return pd.concat(tables[1:] or tables, ignore_index=True)

    def reader(self, tokens: Tokens) -> Callable[[int], WeightedDocument]:
        """Return a function from the row of a document to its prediction and weights."""
        encoded = self._encode(tokens)

        @torch.inference_mode()
        def read(row: int) -> WeightedDocument:
            rows = np.asarray([row], np.int64)
            positions, token_mask = encoded.positions(rows)
            batch = encoded.batch(rows).to(self.device)
            probability = self._learning.activation(self.model(batch).float())[0]
            weights = self.model.token_weights(batch)[0].float()
            of_sentences = self.model.sentence_weights(batch)
            return WeightedDocument(
                probability.cpu().numpy(),
                positions[token_mask],
                weights.cpu().numpy()[token_mask[0]],
                None if of_sentences is None else of_sentences[0].float().cpu().numpy(),
            )

        return read

    def _encode(self, tokens: Tokens) -> EncodedCorpus:
        if self._corpus is None or self._corpus[0] is not tokens:
            h = self.recipe.hyperparameters
            self._corpus = tokens, EncodedCorpus(tokens, self.vocabulary, h)
        return self._corpus[1]


def choose_documents(
    predictions: pd.DataFrame, lengths: np.ndarray, documents: int = DOCUMENTS
) -> pd.DataFrame:
    """Return `row` and `rule` of the chosen documents, in the order of `predictions`.

    The test documents fall into eight groups (predicted right or wrong; shorter, or as long as the
    median and longer; the more and the less certain half of those). Each gives an eighth of
    DOCUMENTS: the most certain of the certain halves, the least certain of the others; ties go to
    the first in the corpus. Empty texts are left out; `lengths` are in tokens.
    """
    table = predictions.assign(row=np.arange(len(predictions)), length=lengths)
    table = table[table["length"] > 0]
    is_short = table["length"] < table["length"].median()
    right = np.where(table["label"] == table["predicted"], "right", "wrong")
    groups = []
    for (correctness, size), group in table.groupby([right, np.where(is_short, "short", "long")]):
        ordered = group.sort_values("probability", ascending=False, kind="stable")
        half = (len(group) + 1) // 2
        least = ordered.iloc[half:].sort_values("probability", kind="stable")
        for half_of, certainty in ((ordered.iloc[:half], "most"), (least, "least")):
            rule = f"{correctness}, {size}, {certainty} certain"
            groups.append(half_of.head(documents // 8).assign(rule=rule))
    return pd.concat(groups).sort_values("row")[["row", "rule"]]


def choose_short_documents(
    labels: np.ndarray, lengths: np.ndarray, has_rationale: Callable[[int], bool]
) -> list[int]:
    """Return the indices of at most two documents, of different classes.

    Documents with 8 to 40 tokens: those with a rationale before those without, the shorter before
    the longer; the first one of each class. So all models are shown on the same documents.
    """
    candidates = np.flatnonzero((lengths >= SHORTEST) & (lengths <= LONGEST))
    by_length = candidates[np.argsort(lengths[candidates], kind="stable")].tolist()
    chosen: dict[str, int] = {}
    for index in [*filter(has_rationale, by_length), *by_length]:
        chosen.setdefault(labels[index], index)
    return list(chosen.values())[:SHORT_DOCUMENTS]


def _token_table(
    name: str, tokens: Tokens, row: int, document: WeightedDocument, marked: MarkedTokens
) -> pd.DataFrame:
    starts, ends = marked.spans(row)
    sentence = np.searchsorted(tokens.sentences(row), document.positions, side="right") - 1
    of_sentences: float | np.ndarray = np.nan
    if document.sentence_weights is not None:  # of the sentences read, numbered without gaps
        of_sentences = document.sentence_weights[np.unique(sentence, return_inverse=True)[1]]
    return pd.DataFrame(
        {
            "id": name, "token": document.positions,
            "start": starts[document.positions], "end": ends[document.positions],
            "weight": document.weights, "sentence": sentence, "sentence_weight": of_sentences,
            "rationale": marked.mask(row)[document.positions],
        }
    )  # fmt: skip


def load_predictor(
    folder: Path, recipe: Recipe[Data, Hyperparameters], settings: Prediction, device: str,
    command: str, kind: type[ClassificationPredictor] = ClassificationPredictor,
) -> ClassificationPredictor:  # fmt: skip
    """Return the run in `folder` on `device`. Raises HeedError: a file is broken, or another's."""
    largest = recipe.hyperparameters.vocabulary_size
    with whole_run(folder, command):
        words = tuple((folder / VOCABULARY).read_text(encoding="utf-8").split("\n")[:-1])
        if words[: len(SPECIAL)] != SPECIAL or len(words) > largest:
            raise ValueError(
                f"{VOCABULARY} has {len(words):,} words, and vocabulary_size is {largest:,}. It "
                f"begins with {' and '.join(SPECIAL)}"
            )
        vocabulary = Vocabulary(words, recipe.hyperparameters.lowercase)
        model = load_weights(folder / WEIGHTS, lambda: make_model(vocabulary, recipe))
    return kind(model.eval().to(device), vocabulary, recipe, device)
