"""The documentation: its links lead somewhere, on GitHub and in the site that `make docs` makes."""

import importlib
import importlib.util
import re
import shlex
import subprocess
import sys
from collections import Counter
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from heed.cli.commands import make_parser
from tests.conftest import ROOT

PAGES = sorted(
    path
    for pattern in ("*.md", "config/*.md", "envs/*.md", "docs/**/*.md")
    for path in ROOT.glob(pattern)
)
TARGETS = {*re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)}
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
def test_the_tests_that_a_page_names_exist(page):
    for file, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page.read_text()):
        assert not name or f"def {name}(" in (ROOT / file).read_text(), name
        assert (ROOT / file).is_file(), file


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
