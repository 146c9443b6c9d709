"""BLEU, chrF, ROUGE and alignment error, as functions of statistics that are added over sentences.

sacrebleu and rouge_score count the statistics. All figures lie between 0 and 1: a BLEU of 39 is
.39. References are compared as they were written. sacrebleu tokenises them and the hypotheses
itself, so that a score does not depend on how a model segments its text; a hypothesis must be
detokenised.

A link (i, j) joins source word i and target word j, both counted from 0. Annotators call a link
sure, or only possible; every sure link is possible too. The error rate is a ratio of sums over the
corpus (Och & Ney 2003, "A systematic comparison of various statistical alignment models",
section 3.3): a mean of the sentences' rates would count short sentences more.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace

import numpy as np
import pandas as pd
import sacrebleu.metrics

from heed import annotations
from heed.task.interface import Details, Metric, Metrics
from heed.tasks.translation.recipe import METRICS, Data, Prediction
from heed.tokens.arrays import ParallelTokens, Side

BLEU_ORDER, CHRF_ORDER = 4, 6  # the longest n-grams: of words, of characters
BETA = 2  # of chrF2: recall counts twice as much as precision
ORDERS = tuple(str(n) for n in range(1, BLEU_ORDER + 1))
BLEU = (
    "bleu:hypothesis",
    "bleu:reference",
    *(f"bleu:{kind}:{n}" for kind in ("matches", "total") for n in ORDERS),
)
CHRF = tuple(
    f"chrf:{kind}:{n}"
    for n in range(1, CHRF_ORDER + 1)
    for kind in ("hypothesis", "reference", "matches")
)
MEANS = tuple(name for name in METRICS if name not in ("bleu", "chrf"))  # over sentences
WORDS = ("source_words", "unknown_words")
TRUNCATION = 8  # steps of backpropagation through time, where gradients are measured truncated
KINDS = ("rouge1", "rouge2", "rougeL")
Links = set[tuple[int, int]]
Gold = tuple[Links, Links]  # sure links, and possible ones, the sure included
COUNTS = ("links", "sure", "links_sure", "links_possible")  # the order of `count`


def statistic_names(data: Data) -> list[str]:
    """Return the name of each statistic of a sentence, in order.

    `sentences` is 1; then come lengths and counts of n-grams for BLEU and chrF; the values of each
    metric of MEANS; the words of the source, and those that are unknown; and, where a corpus has a
    gold alignment, counts of links (`COUNTS`).
    """
    counts = COUNTS if data.has_gold_alignment else ()
    return ["sentences", *BLEU, *CHRF, *MEANS, *WORDS, *counts]


def make_metrics(data: Data) -> Metrics:
    """Return the figures; BLEU decides if a study names no other.

    The METRICS of recipe.py, all of which are better the higher they are, then the share of source
    words that are unknown, `unknown_words`, and where there is a gold alignment its error rate,
    `aer`, with precision and recall.
    """
    names = statistic_names(data)

    def of(columns: tuple[str, ...], value: Callable[[np.ndarray], np.ndarray]) -> Callable:
        indices = [names.index(column) for column in columns]
        return lambda sums: value(np.asarray(sums, np.float64)[..., indices])

    def share(sums: np.ndarray) -> np.ndarray:
        return ratio(sums[..., 0], sums[..., 1])

    scores = [
        Metric("bleu", of(BLEU, bleu)),
        Metric("chrf", of(CHRF, chrf)),
        *(Metric(name, of((name, "sentences"), share), names.index(name)) for name in MEANS),
        Metric("unknown_words", of(WORDS[::-1], share)),
    ]
    if data.has_gold_alignment:
        of_links = {"aer": error_rate, "alignment_precision": precision}
        of_links["alignment_recall"] = recall
        scores += [Metric(key, of(COUNTS, of_key)) for key, of_key in of_links.items()]
    precisions = of(BLEU, lambda sums: ratio(sums[..., 2:6], sums[..., 6:]))

    def details(sums: np.ndarray) -> Details:
        values = precisions(sums).tolist()
        return {
            "ngrams": {n: {"precision": value} for n, value in zip(ORDERS, values, strict=True)}
        }

    return Metrics(tuple(scores), details)


def has_links(sums: np.ndarray, data: Data) -> np.ndarray:
    """Return whether sums of sentences, (..., statistics), have a sure link or a proposed one."""
    names = statistic_names(data)
    proposed, sure = (sums[..., names.index(name)] for name in COUNTS[:2])
    return proposed + sure > 0


def detail_names(data: Data) -> dict[str, list[str]]:
    """Return the names of the groups in `Metrics.details`: the n-grams of BLEU, by length."""
    return {"ngrams": list(ORDERS)}


def bleu(sums: np.ndarray) -> np.ndarray:
    """Return BLEU (Papineni et al. 2002, section 2.3) of sums in the order of BLEU.

    Where no n-gram of a length matches, sacrebleu's smoothing `exp` puts 1 / 2^k in place of 0, for
    the k-th such length (Chen & Cherry 2014, method 3). It is 0 where nothing matches, or where no
    hypothesis has four words. Sums are (..., 10).
    """
    hypothesis, reference = sums[..., 0], sums[..., 1]
    matches, totals = sums[..., 2:6], sums[..., 6:]
    missing = matches == 0
    smoothed = np.where(missing, 0.5 ** np.cumsum(missing, -1), matches)
    is_defined = (totals > 0).all(-1) & ~missing.all(-1)
    precision = ratio(smoothed, totals)
    log_mean = np.log(np.where(is_defined[..., None], precision, 1.0)).mean(-1)
    shortage = np.maximum(ratio(reference, hypothesis) - 1, 0)  # of the brevity penalty
    return np.where(is_defined, np.exp(log_mean - shortage), 0.0)


def chrf(sums: np.ndarray) -> np.ndarray:
    """Return chrF2 (Popović 2015) of sums in the order of CHRF, (..., 18), as sacrebleu does.

    Precision and recall are means over the lengths of n-grams that both texts have.
    """
    counts = sums.reshape(*sums.shape[:-1], CHRF_ORDER, 3)
    hypothesis, reference, matches = np.moveaxis(counts, -1, 0)
    occurs = (hypothesis > 0) & (reference > 0)
    lengths = occurs.sum(-1)
    precision = ratio((ratio(matches, hypothesis) * occurs).sum(-1), lengths)
    recall = ratio((ratio(matches, reference) * occurs).sum(-1), lengths)
    return ratio((1 + BETA**2) * precision * recall, BETA**2 * precision + recall)


def statistics(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    words: np.ndarray,
    alignments: tuple[Sequence[Links], Sequence[Gold | None]] | None,
    data: Data,
    scoring: Prediction,
) -> pd.DataFrame:
    """Return the statistics of each sentence, with the columns of `statistic_names`.

    Args:
        hypotheses: one a sentence, detokenised.
        references: one or more for each sentence, as they were written.
        words: of each source, and how many of them are unknown, (sentences, 2)
        alignments: the links of each sentence and its reference, and the gold links, None where a
            sentence has none; used where the corpus has a gold alignment.
        data, scoring: the languages, and how their translations are scored.
    """
    bleu, chrf = _scorers(scoring)
    rows, columns = len(hypotheses), list(itertools.zip_longest(*references))
    # These counts are all that `corpus_score` sums; the method that returns them for each sentence
    # is not documented.
    counted = [
        np.asarray(scorer._extract_corpus_statistics(hypotheses, columns), np.int32)
        for scorer in (bleu, chrf)
    ] if rows else [np.zeros((0, 10), np.int32), np.zeros((0, 18), np.int32)]  # fmt: skip

    def fold_case(text: str) -> str:
        return text.strip().lower() if scoring.lowercase else text.strip()

    texts = [*map(fold_case, hypotheses)]
    correct = [[*map(fold_case, each)] for each in references]
    exact = [text in each for text, each in zip(texts, correct, strict=True)]
    parts = [
        np.ones((rows, 1), np.int32),
        *counted,
        rouge(texts, correct, lambda text: bleu.tokenizer(text).split()),
        np.asarray(exact, np.int32)[:, None],
        np.asarray(words, np.int32).reshape(-1, 2),
    ]
    if data.has_gold_alignment and alignments is not None:
        parts.append(corpus_counts(*alignments).astype(np.int32))
    tables = [pd.DataFrame(part) for part in parts]
    return pd.concat(tables, axis=1).set_axis(statistic_names(data), axis=1)


def statistics_table(
    predictions: pd.DataFrame, gold: Sequence[Gold | None] | None, data: Data, scoring: Prediction
) -> pd.DataFrame:
    """Return the statistics of each row of a table of predictions (docs/contracts.md).

    `gold` are the gold links of each row; None where the corpus has none.
    """
    links = filter(None, read_links(predictions.set_index("id")["links"]))
    return statistics(
        predictions["hypothesis"].tolist(),
        read_references(predictions),
        predictions[["source_words", "unknown_words"]].to_numpy(),
        None if gold is None else ([sure for sure, _ in links], gold),
        data,
        scoring,
    )


def sentence_table(
    tokens: ParallelTokens, data: Data, scoring: Prediction, rows: np.ndarray
) -> pd.DataFrame:
    """Return the columns that all predictions of these rows share: `id, source, reference, …`.

    The further references are the texts of other languages, without those that are empty: a model
    learns from the target alone, and its translations are compared with all.
    """
    source, target = sides(tokens, data)
    texts = [tokens.sides[language].texts(rows) for language in scoring.references]
    further = [[column[i] for column in texts if column[i]] for i in range(len(rows))]
    return pd.DataFrame(
        {
            "id": tokens.documents(["id"])["id"].to_numpy()[rows],
            "source": source.texts(rows),
            "reference": target.texts(rows),
            "further_references": further,
            "source_words": np.diff(source.offsets)[rows],
        }
    )


def read_references(predictions: pd.DataFrame) -> list[list[str]]:
    """Return the references of each row of a table of predictions, that of the target first."""
    columns = predictions["reference"], predictions["further_references"]
    return [[reference, *further] for reference, further in zip(*columns, strict=True)]


def corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], scoring: Prediction
) -> float:
    """Return BLEU, between 0 and 1, of hypotheses with one or more references each; 0 of none."""
    if not hypotheses:
        return 0.0
    columns = list(itertools.zip_longest(*references))
    return float(_scorers(scoring)[0].corpus_score(hypotheses, columns).score) / 100


def signatures(scoring: Prediction, references: int | None = 1) -> dict[str, str]:
    """Return sacrebleu's signatures of `bleu` and `chrf`: scores compare where they are the same.

    `references` is how many each sentence has, None where sentences differ in it.
    """
    bleu, chrf = _scorers(scoring)
    counts = (1, 2) if references is None else (references,)
    columns = list(itertools.zip_longest(*(["a"] * count for count in counts)))
    for scorer in (bleu, chrf):  # a scorer knows the number of references once it has scored
        scorer.corpus_score(["a"] * len(counts), columns)
    return {"bleu": str(bleu.get_signature()), "chrf": str(chrf.get_signature())}


def _scorers(scoring: Prediction) -> tuple[sacrebleu.metrics.BLEU, sacrebleu.metrics.CHRF]:
    lowercase = scoring.lowercase
    return (
        sacrebleu.metrics.BLEU(tokenize=scoring.tokenize, lowercase=lowercase, force=True),
        sacrebleu.metrics.CHRF(lowercase=lowercase),
    )


def rouge(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    split: Callable[[str], list[str]],
) -> np.ndarray:
    """Return precision and recall of ROUGE-1, -2 and -L of each sentence, (sentences, 6).

    Of one or more references the one with the best F1 counts, for each kind alone. `split` returns
    the words of a text.
    """
    # rouge_score imports all of nltk, which takes two seconds: a report needs none of it.
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(KINDS, tokenizer=SimpleNamespace(tokenize=split))
    scores = [*map(scorer.score_multi, references, hypotheses)]
    return np.asarray(
        [[value for kind in KINDS for value in score[kind][:2]] for score in scores], np.float64
    ).reshape(-1, 2 * len(KINDS))


def parse_links(text: str, line: str) -> Gold:
    """Return the sure and the possible links of a line, as `heed.annotations` reads them."""
    sure, possible = annotations.parse_links(text, line)
    return {*sure}, {*sure, *possible}


def read_links(texts: pd.Series) -> list[Gold | None]:
    """Return the links of a column of texts by id, such as `gold`; None for a cell without text."""
    return [
        parse_links(text, f"{texts.name} of sentence {id_}") if isinstance(text, str) else None
        for id_, text in texts.items()
    ]


def format_links(sure: Links, possible: Iterable[tuple[int, int]] = ()) -> str:
    """Return links in Pharaoh's format, by target word and then by source word."""
    return " ".join(
        f"{i}{'-' if (i, j) in sure else '?'}{j}"
        for i, j in sorted(sure.union(possible), key=lambda link: link[::-1])
    )


