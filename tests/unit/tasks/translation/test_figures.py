"""Gradients of sentences: what the figure shows of them."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from heed.models.dependence import SourceGradients
from heed.report.results import Sources
from heed.tasks.translation import figures
from heed.tasks.translation.prediction import sentence_gradients

MODELS = {"baseline": "pair-baseline", "transformer": "pair-transformer"}
EXPERIMENT = SimpleNamespace(key="pair", title="A pair", mark="")


@pytest.fixture
def results(tmp_path):
    """Return results with gradients of sentences of 4 and 12 words."""
    for variant, model in MODELS.items():
        tables = []
        for length in (4, 12):
            norms = np.arange(1.0, length + 1)
            cut = np.where(np.arange(length) < (length - 1) // 8 * 8, 0.0, norms)
            measured = {None: norms, 8: cut} if variant == "baseline" else {None: None}
            for truncation, forward in measured.items():
                gradients = SourceGradients(norms, forward)
                tables.append(sentence_gradients(f"id-{length}", length, truncation, gradients))
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
        comparison_sources=(),
        models=lambda experiment: MODELS,
        evaluation_folder=lambda model: tmp_path / "evaluate" / model,
    )


def test_what_truncation_cuts_off_is_drawn_as_0(results):
    figure = figures.first_word(results, EXPERIMENT, [*MODELS])
    ((left, right),) = figure.panels
    whole, truncated = (
        {
            name: [(row["x"], row["y"]) for row in panel.rows if row.get("name") == name]
            for name in MODELS
        }
        for panel in (left, right)
    )
    expected = [[4.0, 1 / 2.5], [12.0, 1 / 6.5]]
    assert np.allclose(whole["baseline"], expected) and np.allclose(whole["transformer"], expected)
    assert np.allclose(truncated["baseline"], [[4.0, 1 / 2.5], [12.0, 0.0]])
    assert truncated["transformer"] == [], "a transformer has no time to go back through"
    assert left.y.domain[0] == 0 and "2 test sentences" in figure.caption
    files = {source.path.split("/")[-1] for source in figure.sources}
    assert files == {"gradients.parquet", "lengths.csv"}
