"""References are scored as they stand in the user's file, before any cleaning."""

import unicodedata

import numpy as np
import pandas as pd
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

from heed.study import Corpus, Split
from heed.tasks.translation.metrics import make_metrics, sentence_table, statistics_table
from heed.tasks.translation.recipe import Data, Prediction
from heed.tokens.arrays import load_tokens
from heed.tokens.corpus import tokenize as tokenize_corpus

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
    table = sentence_table(tokens, data, rows)
    table = table.assign(hypothesis=hypotheses, unknown_words=0)
    scores = make_metrics(data).compute(statistics_table(table, None, data, scoring).to_numpy())
    references = [[text.rstrip() for text in pairs["english"]]]  # as sacrebleu reads a line
    for name, scorer in (("bleu", BLEU(tokenize=tokenize)), ("chrf", CHRF())):
        expected = scorer.corpus_score(hypotheses, references).score
        assert 100 * scores[name] == pytest.approx(expected, abs=1e-12)
    ter = TER().corpus_score(hypotheses, [table["reference"].tolist()])
    assert ter.score == TER().corpus_score(hypotheses, references).score
    assert tokens.sides["en"].texts(rows[:1]) == [unicodedata.normalize("NFC", RAW[0])]
