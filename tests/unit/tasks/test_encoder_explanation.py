"""The explanation of a pretrained encoder by its attention, here tiny and random."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from heed import reference_models
from heed.explanation.test import HELD
from heed.files import HeedError
from heed.hyperparameters.pretrained import Pretrained
from heed.pretrained import AttentionTap, load_encoder
from heed.task.interface import DeclaredExperiment
from heed.tasks.classification import reference_models as linear
from heed.tasks.classification.encoders import READINGS, EncoderClassifier, EncoderReader
from tests.encoders import entry, one_worker, write_encoder, write_films

pytestmark = one_worker
TEXT = "the films was bad"
STARTS = np.asarray([0, 4, 10, 14])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoder"), spread=0.3)


def reader_of(folder: Path, pooling: str = "mean") -> EncoderReader:
    loaded = load_encoder(folder, entry(folder), "cpu")
    facts = loaded.facts.__class__(**vars(loaded.facts) | {"pooling": pooling})
    loaded = loaded._replace(facts=facts)
    generator = torch.Generator().manual_seed(1)
    classifier = EncoderClassifier(loaded, 2).requires_grad_(False)
    classifier.output.weight.copy_(torch.randn(2, 16, generator=generator))
    return EncoderReader(classifier)


def silence(reader: EncoderReader, *layers: int) -> None:
    """Make what the attention of a layer reads zero, wherever it looks."""
    for layer in layers:
        values = reader._classifier.encoder.encoder.layer[layer].attention.self.value
        values.weight.zero_(), values.bias.zero_()


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_a_reading_is_what_the_pooled_pieces_read_of_a_word(folder: Path, pooling: str):
    import transformers

    reader = reader_of(folder, pooling)
    pieces = reader.cut(TEXT, STARTS)
    assert pieces.word.tolist() == [-1, 0, 1, 1, 2, 3, -1] and pieces.words == 4
    network = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        found = network(pieces.ids[None], output_attentions=True).attentions
    first, last = (layer[0].mean(0).numpy() for layer in found)
    rolled = (last + np.eye(7)) / 2 @ (first + np.eye(7)) / 2
    for name, matrix in zip(READINGS, (last, (first + last) / 2, rolled), strict=True):
        read = matrix[0] if pooling == "first" else matrix.mean(0)
        words = np.asarray([read[1], read[2] + read[3], read[4], read[5]])
        judged = reader.judge(1, pieces)[name]
        assert judged.rankings["attention"] == pytest.approx(words / words.sum(), abs=1e-5)
        assert judged.measures["marks_weight"] == pytest.approx(read[0] + read[6], abs=1e-5)
    assert not reader._tap.weights, "only those that are read are kept"
    assert judged.measures["max_weight"] == pytest.approx((words / words.sum()).max(), abs=1e-5)


def test_words_that_are_removed_are_as_if_the_text_had_never_had_them(folder: Path):
    reader = reader_of(folder)
    pieces, shorter = reader.cut(TEXT, STARTS), reader.cut("the bad", np.asarray([0, 4]))
    kept = torch.tensor([[True, True, True, True], [True, False, False, True]])
    predicted = reader.predict_kept(pieces, kept)
    everything = torch.ones(1, 2, dtype=torch.bool)
    assert torch.allclose(predicted[1], reader.predict_kept(shorter, everything)[0], atol=1e-6)
    judged = reader.judge(1, pieces)["rollout"]
    assert judged.probabilities == pytest.approx(predicted[0].numpy(), abs=1e-6)
    fall = 0.5 * np.abs(reader.predict_kept(pieces, ~torch.eye(4, dtype=torch.bool)).numpy()
                        - judged.probabilities).sum(1)  # fmt: skip
    assert judged.rankings["leave_one_out"] == pytest.approx(fall, abs=1e-5)


@pytest.mark.parametrize(("silent", "changed"), [
    ((), (1, 1, 1)), ((1,), (0, 1, 1)), ((0, 1), (0, 0, 0)),
])  # fmt: skip
def test_shuffled_weights_change_what_rests_on_them_alone(folder: Path, silent, changed):
    reader = reader_of(folder)
    silence(reader, *silent)
    judged = reader.judge(1, reader.cut(TEXT, STARTS))
    changes = [judged[name].measures["permutation_change"] for name in READINGS]
    assert [change > 1e-4 for change in changes] == [*map(bool, changed)]
    held, through = (judged["rollout"].rankings[name] for name in (HELD, "gradient"))
    assert np.allclose(held, through, atol=1e-6) == (silent == (0, 1)), "weights follow the words"


def refuse(*_: object, **arguments: object) -> None:
    raise ValueError("not supported")


def grouped(*_: object, **arguments: object) -> None:
    raise RuntimeError("The size of tensor a (2) must match the size of tensor b (4)")


def cap(self: AttentionTap, module, query, *arguments: object, **keys: object):
    return ATTEND(self, module, 0.99 * query, *arguments, **keys)


ATTEND = AttentionTap.attend


@pytest.mark.parametrize(("place", "value"), [
    ("transformers.BertModel.set_attn_implementation", refuse),
    ("heed.pretrained.AttentionTap.attend", grouped),
    ("heed.pretrained.AttentionTap.attend", cap),
    ("transformers.PreTrainedTokenizerFast.is_fast", False),
])  # fmt: skip
def test_an_encoder_with_other_attention_is_one_message(folder, monkeypatch, place, value):
    monkeypatch.setattr(place, value)
    with pytest.raises(HeedError, match=r"does not let the attention of this kind .*explain: 0"):
        reader_of(folder)


@pytest.fixture(scope="module")
def films(folder: Path, tmp_path_factory: pytest.TempPathFactory):
    """Write a corpus whose word fine tells the label, and its vectors; return an experiment."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(tmp_path_factory.mktemp("films"))
        numbers = np.random.default_rng(1)
        labels = [("bad", "good")[i % 2] for i in range(60)]
        words, fine = ["the", "films", "was", "it"], {"good": ["fine"], "bad": []}
        texts = [[*numbers.choice(words, 5), *fine[label]] for label in labels]
        splits = ["train"] * 30 + ["validation"] * 12 + ["test"] * 18
        yield write_films(folder, texts, labels, splits)


