"""ROUGE: how much of the reference a hypothesis has (recall), beside how much of it is right.

Lin 2004, "ROUGE: a package for automatic evaluation of summaries". BLEU is built on precision,
ROUGE on recall; both are given for n-grams of one and two words and for the longest common
subsequence. The scores are those of the package rouge_score, the words those of BLEU: the package's
own tokenizer keeps only a to z and 0 to 9, so that German umlauts would fall apart.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

KINDS = ("rouge1", "rouge2", "rougeL")


@dataclasses.dataclass(frozen=True)
class _Words:
    """The tokenizer of a scorer, from a function."""

    tokenize: Callable[[str], list[str]]


def rouge(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    split: Callable[[str], list[str]],
) -> np.ndarray:
    """Return precision and recall of ROUGE-1, -2 and -L of each sentence, (sentences, 6).

    Of several references the one with the best F1 counts, for each kind alone.

    Args:
        hypotheses: one a sentence.
        references: one or more for each sentence.
        split: returns the words of a text.

    """
    # rouge_score imports all of nltk, which takes two seconds: a report needs none of it.
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(KINDS, tokenizer=_Words(split))
    scores = [
        scorer.score_multi(correct, hypothesis)
        for hypothesis, correct in zip(hypotheses, references, strict=True)
    ]
    return np.asarray(
        [[value for kind in KINDS for value in score[kind][:2]] for score in scores], np.float64
    ).reshape(-1, 2 * len(KINDS))
