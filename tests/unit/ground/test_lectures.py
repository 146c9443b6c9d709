"""The pages on the lectures name what exists, and the notebook prints what is stored in it."""

import contextlib
import io
import json
import re
from collections import Counter
from pathlib import Path

import pytest
import torch

from tests.conftest import ROOT

LECTURES = ROOT / "docs/lectures"
PAGES = sorted(LECTURES.glob("0*.md"))
VERDICTS = ("holds", "holds only where", "does not hold", "not yet run")
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def claims(page: Path) -> list[str]:
    """Return the sections of a page that have a claim each."""
    return re.split(r"^### ", page.read_text(), flags=re.MULTILINE)[1:]


def verdict(claim: str) -> str:
    return re.findall(r"^\*\*(.+?)\.?\*\*", claim.splitlines()[1])[0].lower()


def test_the_cells_of_the_lectures_notebook_print_what_is_stored() -> None:
    notebook = json.loads((ROOT / "docs/notebooks/lectures.ipynb").read_text())
    values: dict[str, object] = {}
    with torch.enable_grad(), torch.random.fork_rng():  # both are as before afterwards
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    exec("".join(cell["source"]), values)
                stored = "".join(line for output in cell["outputs"] for line in output["text"])
                assert printed.getvalue() == stored, cell["id"]


def test_every_lecture_has_a_page() -> None:
    assert [page.stem for page in PAGES] == ["000", "001", "002", "003", "004"]


@every_page
def test_every_claim_has_first_a_verdict_then_a_finding_of_at_most_40_words_and_a_check(
    page: Path,
) -> None:
    assert claims(page)
    for claim in claims(page):
        title, _, found, check = [line for line in claim.splitlines() if line][:4]
        assert verdict(claim) in VERDICTS, title
        words = re.sub(r"\]\([^)]*\)", "]", found).split()
        assert 0 < len(words) <= 40, f"{title}: {len(words)} words"
        assert check.startswith("*Check:* "), title


def test_the_index_counts_the_verdicts_of_each_page() -> None:
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in (LECTURES / "index.md").read_text().splitlines()
        if re.match(r"\| \[\d", line)
    ]
    for page, row in zip(PAGES, rows, strict=True):
        counts = Counter(map(verdict, claims(page)))
        assert [int(cell) for cell in row[-4:]] == [counts[name] for name in VERDICTS], page.stem


@every_page
def test_the_tests_that_a_page_names_exist(page: Path) -> None:
    for file, name in re.findall(r"`(tests/\w+\.py)(?:::(\w+))?`", page.read_text()):
        assert f"def {name}(" in (ROOT / file).read_text() if name else (ROOT / file).is_file()
