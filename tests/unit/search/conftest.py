"""The study that searches on the corpus `tiny`."""

from pathlib import Path

import pytest

from tests.unit.search.makers import STUDY


@pytest.fixture
def study(workplace: Path) -> Path:
    """A folder with the corpus `tiny`, a study that searches on it, and the search `none`."""
    Path("params.yaml").write_text(STUDY)
    return workplace
