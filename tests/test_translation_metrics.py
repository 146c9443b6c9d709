"""BLEU, chrF and ROUGE from sums of statistics, against sacrebleu and rouge_score."""

import logging

import numpy as np
import pandas as pd
import pytest
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF

from heed.tasks.translation.evaluation import by_length, group_edges
from heed.tasks.translation.metrics import (
    COUNTS,
    Gold,
    Links,
    corpus_bleu,
    detail_names,
    make_metrics,
    signatures,
    statistic_names,
    statistics,
    statistics_table,
)
from heed.tasks.translation.recipe import METRICS, Data, Prediction

DATA = Data("en", "de", "en", "de", has_gold_alignment=False)
ALIGNED = Data("norvic", "soldan", "whitespace", "whitespace", has_gold_alignment=True)
CASED, LOWER = Prediction(), Prediction(lowercase=True)
WHITE_SPACE = Prediction(tokenize="none")
REFERENCES = [
    "Zwei Männer stehen, im Regen, vor einem grünen Haus.",
    "Ein Mädchen fährt mit dem Fahrrad über die Straße.",
    'Über 1.000 Leute hören der Band zu – laut & "fröhlich"!',
    "Ja.",
    "Der Hund, der den Ball jagt, ist der Hund von nebenan.",
    "Eine Frau (rechts) läuft weiter.",
    "Kinder spielen im Schnee.",
]
HYPOTHESES = [
    "Zwei Männer stehen im Regen vor einem Haus.",
    "ein Mädchen fährt Fahrrad auf der Strasse .",
    "Über 1,000 Leute hören die Band – laut!",
    "Ja.",
    "der der der der der der Hund Hund",
    "",
    "Schnee",
]
OTHERS = [
    "Zwei Männer stehen vor einem Haus im Regen.",
    "Ein Mädchen fährt Fahrrad auf der Straße.",
    "Mehr als 1.000 Leute hören die Band.",
    "Jawohl.",
    "Der Hund von nebenan jagt den Ball.",
    "Eine Frau läuft.",
    "Im Schnee spielen Kinder, und der Schnee fällt.",
]


def count(hypotheses, references, scoring=CASED, data=DATA, alignments=None) -> pd.DataFrame:
    words = np.ones((len(hypotheses), 2))
    return statistics(hypotheses, references, words, alignments, data, scoring)


def one_each(references: list[str]) -> list[list[str]]:
    return [[reference] for reference in references]


