"""The task's part of a recipe: hyperparameters, the two languages, and how a test is scored."""

import dataclasses
from typing import Any, Literal

from heed.files import HeedError
from heed.hyperparameters import Training, hyperparameter, required
from heed.hyperparameters.translator import Decoding, TranslatorArchitecture
from heed.task.interface import Scale
from heed.tokens.meta import Meta, Tokenizer

ROUGE = {
    f"rouge_{n}_{part}": f"ROUGE-{n.upper()} {part}"
    for n in ("1", "2", "l")
    for part in ("precision", "recall")
}
# The metrics on test, by any of which models can be compared; the first decides by default.
METRICS = ("bleu", "chrf", *ROUGE, "exact_match")
VALIDATION_METRICS = ("bleu", "loss")  # of greedy translations; epochs are selected by one
ITEM = "sentence"  # an item of a corpus, of which the report has words
SCALE = Scale(
    {"bleu": "BLEU", "chrf": "chrF", **ROUGE, "exact_match": "exact match"},
    in_hundreds=True,  # as sacrebleu prints them: a BLEU of .39 is 39
    in_points=True,
    percentages=("exact_match",),
    planned=(0.0065, 0.03),  # of BLEU, on Multi30k
)
READS_NOISE = False


@dataclasses.dataclass(frozen=True)
class Target:
    """The languages of a translation, and how it is scored; scoring repeats no training."""

    source: str = required("language of the corpus that is translated")
    target: str = required("language that it is translated into")
    tokenize: Literal["13a", "intl", "char", "none"] = hyperparameter("13a", "sacrebleu's "
        "tokenizer for BLEU; none: tokens are between blanks already")  # fmt: skip
    lowercase: bool = hyperparameter(False, "BLEU and chrF without regard to case")


@dataclasses.dataclass(frozen=True)
class Options:
    """The keys of an experiment of this task beside the keys of every experiment: none."""


@dataclasses.dataclass(frozen=True)
class Hyperparameters(Training, TranslatorArchitecture):
    """All hyperparameters of a translator and its training."""

    monitor: Literal["bleu", "loss", "last"] = hyperparameter("loss", "validation metric that "
        "selects the epoch kept, or the last epoch")  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Data:
    """The languages that are translated from and into, with their tokenizers, for other texts."""

    source: str
    target: str
    tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    has_gold_alignment: bool


@dataclasses.dataclass(frozen=True)
class Prediction(Decoding):
    """How test sentences are translated and scored, by `Target`; it repeats no training."""

    tokenize: str = "13a"
    lowercase: bool = False


def resolve_data(section: dict[str, Any], meta: Meta, key: str) -> Data:
    """Return the languages of a section `data`. Raises HeedError: the corpus lacks one."""
    for name in ("source", "target"):
        if (language := section[name]) not in meta.languages:
            known = ", ".join(meta.languages) or "none: it is not a corpus of sentence pairs"
            raise HeedError(
                f"params.yaml: {key}.{name}: corpus {meta.corpus} has no language {language}. "
                f"Known: {known}"
            )
    source, target = section["source"], section["target"]
    aligned = {f"{source}-{target}", f"{target}-{source}"}.intersection(meta.alignments)
    first, second = (meta.languages[language].tokenizer for language in (source, target))
    return Data(source, target, first, second, has_gold_alignment=bool(aligned))


def corpus_contradiction(h: Hyperparameters, meta: Meta) -> str | None:
    """Return None: no hyperparameter of a translator depends on the corpus."""
    return None
