"""The figure of gradients has one line for each model, and shows a gradient of 0 as 0."""

from types import SimpleNamespace

import matplotlib.figure
import numpy as np
import pandas as pd
import pytest

from heed.models.dependence import SourceGradients
from heed.report.results import Sources
from heed.tasks.translation import figures
from heed.tasks.translation.prediction import sentence_gradients

MODELS = {"baseline": "pair-baseline", "transformer": "pair-transformer"}


@pytest.fixture
def results(tmp_path):
    """Return results with gradients of two sentences, of 4 and of 12 words."""
    for variant, model in MODELS.items():
        tables = []
        for id_, length in (("short", 4), ("long", 12)):
            norms = np.arange(1.0, length + 1)
            forward = norms if variant == "baseline" else None
            tables.append(sentence_gradients(id_, length, None, SourceGradients(norms, forward)))
            if variant == "baseline":
                cut = np.where(np.arange(length) < (length - 1) // 8 * 8, 0.0, norms)
                tables.append(sentence_gradients(id_, length, 8, SourceGradients(norms, cut)))
        for stage in ("predict", "evaluate"):
            (tmp_path / stage / model).mkdir(parents=True)
        pd.concat(tables).to_parquet(tmp_path / "predict" / model / "gradients.parquet")
        lengths = pd.DataFrame({"seed": [1, 1, 2, 2], "longest": [5, 12, 5, 12]})
        lengths.to_csv(tmp_path / "evaluate" / model / "lengths.csv", index=False)
    experiment = SimpleNamespace(attention=["transformer"], controls=[], models=MODELS)
    return SimpleNamespace(
        comparison=SimpleNamespace(experiments={"pair": experiment}),
        folder=tmp_path,
        sources=Sources(),
        models=lambda experiment: MODELS,
        evaluation_folder=lambda model: tmp_path / "evaluate" / model,
    )


EXPERIMENT = SimpleNamespace(key="pair", title="A pair", mark="")


def test_what_truncation_cuts_off_is_drawn_as_0(results):
    drawing = matplotlib.figure.Figure()
    figure = figures.first_word(results, EXPERIMENT, [*MODELS])
    figure.draw(drawing)
    whole, truncated = (
        {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
        for axes in drawing.axes
    )
    expected = [[4.0, 1 / 2.5], [12.0, 1 / 6.5]]
    assert np.allclose(whole["baseline"], expected) and np.allclose(whole["transformer"], expected)
    assert np.allclose(truncated["baseline"], [[4.0, 1 / 2.5], [12.0, 0.0]])
    assert truncated["transformer"] == [], "a transformer has no time to go back through"
    assert drawing.axes[0].get_ylim()[0] == 0
    assert "2 test sentences" in figure.caption
    assert {source.path.split("/")[-1] for source in figure.sources} == {
        "gradients.parquet",
        "lengths.csv",
    }
