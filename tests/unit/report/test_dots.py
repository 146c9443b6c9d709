"""The first chart: every model, every seed a dot."""

from pathlib import Path

import matplotlib.figure
import pytest

from heed.report.figures.dots import dot_charts
from heed.report.figures.drawing import MAX_HEIGHT
from tests.fixtures.report import made_up
from tests.unit.report.conftest import read_made_up


@pytest.mark.parametrize(("name", "charts"), [("sample", 1), ("talk", 2)])
def test_the_charts_have_every_run_of_every_model_and_their_mean(tmp_path: Path, name, charts):
    results = read_made_up(made_up.study(name), made_up.comparison(name), tmp_path)
    figures = dot_charts(results)
    assert [each.key for each in figures] == ["models", "models-2"][:charts]
    drawn = []
    for each in figures:
        assert each.size[1] <= MAX_HEIGHT
        each.draw(figure := matplotlib.figure.Figure(figsize=each.size))
        drawn += figure.axes
    for axes, experiment in zip(drawn, results.experiments, strict=True):
        result = experiment.result
        _, *references = result.reference_models
        labels = [each.get_text().split("  ")[0] for each in axes.get_yticklabels()]
        assert sorted(labels) == sorted([*result.models, *references])
        for row, label in enumerate(labels):
            known = result.models.get(label) or result.reference_models[label]
            runs, mean = (
                next(
                    list(line.get_xdata())
                    for line in axes.lines
                    if line.get_gid() == gid
                    and round(sum(line.get_ydata()) / 2) >= 0
                    and abs(sum(line.get_ydata()) / len(line.get_ydata()) - row) < 1e-9
                )
                for gid in ("run", "mean")
            )
            scores = result.compared_score(known)
            assert runs == pytest.approx([100 * each for each in scores.values])
            assert mean[0] == pytest.approx(100 * scores.mean)
