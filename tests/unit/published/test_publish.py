"""`heed publish` writes a few files: no text, no path of this machine, a commit that stays."""

import dataclasses
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml
from markdown_it import MarkdownIt

from heed.evaluation.comparison import RESULTS_TABLE
from heed.files import HeedError
from heed.paths import PUBLISHED
from heed.pipeline import run_git
from heed.published import publish
from heed.published.publish import INDEX
from heed.report.experiments import may_publish_text
from heed.report.render import Addresses, render
from heed.terminal import escape_markdown, visible
from tests.conftest import ROOT
from tests.fixtures.git import commit_all
from tests.fixtures.report import made_up
from tests.unit.published.conftest import FIGURE, write_clone, write_report
from tests.unit.report.conftest import draw_empty

FILES = {
    "README.md", "edition.json", "index.html", "params.yaml", "results.csv", "statistics.parquet",
    "verdicts.csv",
}  # fmt: skip
LINK = re.compile(r"""(?:href|src)=["']([^"']*)""")
EDITION = publish.Edition("0", "c0ffee", ["a machine"], "make")


def published(root: Path, report: Path) -> Path:
    """Publish the made-up study of a clone, as heed does."""
    kept = root / "docs/studies/it/statistics.parquet"
    statistics = pd.read_parquet(kept) if report.exists() else write_report(report)
    return publish.publish(root, "it", EDITION, report, statistics)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    write_clone(tmp_path / "clone")
    return tmp_path / "clone"


def test_a_published_study_has_these_files_and_what_made_it(made):
    folder = made / "docs/studies/it"
    assert {path.name for path in folder.iterdir()} == FILES
    assert (folder / "README.md").read_text() == "# What came out\n", "it is people's"
    assert json.loads((folder / "edition.json").read_text()) == dataclasses.asdict(EDITION)
    rows = pd.read_csv(folder / "verdicts.csv", keep_default_na=False)
    assert [*rows[rows["experiment"] == "plain"]["role"]] == ["control", "baseline", "", ""]
    assert {*rows["metric"]} == {"accuracy", "macro_f1"}
    index = (made / INDEX).read_text()
    low, high, difference = rows.loc[0, ["low_pp", "high_pp", "difference_pp"]]
    cell = f"not converged {difference:+.2f} ({low:+.2f} to {high:+.2f})".replace("-", "−")
    assert "| [plain](it/README.md) | self attention 9" in index and f": {cell} | – |\n" in index


def test_without_another_network_no_comparison_has_a_role(clone, tmp_path):
    statistics = write_report(tmp_path / "it")
    table = tmp_path / "it/tables/verdicts.csv"
    pd.read_csv(table)[["experiment", "variant"]].to_csv(table, index=False)
    params = yaml.safe_load((clone / "params.yaml").read_text())
    found = pd.read_csv(io.StringIO(publish.verdicts(table.parent, params, statistics)))
    assert len(found) == 8 and found["role"].isna().all()


@pytest.fixture(autouse=True)
def drawn(monkeypatch):
    draw_empty(monkeypatch, FIGURE)


def test_a_published_page_holds_its_figures_and_links_nothing_that_is_not_beside_it(tmp_path):
    data = made_up.comparison("sample")
    arguments = (made_up.study("sample"), data, ROOT / PUBLISHED)
    results, report = made_up.results(data, tmp_path / "results"), tmp_path / "reports"
    links = Addresses("params.yaml", provenance="edition.json", has_files=False)
    render(*arguments, results, report, with_documents=False, links=links)
    text = (report / "index.html").read_text()
    local = {link for link in LINK.findall(text) if not link.startswith(("#", "data:"))}
    anchors = {link[1:] for link in LINK.findall(text) if link.startswith("#")}
    assert local == {"params.yaml", "edition.json"}
    assert anchors <= {*re.findall(r' id="([^"]*)"', text)} and "http-equiv" in text


