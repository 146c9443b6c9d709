"""BLEU, chrF, ROUGE and alignment error from sums of statistics, against sacrebleu, rouge_score
and hand."""

import numpy as np
import pandas as pd
import pytest
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF

from heed.evaluation.item_statistics import group_edges
from heed.files import HeedError
from heed.tasks.translation import evaluation
from heed.tasks.translation.metrics import (
    COUNTS,
    Gold,
    Links,
    corpus_bleu,
    corpus_counts,
    error_rate,
    format_links,
    links_from_weights,
    make_metrics,
    read_links,
    signatures,
    statistic_names,
    statistics_table,
    weights_of_words,
)
from heed.tasks.translation.recipe import METRICS, Data, Prediction
from tests.conftest import cases

DATA = Data("en", "de", "en", "de", has_gold_alignment=False)
ALIGNED = Data("norvic", "soldan", "whitespace", "whitespace", has_gold_alignment=True)
CASED, LOWER = Prediction(), Prediction(lowercase=True)
WHITE_SPACE = Prediction(tokenize="none")
REFERENCES, HYPOTHESES = cases(__file__).values()


def count(
    hypotheses: list[str], references: list[str], scoring: Prediction = CASED,
    links: list[Links] | None = None, gold: list[Gold | None] | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return the statistics of hypotheses, with sources of one known word."""
    table = pd.DataFrame({"hypothesis": hypotheses, "id": range(len(hypotheses))})
    table["reference"] = references
    table["links"] = [format_links(pairs) for pairs in links or [set()] * len(hypotheses)]
    data = DATA if gold is None else ALIGNED
    return statistics_table(table.assign(source_words=1, unknown_words=1), gold, data, scoring)


def scores(hypotheses: list[str], references: list[str], **options) -> dict[str, float]:
    return make_metrics(DATA).compute(count(hypotheses, references, **options).to_numpy())


CASES = {
    "sentences": (HYPOTHESES, REFERENCES),
    "no four words match": (["a b c d e", "x"], ["a b x d e", "y"]),
    "nothing matches": (["aa bb"], ["cc dd"]),
    "shorter than four words": (["Ja.", "Nein."], ["Ja.", "Nein."]),
    "empty": (["", ""], ["Ja.", "Nein, nicht das."]),
    "longer than the reference": (["a b c d e f g h a b"], ["a b c d e"]),
    "repeated": (["the the the the the the the"], ["the cat is on the mat"]),
    "perfect": (REFERENCES, REFERENCES),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("tokenize", ["13a", "none", "intl", "char"])
def test_bleu_and_chrf_from_sums_are_sacrebleus(case, lowercase, tokenize):
    hypotheses, references = CASES[case]
    scoring = Prediction(tokenize=tokenize, lowercase=lowercase)
    computed = scores(hypotheses, references, scoring=scoring)
    bleu = BLEU(tokenize=tokenize, lowercase=lowercase)
    scorers = {"bleu": bleu, "chrf": CHRF(lowercase=lowercase)}
    for name, scorer in scorers.items():
        expected = scorer.corpus_score(hypotheses, [references]).score
        assert 100 * computed[name] == pytest.approx(expected, abs=1e-9)
        assert signatures(scoring)[name] == str(scorer.get_signature())
    whole = corpus_bleu(hypotheses, references, scoring)
    assert whole == pytest.approx(computed["bleu"], abs=1e-12)


def test_clipping_keeps_a_repeated_word_from_counting_more_than_the_reference_has_it():
    """Papineni et al. 2002, example 2: the modified unigram precision is 2 / 7."""
    hypotheses, references = CASES["repeated"]
    counted = count(hypotheses, references)
    assert counted[["bleu:matches:1", "bleu:total:1"]].to_numpy().tolist() == [[2, 7]]
    details = make_metrics(DATA).details(counted.to_numpy().sum(0))
    assert details["ngrams"]["1"]["precision"] == pytest.approx(2 / 7)
    assert [*details["ngrams"]] == ["1", "2", "3", "4"]


def test_rouge_is_rouge_scores_but_keeps_umlauts_which_its_tokenizer_drops():
    hypotheses = ["the cat sat on the mat", "dog", "", "on the mat the cat sat"]
    references = ["the cat is on the mat", "the dog barks", "a dog", "the cat sat on the mat"]
    computed = scores(hypotheses, references)
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"])
    theirs = [scorer.score(r, h) for r, h in zip(references, hypotheses, strict=True)]
    for name in ("1", "2", "L"):
        for metric in ("precision", "recall"):
            expected = np.mean([getattr(score[f"rouge{name}"], metric) for score in theirs])
            assert computed[f"rouge_{name.lower()}_{metric}"] == pytest.approx(expected)
    assert scorer.score("für", "fär")["rouge1"].recall == 1, "f and r are left"
    assert scores(["fär"], ["für"])["rouge_1_recall"] == 0


@pytest.mark.parametrize(("scoring", "matches"), [(CASED, [1, 0, 0]), (LOWER, [1, 1, 1])])
def test_an_exact_match_is_one_with_the_reference(scoring, matches):
    counted = count(["Ja. ", "nein", "ja."], ["Ja.", "Nein", "Ja."], scoring)
    assert counted["exact_match"].tolist() == matches


def test_references_that_are_tokenised_before_bleu_give_another_score():
    """The bug of many repositories: their BLEU is of other words, and compares to nobody's."""
    tokenised = ["Die Uhr zeigt 12 : 30 Uhr , nicht 12 . 45 ."]
    raw = ["Die Uhr zeigt 12:30 Uhr, nicht 12.45."]
    hypothesis = ["Die Uhr zeigt 12:30 Uhr, nicht 12.50."]
    right = corpus_bleu(hypothesis, raw, CASED)
    wrong = corpus_bleu(["Die Uhr zeigt 12 : 30 Uhr , nicht 12 . 50 ."], tokenised, CASED)
    mixed = corpus_bleu(hypothesis, tokenised, CASED)
    assert right == pytest.approx(BLEU().corpus_score(hypothesis, [raw]).score / 100)
    assert wrong > right + 0.02, "both tokenised: marks that always match are counted as words"
    assert mixed < right - 0.1, "one of both tokenised: numbers never match"


def drawn(sentences: int, seed: int) -> pd.DataFrame:
    """Return the statistics of sentences whose words and links are right with p = .8 and .7."""
    generator = np.random.default_rng(seed)
    references = [" ".join(generator.choice(list("abcdef"), 9)) for _ in range(sentences)]
    kept = ((w for w in reference.split() if generator.random() < 0.8) for reference in references)
    hypotheses = [*map(" ".join, kept)]
    links = [{(i, i) for i in range(9) if generator.random() < 0.7} for _ in references]
    sure = {(i, i) for i in range(9)}
    gold: list[Gold | None] = [(sure, sure | {(1, 2)})] * sentences
    return count(hypotheses, references, WHITE_SPACE, links, gold)


def test_the_mean_of_the_values_of_sentences_is_the_metric():
    metrics, runs = make_metrics(ALIGNED), np.stack([drawn(30, seed).to_numpy() for seed in (1, 2)])
    for metric in metrics.all:
        values = metric.by_item(runs)
        assert values.shape == (2, 30) and np.isfinite(values).all()
        for run, value in zip(runs, values, strict=True):
            assert value.mean() == pytest.approx(metrics.compute(run)[metric.name], abs=1e-12)
    assert metrics.named(None).name == "bleu"


def test_no_metric_is_nan_where_nothing_was_counted():
    """A sentence left out may be the only one, or the only one with words or links."""
    metrics = make_metrics(ALIGNED)
    nothing = np.zeros((2, 3, len(statistic_names(ALIGNED))))
    with np.errstate(all="raise"):
        for metric in metrics.all:
            assert metric.value(nothing).tolist() == np.zeros((2, 3)).tolist()
            assert np.isfinite(metric.by_item(drawn(1, 3).to_numpy()[None])).all()


def test_the_metrics_that_a_study_may_name_come_first_and_are_better_the_higher_they_are():
    names = [metric.name for metric in make_metrics(ALIGNED).all]
    further = ["unknown_words", "aer", "alignment_precision", "alignment_recall"]
    assert names == [*METRICS, *further]
    perfect = scores(REFERENCES, REFERENCES)
    assert [perfect[name] for name in METRICS] == pytest.approx([1.0] * len(METRICS))


def test_groups_by_length_have_the_metrics_of_their_sums():
    table, lengths = drawn(40, 5), np.arange(40) // 4 + 3
    edges, metrics = group_edges(lengths, evaluation.GROUPS), make_metrics(ALIGNED)
    shortest = lengths <= edges[0]
    groups = evaluation.by_length(table.to_numpy(), lengths, edges, ALIGNED)
    assert groups["sentences"].sum() == 40 and groups["longest"].tolist() == edges.tolist()
    expected = metrics.compute(table.to_numpy()[shortest])
    for name in ("bleu", "chrf", "aer"):
        assert groups[name][0] == pytest.approx(expected[name])
    assert groups["mean_length"][0] == pytest.approx(lengths[shortest].mean())
    table.loc[shortest, list(COUNTS)] = 0
    groups = evaluation.by_length(table.to_numpy(), lengths, edges, ALIGNED)
    assert groups["aer"].isna().tolist() == [True] + [False] * (len(edges) - 1), "without links"
    assert groups["bleu"].notna().all()


def parse(text: str) -> Gold:
    (links,) = read_links(pd.Series([text], [7], name="gold"))
    return links


def test_links_in_pharaohs_format_are_read_and_written():
    sure, possible = parse("0-0 2-1 1?1")
    assert sure == {(0, 0), (2, 1)} and possible == {(0, 0), (2, 1), (1, 1)}
    assert format_links(sure, possible) == "0-0 1?1 2-1"
    assert parse("") == (set(), set()) and format_links(set()) == ""
    assert read_links(pd.Series([None], name="gold")) == [None]


@pytest.mark.parametrize("link", ["0", "0-", "a-1", "0:1", "-1-2", "0--1", "0-1-2", "²-1"])
def test_what_is_no_link_is_refused_with_its_sentence(link):
    with pytest.raises(HeedError, match="gold of sentence 7") as error:
        parse(f"0-0 {link}")
    assert repr(link) in str(error.value)


def test_the_error_rate_is_och_and_neys_by_hand():
    links, gold = {(0, 0), (2, 1), (2, 2)}, ({(0, 0), (1, 2)}, {(0, 0), (1, 2), (2, 1)})
    (counts,) = corpus_counts([links], [gold])
    assert counts.tolist() == [3, 2, 1, 2]
    assert error_rate(counts) == pytest.approx(1 - (1 + 2) / (3 + 2))
    values = make_metrics(ALIGNED).compute(count(["a"], ["a"], CASED, [links], [gold]).to_numpy())
    assert values["aer"] == pytest.approx(2 / 5)
    assert values["alignment_precision"] == pytest.approx(2 / 3)
    assert values["alignment_recall"] == pytest.approx(1 / 2)


def test_the_error_rate_is_a_ratio_of_sums_and_no_mean_over_sentences():
    short, long = {(0, 0)}, {(i, i) for i in range(9)}
    counts = corpus_counts([set(), long, {(3, 3)}], [(short, short), (long, long), None])
    assert counts[2].tolist() == [0] * 4, "without gold links"
    assert error_rate(counts.sum(0)) == pytest.approx(1 - 18 / 19)
    assert error_rate(counts[:2]).mean() == pytest.approx(0.5), "which counts the short one more"
    assert error_rate(np.asarray([0, 5, 0, 0])) == 1, "nothing is linked"


def test_weights_are_summed_over_the_pieces_of_a_source_word_and_averaged_over_a_target_words():
    weights = np.asarray([[0.4, 0.3, 0.3], [0.1, 0.2, 0.7], [0.7, 0.3, 0.0]])
    by_words = weights_of_words(weights, np.asarray([0, 1, 1]), np.asarray([0, 0, 1]))
    assert np.allclose(by_words, [[0.25, 0.75], [0.7, 0.3]])
    assert links_from_weights(by_words) == {(1, 0), (0, 1)}
    assert links_from_weights(np.asarray([[0.4, 0.4]])) == {(0, 0)}, "the first of equal weights"


def test_the_rows_of_a_decoders_attention_belong_to_the_words_that_they_predict():
    """Off by one, every link is wrong: the control that shifts all links must be bad."""
    links, late = (links_from_weights(np.roll(np.eye(6), by, axis=0)) for by in (0, 1))
    gold = {(i, i) for i in range(6)}
    assert links == gold and late == evaluation.shift(gold, 6)
    assert error_rate(corpus_counts([links, late], [(gold, gold)] * 2)).tolist() == [0, 1]
