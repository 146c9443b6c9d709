"""A generated pair of languages with one run of each kind of translator, trained once."""

import contextlib
import shutil
from pathlib import Path

import pandas as pd
import pytest

from heed.cli import stages
from heed.evaluation.item_statistics import evaluate
from heed.prediction import write_predictions
from tests.conftest import ROOT, train

MODELS = {
    "last-state": "decoder: last-state",
    "attention": "decoder: output",
    "input": "decoder: input, score: additive",
    "literal": "decoder: input-literal, score: concat-tanh",
    "concatenate": "decoder: concatenate, max_source_tokens: 30",
    "average": "decoder: output, score: uniform",
    "deep": "decoder: output, encoder_layers: 3, decoder_layers: 2, residual: true",
    "pieces": "decoder: output, segmentation: bpe, source_vocabulary: 90, target_vocabulary: 90, "
    "tied_readout: true",
    "transformer": "encoder: transformer, decoder: transformer, heads: 2, feed_forward_size: 16",
}
STUDY = (ROOT / "tests/studies/parts/pair.yaml").read_text()
MODEL = (
    "  pair-{0}: {{experiment: pair, corpus: pair, variant: {0}, search: none, "
    "match_parameters_of: pair-{0}, {1}}}\n"
)
PARAMS = STUDY + "".join(MODEL.format(*model) for model in MODELS.items())
TRAINED = ("last-state", "attention", "pieces")  # with both seeds


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the tokenised pair, and with the recipes of all models."""
    folder = tmp_path_factory.mktemp("pair")
    (folder / "params.yaml").write_text(PARAMS)
    with contextlib.chdir(folder):
        stages.download("pair")
        stages.tokenize("pair")
        stages.recipe("pair")
    return folder


@pytest.fixture(scope="session")
def trained(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with both runs of three models, and with predictions."""
    folder = tmp_path_factory.mktemp("trained")
    shutil.copytree(made, folder, dirs_exist_ok=True)
    with contextlib.chdir(folder):
        for variant in TRAINED:
            for seed in (1, 2):
                train(f"pair-{variant}", seed)
            write_predictions(f"pair-{variant}", [1, 2])
            evaluate(f"pair-{variant}", [1, 2])
    return folder


@pytest.fixture
def pair(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the test in a copy of the folder without runs."""
    monkeypatch.chdir(shutil.copytree(made, tmp_path / "pair"))
    return tmp_path / "pair"


@pytest.fixture
def runs(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the test in a copy of the folder with runs and predictions."""
    monkeypatch.chdir(shutil.copytree(trained, tmp_path / "runs"))
    return tmp_path / "runs"


def predicted(variant: str, table: str = "predictions") -> pd.DataFrame:
    return pd.read_parquet(f"results/predict/pair/pair-{variant}/{table}.parquet")