@pytest.mark.parametrize(("kind", "generated", "expected"), [
    ("sample-plain", True, True), ("imdb", False, False), ("federalist", False, True),
])  # fmt: skip
def test_text_in_the_public_domain_or_generated_is_published(tmp_path, kind, generated, expected):
    data = made_up.comparison("sample")
    for name, result in data.experiments.items():
        changed = made_up.with_statistics(result, kind=kind, generated=generated)
        data.experiments[name] = changed
        assert may_publish_text(changed.corpus) is expected
    results = made_up.results(data, tmp_path / "results")
    into, arguments = tmp_path / "reports", (made_up.study("sample"), data, ROOT / PUBLISHED)
    render(*arguments, results, into, with_documents=False)
    files = [path for path in into.rglob("*") if path.suffix != ".pdf" and path.is_file()]
    assert any("A fine film" in file.read_text() for file in files) is expected
    assert not [*(into / "documents").iterdir()]


def test_figures_that_a_page_links_are_files_too(clone, tmp_path):
    others = "![other](studies/other/figures/a.svg)\n![of the docs](figures/b.svg)\n"
    (clone / "docs/a.md").write_text(f"# x\n![it](studies/it/figures/it.svg)\n{others}")
    folder = published(clone, tmp_path / "report")
    assert (folder / "figures/it.svg").read_text() == FIGURE
    (clone / "docs/a.md").write_text("# x\n")
    published(clone, tmp_path / "report")
    assert not [*(folder / "figures").iterdir()], "no page links it any more"
    (folder / "README.md").write_text("![it](figures/it.svg)\n![own](figures/own.svg)\n")
    with pytest.raises(HeedError, match=r"figures/own\.svg: not there\. Run: heed report"):
        published(clone, tmp_path / "report")
    (folder / "figures/own.svg").write_text("mine")
    published(clone, tmp_path / "report")
    files = {path.name: path.read_text() for path in (folder / "figures").iterdir()}
    assert files == {"it.svg": FIGURE, "own.svg": "mine"}


def test_publishing_again_leaves_what_people_put_into_the_folder(clone, tmp_path):
    folder = published(clone, tmp_path / "report")
    (folder / "figures").mkdir()
    (folder / "notes").mkdir()
    own = {"README.md": b"mine", "scan.png": b"\x89PNG", "notes/a.md": b"a", "figures/b.svg": b"b"}
    for name, content in own.items():
        (folder / name).write_bytes(content)
    (folder / "link").symlink_to("notes")
    os.mkfifo(folder / "pipe")
    before = {path: path.lstat() for path in folder.rglob("*")}
    published(clone, tmp_path / "report")
    for name, content in own.items():
        assert (folder / name).read_bytes() == content
        now, then = (folder / name).lstat(), before[folder / name]
        assert (now.st_ino, now.st_mtime_ns) == (then.st_ino, then.st_mtime_ns), "not a copy"
    assert (folder / "link").readlink() == Path("notes") and (folder / "pipe").is_fifo()
    assert {*folder.rglob("*")} == {*before}


# Publish in a process that kills itself before its n-th change of a file, for all n.
KILLED = """
import os, shutil, signal, sys
from pathlib import Path
import pandas as pd
from heed.published import publish
from tests.slow.warm import inject
clone, report, kept = map(Path, sys.argv[1:])
kills, ended = -1, 1
while ended:
    kills += 1
    before = Path(f"{clone}.{kills}")
    shutil.copytree(clone, before, symlinks=True)
    if not (child := os.fork()):
        os.chdir(clone)
        statistics = pd.read_parquet(kept)
        inject(kills, None)
        publish.publish(clone, "it", publish.Edition("1", "new", [], "make"), report, statistics)
        os._exit(0)
    ended = os.waitpid(child, 0)[1]
    assert ended in (0, signal.SIGKILL), "not an error"
    clone.rename(f"{clone}.killed.{kills}")
    before.rename(clone)
print(kills)
"""


