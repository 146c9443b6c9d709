"""A pretrained encoder that is trained further, here tiny and random, on the CPU."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from heed import reference_models
from heed.files import HeedError
from heed.hyperparameters.pretrained import Pretrained
from heed.task.interface import DeclaredExperiment
from heed.tasks.classification import encoders
from heed.training.machine import machine_kind
from tests.encoders import entry, one_worker, write_encoder, write_films

pytestmark = one_worker
TUNED = Pretrained(
    encoder="tiny", tune=True, epochs=4, learning_rate=0.02, batch_size=8, explain=3, device="cpu"
)
PLACE = Path("results/reference_models/films.pretrained/films")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoder"), spread=0.3)


@pytest.fixture
def films(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeclaredExperiment:
    """Write a corpus whose order of two words tells the label, which no mean of words does."""
    monkeypatch.chdir(tmp_path)
    numbers = np.random.default_rng(1)
    labels = [("bad", "good")[i % 2] for i in range(120)]
    starts = {"good": ["bad", "good"], "bad": ["good", "bad"]}
    texts = [[*starts[label], *numbers.choice(["the", "films"], 3)] for label in labels]
    splits = ["train"] * 80 + ["validation"] * 20 + ["test"] * 20
    return write_films(folder, texts, labels, splits)


def tune(folder: Path, films: DeclaredExperiment, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    monkeypatch.setattr(reference_models, "_resolve_data", lambda *_: films.data)
    reference_models.write_pretrained("films", TUNED, entry(folder), {"films": films}, 1)
    return pd.read_parquet(PLACE / "pretrained-0.parquet")


def test_it_learns_what_the_frozen_encoder_was_not_made_for(folder, films, monkeypatch, capsys):
    table = tune(folder, films, monkeypatch)
    test = table[table["split"] == "test"]
    right = test["predicted"] == test["label"]
    assert len(test) == 20 and right.mean() > 0.9
    assert "is tuned on the CPU; a GPU is faster" in capsys.readouterr().out
    assert json.loads((PLACE / "encoder.json").read_text())["tuned"] is True
    selection = json.loads((PLACE / "reference_models.json").read_text())
    (scores,) = selection["validation_accuracy"]
    assert len(scores) == 4 and scores[selection["best_epoch"][0] - 1] == max(scores)
    assert selection["machine_kind"] == [machine_kind("cpu")]
    assert not [*Path(".heed/work").iterdir()], "no checkpoint is left"


def test_a_seed_gives_the_same_bytes_and_attention_is_explained(folder, films, monkeypatch):
    first = tune(folder, films, monkeypatch)
    place = "results/explain/films.pretrained/films/rollout"
    documents = pd.read_parquet(f"{place}/documents.parquet").set_index("id")
    expected = first.set_index("id").loc[documents.index, "p:good"]
    assert documents["p:good"].to_numpy() == pytest.approx(expected.to_numpy(), abs=1e-4)
    assert pd.read_csv(f"{place}/summary.csv")["mean"].notna().any()
    assert first.equals(tune(folder, films, monkeypatch))


def test_what_cannot_be_explained_is_refused_before_its_training(folder, films, monkeypatch):
    monkeypatch.setattr("transformers.BertModel.set_attn_implementation", lambda *_: None)
    monkeypatch.setattr(encoders, "train", lambda *_: pytest.fail("it was trained"))
    with pytest.raises(HeedError, match="does not let the attention"):
        tune(folder, films, monkeypatch)
