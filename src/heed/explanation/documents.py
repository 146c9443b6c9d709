"""Documents as a model reads them, with units that can be removed from the input."""

import dataclasses

import numpy as np
import torch

from heed.inputs.batches import MAX_PADDED_TOKENS, Batch
from heed.inputs.ngrams import bigrams
from heed.models.classifier import Classifier, Network
from heed.models.encoder import HierarchicalEncoder


@dataclasses.dataclass(frozen=True)
class Document:
    """One document of a batch.

    ids: vocabulary indices of the tokens that are read, (tokens,)
    unit: the unit of each token, from 0, (tokens,)
    units: their number
    characters: the bag of character n-grams of each token in `batch.characters`, or None
    constant: (classes,), what a linear branch adds to the logits: that of the whole document, also
        where units are removed
    batch: the batch that it is of
    """

    ids: torch.Tensor
    unit: torch.Tensor
    units: int
    characters: torch.Tensor | None
    constant: torch.Tensor
    batch: Batch


def read_documents(model: Classifier, batch: Batch) -> list[Document]:
    """Return the documents of a batch; their units are sentences for a hierarchical model."""
    constants = branch_logits(model, batch)
    is_hierarchical = isinstance(network_of(model).encoder, HierarchicalEncoder)
    documents = []
    for i, length in enumerate(batch.lengths.tolist()):
        unit = torch.arange(length)
        if is_hierarchical and batch.sentences is not None:
            sentences = batch.sentences[i][batch.sentences[i] > 0]
            unit = torch.arange(len(sentences)).repeat_interleave(sentences)
        characters = None if batch.character_of is None else batch.character_of[i, :length]
        units = int(unit[-1]) + 1 if length else 0
        documents.append(
            Document(batch.ids[i, :length], unit, units, characters, constants[i], batch)
        )
    return documents


def network_of(model: Classifier) -> Network:
    """Return the network of a model that has one. Raises ValueError for a linear branch alone."""
    if model.network is None:
        raise ValueError("a linear branch alone reads no units")
    return model.network


@torch.no_grad()
def branch_logits(model: Classifier, batch: Batch) -> torch.Tensor:
    """Return what the linear branch adds to the logits, (batch, classes); 0 without a branch."""
    if model.branch is None:
        return torch.zeros(len(batch.lengths), network_of(model).output.out_features)
    assert batch.linear is not None
    return model.branch(batch.linear)


@torch.no_grad()
def predict_kept(model: Classifier, document: Document, kept: torch.Tensor) -> torch.Tensor:
    """Return the probabilities (n, classes) of a document of which only some units are kept.

    Args:
        model: in evaluation mode.
        document: the document.
        kept: True for the units that stay, (n, units)

    """
    network = network_of(model)
    size = max(1, MAX_PADDED_TOKENS // max(1, len(document.ids)))
    logits = [network(keep_units(network, document, part)) for part in kept.split(size)]
    return torch.softmax(torch.cat(logits) + document.constant, -1)


def keep_units(network: Network, document: Document, kept: torch.Tensor) -> Batch:
    """Return n shortened copies of a document as a batch, each without the units not `kept`.

    What is left moves together, and bigrams are those of the new neighbours.
    """
    token_kept = kept[:, document.unit]  # n x tokens
    lengths = token_kept.sum(1)
    time = max(1, int(lengths.max()))
    order = (~token_kept).long().argsort(dim=1, stable=True)[:, :time]
    token_mask = torch.arange(time)[None] < lengths[:, None]
    ids = torch.where(token_mask, document.ids[order], 0)
    copies = Batch(ids, lengths, np.zeros(len(ids), np.int64))
    if isinstance(network.encoder, HierarchicalEncoder):
        copies = dataclasses.replace(copies, sentences=_sentence_lengths(document, kept))
    embedding = network.embedding
    if embedding.bigram is not None:
        rows = bigrams(ids.numpy(), token_mask.numpy(), embedding.bigram.num_embeddings - 1)
        copies = dataclasses.replace(copies, bigrams=torch.from_numpy(rows))
    if document.characters is not None:
        bags = torch.where(token_mask, document.characters[order], 0)
        copies = dataclasses.replace(
            copies, characters=document.batch.characters, character_of=bags
        )
    return copies


def _sentence_lengths(document: Document, kept: torch.Tensor) -> torch.Tensor:
    """Return the tokens of each sentence that is kept, (n, sentences), 0 after the last."""
    lengths = torch.bincount(document.unit, minlength=document.units)
    order = (~kept).long().argsort(dim=1, stable=True)
    return (lengths * kept).gather(1, order)


def pad_by_row(values: dict[int, np.ndarray], rows: np.ndarray, time: int) -> torch.Tensor:
    """Return the values of the documents `rows` as (rows, time), 0 or False after the last of each.

    `values` has an array for each row of the corpus that is asked for, of at most `time` values.
    """
    padded = np.zeros((len(rows), time), next(iter(values.values())).dtype)
    for i, row in enumerate(rows):
        padded[i, : len(values[int(row)])] = values[int(row)]
    return torch.from_numpy(padded)
