"""A command that edits studies does all, or changes no file: what fails is found before it."""

import errno
import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from heed.files import HeedError
from heed.study.own_corpus import add_corpus
from heed.study.own_files import CorpusOptions
from heed.study.reader import set_seeds
from heed.study.studies import activate_study
from tests.conftest import ROOT

ROWS = "text,label\n" + "".join(f"text {i},{'ab'[i % 2]}\n" for i in range(60))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone whose active study is the user's own, with an edit that is not saved yet."""
    root = tmp_path_factory.mktemp("clone")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        shutil.copytree(ROOT / "workflow/studies", root / "workflow/studies")
        shutil.copy(root / "workflow/studies/sample.yaml", "params.yaml")
        Path("texts.csv").write_text(ROWS)
        add_corpus(CorpusOptions(["texts.csv"], name="texts", study="own"), 1)
        text = Path("params.yaml").read_text()
        Path("params.yaml").write_text(text.replace("title: ", "title: Edited. ", 1))
    return root


@pytest.fixture
def clone(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(shutil.copytree(made, tmp_path / "clone"))
    return Path()


def files() -> dict[Path, bytes]:
    paths = [path for path in Path().rglob("*") if ".heed" not in path.parts]
    return {path: path.read_bytes() if path.is_file() else b"" for path in paths}


COMMANDS: dict[str, Callable[[], object]] = {
    "study NAME": lambda: activate_study("sample", force=False),
    "study own": lambda: activate_study("own", force=False),
    "corpus add": lambda: add_corpus(CorpusOptions(["texts.csv"], name="more"), 1),
    "study --seeds": lambda: set_seeds(Path("params.yaml"), 20),
    "corpus add to own": lambda: add_corpus(
        CorpusOptions(["texts.csv"], name="more", study="own"), 1
    ),
}


def run_with_failing_write(monkeypatch: pytest.MonkeyPatch, name: str, number: int) -> bool:
    """Run a command in which a write of a file fails; return whether there was such a write."""
    writes, right = [], Path.replace

    def replace(path: Path, target: Path) -> Path:
        writes.append(target)
        if len(writes) == number:
            raise OSError(errno.ENOSPC, "No space left on device")
        return right(path, target)

    monkeypatch.setattr(Path, "replace", replace)
    try:
        COMMANDS[name]()
    except HeedError as error:
        assert f"{writes[number - 1]}: cannot be written: No space left" in str(error)
    return len(writes) >= number


@pytest.mark.parametrize("name", COMMANDS)
def test_a_failing_write_changes_nothing(clone, monkeypatch, name):
    before = files()
    for number in itertools.count(1):
        with monkeypatch.context() as patch:
            if not run_with_failing_write(patch, name, number):
                break
        assert files() == before, number
    assert number > 1
