"""Paths that are no files, and sizes that leave nothing: one message, and nothing is written."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from heed.cli.commands import make_parser
from heed.cli.stages import download, read_seeds
from heed.files import HeedError, read_text
from heed.study import load
from heed.study.own_corpus import add_corpus
from heed.study.own_files import CorpusOptions
from heed.study.studies import activate_study
from tests.conftest import cases

CASES = cases(__file__)
ROWS = "".join(f"{('fine', 'poor')[i % 2]} thing {i},{('good', 'bad')[i % 2]}\n" for i in range(60))

pytestmark = [pytest.mark.usefixtures("own_clone"), pytest.mark.timeout(30)]


@pytest.fixture(autouse=True)
def files(own_clone) -> None:
    Path("ok.csv").write_text(f"text,label\n{ROWS}")
    os.mkfifo("x.csv")
    os.mkfifo("x.yaml")
    for label in ("good", "bad"):
        Path("texts", label).mkdir(parents=True)
        os.mkfifo(f"texts/{label}/1.txt")
    Path("loop.csv").symlink_to("loop.csv")
    shutil.copy("ok.csv", "two\nlines.csv")
    shutil.copy("ok.csv", "no\udcffname.csv")


def add(*words: str) -> str:
    options = vars(make_parser().parse_args(["corpus", "add", *words]))
    options.pop("function")
    return add_corpus(CorpusOptions(**options), cores=2)


@pytest.mark.parametrize("case", CASES["added"])
def test_what_can_be_no_corpus_is_one_message_and_nothing_is_written(case):
    words, message = CASES["added"][case]
    before = Path("params.yaml").read_text()
    with pytest.raises(HeedError, match=message):
        add(*words)
    assert Path("params.yaml").read_text() == before and not Path("studies").exists()


@pytest.mark.parametrize(
    "words",
    [["--train", each] for each in ("0", "1.0", "100%", "-5", "", "9" * 30)]
    + [["--test", each] for each in ("0", "1", "1.0", "12", "100%", "-.2", ".999", "nan")]
    + [["--seeds", each] for each in ("0", "1001", "1" * 5000)]
    + [["--minutes", each] for each in ("0", "inf", "nan")],
    ids=lambda words: " ".join(words)[:20],
)
def test_a_size_out_of_range_says_what_is_expected(words, capsys):
    with pytest.raises(SystemExit, match="2"):
        make_parser().parse_args(["corpus", "add", "ok.csv", *words])
    named = {"--test": "a share of the texts from 0.0001 to 0.99", "--minutes": "a number above 0"}
    expected = named.get(words[0], "a whole number")
    assert f"argument {words[0]}: {expected}" in capsys.readouterr().err


def replace_params(_: str) -> None:
    Path("params.yaml").unlink()
    Path("params.yaml").symlink_to("x.yaml")


def replace_table(pipe: str) -> None:
    add("ok.csv")
    text = Path("params.yaml").read_text()
    Path("params.yaml").write_text(text.replace("path: ok.csv", f"path: {pipe}"))


READERS: dict[str, tuple[Callable[[str], None], Callable[[], object], str]] = {
    "study": (str, lambda: activate_study("x.yaml", force=True), "x.yaml"),
    "check": (replace_params, load, "params.yaml"),
    "seeds": (replace_params, lambda: read_seeds("ok-mean"), "params.yaml"),
    "download": (replace_table, lambda: download("ok"), "x.csv"),
    "text": (str, lambda: read_text("./x.csv"), "./x.csv"),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_pipe_is_one_message_of_every_reader(reader):
    prepare, read, path = READERS[reader]
    prepare("x.csv")
    message = f"^{path.removeprefix('./')}: expected a file, found a pipe"
    with pytest.raises(HeedError, match=message):
        read()