CASES = {
    "sentences": (HYPOTHESES, [REFERENCES]),
    "two references": (HYPOTHESES, [REFERENCES, OTHERS]),
    "no four words match": (["a b c d e", "x"], [["a b x d e", "y"]]),
    "nothing matches": (["aa bb"], [["cc dd"]]),
    "shorter than four words": (["Ja.", "Nein."], [["Ja.", "Nein."]]),
    "empty": (["", ""], [["Ja.", "Nein, nicht das."]]),
    "longer than the reference": (["a b c d e f g h a b"], [["a b c d e"]]),
    "repeated": (["the the the the the the the"], [["the cat is on the mat"]]),
    "perfect": (REFERENCES, [REFERENCES]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("tokenize", ["13a", "none", "intl", "char"])
def test_bleu_and_chrf_from_sums_are_sacrebleus(case, lowercase, tokenize):
    hypotheses, references = CASES[case]
    scoring = Prediction(tokenize=tokenize, lowercase=lowercase)
    rows = [list(each) for each in zip(*references, strict=True)]
    computed = make_metrics(DATA).compute(count(hypotheses, rows, scoring).to_numpy())
    scorers = {
        "bleu": BLEU(tokenize=tokenize, lowercase=lowercase),
        "chrf": CHRF(lowercase=lowercase),
    }
    for name, scorer in scorers.items():
        expected = scorer.corpus_score(hypotheses, references).score
        assert 100 * computed[name] == pytest.approx(expected, abs=1e-9)
        assert signatures(scoring, len(references))[name] == str(scorer.get_signature())
    assert corpus_bleu(hypotheses, rows, scoring) == pytest.approx(computed["bleu"], abs=1e-12)


def test_sentences_may_have_different_numbers_of_references():
    rows = [
        [a, b] if i % 2 else [a] for i, (a, b) in enumerate(zip(REFERENCES, OTHERS, strict=True))
    ]
    columns = [REFERENCES, [b if i % 2 else None for i, b in enumerate(OTHERS)]]
    computed = make_metrics(DATA).compute(count(HYPOTHESES, rows).to_numpy())
    assert 100 * computed["bleu"] == pytest.approx(BLEU().corpus_score(HYPOTHESES, columns).score)
    assert 100 * computed["chrf"] == pytest.approx(CHRF().corpus_score(HYPOTHESES, columns).score)


def test_the_signature_is_that_of_published_scores():
    assert signatures(LOWER)["bleu"].startswith("nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|vers")


def test_clipping_keeps_a_repeated_word_from_counting_more_than_the_reference_has_it():
    """Papineni et al. 2002, example 2: the modified unigram precision is 2 / 7."""
    hypotheses, references = CASES["repeated"]
    counted = count(hypotheses, [references[0]])
    assert counted[["bleu:matches:1", "bleu:total:1"]].to_numpy().tolist() == [[2, 7]]
    details = make_metrics(DATA).details(counted.to_numpy().sum(0))
    assert details["ngrams"]["1"]["precision"] == pytest.approx(2 / 7)
    assert {"ngrams": list(details["ngrams"])} == detail_names(DATA)


def test_rouge_is_rouge_scores_where_its_tokenizer_keeps_all_letters():
    hypotheses = ["the cat sat on the mat", "dog", "", "on the mat the cat sat"]
    references = ["the cat is on the mat", "the dog barks", "a dog", "the cat sat on the mat"]
    computed = make_metrics(DATA).compute(count(hypotheses, one_each(references)).to_numpy())
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"])
    scores = [scorer.score(r, h) for r, h in zip(references, hypotheses, strict=True)]
    for name in ("1", "2", "L"):
        for metric in ("precision", "recall"):
            expected = np.mean([getattr(score[f"rouge{name}"], metric) for score in scores])
            assert computed[f"rouge_{name.lower()}_{metric}"] == pytest.approx(expected)


def test_rouge_keeps_umlauts_which_the_tokenizer_of_rouge_score_drops():
    computed = make_metrics(DATA).compute(count(["Tür"], [["Tor"]]).to_numpy())
    assert computed["rouge_1_recall"] == 0
    theirs = RougeScorer(["rouge1"]).score("schön ä", "schon ö")["rouge1"]
    ours = make_metrics(DATA).compute(count(["schon ö"], [["schön ä"]]).to_numpy())
    assert ours["rouge_1_recall"] == 0 and theirs.recall == 0
    assert RougeScorer(["rouge1"]).score("für", "fär")["rouge1"].recall == 1, "f and r are left"
    assert make_metrics(DATA).compute(count(["fär"], [["für"]]).to_numpy())["rouge_1_recall"] == 0


def test_a_short_hypothesis_has_precision_and_no_recall():
    """Why lecture and paper contrast them: BLEU needs its brevity penalty, ROUGE needs none."""
    scores = make_metrics(DATA).compute(count(["the cat"], [["the cat is on the mat"]]).to_numpy())
    assert scores["rouge_1_precision"] == 1 and scores["rouge_1_recall"] == pytest.approx(2 / 6)


def test_an_exact_match_is_one_with_any_reference():
    matches = count(["Ja. ", "nein", "ja."], [["Nein.", "Ja."], ["Nein"], ["Ja."]])["exact_match"]
    assert matches.tolist() == [1, 0, 0]
    matches = count(["Ja. ", "nein", "ja."], [["Nein.", "Ja."], ["Nein"], ["Ja."]], LOWER)
    assert matches["exact_match"].tolist() == [1, 1, 1]


def test_references_that_are_tokenised_before_bleu_give_another_score():
    """The bug of many repositories: their BLEU is of other words, and compares to nobody's."""
    tokenised = ["Die Uhr zeigt 12 : 30 Uhr , nicht 12 . 45 ."]
    raw = ["Die Uhr zeigt 12:30 Uhr, nicht 12.45."]
    hypothesis = ["Die Uhr zeigt 12:30 Uhr, nicht 12.50."]
    right = corpus_bleu(hypothesis, one_each(raw), CASED)
    wrong = corpus_bleu(["Die Uhr zeigt 12 : 30 Uhr , nicht 12 . 50 ."], one_each(tokenised), CASED)
    mixed = corpus_bleu(hypothesis, one_each(tokenised), CASED)
    assert right == pytest.approx(BLEU().corpus_score(hypothesis, [raw]).score / 100)
    assert wrong > right + 0.02, "both tokenised: marks that always match are counted as words"
    assert mixed < right - 0.1, "one of both tokenised: numbers never match"


def test_tokenised_hypotheses_raise_no_warning_that_nobody_can_act_on(caplog):
    with caplog.at_level(logging.WARNING):
        links = [set()] * 120, [None] * 120
        count(["a b c ."] * 120, [["a b c ."]] * 120, WHITE_SPACE, ALIGNED, links)
    assert not caplog.records


def drawn(sentences: int, seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    references = [" ".join(generator.choice(list("abcdef"), 9)) for _ in range(sentences)]
    hypotheses = [
        " ".join(w for w in reference.split() if generator.random() < 0.8)
        for reference in references
    ]
    links: list[Links] = [
        {(i, i) for i in range(9) if generator.random() < 0.7} for _ in references
    ]
    gold: list[Gold | None] = [({(i, i) for i in range(9)}, {(1, 2)}) for _ in references]
    return count(hypotheses, one_each(references), WHITE_SPACE, ALIGNED, (links, gold))


def test_the_mean_of_the_values_of_sentences_is_the_metric():
    metrics, runs = make_metrics(ALIGNED), np.stack([drawn(30, seed).to_numpy() for seed in (1, 2)])
    for metric in metrics.all:
        values = metric.by_item(runs)
        assert values.shape == (2, 30) and np.isfinite(values).all()
        for run, value in zip(runs, values, strict=True):
            assert value.mean() == pytest.approx(metrics.compute(run)[metric.name], abs=1e-12)
    assert metrics.named(None).name == "bleu"


def test_no_figure_is_nan_where_nothing_was_counted():
    """A sentence left out may be the only one, or the only one with words or links."""
    metrics = make_metrics(ALIGNED)
    nothing = np.zeros((2, 3, len(statistic_names(ALIGNED))))
    with np.errstate(all="raise"):
        for metric in metrics.all:
            assert metric.value(nothing).tolist() == np.zeros((2, 3)).tolist()
            assert np.isfinite(metric.by_item(drawn(1, 3).to_numpy()[None])).all()
    assert count([], []).shape == (0, len(statistic_names(DATA)))


def test_the_metrics_that_a_study_may_name_come_first_and_are_better_the_higher_they_are():
    names = [metric.name for metric in make_metrics(ALIGNED).all]
    assert tuple(names[: len(METRICS)]) == METRICS
    further = ["unknown_words", "aer", "alignment_precision", "alignment_recall"]
    assert names[len(METRICS) :] == further
    perfect = make_metrics(DATA).compute(count(REFERENCES, one_each(REFERENCES)).to_numpy())
    assert [perfect[name] for name in METRICS] == pytest.approx([1.0] * len(METRICS))


def test_the_statistics_of_a_table_of_predictions_have_links_and_unknown_words():
    predictions = pd.DataFrame(
        {
            "id": ["a", "b"],
            "hypothesis": ["x y", "z"],
            "reference": ["x y", "z w"],
            "further_references": [[], []],
            "links": ["0-0 1-0", ""],
            "source_words": [3, 1],
            "unknown_words": [1, 0],
        }
    )
    gold: list[Gold | None] = [({(0, 0), (1, 1)}, {(0, 0), (1, 1)}), None]
    scores = make_metrics(ALIGNED).compute(
        statistics_table(predictions, gold, ALIGNED, WHITE_SPACE).to_numpy()
    )
    assert scores["unknown_words"] == pytest.approx(1 / 4)
    assert scores["aer"] == pytest.approx(1 - 2 / 4)
    assert scores["alignment_precision"] == scores["alignment_recall"] == 0.5


def test_groups_by_length_have_the_figures_of_their_sums():
    table, lengths = drawn(40, 5), np.arange(40) // 4 + 3
    edges = group_edges(lengths)
    groups = by_length(table.to_numpy(), lengths, edges, ALIGNED)
    assert groups["sentences"].sum() == 40 and groups["longest"].tolist() == edges.tolist()
    metrics = make_metrics(ALIGNED)
    first = table.to_numpy()[lengths <= edges[0]]
    for name in ("bleu", "chrf", "aer"):
        assert groups[name][0] == pytest.approx(metrics.compute(first)[name])
    assert groups["mean_length"][0] == pytest.approx(lengths[lengths <= edges[0]].mean())


def test_a_group_of_sentences_without_any_link_has_no_alignment_error():
    statistics, lengths = drawn(40, 5).copy(), np.arange(40) // 4 + 3
    edges = group_edges(lengths)
    statistics.loc[lengths <= edges[0], list(COUNTS)] = 0
    groups = by_length(statistics.to_numpy(), lengths, edges, ALIGNED)
    assert groups["aer"].isna().tolist() == [True] + [False] * (len(edges) - 1)
    assert groups["bleu"].notna().all()
