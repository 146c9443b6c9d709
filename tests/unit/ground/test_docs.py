"""The documentation: its links lead somewhere, on GitHub and in the site that `make docs` makes."""

import importlib
import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
from collections import Counter
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from heed.cli.commands import make_parser
from heed.task import task_names
from tests.conftest import ROOT

PAGES = sorted(
    path
    for pattern in ("*.md", "config/*.md", "envs/*.md", "docs/**/*.md")
    for path in ROOT.glob(pattern)
)
WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))
TARGETS = {*re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)}
REGISTRIES = {  # module → what CONTRIBUTING.md says to add a name to
    "heed.corpora.published": "KINDS",
    "heed.models.scores": "SCORES",
    "heed.tasks.classification.recipe": "METRICS",
}
FENCE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
INCOMPLETE = re.compile("the following arguments are required|expected one argument")
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+?)\s*$", FENCE.sub("", page.read_text()), re.MULTILINE)
    found: set[str] = set()
    counts: Counter[str] = Counter()
    for heading in headings:
        text = LINK.sub("]", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        found.add(f"{slug}-{counts[slug]}" if counts[slug] else slug)
        counts[slug] += 1
    return found


@each_page
def test_links_of_a_page_lead_to_a_file_and_a_heading(page):
    for link in LINK.findall(CODE.sub("", FENCE.sub("", page.read_text()))):
        if urlsplit(link).scheme:
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / unquote(name) if name else page
        assert target.exists(), f"{link}: no such file"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link}: no such heading"


@each_page
def test_commands_of_a_page_exist(page, capsys):
    if page.name == "CHANGELOG.md":
        return  # it names commands that are no more
    parser = make_parser()
    text = page.read_text()
    inline = [code.strip("` ") for code in CODE.findall(FENCE.sub("", text))]
    blocks = [line.strip() for block in FENCE.finditer(text) for line in block[0].splitlines()]
    for line in [*blocks, *inline]:  # within a sentence a command may be named without arguments
        if made := re.match(r"make ([a-z-]+)", line):
            assert made[1] in TARGETS, line
        if typed := re.match(r"(?:\$ )?(?:[A-Z_]+=\S+ )?(?:\.venv/bin/)?heed ([a-z].*)", line):
            command = re.split(r"\s#| && | >|\s\|", typed[1])[0]
            try:
                parser.parse_args(shlex.split(command))
            except SystemExit as stopped:
                message = capsys.readouterr().err
                named = line in inline and INCOMPLETE.search(message)
                assert not stopped.code or named, f"{line}: {message}"


def test_the_citation_and_the_changelog_name_the_version_of_the_package():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    changes = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert str(citation["version"]) == version
    released = citation.get("date-released")
    releases = [name for name in changes if name != "Unreleased"]
    assert releases[0] == f"{version} ({released or 'not released yet'})"


@pytest.mark.parametrize(
    ("pages", "words"),
    [
        (("README.md",), 850), (("CHANGELOG.md",), 1200), (("docs/architecture.md",), 600),
        (("docs/contracts.md",), 1100), (("docs/decisions.md",), 2050), (("docs/drills.md",), 550),
        (("docs/performance.md",), 1200), (("docs/tutorial.md",), 1400),
        (("docs/lectures/*.md",), 4000),
        (("docs/*.md", "docs/lectures/*.md", "docs/studies/index.md"), 35_000),
    ],
)  # fmt: skip
def test_pages_that_should_be_short_are(pages, words):
    found = [path for pattern in pages for path in ROOT.glob(pattern)]
    # the bars of tables are no words
    assert 0 < sum(len(re.findall(r"\S*\w\S*", path.read_text())) for path in found) <= words


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_runs_targets_of_make_and_can_write_nothing_but_pages(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"} and "concurrency" in workflow
    for job in workflow["jobs"].values():
        assert job.get("permissions", {}).keys() <= {"pages", "id-token"}
        assert not ("permissions" in job and any("run" in step for step in job["steps"]))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    commands = [step["run"] for step in steps if "run" in step]
    assert commands
    for command in commands:
        program, target, *settings = shlex.split(command)
        assert program == "make" and target in TARGETS and settings == ["PYTHON=python"], command
    for action in (step["uses"] for step in steps if "uses" in step):
        assert re.fullmatch(r"actions/[a-z-]+@v\d+", action), f"{action}: its major version, please"


def test_the_workflows_test_every_version_of_python_that_the_metadata_names():
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    named = [line.rpartition(" ")[2] for line in metadata if "Python :: 3." in line]
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == named


def test_the_paths_that_contributing_names_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paths = re.findall(r"`((?:src|tests|envs|docs)/[^` ]*)`", text)
    assert len(paths) > 8
    for path in paths:
        for task in task_names() if "TASK" in path else [""]:
            assert (ROOT / path.replace("TASK", task)).exists(), path
    for module, name in REGISTRIES.items():
        assert name in text and hasattr(importlib.import_module(module), name), name


def read_picture(heading: str) -> tuple[set[str], list[tuple[str, str]]]:
    """Return the nodes and the arrows of the picture below a heading of docs/architecture.md."""
    text = (ROOT / "docs/architecture.md").read_text()
    picture = text.partition(f"\n## {heading}\n")[2].partition("```mermaid")[2].partition("```")[0]
    arrows = re.findall(r"(\w+) --> (\w+)", picture)
    return {*re.findall(r"^ +(\w+)\[", picture, re.MULTILINE)}, arrows


def test_the_picture_of_the_graph_has_the_stages_of_dvc_yaml():
    stages, arrows = read_picture("The graph")
    assert stages == {*yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]}
    assert {name for arrow in arrows for name in arrow} == stages


