"""The classifier: the talk's two models, every variant, and the sums behind their predictions."""

import dataclasses
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from heed.hyperparameters.classifier import Architecture
from heed.inputs.batches import Batch
from heed.inputs.vocabulary import UNKNOWN
from heed.models.attention import MultiHeadAttention
from heed.models.encoder import Encoder, HierarchicalEncoder, States


class TokenEmbedding(nn.Module):
    """e_t = word_t + mean of character n-grams_t, then dropout.

    In training each token is replaced by the unknown word, without n-grams, with probability
    `word_dropout`. With `vectors: frozen` the embeddings of words are not trained, whether they are
    from a file or random (CNN-static of Kim 2014, arxiv.org/abs/1408.5882, section 3.1).
    """

    def __init__(self, vocabulary: int, h: Architecture) -> None:
        super().__init__()
        size = h.embedding_dim
        self.word = nn.Embedding(vocabulary, size, padding_idx=0)
        self.character: nn.EmbeddingBag | None = None
        if h.character_buckets:
            self.character = nn.EmbeddingBag(h.character_buckets, size)
        self.dropout = nn.Dropout(h.embedding_dropout)
        self.word_dropout = h.word_dropout
        for table in (self.word, self.character):
            if table is not None:
                nn.init.normal_(table.weight, std=h.embedding_std)
        with torch.no_grad():
            self.word.weight[0] = 0.0
        self._is_frozen = h.vectors == "frozen"
        self.require_gradients()

    def require_gradients(self) -> None:
        """Let all embeddings be trained but frozen ones."""
        self.requires_grad_(True)
        self.word.requires_grad_(not self._is_frozen)

    def set_words(self, entries: np.ndarray, vectors: np.ndarray) -> None:
        """Replace the vectors of some entries of the vocabulary: float32 (entries, size)."""
        with torch.no_grad():
            self.word.weight[torch.from_numpy(entries)] = torch.from_numpy(vectors)

    def forward(self, batch: Batch) -> Tensor:
        """Return the embeddings (batch, time, embedding_dim); 0 at padding."""
        ids, dropped = batch.ids, None
        if self.training and self.word_dropout:
            dropped = (torch.rand(ids.shape, device=ids.device) < self.word_dropout) & (ids != 0)
            ids = ids.masked_fill(dropped, UNKNOWN)
        embedded = self.word(ids)
        if (ngrams := self._ngrams(batch)) is not None:
            masked = batch.ids == 0 if dropped is None else dropped | (batch.ids == 0)
            embedded = embedded + ngrams.masked_fill(masked[..., None], 0.0)
        return self.dropout(embedded)

    def _ngrams(self, batch: Batch) -> Tensor | None:
        if self.character is None:
            return None
        assert batch.characters is not None and batch.character_of is not None
        by_type = self.character(batch.characters.ids, batch.characters.begin)
        # one row more: a batch of empty texts has no types
        return F.embedding(batch.character_of, F.pad(by_type, (0, 0, 0, 1)))


class Classifier(nn.Module):
    """Embedding, encoder, self-attention or none, pooling, linear layer with GELU, output layer.

    The sizes fit the parameter counts of all twelve models of the talk.
    """

    def __init__(self, vocabulary: int, classes: int, hyperparameters: Architecture) -> None:
        """Build the layers; `vocabulary` counts padding and unknown among the words."""
        super().__init__()
        self.network = Network(vocabulary, classes, hyperparameters)

    def forward(self, batch: Batch) -> Tensor:
        """Return the logits (batch, classes)."""
        # of the weights' type, which a training in bfloat16 makes shorter
        return self.network(batch).to(self.network.output.weight.dtype)

    def token_weights(self, batch: Batch) -> Tensor:
        """Return the weight of each token, (batch, time): rows sum to 1."""
        return self.network.encoder.token_weights(*self.network.sequences(batch))

    def head_weights(self, batch: Batch) -> Tensor | None:
        """Return the weights of `Encoder.head_weights`, (batch, heads, queries, keys).

        None without any, and for a hierarchical model: its words attend within their sentences.
        """
        if isinstance(self.network.encoder, HierarchicalEncoder):
            return None
        return self.network.encoder.head_weights(*self.network.sequences(batch))

    def sentence_weights(self, batch: Batch) -> Tensor | None:
        """Return the weight of each sentence, (batch, sentences); None if not hierarchical."""
        if not isinstance(self.network.encoder, HierarchicalEncoder):
            return None
        return self.network.encoder.sentence_weights(*self.network.sequences(batch))


