"""The reference models of a translator and its tables, on a small generated pair of languages."""

import dataclasses
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from heed.corpora.sample_translation import LINKS, NORVIC, SOLDAN, generate_rows
from heed.evaluation import item_statistics as evaluated
from heed.tasks.translation import evaluation, reference_models
from heed.tasks.translation.metrics import format_links, make_metrics, read_links
from heed.tasks.translation.recipe import Data, Prediction
from heed.tokens.arrays import Gold, ParallelTokens, Side

DATA = Data(NORVIC, SOLDAN, "whitespace", "whitespace", has_gold_alignment=True)
SCORING = Prediction(tokenize="none")
EXPERIMENT = SimpleNamespace(data=SCORING)
NO_GOLD = dataclasses.replace(DATA, has_gold_alignment=False)


def make_side(texts: list[str]) -> Side:
    """Return the tokens of texts; a full stop is a token, and stands without a blank."""
    found = [[*re.finditer(r"\w+|\.", text)] for text in texts]
    tokens = [token for each in found for token in each]
    lexicon = {word: i for i, word in enumerate(dict.fromkeys(token[0] for token in tokens))}
    ids = np.asarray([lexicon[token[0]] for token in tokens])
    starts, ends = np.asarray([token.span() for token in tokens]).T
    return Side(ids, starts, ends, np.cumsum([0, *map(len, found)]), [*lexicon], lambda: texts)


class InMemory(ParallelTokens):
    """A parallel corpus that was never written."""

    def __init__(self, rows: list[dict[str, str]], gold: bool, end: str = "") -> None:
        sides = {name: make_side([row[name] + end for row in rows]) for name in (NORVIC, SOLDAN)}
        super().__init__(Path("nowhere"), SimpleNamespace(folds=0, documents=len(rows)), sides)
        object.__setattr__(self, "_rows", rows)
        object.__setattr__(self, "_gold", gold)

    def documents(self, columns: list[str]) -> pd.DataFrame:
        return pd.DataFrame(self._rows)[columns]

    def rows(self, part: str, fold: int) -> np.ndarray:
        return np.flatnonzero([row["part"] == part for row in self._rows])

    def alignment(self, source: str, target: str) -> dict[int, Gold] | None:
        if not self._gold:
            return None
        return dict(enumerate(read_links(pd.Series([row[LINKS] for row in self._rows]))))


GENERATED = (row for row in generate_rows(1200, seed=1) if row["part"] != "long")
ROWS = [row for row in GENERATED if len(row[NORVIC].split()) <= 10]


