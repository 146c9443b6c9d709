"""The benchmarks run, and count what they say; their times are not tested."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
from benchmarks import machines, peers, workload
from benchmarks.__main__ import ALL
from benchmarks.german import write_messages

from heed.files import sha256
from tests.conftest import ROOT


def test_the_generated_lengths_are_like_imdbs():
    lengths = workload.imdb_lengths(50_000)
    assert np.mean(lengths) == pytest.approx(268.5, rel=0.03) and np.median(
        lengths
    ) == pytest.approx(201, rel=0.03)


def test_training_times_of_a_study_are_relative_to_the_baseline(workplace):
    from benchmarks.study import measure_variants

    from heed.recipe import read_model_recipe
    from heed.tokens.arrays import load_tokens

    recipe = read_model_recipe("tiny-attention")
    plain = recipe.changed({"attention": "none"})
    tokens = load_tokens("data/tokens/tiny")
    rows = measure_variants(
        "tiny", {"baseline": plain, "attention": recipe}, tokens, documents=20, rounds=1
    )
    assert [row.metric for row in rows] == ["tiny: baseline", "tiny: attention"]
    assert rows[0].value == "1.00x" and rows[1].value.endswith("x")


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_every_benchmark_runs(name):
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("| ")


@pytest.mark.parametrize(
    ("study", "scores"),
    [
        ("sample", ["0.41 points (at most 8.00; 34 have", "1.76 (at most 14.70)", "12.1%"]),
        ("translation-sample", ["0.84 points (at most 7.78; 0 have", "1.60 (at most 12.31)"]),
        ("translation", ["0.41 points (at most 1.02; 0 have", "0.91 (at most 2.17)", "9.3%"]),
    ],
)
def test_runs_on_two_machine_kinds_differ_as_docs_machines_says(study, scores, capsys):
    folder = ROOT / "docs/machines"
    machines.main([f"{folder}/{study}-first", f"{folder}/{study}"])
    printed = capsys.readouterr().out
    for metric in scores:
        assert metric in printed


def test_runs_are_compared_seed_by_seed(tmp_path, capsys):
    columns = "experiment,variant,run,figure,value"
    pairs = "experiment,first,second,verdict,difference_pp,low_pp,high_pp"
    for name, values, verdict in (
        ("one", (0.5, 0.6), "undecided,20,-5,45"),
        ("other", (0.53, 0.6), "better,50,30,70"),
    ):
        (tmp_path / name).mkdir()
        rows = [f"pair,attention,seed {i + 1},bleu,{value}" for i, value in enumerate(values)]
        rows += ["pair,attention,mean,bleu,0.9", "pair,attention,seed 1,chrf,0.9"]
        rows += [f"alone,{name},seed 1,bleu,0.9"]
        (tmp_path / name / "pair_seeds.csv").write_text("\n".join([columns, *rows]))
        row = f"pair,attention,baseline,{verdict}"
        (tmp_path / name / "pair_comparisons.csv").write_text(f"{pairs}\n{row}\n")
    machines.main([f"{tmp_path}/one", f"{tmp_path}/other"])
    printed = capsys.readouterr().out
    assert (
        "bleu, 2 trainings: the same seed on two kinds 1.50 points (at most 3.00; 1 have" in printed
    )
    assert "two seeds on one kind 8.50 (at most 10.00)" in printed
    changed = "pair: attention against baseline: undecided +20.00 (-5.00 to +45.00), then better"
    assert printed.count(changed) == 2, "another verdict, and outside the interval"
    with pytest.raises(SystemExit):
        machines.main([f"{tmp_path}/one", f"{ROOT}/docs/machines/sample"])
    assert "no training is in the tables of both" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        machines.main([f"{tmp_path}/one", f"{tmp_path}/nowhere"])
    assert "nowhere has no *_seeds.csv and *_comparisons.csv" in capsys.readouterr().err


def test_presets_are_trained_and_scored_without_the_test_part(tmp_path, monkeypatch, capsys):
    from benchmarks import presets

    from heed.tokens.arrays import load_tokens

    dataset = presets.Dataset("german", "klasse", train=20, scored=16)
    monkeypatch.setattr(presets, "DATASETS", {"few": dataset})
    monkeypatch.setattr(presets, "DOCUMENTS", 60)
    study = presets.STUDY.replace("tokenizer: de", "tokenizer: whitespace")  # spaCy loads slowly
    monkeypatch.setattr(presets, "STUDY", study)
    tiny = presets.PRESETS["tiny"]
    values = tiny.values | {"epochs": 3, "character_buckets": 100}  # its own take a second
    tiny = dataclasses.replace(tiny, values=values)
    monkeypatch.setitem(presets.PRESETS, "tiny", tiny)
    presets.main(["few", "--variants", "mean", "--seeds", "1", "2", "--folder", str(tmp_path)])
    head, _, row = capsys.readouterr().out.splitlines()
    cells = dict(zip(head.split(" | "), row.split(" | "), strict=True))
    assert row.startswith("| few (3) | 20 / 2 / 16 | ") and " | tiny | mean | 1,2 | " in row
    accuracy, linear = float(cells["accuracy"].split(" ±")[0]), float(cells["linear"])
    assert cells["difference"] == f"{100 * (accuracy - linear):+.1f}"
    assert 0 < accuracy <= 1 and 0 < linear <= 1

    tokens = load_tokens(tmp_path / "data/tokens/german")
    reduced = presets.reduce(tokens, dataset, seed=1)
    train, select, scored = (set(reduced.rows(p, 0)) for p in ("train", "validation", "test"))
    assert not (train & select or train & scored or select & scored)
    used = train | select | scored
    assert used < {*tokens.rows("train", 0), *tokens.rows("validation", 0)}
    assert set(tokens.rows("validation", 0)) < scored
    assert {row for row, text in enumerate(reduced.texts()) if text} == used


def test_the_german_messages_are_those_of_the_table_of_presets(tmp_path):
    write_messages(tmp_path / "german.csv", 3_000)
    assert sha256(tmp_path / "german.csv").startswith("68252729222accda")


def test_the_peers_get_heeds_texts(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "DOCUMENTS", 3)
    monkeypatch.setattr(peers, "VALIDATION", 1)
    peers.write_texts(tmp_path)
    sizes = json.loads((tmp_path / "classifier.json").read_text())
    with np.load(tmp_path / "texts.npz") as texts:
        ids = np.split(texts["ids"], texts["offsets"][1:-1])
    batch = workload.encoded(4, peers.CLASSIFIER).batch(np.arange(3))
    for row, (text, length) in enumerate(zip(ids, batch.lengths.tolist(), strict=True)):
        assert length == min(len(text), sizes["max_tokens"])
        assert batch.ids[row, :length].tolist() == text[:length].tolist()


def test_a_peers_row_is_the_ratio_of_average_rates_and_of_each_round():
    (row,) = peers.make_rows("search", {"float32": [8.0, 10.0], "JoeyNMT": [2.0, 4.0]}, 2, "")
    assert row.metric.endswith("float32, against JoeyNMT") and row.value == "3.0x"
    assert row.note == "4.5, 1.5 there; by round 4.0x, 2.5x"