def test_a_kill_at_any_moment_loses_nothing_and_the_next_command_repairs_it(clone, tmp_path):
    folder = published(clone, report := tmp_path / "report")
    shutil.rmtree(clone / ".git")  # which publish does not read, and each copy would have
    old = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / "notes.md").write_text("mine")
    kept = shutil.copy(folder / "statistics.parquet", tmp_path / "kept")
    with (clone / "results/compare/results.csv").open("a") as table:
        table.write("plain,majority,,test,loss,1\n")
    new = (clone / "results/compare/results.csv").read_bytes()
    command = [sys.executable, "-c", KILLED, *map(str, (clone, report, kept))]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=300)
    assert int(done.stdout) > 10, "so often it was killed"
    seen = set()
    for root in tmp_path.glob("clone.killed.*"):
        found = root / "docs/studies/it"
        assert (found / "notes.md").read_text() == "mine"
        assert (found / "README.md").read_bytes() == old["README.md"]
        present = {n: (found / n).read_bytes() for n in old if (found / n).exists()}
        seen.add("edition.json" in present)
        if present.get("edition.json") == old["edition.json"]:
            assert present == old, "the old edition is whole"
        publish.publish(root, "it", EDITION, report, pd.read_parquet(kept))
        again = {path.name: path.read_bytes() for path in found.iterdir()}
        assert again == old | {"notes.md": b"mine", "results.csv": new}
    assert seen == {True, False}


def test_publishing_again_gives_the_same_bytes(clone, tmp_path, made):
    folder = published(clone, tmp_path / "report")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    published(clone, tmp_path / "report")
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert before == after
    assert after == {p.name: p.read_bytes() for p in (made / "docs/studies/it").iterdir()}


def test_a_pdf_goes_along_if_it_is_of_this_report(clone, tmp_path):
    printed = clone / ".heed/pdf/printed.tex"
    texts = {"reports/report.tex": "now", "reports/report.pdf": "printed", printed: "before"}
    for path, text in texts.items():
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_text(text)
    message = r"reports/report\.pdf: not of the present reports/report\.tex. Run: make pdf"
    with pytest.raises(HeedError, match=message):
        published(clone, tmp_path / "report")
    printed.write_text("now")
    shutil.rmtree(tmp_path / "report")
    folder = published(clone, tmp_path / "report")
    assert (folder / "report.pdf").read_text() == "printed"
    assert 'href="report.pdf"' in (folder / "index.html").read_text()


@pytest.mark.parametrize("file", ["params.yaml", "dvc.lock", f"results/compare/{RESULTS_TABLE}"])
def test_a_study_that_has_not_run_leaves_the_old_one(clone, tmp_path, file):
    (clone / file).unlink()
    with pytest.raises(HeedError, match=re.escape(f"{file}: there is none yet")):
        published(clone, tmp_path / "report")
    assert [path.name for path in (clone / "docs/studies/it").iterdir()] == ["README.md"]


def test_a_published_study_has_no_path_of_this_machine(tmp_path, monkeypatch):
    home, data = tmp_path / "home/me", tmp_path / "data/secret project"
    root, report = home / "clone", tmp_path / "report"
    monkeypatch.setenv("HOME", str(home))
    write_clone(root)
    statistics = write_report(report)
    with (root / "params.yaml").open("a") as file:
        file.write(
            f"sources: {{it: {{path: {data}/reviews.csv}}}}\n# from {data}/reviews.csv\n"
            f"more: {{paths: {{train: {data}/train.tsv}}, vectors: {data}/words.vec}}\n"
        )
    (root / "dvc.lock").write_text(f"stages: {{a: {{deps: [{{path: {data}/more.csv}}]}}}}\n")
    texts = {
        "title": f"Results in {root}/results and {home}/notes.txt",
        "note": f"Read '{home}/a_b/long_name_of_a_file.csv', {home}.",
    }
    params = made_up.study("sample")
    params = dataclasses.replace(params, study=dataclasses.replace(params.study, **texts))
    params = publish.without_paths(params, root)
    assert params.study.title == "Results in results and notes.txt"
    assert params.study.note == "Read 'long_name_of_a_file.csv', me."
    with (report / "index.html").open("a") as file:
        file.write(f"<p>{root}/results, {data}/more.csv, {home}/x</p>")
    folder = publish.publish(root, "it", EDITION, report, statistics)
    for path in [*folder.iterdir(), root / INDEX]:
        for secret in (tmp_path, root, home, data, tmp_path.name, "secret"):
            assert str(secret).encode() not in path.read_bytes(), path
    assert "<p>results, more.csv, x</p>" in (folder / "index.html").read_text()
    assert "{train: train.tsv}, vectors: words.vec}" in (folder / "params.yaml").read_text()


