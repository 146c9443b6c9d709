"""The first chart: every model, every seed a dot."""

from pathlib import Path

import pytest

from heed.report.figures.dots import dot_charts
from heed.report.figures.shapes import MAX_HEIGHT, extent
from tests.fixtures.report import made_up
from tests.unit.report.conftest import read_made_up


@pytest.mark.parametrize(("name", "charts"), [("sample", 1), ("talk", 2)])
def test_the_charts_have_every_run_of_every_model_and_their_mean(tmp_path: Path, name, charts):
    results = read_made_up(made_up.study(name), made_up.comparison(name), tmp_path)
    figures = dot_charts(results)
    assert [each.key for each in figures] == ["models", "models-2"][:charts]
    assert all(each.size[1] <= MAX_HEIGHT for each in figures)
    panels = [panel for each in figures for (panel,) in each.panels]
    for panel, experiment in zip(panels, results.experiments, strict=True):
        result = experiment.result
        _, *references = result.reference_models
        labels = [each.split("  ")[0] for each in panel.y.places.values()]
        assert sorted(labels) == sorted([*result.models, *references])
        for place, label in enumerate(labels):
            model = result.models.get(label) or result.reference_models[label]
            runs = [
                row["x"]
                for row in panel.rows
                if row["kind"] == "point" and round(row["y"]) == place
            ]
            assert runs == pytest.approx(
                [100 * each for each in result.compared_score(model).values]
            )
            (mean,) = (
                row["x"]
                for row in panel.rows
                if row["kind"] == "rule" and (row["y"] + row["y2"]) / 2 == pytest.approx(place)
            )
            assert mean == pytest.approx(100 * result.score_of(label))


@pytest.mark.parametrize(
    ("values", "limits", "expected"),
    [
        ((50, 90), (0, 100), (50, 90)),
        ((60, 62), (0, 100), (56, 66)),
        ((99.9, 100), (0, 100), (90, 100)),
        ((0, 0), (0, 100), (0, 10)),
        ((0.4, 0.4), (0, 1), (0, 1)),  # no more than what is possible
        ((0.2, 0.3), (0, float("inf")), (0, 10)),  # of a loss
    ],
)
def test_a_scale_has_a_least_extent_within_what_is_possible(values, limits, expected):
    rows = [{"x": value} for value in values]
    assert extent(rows, "x", margin=0, least=10, limits=limits) == pytest.approx(expected)