def test_the_picture_of_the_packages_goes_down_the_layers_of_the_contract():
    drawn, arrows = read_picture("The packages")
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    place = {name: n for n, layer in enumerate(layers) for name in layer.split(" | ")}
    assert drawn - {"ground"} <= {*place}
    packages = {path.parent.name for path in ROOT.glob("src/heed/*/__init__.py")}
    on_the_ground = {"code", "hyperparameters", "task"}  # as single files are
    assert packages - drawn <= on_the_ground
    place["ground"] = len(layers)
    for start, end in arrows:
        assert place[start] < place[end], f"{start} --> {end}"


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Return the site, built as `make docs` builds it, but for its folder."""
    for package in ("sphinx", "myst_parser", "furo"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}: make docs installs it")
    folder = tmp_path_factory.mktemp("site")
    options = re.search(r"sphinx-build (.+) -d \S+ (.+) --quiet", (ROOT / "Makefile").read_text())
    command = [sys.executable, "-m", "sphinx", *" ".join(options.groups()).split()]
    command += ["--quiet", "-d", folder / "doctrees", ROOT, folder / "html"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return folder / "html"


def read_names(page: Path) -> set[str]:
    """Return the anchors of a page of the site."""
    return {unescape(name) for name in re.findall(r'\s(?:id|name)="([^"]+)"', page.read_text())}


@pytest.mark.slow
def test_no_link_within_the_site_is_dead_also_not_in_a_published_report(site):
    names = {page.resolve(): read_names(page) for page in site.rglob("*.html")}
    assert len(names) > 60
    for page in names:
        for link in {*re.findall(r'<[^>]+?\s(?:href|src)="([^"]*)"', page.read_text())}:
            url = urlsplit(unescape(link))
            if url.scheme:
                continue
            target = (page.parent / unquote(url.path)).resolve() if url.path else page
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), f"{page}: {link}"
            if url.fragment and target in names:
                assert unquote(url.fragment) in names[target], f"{page}: {link}"


@pytest.mark.slow
def test_the_site_shows_flowcharts_notebooks_source_files_and_published_reports(site):
    assert (site / "docs/lectures/index.html").exists() and (site / "index.html").exists()
    assert '<svg class="flowchart"' in (site / "docs/architecture.html").read_text()
    notebook = (site / "docs/notebooks/place.html").read_text()
    assert "highlight-python" in notebook and '"cells"' not in notebook
    title = yaml.safe_load((ROOT / "params.yaml").read_text())["study"]["title"]
    assert title in (site / "params.yaml.html").read_text()
    report = "docs/studies/sample/index.html"
    page = (ROOT / report).read_text().replace('href="README.md"', 'href="README.html"')
    assert (site / report).read_text() == page
    menu = (site / "docs/index.html").read_text()
    assert len(reports := [*ROOT.glob("docs/studies/*/index.html")]) > 10
    assert all(f'href="studies/{path.parent.name}/index.html"' in menu for path in reports)