MARKDOWN = [
    "a | b | c", "[link](https://example.org) ![image](x.png)", "two\n\n# lines\r\n| x |",
    "<script>alert(1)</script><b>bold</b>", "`code` **strong** _word_ ~~gone~~",
    "https://example.org www.example.org <me@example.org>", "&lt;b&gt; &#42; \\| \\",
    "<!-- heed publish results: end -->", "\u202egnirts \x1b[2J",
]  # fmt: skip


@pytest.mark.parametrize("title", MARKDOWN)
def test_a_title_is_text_in_markdown(title):
    text = escape_markdown(title)
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    (inline,) = [token for token in tokens if token.type == "inline"]
    assert {token.type for token in inline.children} <= {"text", "text_special"}
    shown = "".join(token.content for token in inline.children)
    assert shown == visible(" ".join(title.split())) and "\x1b" not in text


def test_a_table_names_no_comparison_that_is_not_published(clone, tmp_path):
    index = clone / INDEX
    index.write_text(index.read_text().replace("it/folded", "it/later"))
    with pytest.raises(HeedError, match=r"index.md: it/later in a table: .* has no such"):
        published(clone, tmp_path / "report")


def test_a_commit_that_no_branch_has_is_refused(clone):
    publish.check_commit(clone, "it")
    run_git(clone, "switch", "--quiet", "--detach")
    publish.check_commit(clone, "it")  # the branch still has it
    name = commit_all(clone)
    with pytest.raises(HeedError, match=rf"no branch has the present commit {name[:10]}.*switch"):
        publish.check_commit(clone, "it")
    run_git(clone, "branch", "other")
    publish.check_commit(clone, "it")
    edition = publish.make_edition(clone, "it", made_up.comparison("sample"))
    assert edition.commit == name and edition.machine == ["made-up kind"]
    assert edition.command.startswith(f"git checkout {name} && ")


OF_STUDY = ("params.yaml", "dvc.lock", "docs/studies/it/a", "studies/it.yaml",
            "workflow/studies/it.yaml", "notes.txt")  # fmt: skip
OTHERS = ("dvc.yaml", "src/new one.py", "workflow/ö.smk", "docs/studies/other/a",
          "workflow/studies/other.yaml")  # fmt: skip


@pytest.mark.parametrize("path", [*OF_STUDY, *OTHERS])
def test_only_the_active_study_may_differ_from_the_commit(clone, path):
    (clone / path).parent.mkdir(parents=True, exist_ok=True)
    with (clone / path).open("a") as file:
        file.write("# changed\n")
    if not path.startswith(("src", "workflow")) and path != "notes.txt":
        run_git(clone, "add", path)
    if path in OF_STUDY:
        publish.check_commit(clone, "it")
    else:
        with pytest.raises(HeedError, match=re.escape(f"would name: {path}. Only what")):
            publish.check_commit(clone, "it")


def test_the_command_that_repeats_a_study_takes_its_recipe(made, tmp_path):
    root = shutil.copytree(made, tmp_path / "clone")
    first = run_git(root, "rev-parse", "HEAD")
    published_params = (root / "docs/studies/it/params.yaml").read_text()
    commit_all(root)
    (root / "params.yaml").write_text("study: {name: other}\n")
    commit_all(root)
    command = publish.command("it", first).replace("make report", "git status --short")
    run_git(root, "-c", f"alias.x=!{command}", "x")
    assert (root / "params.yaml").read_text() == published_params
    assert "params.yaml" in command and run_git(root, "rev-parse", "HEAD") == first
