"""The chart of all models: every seed a dot, the mean a stroke; and the long texts of figures."""

import re
from pathlib import Path

import pytest

from heed.report.figures.captions import captions
from heed.report.figures.models import model_charts
from heed.report.figures.shapes import MAX_HEIGHT
from tests.conftest import ROOT
from tests.fixtures.report import made_up, made_up_translation
from tests.unit.report.conftest import read_made_up


def test_a_chart_has_every_seed_of_every_model_and_the_mean_that_tables_print(tmp_path):
    results = read_made_up(made_up.study("sample"), made_up.comparison("sample"), tmp_path)
    (chart,) = model_charts(results)
    ((panel,),) = chart.panels
    kinds = {kind: [row for row in panel.rows if row["kind"] == kind] for kind in ("point", "rule")}
    seeds, means, names = [], [], []
    for experiment in results.experiments:
        result = experiment.result
        for name, model in result.models.items():
            seeds += result.compared_score(model).values
            names.append(name)
            assert f"{experiment.title}, {name}: " in chart.alt_text
        means += [*map(result.score_of, [*result.models, "linear"])]
        names.append("linear")
    assert sorted(row["x"] for row in kinds["point"]) == pytest.approx(sorted(seeds))
    assert sorted(row["x"] for row in kinds["rule"]) == pytest.approx(sorted(means))
    assert sorted(panel.y.places.values()) == sorted(names)
    lines = {round(row["y"] + 0.38, 6) for row in kinds["rule"]}
    assert lines == {round(place, 6) for place in panel.y.places}, "a line of each model"
    low, high = panel.x.domain
    assert low < min(seeds) and max(seeds) < high and chart.key == "models"


def test_each_metric_has_a_chart_and_none_is_higher_than_a_page(tmp_path):
    params = made_up_translation.with_translation(made_up.study("sample"))
    data = made_up_translation.joined(
        made_up.comparison("sample"), made_up_translation.comparison()
    )
    charts = model_charts(read_made_up(params, data, tmp_path))
    assert [chart.key for chart in charts] == ["models", "models_bleu"]
    talk = read_made_up(made_up.study("talk"), made_up.comparison("talk"), tmp_path / "talk")
    assert all(chart.size[1] <= MAX_HEIGHT for chart in [*charts, *model_charts(talk)])


def test_every_long_text_is_of_a_figure():
    sources = (ROOT / "src/heed").rglob("*.py")
    code = "".join(Path(source).read_text(encoding="utf-8") for source in sources)
    used = set(re.findall(r'described\(\s*"(\w+)"', code)) | {"lengths_of_documents"}
    assert used == captions().keys()
