"""The task's part of a recipe: what is translated into what, and how it is scored."""

import dataclasses

# The metrics on test, by any of which models can be compared; the first decides by default.
METRICS = (
    "bleu",
    "chrf",
    *(f"rouge_{n}_{figure}" for n in ("1", "2", "l") for figure in ("precision", "recall")),
    "exact_match",
)


@dataclasses.dataclass(frozen=True)
class Data:
    """The languages that are translated from and into, and how translations are scored.

    source, target: languages of the corpus
    tokenize: sacrebleu's tokenisation of hypotheses and references, such as 13a; none where the
        corpus is tokenised at white space
    lowercase: whether scores ignore case
    has_gold_alignment: whether the corpus says which words translate which
    """

    source: str
    target: str
    tokenize: str
    lowercase: bool
    has_gold_alignment: bool
