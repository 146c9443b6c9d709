"""The documentation: its links lead somewhere, on GitHub and in the site that `make docs` makes."""

import ast
import importlib
import importlib.util
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.conftest import ROOT

PATTERNS = ("*.md", "config/*.md", "envs/*.md", "docs/**/*.md")
PAGES = sorted(path for pattern in PATTERNS for path in ROOT.glob(pattern))
FENCE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
LINK = re.compile(r"\]\(([^)\s]+)\)")
SUMMARIES = sorted(ROOT.glob("docs/studies/*/README.md"))
SOURCES = {".py", ".yaml", ".jinja", ".rst"}
# Words that readers stumbled over: each has a plainer one, or the sentence can begin with a noun.
AVOIDED = re.compile(
    r"(?:^|[.:!?*]\s+)(?:Of|Where|Those of|That of)\s.{0,20}"
    r"|\b(?:stands?|standing|came out|comes? out|from outside|of (?:its|their) own|searched alike"
    r"|told apart|not shown to|likely to be missed|editions?(?!\.json))\b.{0,20}",
    re.MULTILINE,
)
# A message says "is not a number", and gives the number or the letter that its help names.
MESSAGE = re.compile(rf"{AVOIDED.pattern}|(?<!here )\b(?:is|are) no\b|\bso many\b", re.MULTILINE)
READ = [path for path in PAGES if path.is_relative_to(ROOT / "docs")] + [
    ROOT / "README.md", ROOT / "CHANGELOG.md",
    *ROOT.glob("src/heed/**/*.jinja"), ROOT / "src/heed/report/figures/captions.yaml",
]  # fmt: skip


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


@pytest.mark.parametrize(("pages", "words"), [
    (("README.md",), 450), (("CHANGELOG.md",), 1200), (("docs/found.md",), 400),
    (("docs/internals/decisions.md",), 1200), (("docs/lectures/*.md",), 2900),
    *(((f"docs/studies/{path.parent.name}/README.md",), 350) for path in SUMMARIES),
    (("docs/**/*.md",), 26_000),
])  # fmt: skip
def test_pages_that_should_be_short_are(pages, words):
    found = [path for pattern in pages for path in ROOT.glob(pattern)]
    # the bars of tables are no words
    assert 0 < sum(len(re.findall(r"\S*\w\S*", path.read_text())) for path in found) <= words


@pytest.mark.parametrize("page", READ, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_written_in_plain_words(page):
    text = LINK.sub("]", CODE.sub("", FENCE.sub("", page.read_text())))
    found = [" ".join(match[0].split()) for match in AVOIDED.finditer(text)]
    assert not found, f"{page.relative_to(ROOT)}: say it in plainer words: {found}"


def test_what_heed_prints_is_in_plain_words():
    """Read every string but docstrings, of which those of the commands are printed as help."""
    found = []
    for path in sorted(ROOT.glob("src/heed/**/*.py")):
        nodes = [*ast.walk(ast.parse(path.read_text()))]
        unread = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            text = str(getattr(node, "value", ""))
            is_read = path.parent.name == "cli" or id(node) not in unread
            if isinstance(node, ast.Constant) and is_read and " " in text and MESSAGE.search(text):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {text}")
    assert not found, "say it in plainer words:\n" + "\n".join(found)


def test_the_pages_that_code_and_settings_name_exist():
    sources = [ROOT / name for name in ("Makefile", "dvc.yaml", "params.yaml")]
    for folder in ("src", "workflow", "benchmarks"):
        sources += [path for path in (ROOT / folder).rglob("*") if path.suffix in SOURCES]
    for path in sources:
        named = re.findall(r"docs/[\w/-]+\.md\b", path.read_text())
        missing = [name for name in named if not (ROOT / name).exists()]
        assert not missing, f"{path.relative_to(ROOT)}: no such page: {missing}"


def test_the_tests_that_pages_name_exist():
    for page in READ:
        for path, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text()):
            assert f"def {name}(" in (ROOT / path).read_text(), f"{page}: no test {name}"


def test_the_readme_has_few_numerals():
    text = re.sub(r"\]\([^)]*\)", "]", (ROOT / "README.md").read_text())
    assert len(re.findall(r"\d[\d.,]*", text)) <= 10


@pytest.mark.slow
def test_the_site_is_made_without_a_warning(tmp_path):
    """As `make docs` makes it, but for its folder."""
    for package in ("sphinx", "myst_parser", "furo"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}: make docs installs it")
    options = re.search(r"sphinx-build (.+) -d \S+ (.+) --quiet", (ROOT / "Makefile").read_text())
    command = [sys.executable, "-m", "sphinx", *" ".join(options.groups()).split()]
    command += ["--quiet", "-d", tmp_path / "doctrees", ROOT, tmp_path / "html"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert len([*(tmp_path / "html").rglob("*.html")]) > 60