class Network(nn.Module):
    """The neural part: tokens to logits.

    `forward` is for training and prediction, with a fused attention that stores no weights.
    `encode`, `attend` and `classify` compute the same, to read or replace weights; gradients flow
    through them.
    """

    def __init__(self, vocabulary: int, classes: int, h: Architecture) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(vocabulary, h)
        # Vaswani et al. 2017, section 3.4, multiply embeddings so, and add positions of size 1
        scale = math.sqrt(h.embedding_dim)
        encoder = HierarchicalEncoder if h.hierarchical else Encoder
        self.encoder: Encoder | HierarchicalEncoder = encoder(h.embedding_dim, h, scale)
        self.linear = nn.Linear(self.encoder.size, h.linear_size)
        self.output = nn.Linear(h.linear_size, classes)
        self.dropout = nn.Dropout(h.dropout)

    def sequence_lengths(self, batch: Batch) -> Tensor:
        """Return the lengths of texts (batch,), or of a hierarchical model's (batch, sentences)."""
        if isinstance(self.encoder, HierarchicalEncoder):
            assert batch.sentences is not None
            return batch.sentences
        return batch.lengths

    def sequences(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the encoder's inputs: embeddings and lengths."""
        return self.embed(batch), self.sequence_lengths(batch)

    def forward(self, batch: Batch) -> Tensor:
        """Return the logits (batch, classes)."""
        return self.classify(self.encoder(*self.sequences(batch)))

    def embed(self, batch: Batch) -> Tensor:
        """Return the embeddings (batch, time, embedding_dim); 0 at padding."""
        return self.embedding(batch)

    def encode(self, batch: Batch, embeddings: Tensor | None = None) -> States:
        """Return the states of the words, or of sentences; of `embeddings` in place of `embed`."""
        embeddings = self.embed(batch) if embeddings is None else embeddings
        return self.encoder.encode(embeddings, self.sequence_lengths(batch))

    def attend(
        self, states: States, pooling: Tensor | None = None, attention: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the documents' vectors and the weights used; see `Encoder.attend`."""
        return self.document_encoder.attend(states, pooling, attention)

    def classify(self, vectors: Tensor) -> Tensor:
        """Return the logits (batch, classes) of the documents' vectors (batch, size)."""
        hidden = F.gelu(self.linear(self.dropout(vectors)))
        return self.output(self.dropout(hidden))

    @property
    def document_encoder(self) -> Encoder:
        """The encoder that makes the document's vector: the upper one of a hierarchical encoder."""
        encoder = self.encoder
        return encoder.sentences if isinstance(encoder, HierarchicalEncoder) else encoder


@dataclasses.dataclass(frozen=True)
class WeightedSum:
    """The weighted sum behind a prediction: values, weights and the layers after them.

    A text's vector is W_o [z_1; ...; z_H] + b_o with z_h = sum_t a_th v_th (without projections z
    itself), and its logits are a function of that vector. So predictions under other weights
    (permuted, erased, adversarial) can be computed without running the encoder again. With
    self-attention v_th is the state's value projection and a_th = sum_q p_q A_hqt: the pooling's
    weight p of each query times the attention weights A. Without it H = 1, v are the states and a
    the pooling's weights. In a hierarchical model t counts sentences. Shapes for a batch; of one
    document they have no `batch`.

    values: (batch, time, heads, d)
    weights: (batch, time, heads); the weights of a head sum to 1, 0 at padding
    lengths: (batch,)
    projected: (batch, time, heads, L), the values after the linear map from z to the GELU
    bias: (batch, L), of that map
    output: the output layer
    """

    values: Tensor
    weights: Tensor
    lengths: Tensor
    projected: Tensor
    bias: Tensor
    output: nn.Linear

    def __getitem__(self, document: int) -> "WeightedSum":
        """Return the sum of one document, without padding."""
        length = int(self.lengths[document])
        sequences = {
            name: getattr(self, name)[document, :length]
            for name in ("values", "weights", "projected")
        }
        vectors = {name: getattr(self, name)[document] for name in ("lengths", "bias")}
        return dataclasses.replace(self, **sequences, **vectors)

    def predict(self, weights: Tensor | None = None) -> Tensor:
        """Return the logits under `weights`, by default the model's own.

        `weights` are (..., batch, time, heads), and the logits (..., batch, classes). n weight
        vectors of one document, (n, time, heads), take one matrix product, because the values are
        already projected.
        """
        weights = self.weights if weights is None else weights
        return self.predict_from_projected(
            torch.einsum("...th,...thl->...l", weights, self.projected)
        )

    def predict_from_projected(self, hidden: Tensor) -> Tensor:
        """Return the logits (..., batch, classes) of sums of projected values (..., batch, L)."""
        return self.output(F.gelu(hidden + self.bias))


def weighted_sum(model: Classifier, batch: Batch, embeddings: Tensor | None = None) -> WeightedSum:
    """Return the weighted sum behind each document's prediction.

    Its logits equal the model's to about 1e-6. Gradients flow to the embeddings and the parameters;
    `embeddings` (batch, time, embedding_dim) are used in place of the model's own. Raises HeedError
    where the model has no weighted sum, and says why; ValueError in training mode, where dropout
    would change values and weights.
    """
    if model.training:
        raise ValueError(
            "the weighted sum behind a prediction needs a model in evaluation mode: call "
            "model.eval()"
        )
    network = model.network
    network.document_encoder.pooling.check_weighted_sum()
    states = network.encode(batch, embeddings)
    _, pooling, attention = network.attend(states)
    values, weights = states.vectors[:, :, None], pooling[..., None]
    if network.document_encoder.attention is not None:
        values = network.document_encoder.attention.split_values(states.vectors).transpose(1, 2)
        weights = torch.einsum("bq,bhqt->bth", pooling, attention)
    projection, shift = _linear_part(network, values.shape[2])
    projected = torch.einsum("bthd,lhd->bthl", values, projection)
    # an empty text's vector is 0
    bias = network.linear.bias + (states.lengths > 0)[:, None] * shift
    return WeightedSum(values, weights, states.lengths, projected, bias, network.output)


def _linear_part(network: Network, heads: int) -> tuple[Tensor, Tensor]:
    """Return output projection and linear layer as one matrix (L, heads, d) and bias (L,)."""
    weight, shift = network.linear.weight, torch.zeros_like(network.linear.bias)
    attention = network.document_encoder.attention
    if isinstance(attention, MultiHeadAttention):
        weight, shift = weight @ attention.output.weight, weight @ attention.output.bias
    return weight.unflatten(1, (heads, -1)), shift