def sides(tokens: ParallelTokens, data: Data) -> tuple[Side, Side]:
    """Return the texts that are translated, and those that they are translated into."""
    return tokens.sides[data.source], tokens.sides[data.target]


def gold_links(
    tokens: ParallelTokens, data: Data, rows: Sequence[int] | np.ndarray
) -> list[Gold | None] | None:
    """Return the gold links of these rows, None for a row without; None if the corpus has none."""
    known = tokens.alignment(data.source, data.target)
    if known is None:
        return None
    correct = [known.get(int(row)) for row in rows]
    return [None if each is None else (set(each.sure), set(each.possible)) for each in correct]


def links_from_weights(
    weights: np.ndarray, source_words: np.ndarray, target_words: np.ndarray
) -> Links:
    """Return a link of each target word to the source word with the largest weight.

    Of equal weights the first source word's is taken. Arguments as of `weights_of_words`.
    """
    by_words = weights_of_words(weights, source_words, target_words)
    return {(int(row.argmax()), word) for word, row in enumerate(by_words) if len(row)}


def weights_of_words(
    weights: np.ndarray, source_words: np.ndarray, target_words: np.ndarray
) -> np.ndarray:
    """Return the weights between words, (target words, source words), from those between units.

    The weight of a source word is the sum over its units, since attention spreads over them; that
    of a target word is the mean over its units, so that weights still sum to 1. `source_words` and
    `target_words` are the index of the word of each unit; no row is for the end of the sentence.
    """
    shape = [int(words.max(initial=-1)) + 1 for words in (target_words, source_words)]
    by_words = np.zeros(shape)
    np.add.at(by_words, np.ix_(target_words, source_words), weights)
    return by_words / np.maximum(1, np.bincount(target_words, minlength=shape[0]))[:, None]


