"""Every published report names the code that made it, and `heed publish` refuses code that gets
lost.
"""

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from heed import __version__
from heed.files import HeedError, write_json
from heed.records import as_json
from heed.report.provenance_page import run_git
from heed.report.publish import (
    BEGIN,
    END,
    INDEX,
    LIST,
    PUBLISHED_REPORT,
    PUBLISHED_REPORTS,
    PublishedReport,
    check_commit,
    make_published_report,
    read_published_report,
    with_published_report,
    write_list,
)
from tests.conftest import ROOT
from tests.fixtures.git import commit_all

STUDIES = [path.parent.name for path in sorted((ROOT / PUBLISHED_REPORTS).glob("*/metrics.json"))]
MADE_UP = PublishedReport("0.1.9", "0123456789" * 4, ["params.yaml", "dvc.lock"])


@pytest.fixture(scope="module")
def cloned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of this repository."""
    folder = tmp_path_factory.mktemp("editions") / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    return folder


@pytest.fixture
def clone(cloned: Path) -> Path:
    """A clone of this repository as it came, on a branch of its own."""
    start = run_git(ROOT, "rev-parse", "HEAD")
    run_git(cloned, "switch", "--quiet", "--discard-changes", "--force-create", "mine", start)
    run_git(cloned, "clean", "-dffqx")
    return cloned


def in_history(root: Path, name: str) -> bool:
    """Whether a commit is in the history of the present one."""
    command = ["git", "merge-base", "--is-ancestor", name, "HEAD"]
    return not subprocess.run(command, cwd=root, capture_output=True, check=False).returncode


@pytest.mark.parametrize("name", STUDIES)
def test_an_edition_names_its_version_and_its_commit_in_every_page(name):
    folder = ROOT / PUBLISHED_REPORTS / name
    published_report = read_published_report(folder)
    assert re.fullmatch("[0-9a-f]{40}", published_report.commit)
    assert published_report.commit in (folder / "provenance.html").read_text()
    readme = (folder / "README.md").read_text()
    assert (
        with_published_report(readme, published_report) == readme
        and published_report.version in published_report.sentence()
    )
    if published_report.version != "0.2.0":  # whose pages did not say it
        made_by = f": heed {published_report.version}, {published_report.short_commit}</a>"
        assert made_by in (folder / "index.html").read_text()


@pytest.mark.parametrize("name", STUDIES)
def test_the_commit_of_an_edition_is_in_the_history_and_has_its_version(name):
    """Only published reports of 0.2.0 may be marked as lost: heed did not yet ask for a commit
    then.
    """
    if run_git(ROOT, "rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("a shallow clone has no history: git fetch --unshallow")
    published_report = read_published_report(ROOT / PUBLISHED_REPORTS / name)
    assert in_history(ROOT, published_report.commit) != published_report.lost
    if published_report.lost:
        assert published_report.version == "0.2.0"
    else:
        code = run_git(ROOT, "show", f"{published_report.commit}:src/heed/__init__.py")
        assert f'__version__ = "{published_report.version}"' in code


def test_the_index_lists_every_edition_and_which_are_older(tmp_path):
    for name in STUDIES:
        published_report = as_json(read_published_report(ROOT / PUBLISHED_REPORTS / name))
        write_json(tmp_path / PUBLISHED_REPORTS / name / PUBLISHED_REPORT, published_report)
    text = (ROOT / INDEX).read_text()
    (tmp_path / INDEX).write_text(text)
    write_list(tmp_path)
    assert (tmp_path / INDEX).read_text() == text, (
        "the list is of other published reports, or of another version. Write it: python -c "
        "'from pathlib import Path; from heed.report.publish import *; write_list(Path())'"
    )
    assert all(f"({name}/index.html)" in text for name in STUDIES)


def test_the_list_names_the_editions_of_an_older_version(tmp_path):
    for name, version in (("old", "0.1.9"), ("new", __version__), ("own", "0.1.9")):
        published_report = dataclasses.replace(MADE_UP, version=version, lost=name == "old")
        write_json(
            tmp_path / PUBLISHED_REPORTS / name / PUBLISHED_REPORT, as_json(published_report)
        )
    places = "".join((BEGIN + END).format(name=name) for name in ("old", "new", LIST))
    (tmp_path / INDEX).write_text(f"{places}\nafter\n")
    for _ in range(2):
        write_list(tmp_path)
        text = (tmp_path / INDEX).read_text()
        assert f"heed {__version__}. Of an older version: old. Of a" in text
        assert "have: old.\n" in text and text.endswith("\nafter\n") and "own" not in text


def test_a_reading_has_the_code_of_its_edition_below_the_title():
    lost = dataclasses.replace(MADE_UP, changed=[], lost=True)
    first = with_published_report("# Title\n\n**Asked.** What?\n", MADE_UP)
    said = "made by heed 0.1.9 at commit `0123456789`, from which `params.yaml` and `dvc.lock`"
    assert first.startswith("# Title\n\n<!-- ") and said in first
    again = with_published_report(first, lost)
    assert said not in again and "at commit `0123456789`. The commit is lost" in again
    assert with_published_report(again, MADE_UP) == first and first.endswith(
        "\n\n**Asked.** What?\n"
    )


def test_a_commit_that_no_branch_has_is_refused(clone):
    check_commit(clone, "sample")
    run_git(clone, "switch", "--quiet", "--detach")
    check_commit(clone, "sample")  # the branch still has it
    name = commit_all(clone)
    with pytest.raises(HeedError, match=rf"no branch has the present commit {name[:10]}.*switch"):
        check_commit(clone, "sample")
    run_git(clone, "branch", "other")
    check_commit(clone, "sample")
    assert make_published_report(clone, "sample") == PublishedReport(__version__, name, [])


def test_only_the_active_study_may_differ_from_the_commit(clone):
    study = ("dvc.lock", "metrics.json", "params.yaml", "workflow/studies/sample.yaml")
    written = ("README.md", "docs/studies/index.md", "docs/studies/sample/index.html")
    new = ("studies/sample.yaml", "notes.txt", "src/heed/__pycache__/it.pyc")
    for path in (*study, *written, *new):
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_text("changed")
    run_git(clone, "add", *study)
    check_commit(clone, "sample")
    assert make_published_report(clone, "sample").changed == [*study]


@pytest.mark.parametrize(
    "path",
    [
        *("dvc.yaml", ".dvc/config", "src/heed/files.py", "docs/studies/imdb/index.html"),
        *("src/heed/new one.py", "workflow/ö.smk", "workflow/studies/other.yaml"),
    ],
)
def test_a_tree_that_differs_in_more_than_the_study_is_refused(clone, path):
    with (clone / path).open("a") as file:
        file.write("# changed\n")
    with pytest.raises(
        HeedError, match=re.escape(f"published report would name: {path}. Only what")
    ):
        check_commit(clone, "sample")
    commit_all(clone)
    check_commit(clone, "sample")
    (clone / path).unlink()
    with pytest.raises(HeedError, match=re.escape(path)):
        check_commit(clone, "sample")


def test_heed_publish_says_it_in_one_line_before_it_asks_dvc(clone, tmp_path):
    def publish(root: Path) -> str:
        command = [sys.executable, "-m", "heed.cli", "publish"]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and len(done.stderr.strip().splitlines()) == 1, done.stderr
        return done.stderr

    (clone / "src/heed/more.py").write_text("")
    assert (
        "published report would name: src/heed/more.py. Only what belongs to the study"
        in publish(clone)
    )
    (clone / "src/heed/more.py").unlink()
    run_git(clone, "switch", "--quiet", "--detach")
    commit_all(clone)
    assert "git: no branch has the present commit" in publish(clone)
    (tmp_path / "apart").mkdir()
    (tmp_path / "apart/params.yaml").write_text((clone / "params.yaml").read_text())
    assert "work in a clone of git" in publish(tmp_path / "apart")


def test_a_broken_edition_is_one_message(tmp_path):
    write_json(tmp_path / PUBLISHED_REPORT, {"version": "0.3.0"})
    with pytest.raises(HeedError, match=r"edition\.json.*commit.*heed publish"):
        read_published_report(tmp_path)
    assert json.loads((tmp_path / PUBLISHED_REPORT).read_text())["version"] == "0.3.0"
