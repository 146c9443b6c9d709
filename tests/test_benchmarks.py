"""The benchmarks run, and count what they say; their times are not tested."""

import dataclasses
import gzip
import math
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from benchmarks import machines, stages, translation, workload
from benchmarks.__main__ import ALL
from benchmarks.german import write_messages

from heed.files import sha256
from tests.conftest import ROOT


def test_the_generated_lengths_are_like_imdbs():
    lengths = workload.imdb_lengths(50_000)
    assert np.mean(lengths) == pytest.approx(268.5, rel=0.03) and np.median(
        lengths
    ) == pytest.approx(201, rel=0.03)


def test_useful_flops_count_what_torch_counts_without_padding():
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from heed.models.classifier import Classifier

    for attention in ("none", "multi-head"):
        h = dataclasses.replace(workload.SETTINGS, attention=attention, max_tokens=20)
        texts = workload.encoded(4, h)
        model = Classifier(workload.VOCABULARY, workload.CLASSES, h)
        with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
            batch = texts.batch(np.arange(4))
            attend = model.network.encoder.attention
            if attend is not None:
                states = torch.randn(4, 20, 512)
                attend(states, states, states, torch.zeros(4, 20, dtype=torch.bool))
        lengths = batch.lengths.numpy()
        assert (lengths == 20).all()
        plain = workload.useful_flops(lengths, dataclasses.replace(h, attention="none"))
        assert workload.useful_flops(lengths, h) == pytest.approx(
            plain + 3 * counter.get_total_flops()
        )
        assert plain == 3 * 2 * 4 * (20 * 2 * 4 * 256 * (128 + 256) + 512 * 64)


def test_the_gpu_benchmark_without_a_gpu_says_so():
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 1 and "no GPU" in done.stderr and "Traceback" not in done.stderr


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


@pytest.fixture
def remote(tmp_path_factory):
    """Return a function that runs benchmarks.remote where none of the engines can be imported."""
    engines = tmp_path_factory.mktemp("engines")
    for engine in ("ruamel", "dvc", "snakemake", "ray", "spacy"):
        (engines / f"{engine}.py").write_text(
            f"raise ImportError('{engine} is not on the bare machine')"
        )
    environment = os.environ | {"PYTHONPATH": f"{engines}:{ROOT}:{ROOT / 'src'}"}

    def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "benchmarks.remote", *arguments]
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)

    return run


@pytest.fixture
def baseline(workplace):
    """Write the recipe `tiny-baseline`, of the same experiment as `tiny-attention`; return it."""
    from heed.paths import recipe_file
    from heed.recipe import read_model_recipe, write_recipe

    recipe = dataclasses.replace(
        read_model_recipe("tiny-attention"), model="tiny-baseline", variant="baseline"
    ).changed({"attention": "none"})
    write_recipe(recipe_file("tiny-baseline"), recipe)
    return recipe


@pytest.mark.slow
def test_trainings_go_to_a_machine_without_engines_and_come_back(
    workplace, baseline, remote, tmp_path
):
    machine = tmp_path / "machine"
    machine.mkdir()

    def run(*options: str) -> str:
        done = remote("run", "pack.tar.xz", "--seeds", "1,2", *options, cwd=machine)
        assert done.returncode == 0, done.stderr
        return done.stdout

    packed = remote(
        "pack", f"{machine}/pack.tar.xz", "tiny-attention", "tiny-baseline", cwd=workplace
    )
    assert packed.returncode == 0, packed.stderr
    assert "| tiny-attention | 0 of 2 seeds | |" in run("--seconds", "0")
    output = run("--at-once", "2", "--into", "back")
    gain = r"\| tiny: gain \| [+-]\d+\.\d\d \([+-].* to [+-].*\) p\.p\. \| corrected p "
    assert re.search(gain, output), output
    assert "text" not in pd.read_parquet(machine / "pack/data/tokens/tiny/documents.parquet")
    with tarfile.open(machine / "back/done.tar.gz") as archive:
        assert sum(name.endswith("statistics.parquet") for name in archive.getnames()) == 4
    shutil.rmtree(machine / "pack")
    again = run("--done", "back/done.tar.gz", "--seconds", "0")
    assert again.partition("|")[2] == output.partition("|")[2], "nothing was trained again"