def explain(folder: Path, films: DeclaredExperiment, cores: int = 1) -> dict[str, pd.DataFrame]:
    declared = Pretrained(encoder="tiny", explain=6)
    reference_models.write_pretrained("films", declared, entry(folder), {"films": films}, cores)
    place = Path("results/explain/films.pretrained/films")
    return {name: pd.read_csv(place / name / "summary.csv") for name in READINGS}


def test_each_reading_has_the_means_of_the_tests_that_there_are_for_it(folder, films, capsys):
    for name, summary in explain(folder, films, cores=2).items():
        assert (summary["mean"].notna() ^ summary["reason"].notna()).all()
        measured = summary.dropna(subset="mean")
        tests = {"correlation", "permutation", "input_removal", "rationale", "adversarial_weights"}
        assert {*measured["test"]} == tests
        of_weights = measured[measured["test"] == "adversarial_weights"]
        assert {*of_weights["measure"]} == {"rationale_weight"}
        removed = measured[measured["measure"] == "comprehensiveness"]
        assert {*removed["ranking"]} == {"attention", "gradient", "random"}
        units = pd.read_parquet(f"results/explain/films.pretrained/films/{name}/units.parquet")
        assert np.allclose(units.groupby("id")["attention"].sum(), 1, atol=1e-5)
        rationale = units[units["rationale"]]
        assert ((rationale["end"] - rationale["start"]) == 4).all() and len(rationale)
    printed = capsys.readouterr().out
    assert "films: means over 6 test documents" in printed and "marks_weight" in printed


@pytest.mark.parametrize("most", [16_000_000, 0], ids=["LIBLINEAR", "L-BFGS"])
def test_what_is_explained_predicts_as_the_reference_model(folder, films, monkeypatch, most):
    monkeypatch.setattr(linear, "IN_MEMORY", most)
    torch.set_deterministic_debug_mode("default")
    explain(folder, films)
    assert torch.are_deterministic_algorithms_enabled()
    tables = ("reference_models", "pretrained-0"), ("explain", "rollout/documents")
    paths = (f"results/{stage}/films.pretrained/films/{name}.parquet" for stage, name in tables)
    predicted, documents = (pd.read_parquet(path).set_index("id") for path in paths)
    assert len(documents) == 6 and {*predicted.loc[documents.index, "split"]} == {"test"}
    expected = predicted.loc[documents.index, "p:good"]
    assert documents["p:good"].to_numpy() == pytest.approx(expected.to_numpy(), abs=1e-5)


def test_the_tables_are_the_same_with_any_number_of_cores(folder, films):
    one, three = explain(folder, films, 1), explain(folder, films, 3)
    assert all(one[name].equals(three[name]) for name in READINGS)
