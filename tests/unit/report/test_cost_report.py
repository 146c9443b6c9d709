"""The report says what each result cost, and what attention costs for its gain."""

import csv
import itertools
import re
from pathlib import Path

import pytest

from heed.files import HeedError
from heed.report.blocks import PAGE, Figure, Items, Paragraph, Span, Table, walk_blocks
from heed.report.chapters import cost
from heed.report.chapters.cost import time_unit
from heed.report.figures.vega import line_ends
from heed.report.formats import format_number
from heed.report.html import csv_table
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


def text_of(parts: tuple) -> str:
    return "".join(part.text if isinstance(part, Span) else part for part in parts)


def test_a_sentence_says_what_attention_costs_for_which_gain_and_with_which_verdict(results):
    experiment = next(each for each in results.experiments if each.key == "sample-author")
    (items,) = blocks(results, Items)
    sentences = map(text_of, items.items)
    (sentence,) = (each for each in sentences if each.startswith(experiment.title))
    # 90, 150 and 210 CPU seconds without attention, by the fixture, and 255 with it
    assert results.comparison.seeds == [1, 2, 3]
    assert "attention costs 1.7 times the baseline’s core time for " in sentence
    assert sentence.endswith(f"p.p.: {experiment.gain.verdict}.")


def test_the_table_has_core_minutes_of_a_training_of_all_seeds_and_over_the_baseline(results):
    (table,) = blocks(results, Table)
    lines = csv.DictReader(csv_table(table).splitlines())
    rows = {(row["experiment"], row["variant"]): row for row in lines}
    models = [model for each in results.experiments for model in results.models(each)]
    assert len(rows) == len(models)
    row = rows["sample-author", "attention"]
    assert (row["core_minutes"], row["core_minutes_of_all_seeds"]) == ("4.2500", "12.7500")
    assert row["ratio"] == "1.70" and rows["sample-author", "baseline"]["ratio"] == "1.00"
    model = results.comparison.experiments["sample-author"].models["attention"]
    assert row["parameters"] == str(model.parameters)
    (paragraph,) = blocks(results, Paragraph)
    minutes = sum(float(row["core_minutes_of_all_seeds"]) for row in rows.values())
    runs = len(models) * 3
    text = f"The study’s {runs} trainings took {format_number(minutes, 1)} core-minutes."
    assert text_of(paragraph.texts) == text
    assert "the CPU time of a training" in table.meanings(PAGE)
    assert not any(column.heading == "Search" for column in table.columns), "no search was made"


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


def test_a_time_has_round_ticks_and_at_least_two():
    assert cost._ticks(0.9, 60) == {1: "1", 3: "3", 10: "10", 30: "30"}
    assert cost._ticks(4.2, 6.5) == {5: "5", 6: "6"}


def test_times_are_in_a_unit_that_is_easy_to_read():
    assert time_unit(0.03).name == "core-seconds" and time_unit(0.03).of(0.05) == 3
    assert time_unit(12).name == "core-minutes" and time_unit(12).of(12) == 12
    assert time_unit(600).name == "core-hours" and time_unit(600).of(600) == 10


def test_a_training_without_its_time_is_one_message(results):
    (results.folder / "timing/train" / BASELINE / "2.json").unlink()
    message = rf"2\.json: not there\. Run: heed train {re.escape(BASELINE)} --seeds 2"
    with pytest.raises(HeedError, match=message):
        cost.chapter(results)