def test_a_corpus_in_folds_is_not_packed(workplace, baseline, remote, tmp_path):
    from heed.paths import recipe_file
    from heed.recipe import write_recipe

    write_recipe(recipe_file("tiny-baseline"), dataclasses.replace(baseline, folds=5))
    refused = remote("pack", f"{tmp_path}/folds.tar.xz", "tiny-baseline", cwd=workplace)
    assert refused.returncode == 1 and "the corpus is in folds" in refused.stderr


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
    again = "studies/translation-control" if study == "translation" else f"machines/{study}"
    machines.main([f"{ROOT}/docs/studies/{study}", f"{ROOT}/docs/{again}"])
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


def test_a_second_mean_is_outside_the_interval_of_the_first_as_often_as_when_it_is_drawn():
    draws = np.random.default_rng(1).normal(size=(2, 100_000, 3))
    half = 4.302653 * draws[0].std(1, ddof=1) / math.sqrt(3)  # Student's t, 2 degrees of freedom
    outside = np.abs(draws[0].mean(1) - draws[1].mean(1)) > half
    assert machines.expected_outside(3) == pytest.approx(outside.mean(), abs=0.004)


def test_the_generated_pairs_have_multi30ks_lengths():
    lengths = translation.multi30k_lengths(50_000)
    assert lengths.mean(0) == pytest.approx([12.4, 13.0], rel=0.02)
    assert lengths.std(0) == pytest.approx([4.2, 4.0], rel=0.05)
    assert np.corrcoef(np.log(lengths).T)[0, 1] == pytest.approx(0.85, abs=0.02)
    for source, target in translation.random_pairs(50, (30, 20)):
        assert source.min() >= 4 and source.max() < 30 and target.min() >= 4 and target.max() < 20


def test_multi30ks_lengths_are_those_of_the_corpus(corpora):
    word = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
    lengths = []
    for language in ("de", "en"):
        with gzip.open(corpora / f"multi30k/train.{language}.gz", "rt", encoding="utf-8") as lines:
            lengths.append([len(word.findall(line)) for line in lines if line.strip()])
    logarithms = np.log(lengths)
    assert logarithms.mean(1) == pytest.approx([2.468, 2.521], abs=1e-3)
    assert logarithms.std(1) == pytest.approx([0.324, 0.295], abs=1e-3)
    assert np.corrcoef(logarithms)[0, 1] == pytest.approx(0.852, abs=1e-3)


def test_the_tutorials_loop_and_heeds_have_a_loss_of_the_same_batch():
    torch.manual_seed(0)
    pairs = translation.random_pairs(8, (30, 20))
    batch = translation.make_batch(pairs)
    # untrained: about the logarithm of the number of words
    assert float(translation.Tutorial((30, 20), 8).loss(batch).detach()) == pytest.approx(
        np.log(20), abs=0.5
    )
    assert sorted(
        row for group in translation.batches(pairs, 3, 2) for row in group.target_lengths.tolist()
    ) == sorted(len(target) + 2 for _, target in pairs)


@pytest.mark.parametrize("size", stages.SIZES)
def test_a_generated_study_has_about_as_many_stages_as_its_size(size):
    from heed.study import parse
    from heed.study.cost import estimate_cost

    params = parse(yaml.safe_dump(stages.generated_study(size)), "generated.yaml")
    assert estimate_cost(params).stages == pytest.approx(size, abs=stages.STAGES_OF_A_MODEL)


def test_processor_time_is_that_of_the_command_and_of_what_it_waits_for(tmp_path):
    busy = "import time\nwhile time.process_time() < .3: pass"
    both = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}]); {busy}"
    with_child = both.replace("; import time", "\nimport time")
    assert 0.6 <= stages.processor_seconds([sys.executable, "-c", with_child], tmp_path) < 2
    with pytest.raises(SystemExit, match="no such thing"):
        stages.processor_seconds([sys.executable, "-c", "raise OSError('no such thing')"], tmp_path)


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
