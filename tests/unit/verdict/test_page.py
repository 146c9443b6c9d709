"""Pages, tables for LaTeX and figures of verdicts and of answers over corpora."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from heed.files import HeedError
from heed.verdict.command import verdict
from heed.verdict.pairs import Asked
from heed.verdict.pooled import print_answers
from tests.conftest import ROOT

ABILITY = {"attention & more": 0.9, "<average>": 0.6, "last_state": 0.58}


@pytest.fixture
def scores(tmp_path, monkeypatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    rows = [
        (model, seed, item, int((7 * seed + 13 * item) % 100 < 100 * ability))
        for model, ability in ABILITY.items()
        for seed in (1, 2, 3)
        for item in range(200)
    ]
    table = pd.DataFrame(rows, columns=["model", "seed", "item", "score"])
    table.to_csv("scores.csv", index=False)
    return ["scores.csv"]


def test_page_table_and_figure_say_what_is_printed(scores, tmp_path, capsys):
    page, table, figure = (tmp_path / name for name in ("v.html", "v.tex", "v.svg"))
    verdict(scores, Asked(), html=page, latex=table, svg=figure)
    printed = " ".join(capsys.readouterr().out.split())
    sentence = printed.partition(" Scores (")[0]
    text = page.read_text()
    assert sentence.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") in text
    assert "<average>" not in text and "&lt;average&gt;" in text, "names are escaped"
    assert text.count("<tr>") == 1 + 3, "a heading and a row for each pair"
    assert "data:image/svg+xml," in text and "http:" not in text.replace("http://www.w3.org", "")
    assert table.read_text().count(r"\\") == 1 + 3
    assert r"attention \& more" in table.read_text()
    assert "attention &amp; more against last_state" in figure.read_text()


def test_one_score_of_each_model_has_no_figure(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.csv").write_text("model,seed,score\na,1,.5\nb,1,.6\n")
    with pytest.raises(HeedError, match="nothing to draw"):
        verdict(["scores.csv"], Asked(), svg=tmp_path / "v.svg")
    verdict(["scores.csv"], Asked(), html=tmp_path / "v.html")
    assert "not tested" in (tmp_path / "v.html").read_text()


def test_no_file_that_is_read_is_written(scores, tmp_path):
    references = tmp_path / "references.csv"
    for path in (Path(scores[0]), references):
        with pytest.raises(HeedError, match=r"is read here\. Write the result to another file"):
            verdict(scores, Asked(), references=references, csv=path)


def test_a_page_over_corpora_names_each_and_has_the_mean(tmp_path, capsys):
    editions = [ROOT / "docs/studies" / name for name in ("imdb", "yelp", "headlines")]
    print_answers(editions, {}, ["imdb-random"], html=tmp_path / "p.html")
    text = (tmp_path / "p.html").read_text()
    for corpus in ("imdb", "yelp", "headlines", "mean"):
        assert f'<th scope="row">{corpus}</th>' in text
    sentence = capsys.readouterr().out.split(":")[1].split()
    assert " ".join(sentence) in text, "the page says what is printed"
    assert "Another corpus would be expected from" in text and "dashed: another corpus" in text


def test_a_plain_verdict_loads_neither_report_nor_torch_nor_the_slow_half_of_scipy(scores):
    code = "import sys; from heed.cli.commands import verdict; verdict(sys.argv[1:]); "
    code += "print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, *scores], capture_output=True, check=True)
    loaded = {*done.stdout.decode().splitlines()[-1].split()}
    assert not loaded & {"torch", "jinja2", "scipy.stats", "sklearn", "heed.report.tables"}