@pytest.fixture(scope="module", autouse=True)
def few_weights():
    """Two weights of each kind are tried: all of them take seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference_models, "MOVES", reference_models.MOVES[:2])
        patch.setattr(reference_models, "FACTORS", reference_models.FACTORS[5:7])
        yield


@pytest.fixture(scope="module")
def fitted(few_weights):
    tokens = InMemory(ROWS, gold=True)
    return tokens, reference_models.fit(tokens, DATA, EXPERIMENT)


def test_the_reference_models_are_the_source_and_the_statistical_road(fitted):
    _, fits = fitted
    assert [name for name, _ in fits.predictions] == ["copy", "statistical"]
    scores = {}
    for (name, _), table in fits.predictions.items():
        assert set(table["split"]) == {"validation", "test"}
        test = table[table["split"] == "test"]
        scores[name] = make_metrics(DATA).compute(fits.statistics(test).to_numpy())
    copied = fits.predictions["copy", 0]
    assert (copied["hypothesis"] == copied["source"]).all()
    assert scores["copy"]["bleu"] == 0 and scores["copy"]["aer"] > 0.7, "the diagonal"
    assert scores["statistical"]["bleu"] > 0.2 and scores["statistical"]["aer"] < 0.3


def test_the_reference_models_read_no_test_sentence(fitted):
    """With other test references the translations of the test split are the same."""
    _, fits = fitted
    other = {SOLDAN: "mi mi mi", LINKS: ""}
    changed = [row | other if row["part"] == "test" else row for row in ROWS]
    others = reference_models.fit(InMemory(changed, gold=True), DATA, EXPERIMENT)
    for key, table in fits.predictions.items():
        assert others.predictions[key]["hypothesis"].tolist() == table["hypothesis"].tolist()
    assert others.selection == fits.selection


def test_words_are_joined_to_text_as_the_training_part_is():
    tokens = InMemory(ROWS[:50], gold=False, end=".")
    sentences = reference_models.read_sentences(tokens, NORVIC, lowercase=False)
    side = tokens.sides[NORVIC]
    detokenizer = reference_models.learn_sentence_detokenizer(sentences, side, np.arange(50))
    unknown = len(sentences.words)
    for row, text in enumerate(side.texts(np.arange(50))):
        ids = sentences.rows[row].tolist()
        words = [sentences.words[id_] for id_ in ids]
        assert reference_models.join_words(ids, words, detokenizer, unknown) == text
        ids, other = [-1, *ids[1:]], ["Zug", *words[1:]]
        copied = reference_models.join_words(ids, other, detokenizer, unknown)
        assert copied == text.replace(words[0], "Zug", 1)
    assert reference_models.join_words([], [], detokenizer, unknown) == ""


def as_model(table: pd.DataFrame, fits, data: Data, learns_weights=True) -> evaluated.TestedModel:
    """Return a model of one seed that predicted what a reference model did."""
    test = table[table["split"] == "test"]
    statistics = fits.statistics(test).set_index(test["id"])
    recipe = SimpleNamespace(
        corpus="x",
        data=data,
        hyperparameters=SimpleNamespace(segmentation="words", learns_weights=learns_weights),
    )
    rest = ([3], [1000], [{"bleu": [0.1]}], [""])
    return evaluated.TestedModel("m", [0], [statistics], recipe, SCORING, *rest)


def test_the_tables_of_a_model_with_gold_links(fitted, monkeypatch):
    tokens, fits = fitted
    monkeypatch.setattr(evaluation, "load_tokens", lambda _: tokens)
    predictions = fits.predictions["statistical", 0].assign(seed=7)
    tested = as_model(predictions, fits, DATA)
    # rows in another order change nothing: they are found by id
    tables = evaluation.tables(tested, [7], predictions.sample(frac=1, random_state=0))
    assert set(tables) == {"summary", "lengths"}
    assert all(each.columns[0] == "seed" and {*each["seed"]} == {7} for each in tables.values())
    summary = tables["summary"].iloc[0]
    assert summary["aer_shifted"] > 0.8 > summary["aer"], "links moved by one word are wrong"
    assert summary["support"] == tables["lengths"]["sentences"].sum() == len(tested.statistics[0])
    assert summary["best_epoch"] == 3 and summary["parameters"] == 1000
    assert 0 < summary["validation_bleu"] < 1


def test_without_gold_links_agreement_with_ibm_model_1_is_called_agreement(monkeypatch):
    tokens = InMemory(ROWS[:200], gold=False)
    monkeypatch.setattr(evaluation, "load_tokens", lambda _: tokens)
    fits = reference_models.fit(tokens, NO_GOLD, EXPERIMENT)
    predictions = fits.predictions["statistical", 0].assign(seed=1)
    tested = as_model(predictions, fits, NO_GOLD)
    tables = evaluation.tables(tested, [1], predictions)
    assert set(tables) == {"summary", "lengths"} and "aer" not in tables["summary"]
    assert tables["summary"]["ibm1_agreement"].tolist() == [1.0], "its own links"
    without = predictions.assign(links=format_links(set()))
    tested = as_model(without, fits, NO_GOLD, learns_weights=False)
    assert "ibm1_agreement" not in evaluation.tables(tested, [1], without)["summary"]


def test_tokens_belong_to_the_words_that_white_space_separates():
    side = make_side(["ka mi.", "mi. . ka", "mi"])
    words = [reference_models.separated_words(side, row).tolist() for row in range(3)]
    assert words == [[0, 1, 1], [0, 0, 1, 2], [0]]


def test_types_that_differ_in_case_are_one_word_where_scores_ignore_case():
    tokens = InMemory(ROWS[:3], gold=False)
    tokens.sides[NORVIC] = make_side(["Ka mi", "ka Mi.", "KA"])
    read = reference_models.read_sentences(tokens, NORVIC, lowercase=True)
    assert read.words == ["ka", "mi", "."]
    assert [row.tolist() for row in read.rows] == [[0, 1], [0, 1, 2], [0]]
    assert len(reference_models.read_sentences(tokens, NORVIC, lowercase=False).words) == 6
