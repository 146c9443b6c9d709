"""The report says what each result cost, and what attention costs for its gain."""

import itertools
import re
from pathlib import Path

import pytest

from heed.files import HeedError
from heed.report.blocks import Figure, walk_blocks
from heed.report.chapters import cost
from heed.report.chapters.cost import time_unit
from heed.report.figures.vega import line_ends
from heed.report.results import Results, read_results
from tests.conftest import ROOT
from tests.fixtures.report import made_up
from tests.fixtures.report.made_up_translation import write_times

KINDS = "point", "rule", "end"
BASELINE, ATTENTION = "sample-author-baseline", "sample-author-attention"


@pytest.fixture
def results(tmp_path: Path) -> Results:
    data = made_up.comparison("sample")
    made_up.results(data, tmp_path)
    write_times(ATTENTION, data.seeds, tmp_path, cpu_seconds=255.0)
    return read_results(made_up.study("sample"), data, ROOT / "data/published", tmp_path, False)


def blocks(results: Results, kind: type) -> list:
    (section,) = cost.chapter(results)
    return [block for block in walk_blocks(section.blocks) if isinstance(block, kind)]


def test_a_panel_has_every_model_by_name_and_the_best_reference_model_as_a_line(results):
    (figure,) = blocks(results, Figure)
    panels = [panel for row in figure.panels for panel in row]
    assert len(panels) == len(results.experiments)
    for panel, experiment in zip(panels, results.experiments, strict=True):
        result = results.comparison.experiments[experiment.key]
        rows = [*panel.rows, *line_ends(panel, 100)]
        kinds = {kind: [row for row in rows if row["kind"] == kind] for kind in KINDS}
        assert {row["text"] for row in kinds["end"]} == {*result.models, "linear"}
        assert sorted(row["y"] for row in kinds["point"]) == pytest.approx(
            sorted(map(result.score_of, result.models))
        )
        (reference_model,) = kinds["rule"]
        assert reference_model["y"] == result.score_of("linear")
        low, high = panel.y.domain
        heights = sorted((row["y2"] - low) / (high - low) for row in kinds["end"])
        gaps = [after - before for before, after in itertools.pairwise(heights)]
        assert min(gaps) > 0.08, "no two names overlap"


def test_times_are_in_a_unit_that_is_easy_to_read():
    assert time_unit(0.03).name == "core-seconds" and time_unit(0.03).of(0.05) == 3
    assert time_unit(12).name == "core-minutes" and time_unit(12).of(12) == 12
    assert time_unit(600).name == "core-hours" and time_unit(600).of(600) == 10


def test_a_training_without_its_time_is_one_message(results):
    (results.folder / "timing/train" / BASELINE / "2.json").unlink()
    message = rf"2\.json: not there\. Run: heed train {re.escape(BASELINE)} --seeds 2"
    with pytest.raises(HeedError, match=message):
        cost.chapter(results)
