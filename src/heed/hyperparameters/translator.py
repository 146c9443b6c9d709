"""The hyperparameters of a translator: how pairs become its input, its architecture, its search."""

import dataclasses
from typing import Literal

from heed.hyperparameters import (
    DECODERS,
    MAX_LAYERS,
    MAX_ROWS,
    MAX_SIZE,
    SCORES,
    SHARE,
    SOURCE_ENCODERS,
    UNIFORM,
    part,
)
from heed.hyperparameters import hyperparameter as key

MAX_TOKENS = 10_000  # of a sentence
MAX_BEAM = 1000
MAX_RARE = 10_000  # occurrences of a type that is left out of a vocabulary
ATTENTION_DECODERS = ("output", "input", "input-literal", "transformer")


@dataclasses.dataclass(frozen=True)
class Segmentation:
    """How the sentences of a pair become the input and the output of a network."""

    segmentation: Literal["words", "bpe", "unigram"] = key("words", "the units of a sentence: the "
        "corpus's tokens, or pieces of words by sentencepiece, trained on the run's own training "
        "split")  # fmt: skip
    lowercase: bool = key(
        False, "words: types that differ only in case are one entry of the vocabulary"
    )
    source_vocabulary: int = key(10_000, "entries of the source vocabulary, at most; special ones "
        "included", ge=5, le=MAX_ROWS)  # fmt: skip
    target_vocabulary: int = key(10_000, "entries of the target vocabulary, at most; special ones "
        "included", ge=5, le=MAX_ROWS)  # fmt: skip
    min_count: int = key(
        1, "words: types that occur less often in the training split are unknown", ge=1, le=MAX_RARE
    )
    training_share: float = key(1.0, "share of the training split that is used, drawn by the run's "
        "seed: less data, same test", ge=0.0001, le=1)  # fmt: skip
    max_source_tokens: int = key(60, "training pairs with a longer source are left out; decoder "
        "concatenate: its states; score location: its positions", gt=0, le=MAX_TOKENS)  # fmt: skip
    max_target_tokens: int = key(
        60, "training pairs with a longer target are left out", gt=0, le=MAX_TOKENS
    )
    max_length_ratio: float = key(0.0, "training pairs of which one side is more than so many "
        "times as long are left out; 0: none", or_zero=1, le=1000)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class TranslatorArchitecture(Segmentation):
    """The architecture of a translator: recurrent encoder and decoder, or a transformer."""

    encoder: str = part("bidirectional", "what reads the source: ", SOURCE_ENCODERS)
    decoder: str = part("output", "what writes the target: ", DECODERS)
    recurrence: Literal["lstm", "gru"] = key("lstm", "the recurrent cell of encoder and decoder")
    score: str = key("general", "the score of a recurrent decoder's attention (docs/attention.md); "
        "uniform: equal weights in place of learned ones, a control",
        choices=(*SCORES, UNIFORM))  # fmt: skip
    embedding_dim: int = key(256, "E, size of a token embedding; of a transformer the size of "
        "everything", gt=0, le=MAX_SIZE)  # fmt: skip
    hidden_size: int = key(
        256, "H, size of a recurrent state, of encoder and decoder", gt=0, le=MAX_SIZE
    )
    encoder_layers: int = key(1, "layers of the encoder", gt=0, le=MAX_LAYERS)
    decoder_layers: int = key(1, "layers of the decoder", gt=0, le=MAX_LAYERS)
    residual: bool = key(
        False, "recurrent layers from the second on add their input to their output (GNMT)"
    )
    layer_devices: int = key(
        1, "devices that the layers of a recurrent stack are spread over", gt=0, le=64
    )
    heads: int = key(
        4, "heads of a transformer's attention; divides embedding_dim", gt=0, le=MAX_SIZE
    )
    feed_forward_size: int = key(
        512, "inner size of a transformer's feed-forward layers", gt=0, le=MAX_SIZE
    )
    tied_readout: bool = key(False, "the output layer is the target embedding, and reads tanh(W "
        "[s; h*]) of its size (Luong et al. 2015, equation 5)")  # fmt: skip
    dropout: float = key(
        0.3, "dropout on embeddings, between layers and before the output layer", **SHARE
    )

    @property
    def attends(self) -> bool:
        """Whether the decoder reads all states of the source in each step."""
        return self.decoder in ATTENTION_DECODERS

    @property
    def learns_weights(self) -> bool:
        """Whether it reads them by learned weights, and not by equal ones."""
        return self.attends and (self.decoder == "transformer" or self.score != UNIFORM)

    @property
    def score_functions(self) -> dict[str, str]:
        """Return the score functions of the model's attention, each with where it is."""
        if self.decoder == "transformer":
            return {"scaled-dot": "multi-head"}
        return {self.score: "decoder"} if self.learns_weights else {}


@dataclasses.dataclass(frozen=True)
class Decoding:
    """How a translation is searched for; changes repeat no training."""

    beam: int = key(
        5, "hypotheses that are kept in each step of the search; 1: greedy", gt=0, le=MAX_BEAM
    )
    length_penalty: float = key(
        1.0,
        "alpha: hypotheses are ranked by log P / length ** alpha; 0: by log P",
        or_zero=0.001,
        le=10,
    )