def diagonal(source_words: int, target_words: int) -> Links:
    """Return a link of each target word to the source word at the same share of its sentence."""
    if not source_words:
        return set()
    return {(j * source_words // target_words, j) for j in range(target_words)}


def shift(links: Links, target_words: int) -> Links:
    """Return the links moved by one target word, around the end of the sentence.

    The control of an alignment: an error rate that stays low when all links are moved by one word
    measures nothing, or the links were off by one to begin with.
    """
    return {(i, (j + 1) % target_words) for i, j in links}


def count(links: Links, sure: Links, possible: Links) -> tuple[int, int, int, int]:
    """Return the numbers of COUNTS for a sentence: |A|, |S|, |A ∩ S| and |A ∩ P|."""
    return len(links), len(sure), len(links & sure), len(links & (possible | sure))


def error_rate(counts: np.ndarray) -> np.ndarray:
    """Return 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), (..., 4) to (...,); 0 where there are no links.

    Och & Ney 2003, equation 21. Where nothing is linked although there are sure links, it is 1.
    """
    links, sure, links_sure, links_possible = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    wrong = links + sure - links_sure - links_possible
    return ratio(wrong, links + sure)


def precision(counts: np.ndarray) -> np.ndarray:
    """Return the share of links that are possible, (..., 4) to (...,); 0 where there are none."""
    return ratio(counts[..., 3], counts[..., 0])


def recall(counts: np.ndarray) -> np.ndarray:
    """Return the share of sure links that were found, (..., 4) to (...,); 0 without sure links."""
    return ratio(counts[..., 2], counts[..., 1])


def corpus_counts(links: Sequence[Links], gold: Sequence[Gold | None]) -> np.ndarray:
    """Return the numbers of COUNTS for each sentence, (sentences, 4); 0 for those without gold."""
    return np.asarray(
        [
            (0, 0, 0, 0) if correct is None else count(proposed, *correct)
            for proposed, correct in zip(links, gold, strict=True)
        ],
        dtype=np.int64,
    ).reshape(-1, len(COUNTS))


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return the ratio of sums; 0 where the denominator is 0."""
    zeros = np.zeros(np.shape(numerator))
    return np.divide(numerator, denominator, out=zeros, where=denominator != 0)
