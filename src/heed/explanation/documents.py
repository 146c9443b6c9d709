"""Documents as a model reads them, with units that can be removed from the input or replaced.

Documents fall into groups by what their tests cost: all have weights and gradients; the first 250
leave-one-out and adversarial weights too; the first 60 of these also what needs dozens of
predictions from changed inputs, and the first 40 integrated gradients.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
import torch

from heed.files import HeedError
from heed.inputs.batches import MAX_PADDED_TOKENS, Batch, EncodedCorpus
from heed.inputs.ngrams import bigrams
from heed.inputs.vocabulary import UNKNOWN
from heed.models.classifier import Classifier, Network, weighted_sum
from heed.models.encoder import HierarchicalEncoder


class Group(NamedTuple):
    """Documents that have the same tests, in addition to those of weights and gradients.

    end: the number of documents up to the last of this group
    removes: whether they have leave-one-out and adversarial weights
    changes_inputs: whether they have replacement, comprehensiveness and sufficiency
    integrates: whether they have integrated gradients
    """

    end: int
    removes: bool
    changes_inputs: bool
    integrates: bool


GROUPS = (
    Group(40, True, True, True), Group(60, True, True, False), Group(250, True, False, False),
    Group(500, False, False, False),
)  # fmt: skip
DRAW = 17  # seeds the draw of documents: it is the same for every model and seed of a corpus
# A document has a generator for each use, so that its outcomes do not depend on its other tests.
ORDERS, POSITIONS, ADVERSARIAL, PERMUTATIONS = range(4)


def group_size(documents: int, scale: float) -> int:
    """Return the number of documents after scaling, at least one."""
    return max(1, round(documents * scale))


def draw_documents(test: np.ndarray, fold: int, offsets: np.ndarray, scale: float) -> np.ndarray:
    """Return random test documents that are not empty, in the order of their draw.

    Args:
        test: rows of the test part.
        fold: its fold.
        offsets: first token of each document of the corpus, (documents + 1,)
        scale: multiplies their number.

    """
    filled = test[offsets[test + 1] > offsets[test]]
    order = np.random.default_rng((DRAW, fold)).permutation(filled)
    return order[: group_size(GROUPS[-1].end, scale)]


def torch_generator(*key: int) -> torch.Generator:
    """Return the generator of a key: the row of a document and a use, for example."""
    seed = int(np.random.SeedSequence(key).generate_state(1)[0])
    return torch.Generator().manual_seed(seed)


@dataclasses.dataclass(frozen=True)
class Subject:
    """A trained model whose predictions are explained, in evaluation mode on the CPU."""

    model: Classifier
    encoded: EncodedCorpus


def no_sum_reason(subject: Subject, row: int) -> str:
    """Return why the model has no weights that could be tested, or an empty string."""
    try:
        weighted_sum(subject.model, subject.encoded.batch(np.asarray([row])))
    except HeedError as error:
        return str(error)
    return ""


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


@torch.no_grad()
def predict_replaced(
    model: Classifier, batch: Batch, index: int, document: Document, replaced: torch.Tensor
) -> torch.Tensor:
    """Return the logits (n, classes) of a document of which tokens are the unknown word.

    Args:
        model: in evaluation mode.
        batch: documents.
        index: of the document in the batch.
        document: the same document.
        replaced: True for the tokens that are replaced, (n, tokens)

    """
    network = network_of(model)
    embeddings = network.embed(batch)[index, : len(document.ids)].repeat(len(replaced), 1, 1)
    embeddings[replaced] = network.embedding.word.weight[UNKNOWN]
    lengths = network.sequence_lengths(batch)[index : index + 1].repeat_interleave(
        len(embeddings), 0
    )
    return network.classify(network.encoder(embeddings, lengths)) + document.constant


def pad_by_row(values: dict[int, np.ndarray], rows: np.ndarray, time: int) -> torch.Tensor:
    """Return the values of the documents `rows` as (rows, time), 0 or False after the last of each.

    `values` has an array for each row of the corpus that is asked for, of at most `time` values.
    """
    padded = np.zeros((len(rows), time), next(iter(values.values())).dtype)
    for i, row in enumerate(rows):
        padded[i, : len(values[int(row)])] = values[int(row)]
    return torch.from_numpy(padded)
