"""The weighted sum that a prediction rests on: what stands between the weights and the logits.

A text's vector is W_o [z_1; ...; z_H] + b_o with z_h = sum_t a_th v_th (without projections z
itself), and its logits are a function of that vector. So every question about other weights
(permuted, erased, adversarial) needs no encoder again.

With self-attention v_th is the state's value projection and a_th = sum_q p_q A_hqt: the pooling's
weight p of each query, handed on through the attention A. Without it H = 1, v are the states and a
the pooling's weights. In a hierarchical model t counts sentences.
"""

import dataclasses

import torch
import torch.nn.functional as F
from torch import nn

from heed.files import HeedError
from heed.inputs.batches import Batch
from heed.models.attention import MultiHeadAttention
from heed.models.classifier import Classifier, Network


@dataclasses.dataclass(frozen=True)
class WeightedSum:
    """Values, weights, and the remaining network, of a batch or (without the first dimension) of
    one document.

    values: (batch, time, heads, d). weights: (batch, time, heads), each head sums to 1, 0 at
        padding. lengths: (batch,). What follows z is linear up to the GELU, so that `projection`
        (L, heads, d) and `bias` (batch, L) make the linear layer's input to it, and `projected`
        (batch, time, heads, L) holds the values after it. `constant` (batch, classes) is added to
        the logits: those of a linear branch, or 0.
    """

    values: torch.Tensor
    weights: torch.Tensor
    lengths: torch.Tensor
    projected: torch.Tensor
    bias: torch.Tensor
    constant: torch.Tensor
    projection: torch.Tensor
    output: nn.Linear

    def __getitem__(self, document: int) -> "WeightedSum":
        """Return one document's, without padding: values (length, heads, d), weights (length,
        heads).
        """
        length = int(self.lengths[document])
        sequences = {
            name: getattr(self, name)[document, :length]
            for name in ("values", "weights", "projected")
        }
        vectors = {name: getattr(self, name)[document] for name in ("lengths", "bias", "constant")}
        return dataclasses.replace(self, **sequences, **vectors)

    def predict(self, weights: torch.Tensor | None = None) -> torch.Tensor:
        """Return the logits (..., batch, classes) under `weights` (..., batch, time, heads), or
        under the model's own.

        n weight vectors of one document, (n, time, heads), give (n, classes) by one product of
        matrices of n * time * heads * L multiplications, for the values are projected once. Of 230
        tokens with H = 256 and L = 128, 100 permutations took 0.15 ms on one core (multi-head with
        four heads 0.4 ms), where one pass through the network takes 5 ms (9 ms).

        """
        weights = self.weights if weights is None else weights
        return self._logits(torch.einsum("...th,...thl->...l", weights, self.projected))

    def predict_from_sum(self, sums: torch.Tensor) -> torch.Tensor:
        """Return the logits (..., batch, classes) of the sums z (..., batch, heads, d), z_h = sum_t
        a_th v_th.
        """
        return self._logits(torch.einsum("...hd,lhd->...l", sums, self.projection))

    def _logits(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.output(F.gelu(hidden + self.bias)) + self.constant


def weighted_sum(
    model: Classifier, batch: Batch, embeddings: torch.Tensor | None = None
) -> WeightedSum:
    """Return the weighted sum behind each document's prediction.

    Its logits are the model's, to about 1e-6. Under `torch.no_grad()` values and weights are
    constants, and any number of gradients with respect to given weights can be taken; else the
    gradient reaches the embeddings and the parameters.

    Args:
        model: in evaluation mode.
        batch: documents.
        embeddings: (batch, time, embedding_dim), in place of the model's own.

    Raises:
        HeedError: the model's prediction rests on no weighted sum; the message says why.
        ValueError: the model is in training mode, where dropout would be part of values and
            weights.

    """
    if model.training:
        raise ValueError(
            "the weighted sum behind a prediction was asked of a model in training mode: call "
            "model.eval()"
        )
    network = model.network
    if network is None:
        raise HeedError(
            "encoder `none` reads no token by itself: a linear branch alone has no weighted sum "
            "of states"
        )
    network.document_encoder.pooling.check_is_sum()
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
    constant = projected.new_zeros(len(projected), network.output.out_features)
    if model.branch is not None:
        assert batch.linear is not None
        constant = model.branch(batch.linear)
    return WeightedSum(
        values, weights, states.lengths, projected, bias, constant, projection, network.output
    )


def _linear_part(network: Network, heads: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the linear layer after the output projection, (L, heads, d), and what its bias adds
    (L,).
    """
    weight, shift = network.linear.weight, torch.zeros_like(network.linear.bias)
    attention = network.document_encoder.attention
    if isinstance(attention, MultiHeadAttention):
        weight, shift = weight @ attention.output.weight, weight @ attention.output.bias
    return weight.unflatten(1, (heads, -1)), shift
