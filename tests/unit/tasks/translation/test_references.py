"""Several references of a translation: scores count all of them, and no training reads them."""

import contextlib
import hashlib
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER

from heed.cli import stages
from heed.evaluation.tested import evaluate
from heed.files import HeedError
from heed.prediction import write_predictions
from heed.study import Corpus, Split, load
from heed.tasks.translation.metrics import make_metrics, sentence_table, statistics_table
from heed.tasks.translation.recipe import Data, Prediction
from heed.tokens.arrays import load_tokens
from heed.tokens.corpus import tokenize as tokenize_corpus
from tests.conftest import ROOT, train

STUDY = (ROOT / "tests/studies/parts/references.yaml").read_text()
DATA = "data: {source: de, target: en"
LANGUAGES = ["german", "english", "american", "scottish"]
ANIMALS = ("dog", "cat", "horse", "bird", "mouse", "fish", "cow", "hen", "duck", "goat")


def write_study(references: str) -> None:
    """Write params.yaml; `references` continues the section `data`."""
    digest = hashlib.sha256(Path("pairs.csv").read_bytes()).hexdigest()
    study = STUDY.replace("SHA256", digest).replace(DATA, DATA + references)
    Path("params.yaml").write_text(study)


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that was scored with three references; one has gaps."""
    folder = tmp_path_factory.mktemp("references")
    rows = [
        (
            f"Der {name} {n} schläft.", f"The {name} {n} is sleeping.", f"The {name} {n} sleeps.",
            f"Thon {name} {n} sleeps." if n % 2 else "",
        )
        for n in range(6)
        for name in ANIMALS
    ]  # fmt: skip
    with contextlib.chdir(folder):
        pd.DataFrame(rows, columns=LANGUAGES).to_csv("pairs.csv", index=False)
        write_study("")
        stages.download("mine")
        stages.tokenize("mine")
        stages.recipe("mine")
        recipe = Path("results/recipe/mine/mine-baseline.yaml").read_bytes()
        train("mine-baseline", 1)
        write_study(", references: [en2, en3]")
        stages.recipe("mine")
        assert Path("results/recipe/mine/mine-baseline.yaml").read_bytes() == recipe
        write_predictions("mine-baseline", [1])
        evaluate("mine-baseline", [1])
    return folder


def multi_bleu(table: pd.DataFrame) -> float:
    """Return sacrebleu's own score of predictions, with the references of the table of pairs."""
    pairs = pd.read_csv("pairs.csv", keep_default_na=False).set_index("german").loc[table["source"]]
    columns = [[text or None for text in pairs[name]] for name in LANGUAGES[1:]]
    return sacrebleu.corpus_bleu(table["hypothesis"].tolist(), columns, force=True).score / 100


def test_bleu_is_sacrebleus_own_with_several_references(scored, monkeypatch):
    monkeypatch.chdir(scored)
    table = pd.read_parquet("results/predict/mine/mine-baseline/predictions.parquet")
    assert set(map(len, table["further_references"])) == {1, 2}, "an empty text is no reference"
    summary = pd.read_csv("results/evaluate/mine/mine-baseline/summary.csv").iloc[0]
    splits = dict(iter(table.groupby("split")))
    assert summary["bleu"] == pytest.approx(multi_bleu(splits["test"]), abs=1e-9)
    assert summary["validation_bleu"] == pytest.approx(multi_bleu(splits["validation"]), abs=1e-9)
    assert pd.isna(summary["references"]), "sentences have two or three"


RAW = [
    "Le cafe\u0301 est ferme\u0301 a\u0300 midi .",  # decomposed letters
    "zero\u200bwidth \u200ejoiner\u200d marks \u200fof \u202atext\u202c\u2060 \ufeffhere",
    "10\u00a0000\u202fhouses\u00a0and more\u00adover",
    "a<br />break, a tab\there, a bell\x07, and C1 \x85\x91quotes\x92 ",
    "plain words as they are",
]


@pytest.mark.parametrize("tokenize", ["13a", "none", "intl", "char"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_references_are_scored_as_they_stand_in_the_users_file(tmp_path, newline, tokenize):
    (tmp_path / "raw").mkdir()
    pairs = pd.DataFrame({"german": [f"Satz {i}" for i in range(10)], "english": RAW * 2})
    pairs.to_csv(tmp_path / "raw/pairs.csv", index=False, lineterminator=newline)
    columns = {"de": "german", "en": "english"}
    split = Split(kind="random", test=0.5)
    corpus = Corpus(source="raw", kind="parallel", columns=columns, split=split)
    tokenize_corpus("mine", corpus, tmp_path / "raw", tmp_path / "tokens", 1)
    tokens, data = load_tokens(tmp_path / "tokens"), Data("de", "en", "xx", "xx", False)
    scoring, rows = Prediction(tokenize=tokenize), np.arange(10)
    hypotheses = [unicodedata.normalize("NFC", text) for text in RAW[:4]] * 2 + ["plain words", ""]
    table = sentence_table(tokens, data, scoring, rows)
    table = table.assign(hypothesis=hypotheses, unknown_words=0)
    scores = make_metrics(data).compute(statistics_table(table, None, data, scoring).to_numpy())
    references = [[text.rstrip() for text in pairs["english"]]]  # as sacrebleu reads a line
    for name, scorer in (("bleu", BLEU(tokenize=tokenize)), ("chrf", CHRF())):
        expected = scorer.corpus_score(hypotheses, references).score
        assert 100 * scores[name] == pytest.approx(expected, abs=1e-12)
    ter = TER().corpus_score(hypotheses, [table["reference"].tolist()])
    assert ter.score == TER().corpus_score(hypotheses, references).score
    assert tokens.sides["en"].texts(rows[:1]) == [unicodedata.normalize("NFC", RAW[0])]


def test_a_corpus_that_cleaning_does_not_change_has_no_file_of_references(scored):
    assert not (scored / "data/tokens/mine/references.parquet").exists()


@pytest.mark.parametrize(("right", "wrong", "message"), [
    ("[en2, en3]", "[en2, en2]", "data.references: each name once, found twice: en2"),
    ("[en2, en3]", "[de]", "data.references: de is the source"),
    ("[en2, en3]", "[fr]", "data.references: corpus mine has no language fr"),
    ("languages: [en3]", "languages: [en]", "data.target: en is one of `optional_languages`"),
])  # fmt: skip
def test_references_that_are_none_are_an_error(scored, tmp_path, right, wrong, message):
    text = (scored / "params.yaml").read_text().replace(right, wrong)
    (tmp_path / "params.yaml").write_text(text)
    with pytest.raises(HeedError, match=rf"params.yaml:\d+: .*{message}"):
        load(tmp_path / "params.yaml")
