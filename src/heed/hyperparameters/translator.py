"""The hyperparameters of a translator: how pairs become its input, its architecture, its search."""

import dataclasses
from typing import Literal

from heed.hyperparameters import (
    DECODERS,
    FIXED_SCORES,
    MAX_LAYERS,
    MAX_ROWS,
    MAX_SIZE,
    SCORES,
    SHARE,
    SOURCE_ENCODERS,
    Reading,
    part,
)
from heed.hyperparameters import hyperparameter as key

MAX_TOKENS = 10_000  # of a sentence
MAX_BEAM = 1000
ATTENTION_DECODERS = ("output", "input", "input-literal", "transformer")


@dataclasses.dataclass(frozen=True)
class Segmentation(Reading):
    """How the sentences of a pair become the input and the output of a network."""

    segmentation: Literal["words", "bpe"] = key("words", "words: the corpus's tokens; bpe: pieces "
        "of words by sentencepiece")  # fmt: skip
    lowercase: bool = key(False, "words: types that differ only in case are one entry of the "
        "vocabulary")  # fmt: skip
    source_vocabulary: int = key(10_000, "most entries of the source vocabulary", ge=5, le=MAX_ROWS)
    target_vocabulary: int = key(10_000, "most entries of the target vocabulary", ge=5, le=MAX_ROWS)
    training_share: float = key(1.0, "share of the training split that is used, drawn by the seed",
        ge=0.0001, le=1)  # fmt: skip
    max_source_tokens: int = key(60, "longer sources are left out of training; states of decoder "
        "concatenate, positions of score location", gt=0, le=MAX_TOKENS)  # fmt: skip
    max_target_tokens: int = key(60, "longer targets are left out of training", gt=0, le=MAX_TOKENS)


@dataclasses.dataclass(frozen=True)
class TranslatorArchitecture(Segmentation):
    """The architecture of a translator: recurrent encoder and decoder, or a transformer."""

    encoder: str = part("bidirectional", "what reads the source; ", SOURCE_ENCODERS)
    decoder: str = part("output", "what the decoder reads of the source; ", DECODERS)
    recurrence: Literal["lstm"] = key("lstm", "the recurrent cell of encoder and decoder")
    score: str = key("general", "score of a recurrent decoder (docs/reference/attention.md); "
        "uniform: equal weights, a control; diagonal: in step t the source word at place t, a "
        "control of decoder output", choices=(*SCORES, *FIXED_SCORES))  # fmt: skip
    context: Literal["start", "each-step"] = key("start", "decoder last-state and concatenate: the "
        "one vector of the source is given at the start alone, or the output layer reads it in "
        "each step too")  # fmt: skip
    embedding_dim: int = key(256, "E, size of a token embedding; of a transformer the size of "
        "everything", gt=0, le=MAX_SIZE)  # fmt: skip
    hidden_size: int = key(256, "H, size of a recurrent state", gt=0, le=MAX_SIZE)
    encoder_layers: int = key(1, "layers of the encoder", gt=0, le=MAX_LAYERS)
    decoder_layers: int = key(1, "layers of the decoder", gt=0, le=MAX_LAYERS)
    residual: bool = key(False, "recurrent layers after the first add their input to their output")
    heads: int = key(4, "heads of a transformer's attention; divides embedding_dim",
        gt=0, le=MAX_SIZE)  # fmt: skip
    feed_forward_size: int = key(512, "inner size of a transformer's feed-forward layers",
        gt=0, le=MAX_SIZE)  # fmt: skip
    tied_readout: bool = key(False, "the output layer is the target embedding (Luong et al. 2015, "
        "equation 5)")  # fmt: skip
    dropout: float = key(0.3, "dropout on embeddings, between layers and before the output layer",
        **SHARE)  # fmt: skip

    @property
    def is_recurrent(self) -> bool:
        """Whether the states are computed one after the other."""
        return self.decoder != "transformer"

    @property
    def attends(self) -> bool:
        """Whether the decoder reads all states of the source in each step."""
        return self.decoder in ATTENTION_DECODERS

    @property
    def learns_weights(self) -> bool:
        """Whether it reads them by learned weights, and not by fixed ones."""
        return self.attends and (self.decoder == "transformer" or self.score not in FIXED_SCORES)

    @property
    def repeats_context(self) -> bool:
        """Whether a decoder without attention is given its one vector in each step."""
        return self.context == "each-step" and not self.attends

    @property
    def score_functions(self) -> dict[str, str]:
        """Return the score functions of the model's attention, each with where it is."""
        if self.decoder == "transformer":
            return {"scaled-dot": "multi-head"}
        return {self.score: "decoder"} if self.learns_weights else {}


@dataclasses.dataclass(frozen=True)
class Decoding:
    """How a translation is searched for; changes repeat no training."""

    beam: int = key(5, "hypotheses that are kept in each step; 1: greedy", gt=0, le=MAX_BEAM)
    length_penalty: float = key(1.0, "alpha: hypotheses are ranked by log P / length ** alpha",
        or_zero=0.001, le=10)  # fmt: skip
