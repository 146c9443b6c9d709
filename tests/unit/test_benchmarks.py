"""The benchmarks run, and count what they say; their times are not tested."""

import dataclasses
import subprocess
import sys

import pytest
from benchmarks.__main__ import ALL

from heed.files import sha256
from tests.conftest import ROOT
from tests.fixtures.own_corpora import write_messages


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


def test_presets_are_trained_and_scored_without_the_test_part(tmp_path, monkeypatch, capsys):
    from benchmarks import presets

    from heed.tokens.arrays import load_tokens

    path = write_messages(tmp_path, 60)
    source = f"{{kind: table, path: {path.name}, sha256: {sha256(path)}}}"
    columns = "text_column: text, label_column: label, tokenizer: whitespace"
    corpus = f"{{source: few, kind: table, {columns}, split: {{kind: random, test: 0.2}}}}"
    study = presets.STUDY.replace("corpora:\n", f"  few: {source}\ncorpora:\n  few: {corpus}\n")
    monkeypatch.setattr(presets, "STUDY", study)
    dataset = presets.Dataset("few", "label", train=20, scored=16)
    monkeypatch.setattr(presets, "DATASETS", {"few": dataset})
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

    tokens = load_tokens(tmp_path / "data/tokens/few")
    reduced = presets.reduce(tokens, dataset, seed=1)
    train, select, scored = (set(reduced.rows(p, 0)) for p in ("train", "validation", "test"))
    assert not (train & select or train & scored or select & scored)
    used = train | select | scored
    assert used < {*tokens.rows("train", 0), *tokens.rows("validation", 0)}
    assert set(tokens.rows("validation", 0)) < scored
    assert {row for row, text in enumerate(reduced.texts()) if text} == used
