"""Reports of made-up results whose figures are empty, for tests of all else."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from heed.evaluation.results import Comparison
from heed.files import write_text
from heed.report.render import write_report
from heed.report.results import Results, read_results
from heed.report.tables import Table, build_tables, csv_table
from heed.study import Params
from tests.conftest import ROOT
from tests.fixtures.report import made_up
from tests.fixtures.report.pages import render_to
from tests.unit.report.text import words_of

PUBLISHED = ROOT / "data/published"


def draw_empty(monkeypatch: pytest.MonkeyPatch, svg: str = "<svg/>") -> None:
    """Draw one figure for all: those of a study take ten seconds."""
    monkeypatch.setattr(
        "heed.report.figures.vega._draw",
        lambda _, path, *__: write_text(path.with_suffix(".svg"), svg),
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one worker make the reports that are only read."""
    for item in items:
        if "rendered" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("rendered"))


@pytest.fixture
def empty_figures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty figures, but for slow tests."""
    if not request.node.get_closest_marker("slow"):
        draw_empty(monkeypatch)


@pytest.fixture(scope="session")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return the report of a made-up study by its name, to read and not to change."""
    folders: dict[str, Path] = {}

    def get(name: str) -> Path:
        if name not in folders:
            with pytest.MonkeyPatch.context() as monkeypatch:
                draw_empty(monkeypatch)
                into = tmp_path_factory.mktemp("rendered") / name
                folders[name] = render_to(made_up.study(name), made_up.comparison(name), into)
        return folders[name]

    return get


def read_made_up(params: Params, data: Comparison, folder: Path) -> Results:
    """The made-up results of a study as the chapters get them, written into a folder."""
    written = made_up.results(data, folder / "results")
    return read_results(params, data, PUBLISHED, written, True)


def read_study(name: str, folder: Path) -> Results:
    return read_made_up(made_up.study(name), made_up.comparison(name), folder)


def tables_of(results: Results, name: str, experiment: str = "") -> list[Table]:
    """The tables of a declaration in tables.yaml, of one experiment or of the study."""
    return build_tables(results)[name, experiment]


def csv_rows(results: Results, name: str, experiment: str = "") -> list[dict[str, str]]:
    """The rows of the CSV file of such a table."""
    (table,) = tables_of(results, name, experiment)
    return [*csv.DictReader(csv_table(table).splitlines())]


def page_of(results: Results, folder: Path) -> str:
    """The words of the page of a study without its figures."""
    write_report(results, folder)
    return " ".join(words_of((folder / "index.html").read_text(encoding="utf-8")).split())
