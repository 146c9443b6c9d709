"""The task's part of a recipe: hyperparameters, the two languages, and how a test is scored."""

import dataclasses
from typing import Any, Literal

from heed.files import HeedError
from heed.hyperparameters import hyperparameter
from heed.hyperparameters.training import Training
from heed.hyperparameters.translator import Decoding, TranslatorArchitecture
from heed.tokens.meta import Meta

# The metrics on test, by any of which models can be compared; the first decides by default.
METRICS = ("bleu", "chrf", "rouge_l_recall", "rouge_l_precision", "exact")
FIGURES = ("bleu", "loss")  # metrics of validation, translated greedily; epochs are selected by one


@dataclasses.dataclass(frozen=True)
class Hyperparameters(Training, TranslatorArchitecture):
    """All hyperparameters of a translator and its training."""

    select: Literal["bleu", "loss", "last"] = hyperparameter(
        "loss",
        ("the epoch kept: the best on validation by this figure (ties: the earliest), or the last"),
    )


@dataclasses.dataclass(frozen=True)
class Data:
    """The languages of source and target, and whether the corpus has gold alignments of them."""

    source: str
    target: str
    has_alignment: bool


@dataclasses.dataclass(frozen=True)
class Prediction(Decoding):
    """How test sentences are translated and scored; a change of it repeats no training.

    `tokenize` and `lowercase` are sacrebleu's (Post 2018): references stay raw.
    """

    tokenize: str = "13a"
    lowercase: bool = False


def resolve_data(section: dict[str, Any], meta: Meta, key: str) -> Data:
    """Return the languages that an experiment's section `data` names.

    Args:
        section: `{"source": LANGUAGE, "target": LANGUAGE, …}`.
        meta: the corpus's meta.json.
        key: the section's key in params.yaml, for the message.

    Raises:
        HeedError: the corpus has no such language.

    """
    for side in ("source", "target"):
        if section[side] not in meta.languages:
            known = ", ".join(meta.languages) or "none: it is no corpus of sentence pairs"
            raise HeedError(
                f"params.yaml: {key}.{side}: corpus {meta.corpus} has no language "
                f"{section[side]}. Known: {known}"
            )
    return Data(section["source"], section["target"], meta.has_alignment)
