"""Reports of made-up results whose figures are empty, for tests of all else."""

from collections.abc import Callable
from pathlib import Path

import pytest

from heed.files import write_text
from tests.fixtures.report import made_up
from tests.fixtures.report.pages import render_to


def _draw_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw nothing: drawing the figures of a study takes half a minute."""
    monkeypatch.setattr(
        "heed.report.figures.drawing.draw",
        lambda path, *_: write_text(path.with_suffix(".svg"), "<svg/>"),
    )


@pytest.fixture
def empty_figures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty figures, but for slow tests."""
    if not request.node.get_closest_marker("slow"):
        _draw_empty(monkeypatch)


@pytest.fixture(scope="session")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the report of a made-up study by its name, to read and not to change."""
    folders: dict[str, Path] = {}

    def get(name: str) -> Path:
        if name not in folders:
            with pytest.MonkeyPatch.context() as monkeypatch:
                _draw_empty(monkeypatch)
                into = tmp_path_factory.mktemp("rendered") / name
                folders[name] = render_to(made_up.study(name), made_up.comparison(name), into)
        return folders[name]

    return get
