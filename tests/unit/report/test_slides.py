"""The slides of docs/teach are those that their command makes of the published tables."""

import re
import runpy

from heed.report.forest_plot import OWN
from tests.conftest import ROOT

FOLDER = ROOT / "docs/teach"


def test_each_slide_has_its_message_its_source_and_what_is_wrong_with_it(tmp_path):
    slides = runpy.run_path(str(FOLDER / "slides.py"))
    slides["write_slides"](tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{key}.{kind}" for key in OWN for kind in ("svg", "png")
    }
    for key in OWN:
        made, stored = (words(folder / f"{key}.svg") for folder in (tmp_path, FOLDER))
        assert made == stored, "python docs/teach/slides.py"
        assert ("The fault is mended" in stored) == (key == "staircase")
        assert "Licence: Apache-2.0, free to use." in stored
        assert (FOLDER / f"{key}.png").read_bytes().startswith(b"\x89PNG")


def words(path):
    """Return the texts of a picture; the places of its marks may differ between machines."""
    return " ".join(re.findall(r">([^<>]+)<", path.read_text()))
