"""T10: whether a model reads the end of a document more than its middle (Maini et al. 2020).

A recurrent layer without attention may forget what stands far from its last state. Four measures:
the importance of each tenth of a document beside the evidence that stands there; accuracy by the
place of the evidence; accuracy with noise on one side or both; and how much more gradient reaches
the last states than those of the middle. (arxiv.org/abs/2005.00159)
"""

import dataclasses
import math
from collections.abc import Callable, Iterator

import numpy as np
import torch

from heed.explanation.documents import Document, branch_logits, network_of, read_documents
from heed.explanation.judgement import Subject
from heed.explanation.removal import predict_replaced
from heed.explanation.state_gradients import state_gradients, with_disturbed_states
from heed.inputs.batches import Batch
from heed.models.classifier import Classifier, Network

TENTHS = 10
WINDOWED, NOISED = 150, 60  # documents at scale 1


@dataclasses.dataclass(frozen=True)
class Recency:
    """The measures of one document of at least TENTHS tokens.

    row: of the corpus
    importance: of each tenth, the largest 1, (TENTHS,); None where none changes the prediction
    end_gradient, middle_gradient: lengths of the gradient of recurrent states; NaN without any
    """

    row: int
    importance: np.ndarray | None
    end_gradient: float
    middle_gradient: float


def measure_recency(
    subject: Subject, rows: np.ndarray, report_progress: Callable[[int], None]
) -> Iterator[Recency]:
    """Yield the measures of the documents `rows`, without those of fewer than TENTHS tokens.

    `report_progress` is called with the number of documents that are done.
    """
    network = network_of(subject.model)
    disturbed = None
    if network.document_encoder.lstm is not None:
        disturbed = with_disturbed_states(network)
    done = 0
    for batch in subject.encoded.evaluation_batches(rows[subject.encoded.lengths(rows) >= TENTHS]):
        gradients = np.full((len(batch.rows), 2), np.nan)
        if disturbed is not None:
            gradients = end_and_middle(disturbed, subject.model, batch)
        for i, document in enumerate(read_documents(subject.model, batch)):
            importance = importance_by_tenth(subject.model, batch, i, document)
            yield Recency(int(batch.rows[i]), importance, *gradients[i].tolist())
        done += len(batch.rows)
        report_progress(done)


def tenths(tokens: int) -> np.ndarray:
    """Return the tenth that each of `tokens` tokens stands in, (tokens,)."""
    return np.arange(tokens) * TENTHS // tokens


def importance_by_tenth(
    model: Classifier, batch: Batch, index: int, document: Document
) -> np.ndarray | None:
    """Return |log p - log p'| of each tenth, divided by the largest, (TENTHS,) (their algorithm 1).

    p is the probability of the predicted class, p' the same while the words of the tenth are the
    unknown word. Arguments as in `replace_one`.
    """
    replaced = torch.zeros(TENTHS + 1, len(document.ids), dtype=torch.bool)
    tenth = torch.from_numpy(tenths(len(document.ids)))
    replaced[:-1] = tenth[None] == torch.arange(TENTHS)[:, None]
    logits = predict_replaced(model, batch, index, document, replaced).double()
    log_p = torch.log_softmax(logits, -1)[:, logits[-1].argmax()]
    changes = (log_p[:-1] - log_p[-1]).abs()
    largest = changes.max()
    return (changes / largest).numpy() if largest > 0 else None


def end_and_middle(disturbed: Network, model: Classifier, batch: Batch) -> np.ndarray:
    """Return the lengths of the gradients at the ends and in the middle, (batch, 2).

    Each direction has its own end, the state that has read the whole document: the last one
    forwards, the first one backwards. The middle is the mean over the states from 45 to 55% of the
    document. Both directions of a position are one vector. NaN for a document of fewer than three
    states: of a hierarchical model, sentences.

    Args:
        disturbed: the model's network, of `with_disturbed_states`.
        model: in evaluation mode.
        batch: documents that are not empty.

    """
    lengths = state_gradients(disturbed, batch, branch_logits(model, batch)).double().numpy()
    sequences = disturbed.sequence_lengths(batch)
    times = (sequences > 0).sum(1) if sequences.dim() == 2 else sequences
    pairs = np.full((len(times), 2), np.nan)
    for i, time in enumerate(times.tolist()):
        if time >= 3:
            both = np.hypot(*lengths[i, :time].T)
            end = np.hypot(lengths[i, time - 1, 0], lengths[i, 0, 1])
            pairs[i] = end, both[int(0.45 * time) : math.ceil(0.55 * time)].mean()
    return pairs
