"""Training is a pure function of recipe and seed, also after a kill; wrong inputs are refused."""

import dataclasses
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from safetensors.torch import save as serialize
from sklearn.metrics import f1_score

import heed
from heed import recipe as recipes
from heed.cli import stages
from heed.evaluation.item_statistics import evaluate
from heed.files import CHECKSUMS, HeedError, write_json
from heed.hyperparameters import Training
from heed.inputs.batches import WINDOW, EncodedCorpus
from heed.inputs.vocabulary import SPECIAL, Vocabulary, build_vocabulary, most_frequent
from heed.paths import timing_file
from heed.prediction import write_predictions
from heed.task import task_module
from heed.tokens.arrays import load_tokens
from heed.tokens.tokenizer import tokenize_in_memory
from heed.training import checkpoint, loop
from heed.training import run as runs
from heed.training.loop import learning_rate
from heed.training.run import RunInfo, read_run, train_run
from tests import conftest
from tests.conftest import HYPERPARAMETERS, RUN, contents, killed, train, train_and_predict
from tests.conftest import change_recipe as change
from tests.makers.precision import has_bfloat16
from tests.pipeline.makers import wait_for

CASES = conftest.cases(__file__)
FILES = [CHECKSUMS, "history.csv", "model.safetensors", "run.json", "vocabulary.txt"]
PREDICTED = Path("results/predict/tiny/tiny-self-attention")


def predicted(seed: int = 1) -> pd.DataFrame:
    table = pd.read_parquet(PREDICTED / "predictions.parquet")
    return table.query("seed == @seed and split == 'test'")


def times() -> dict:
    return json.loads(timing_file("tiny-self-attention", 1).read_text())


def change_file(path: Path, old: str, new: str) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def flipped(content: bytes) -> bytes:
    """The last byte has another bit."""
    return content[:-1] + bytes([content[-1] ^ 1])


def test_the_files_are_those_of_the_contract(workplace):
    info = train("tiny-self-attention", 1)
    assert sorted(contents()) == FILES
    assert write_predictions("tiny-self-attention", [1]) == 24
    table = pd.read_parquet(PREDICTED / "predictions.parquet")
    assert list(table.columns) == ["seed", "id", "split", "label", "predicted", "p:bad", "p:good"]
    assert table["p:bad"].dtype == np.float32
    assert table["split"].value_counts().to_dict() == {"validation": 12, "test": 12}
    assert np.allclose(table[["p:bad", "p:good"]].sum(axis=1), 1, atol=1e-6)
    assert (table["predicted"] == np.where(table["p:bad"] >= table["p:good"], "bad", "good")).all()
    history = pd.read_csv(RUN / "history.csv")
    metrics = ["loss", "accuracy", "macro_f1"]
    assert [*history.columns] == ["epoch", "train_loss", *(f"validation_{m}" for m in metrics)]
    assert info.best_epoch == history["validation_accuracy"].idxmax() + 1, "ties go to the earliest"
    best = history["validation_accuracy"].max()
    validation = table[table["split"] == "validation"]
    assert (validation["label"] == validation["predicted"]).mean() == pytest.approx(best)
    macro_f1 = f1_score(validation["label"], validation["predicted"], average="macro")
    assert history["validation_macro_f1"][info.best_epoch - 1] == pytest.approx(macro_f1)


@pytest.mark.parametrize(("select", "pick"), [("loss", "min"), ("macro_f1", "max"), ("last", None)])
def test_the_epoch_kept_is_the_one_that_select_names(workplace, select, pick):
    change(monitor=select, epochs=5)
    info = train("tiny-self-attention", 1)
    history = pd.read_csv(RUN / "history.csv")
    expected = 5 if pick is None else getattr(history[f"validation_{select}"], f"idx{pick}")() + 1
    assert info.best_epoch == expected


def test_a_killed_training_goes_on_and_ends_with_the_same_bytes(workplace):
    train("tiny-self-attention", 1)
    whole = contents()
    with pytest.raises(KeyboardInterrupt):
        train("tiny-self-attention", 1, killed)
    assert contents() == whole, "a killed training touches nothing that was good"
    (spent,) = Path(".heed/work").glob("train-*/times.json")
    assert 0 < json.loads(spent.read_text())["cpu_seconds"] < 100
    write_json(spent, {"seconds": 150, "cpu_seconds": 140})
    epochs = []
    train("tiny-self-attention", 1, lambda progress: epochs.append(progress.epoch))
    assert set(epochs) == {3}, "epochs 1 and 2 came from the checkpoint"
    assert contents() == whole
    took = times()
    assert 150 < took["seconds"] < 300, "the time of killed processes counts"
    assert 140 < took["cpu_seconds"] < 300 and took["device"] == "cpu"


def test_a_broken_checkpoint_is_no_checkpoint(workplace):
    train("tiny-self-attention", 1)
    whole = contents()
    recipe = recipes.read_model_recipe("tiny-self-attention")
    work = checkpoint.work_folder(recipe, 1, "")
    work.mkdir(parents=True)
    (work / "checkpoint.safetensors").write_bytes(b"half a file")
    train("tiny-self-attention", 1)
    assert contents() == whole and checkpoint.work_folder(recipe, 2, "") != work
    assert checkpoint.work_folder(recipe, 1, "other") != work
    assert checkpoint.work_folder(dataclasses.replace(recipe, tokens="other"), 1, "") != work


RECIPE, TINY = Path("results/recipe/tiny/tiny-self-attention.yaml"), Path("data/tokens/tiny")
ANOTHER = "tiny-self-attention.yaml: not a recipe .*{}.*Run again: heed recipe tiny"  # heed's


@pytest.mark.parametrize(("break_input", "message"), [
    (RECIPE.unlink, "heed recipe EXPERIMENT"),
    (lambda: RECIPE.write_text("model: ["), "cut off"),
    (lambda: change_file(RECIPE, "task: class", "task: klass"), "no task klass"),
    ((TINY / "meta.json").unlink, "heed tokenize tiny"),
    (lambda: (TINY / "ids.npy").write_bytes(b""), "cannot be read"),
    (lambda: change_file(TINY / "meta.json", '"digest": "', '"digest": "0'),
        "not the recipe's.*heed recipe tiny"),
    *((functools.partial(change_file, RECIPE, *case[:2]), ANOTHER.format(case[2]))
        for case in CASES["recipes"]),
])  # fmt: skip
def test_missing_and_broken_inputs_are_one_clear_message(workplace, break_input, message):
    break_input()
    with pytest.raises(HeedError, match=message):
        train("tiny-self-attention", 1)
    assert not RUN.exists()


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the corpus `tiny`, the recipe `tiny-self-attention` and its run of seed 1."""
    with conftest.new_workplace(tmp_path_factory) as folder:
        train("tiny-self-attention", 1)
    return folder


@pytest.fixture
def elsewhere(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of `trained` without checksums, as somebody might send it: the run's folder."""
    shutil.copytree(trained, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    (RUN / CHECKSUMS).unlink()
    return RUN


def refused_run(message: str) -> None:
    """Both ways to a run refuse it, with the command that makes it."""
    for use in (heed.load_run, lambda name, seed: write_predictions(name, [seed])):
        with pytest.raises(HeedError, match=f"{message}.*heed train tiny-self-attention --s") as it:
            use("tiny-self-attention", 1)
        assert "\n" not in str(it.value)


@pytest.mark.parametrize(("key", "value", "message"), CASES["run_values"])
def test_a_run_with_wrong_values_is_refused(elsewhere, key, value, message):
    content = json.loads((elsewhere / "run.json").read_text())
    section = content
    *parents, last = key.split(".")
    for parent in parents:
        section = section[parent]
    section[last] = value
    (elsewhere / "run.json").write_text(json.dumps(content))
    refused_run(message)


def change_weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        (folder / "model.safetensors").write_bytes(serialize(tensors))

    return damage


def replace_by(name: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).rename(folder.parent / "moved")
        make(folder / name)

    return damage


HEADER = (1 << 60).to_bytes(8, "little") + b"{}"
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "json-deep": (lambda f: (f / "run.json").write_text("[" * 100_000), "not valid JSON"),
    "words-bytes": (lambda f: (f / "vocabulary.txt").write_bytes(b"\xff\n"), "not a whole run"),
    "words-many": (lambda f: (f / "vocabulary.txt").write_text("w\n" * 51), "has 51 words"),
    "tensor-more": (change_weights(lambda t: t.update(x=torch.zeros(9))), "Unexpected key.*x"),
    "tensor-less": (change_weights(lambda t: t.pop("network.output.bias")), "Missing key"),
    "header": (lambda f: (f / "model.safetensors").write_bytes(HEADER), "not a whole run"),
    "pipe": (replace_by("vocabulary.txt", os.mkfifo), "not a file"),
    "checksums": (lambda f: (f / CHECKSUMS).write_bytes(b"\xff"), "cannot be read"),
    "device": (replace_by("history.csv", lambda path: path.symlink_to("/dev/zero")), "not a file"),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", DAMAGES)
def test_a_run_whose_files_are_not_those_of_a_run_is_refused(elsewhere, name):
    damage, message = DAMAGES[name]
    damage(elsewhere)
    refused_run(message)


def test_documents_of_a_class_that_the_recipe_lacks_are_refused(workplace):
    path = Path("data/tokens/tiny/documents.parquet")
    table = pd.read_parquet(path)
    table.loc[0, "label_kind"] = "ugly"
    table.to_parquet(path, index=False)
    with pytest.raises(HeedError, match="documents have the class 'ugly', which the recipe lacks"):
        train("tiny-self-attention", 1)


FEATURES = {"character_buckets": 30}
PRACTICE = {
    "max_grad_norm": 0.5, "ema_decay": 0.9, "weight_decay": 0.01, "warmup": 0.2,
    "lr_schedule": "cosine",
    "label_smoothing": 0.1, "word_dropout": 0.2, "state_dropout": 0.1,
}  # fmt: skip
KINDS = [
    FEATURES | {"truncation": "ends", "max_tokens": 5},
    {"hierarchical": True, "attention": "none", "pooling": "attention", "max_tokens": 10},
    FEATURES | PRACTICE | {"attention": "single-head", "score": "location", "skip": True},
    pytest.param(PRACTICE | {"precision": "bfloat16"}, marks=has_bfloat16),
]  # fmt: skip


@pytest.mark.parametrize("changes", KINDS, ids=lambda changes: "-".join(changes)[:40])
def test_every_kind_of_model_trains_resumes_loads_and_predicts_the_same(workplace, changes):
    change(epochs=3, **changes)
    train("tiny-self-attention", 1)
    whole = contents()

    with pytest.raises(KeyboardInterrupt):
        train("tiny-self-attention", 1, killed)
    train("tiny-self-attention", 1)
    assert contents() == whole, "resumed after the second epoch, the same bytes"
    write_predictions("tiny-self-attention", [1])
    run = heed.load_run("tiny-self-attention", 1)
    table = predicted().set_index("id")
    texts = load_tokens("data/tokens/tiny").documents(["id", "text"])
    for row in range(48, 60):
        # four words a sentence, as the tokens on disk have it
        alone = tokenize_in_memory([texts["text"][row]], "whitespace")
        begins = np.arange(0, len(alone.ids), 4, dtype=np.int32)
        sentences = {"sentence_starts": begins, "sentence_offsets": np.array([0, len(begins)])}
        alone = dataclasses.replace(alone, **sentences)
        document = run.predictor.reader(alone)(0)
        expected = table.loc[texts["id"][row], ["p:bad", "p:good"]].to_numpy(float)
        assert np.allclose(document.probability, expected, atol=1e-5)
        assert len(document.positions) == len(document.weights)
    numbers = sum(p.numel() for p in run.predictor.model.parameters())
    assert read_run("tiny-self-attention", 1).parameters == numbers


def test_a_training_reads_no_test_document(workplace):
    """The same weights whatever the test documents say; only predictions change."""
    change(**FEATURES)
    train_and_predict()
    first, before = contents(), predicted()
    tokens = load_tokens("data/tokens/tiny")
    ids, test = np.load("data/tokens/tiny/ids.npy"), tokens.rows("test", 0)
    table = pd.read_parquet("data/tokens/tiny/documents.parquet")
    for row in test:
        ids[tokens.offsets[row] : tokens.offsets[row + 1]] = 0
    table.loc[test, ["text", "label_kind"]] = "bad"
    np.save("data/tokens/tiny/ids.npy", ids)
    table.to_parquet("data/tokens/tiny/documents.parquet", index=False)
    train_and_predict()
    assert contents() == first and not predicted()["p:bad"].equals(before["p:bad"])


def test_training_stops_early_when_nothing_gets_better(workplace):
    change(epochs=40, patience=2, learning_rate=0.5, monitor="loss")
    info = train("tiny-self-attention", 1)
    history = pd.read_csv(RUN / "history.csv")
    assert len(history) == info.best_epoch + 2 < 40
    train("tiny-self-attention", 1)
    assert pd.read_csv(RUN / "history.csv").equals(history)


@pytest.mark.parametrize(("factor", "changes", "message"), CASES["diverging"])
def test_a_training_that_diverges_stops_with_step_epoch_and_learning_rate(
    workplace, monkeypatch, factor, changes, message
):
    """With a learning rate so many times as large: a recipe with such a rate is refused."""
    monkeypatch.setattr(loop, "learning_rate", lambda *at: factor * learning_rate(*at))
    change(**({"learning_rate": 1.0} | changes))
    with pytest.raises(HeedError, match=f"model tiny-self-attention, seed 1: .*{message}"):
        train("tiny-self-attention", 1)
    assert not RUN.exists(), "no run of a training that diverged is compared"


def test_the_learning_rate_rises_then_falls():
    h = Training(learning_rate=1.0, warmup=0.1, lr_schedule="linear")
    rates = [learning_rate(step, 100, h) for step in range(100)]
    assert rates[0] == pytest.approx(1 / 11) and rates[10] == 1.0 == max(rates)
    assert rates[55] == pytest.approx(0.5) and 0 < rates[99] < 0.02
    cosine = dataclasses.replace(h, lr_schedule="cosine")
    assert learning_rate(55, 100, cosine) == pytest.approx(0.5)
    plain = dataclasses.replace(h, warmup=0.0, lr_schedule="none")
    assert {learning_rate(step, 100, plain) for step in range(100)} == {1.0}


def test_decay_shrinks_weights_but_no_biases_and_averaging_lags_behind():
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    learner = SimpleNamespace(model=model, rate=lambda name: 1.0)
    optimizer = loop._make_optimizer(learner, Training(learning_rate=0.1, weight_decay=0.5))
    weight, bias = model.weight.detach().clone(), model.bias.detach().clone()
    (model(torch.zeros(1, 3)).sum() * 0).backward()
    optimizer.step()
    assert torch.allclose(model.weight, weight * (1 - 0.1 * 0.5)) and torch.equal(model.bias, bias)
    average, target = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    expected = 0.9 * average.weight.detach() + 0.1 * target.weight.detach()
    loop._update_average(average, target, 0.9)
    assert torch.allclose(average.weight, expected)


def test_a_step_split_into_batches_gives_the_same_weights(workplace, monkeypatch):
    weights = []
    for max_tokens in (10**6, 24):
        monkeypatch.setattr(loop, "MAX_PADDED_TOKENS", max_tokens)
        change(dropout=0.0, embedding_dropout=0.0, epochs=2, max_grad_norm=1.0)
        train("tiny-self-attention", 1)
        weights.append(load_file(RUN / "model.safetensors"))
    # A softmax does not see a bias that all keys share: its gradient is rounding, scaled by Adam.
    names = weights[0].keys() - {"network.encoder.attention.key.bias"}
    assert len(names) == len(weights[0]) - 1
    for name in names:
        assert np.allclose(weights[0][name], weights[1][name], atol=1e-4), name


def test_of_a_long_document_the_head_or_both_ends_are_read(workplace):
    tokens = load_tokens("data/tokens/tiny")
    vocabulary = Vocabulary((*SPECIAL, *tokens.lexicon), False)
    row = np.array([int(np.argmax(np.diff(tokens.offsets)))])
    whole = tokens.ids[tokens.offsets[row[0]] : tokens.offsets[row[0] + 1]]
    assert len(whole) > 7
    ends = np.concatenate([whole[:4], whole[-3:]])
    for truncation, expected in (("head", whole[:7]), ("ends", ends)):
        changes = {"max_tokens": 7, "truncation": truncation, "hierarchical": True}
        h = dataclasses.replace(HYPERPARAMETERS, **changes)
        encoded = EncodedCorpus(tokens, vocabulary, h)
        batch = encoded.batch(row)
        assert (batch.ids[0] - 2).tolist() == expected.tolist()
        positions, token_mask = encoded.positions(row)
        assert whole[positions[token_mask]].tolist() == expected.tolist()
        sentences = np.bincount(positions[token_mask] // 4)
        assert batch.sentences[0].tolist() == sentences[sentences > 0].tolist()
    short = np.array([int(np.argmin(np.diff(tokens.offsets)))])
    assert encoded.lengths(short)[0] == np.diff(tokens.offsets).min()


def in_two_folds(repeats: int = 1) -> None:
    """Give the corpus two folds: the test split of seeds 1, 3, ... and that of seeds 2, 4, ..."""
    path = Path("data/tokens/tiny")
    table = pd.read_parquet(path / "documents.parquet")
    if "split" in table:
        table["split_0"], table["split_1"] = table["split"], np.roll(table["split"], 12)
        table.drop(columns="split").to_parquet(path / "documents.parquet", index=False)
    again = {f"split_{fold}": np.roll(table["split_0"], 12 * fold) for fold in (2, 3)}
    pd.DataFrame(again).to_parquet(path / "repeats.parquet", index=False)
    folds = {"folds": 2 * repeats, "repeats": repeats}
    meta = json.loads((path / "meta.json").read_text()) | folds
    (path / "meta.json").write_text(json.dumps(meta))
    recipe = dataclasses.replace(recipes.read_model_recipe("tiny-self-attention"), **folds)
    recipes.write_recipe("results/recipe/tiny/tiny-self-attention.yaml", recipe)


def test_folds_test_on_the_seeds_own_fold_and_do_not_leak(workplace):
    in_two_folds()
    train_and_predict(seeds=(1, 2))
    assert [read_run("tiny-self-attention", seed).fold for seed in (1, 2)] == [0, 1]
    assert not set(predicted(1)["id"]) & set(predicted(2)["id"])


def test_with_more_repeats_a_run_is_kept_where_its_fold_is_the_same(workplace):
    task_module("classification", "prediction")  # loaded later, it would be new code
    in_two_folds()
    once = trained_runs([1, 3])
    trained_runs([4])
    in_two_folds(repeats=2)
    message = "1 more of its runs have changed folds too. Run again: heed train .* 3; .* 4"
    with pytest.raises(HeedError, match=message):
        write_predictions("tiny-self-attention", [1, 3, 4])
    with pytest.raises(HeedError, match=r"/3: was trained on fold 0, and has fold 2 now\. Run"):
        write_predictions("tiny-self-attention", [1, 3])
    twice = trained_runs([1, 3])
    assert [seed for seed in once if once[seed] == twice[seed]] == [1]
    assert [read_run("tiny-self-attention", seed).fold for seed in twice] == [0, 2]
    write_predictions("tiny-self-attention", [1, 3])
    written = recipes.read_recipe(PREDICTED / "recipe.yaml", "")
    assert written == recipes.read_model_recipe("tiny-self-attention") and written.repeats == 2
    rows = load_tokens("data/tokens/tiny").rows("test", 2)
    assert {*predicted(3)["id"]} == {f"d{row}" for row in rows}


def test_batches_hold_every_document_once_the_same_for_a_seed(workplace):
    tokens = load_tokens("data/tokens/tiny")
    vocabulary = Vocabulary((*SPECIAL, *tokens.lexicon), False)
    encoded = EncodedCorpus(tokens, vocabulary, HYPERPARAMETERS)
    rows = np.arange(60)
    once = [part.rows.tolist() for (part,) in encoded.training_steps(rows, 4, 1, 1)]
    assert sorted(row for batch in once for row in batch) == rows.tolist()
    assert once == [part.rows.tolist() for (part,) in encoded.training_steps(rows, 4, 1, 1)]
    assert once != [part.rows.tolist() for (part,) in encoded.training_steps(rows, 4, 1, 2)]
    assert len(rows) < WINDOW * 4, "one window: batches are of similar length"
    spread = [np.ptp(encoded.lengths(np.array(b))) for b in once]
    assert max(spread) <= 3
    split = encoded.training_steps(rows, 4, 1, 1, max_padded_tokens=20)
    for whole, parts in zip(once, split, strict=True):
        assert [row for part in parts for row in part.rows] == whole
        assert all(part.ids.numel() <= 20 or len(part.rows) == 1 for part in parts)
    batch = encoded.batch(np.array([5, 0]))
    for i, row in enumerate((5, 0)):
        ids = tokens.ids[tokens.offsets[row] : tokens.offsets[row + 1]][:12] + 2
        assert batch.ids[i, : len(ids)].tolist() == ids.tolist()
        assert (batch.ids[i, len(ids) :] == 0).all()


def test_unknown_words_do_not_tell_which_documents_came_first():
    """Of a file sorted by class, the order of words is that of the classes."""
    first, last = ({f"{i:02}{word}" for i in range(50)} for word in ("b", "a"))
    ranked = {"often": 3, "zebra": 2, "bee": 2} | dict.fromkeys([*sorted(first), *sorted(last)], 1)
    words = most_frequent(ranked, 53)
    assert words[:3] == ["often", "zebra", "bee"] and len(words) == 53
    assert len(first & {*words}) == len(last & {*words}) == 25
    assert most_frequent(ranked, 1000) == [*ranked]
    assert most_frequent(ranked, 2) == ["often", "bee"] and most_frequent(ranked, 0) == []


def test_the_vocabulary_is_of_the_training_part_alone_and_ranked(workplace):
    tokens = load_tokens("data/tokens/tiny")
    rows = tokens.rows("train", 0)
    vocabulary = build_vocabulary(tokens, rows, 1000, True)
    spans = (slice(*tokens.offsets[row : row + 2]) for row in rows)
    words = {tokens.lexicon[i] for span in spans for i in tokens.ids[span]}
    assert set(vocabulary.words[2:]) == words
    assert vocabulary.words[2] == "fine", "the most frequent word of the training split"
    assert len(build_vocabulary(tokens, rows, 10, True)) == 10
    small = Vocabulary(("<padding>", "<unknown>", "a"), True)
    assert small.encode(["A", "b", "<padding>"]).tolist() == [2, 1, 1]


def test_runs_of_mixed_recipes_and_of_other_seeds_are_refused(workplace):
    train_and_predict(seeds=(1, 2))
    change(epochs=1)
    train("tiny-self-attention", 2)
    with pytest.raises(HeedError, match="another recipe"):
        write_predictions("tiny-self-attention", [1, 2])
    with pytest.raises(HeedError, match="heed train tiny-self-attention --seeds 3"):
        write_predictions("tiny-self-attention", [1, 3])
    message = r"is of seeds \[1, 2\], the study has \[1\]. Run: heed score tiny"
    with pytest.raises(HeedError, match=message):
        evaluate("tiny-self-attention", [1])


def test_a_training_killed_for_good_is_resumed_by_the_same_command(workplace):
    change(epochs=30)
    command = [sys.executable, "-m", "heed.cli", "train", "tiny-self-attention", "--seeds", "1"]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_for(lambda: [*Path(".heed/work").glob("train-*/checkpoint.safetensors")], started)
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    assert not RUN.exists()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first = int(done.stdout.split("epoch ")[1].split("/")[0])
    assert first > 1, "it went on after the last whole epoch"
    resumed = contents()
    train("tiny-self-attention", 1, code=times()["code"])
    assert contents() == resumed


def trained_runs(seeds: list[int], cores: int = 1) -> dict[int, tuple[int, dict[str, str]]]:
    """Train what is not there; the time of each seed's folder, and the contents of its files."""
    assert {info.seed for info in runs.train_runs("tiny-self-attention", seeds, cores)} == {*seeds}
    folders = {seed: RUN.with_name(str(seed)) for seed in seeds}
    return {seed: (path.stat().st_mtime_ns, contents(path)) for seed, path in folders.items()}


def test_a_run_is_kept_while_recipe_code_and_bytes_are_the_same(workplace, monkeypatch):
    first = trained_runs([1])
    both = trained_runs([1, 2])
    assert both[1] == first[1], "a new seed trains only itself"
    assert trained_runs([1, 2]) == both
    weights = RUN / "model.safetensors"
    weights.write_bytes(flipped(weights.read_bytes()))
    again = trained_runs([1, 2])
    assert again[2] == both[2] and again[1][0] != both[1][0] and again[1][1] == both[1][1]
    timing_file("tiny-self-attention", 2).unlink()
    timed = trained_runs([1, 2])
    assert timed[1] == again[1] and timed[2][0] != again[2][0]
    assert timing_file("tiny-self-attention", 2).exists()
    change(epochs=2)
    shorter = trained_runs([1, 2])
    assert all(shorter[seed][0] != timed[seed][0] for seed in (1, 2))
    assert len(pd.read_csv(RUN / "history.csv")) == 2
    monkeypatch.setattr(checkpoint, "code_digest", lambda task: "of another code")
    other = trained_runs([1, 2])
    assert all(other[seed][0] != shorter[seed][0] for seed in (1, 2))
    assert times()["code"] == "of another code"
    assert trained_runs([1, 2]) == other


def test_seeds_at_the_same_time_give_the_same_bytes_as_in_turn(workplace):
    in_processes = trained_runs([1, 2, 3], cores=2)
    shutil.rmtree(RUN.parent)
    in_turn = trained_runs([1, 2, 3])
    assert all(in_processes[seed][1] == in_turn[seed][1] for seed in in_turn)
    assert not list(Path(".heed/work").glob("train-*")), "checkpoints of what has ended are deleted"
    assert in_turn[1][1]["model.safetensors"] != in_turn[2][1]["model.safetensors"]


def test_train_deletes_runs_of_other_seeds_unless_seeds_are_named(workplace, capfd):
    Path("params.yaml").write_text("seeds: [1, 3]\n")
    stages.train("tiny-self-attention", [1, 2])
    of_seed_1 = RUN.stat().st_mtime_ns
    capfd.readouterr()
    stages.train("tiny-self-attention", [])
    printed = capfd.readouterr().out
    for folder in (RUN.parent, timing_file("tiny-self-attention", 1).parent):
        assert sorted(path.stem for path in folder.glob("[!.]*")) == ["1", "3", "longer"]
    assert RUN.stat().st_mtime_ns == of_seed_1, "a run that was trained by --seeds is kept"
    assert "seed 1: epoch" in printed and "seed 1: epoch 1/3" not in printed


def test_all_seeds_that_fail_are_named_and_the_others_are_trained(workplace, monkeypatch):
    def fail(name: str, seed: int, *others: object) -> RunInfo:
        if seed == 2:
            return train_run(name, seed, *others)
        raise HeedError(f"seed {seed} fails")

    monkeypatch.setattr(runs, "train_run", fail)
    with pytest.raises(HeedError, match=r"^seed 1 fails\nseed 3 fails$"):
        list(runs.train_runs("tiny-self-attention", [1, 2, 3], 2))
    assert RUN.with_name("2").is_dir()


@pytest.mark.parametrize("fused", [True, False])
def test_the_optimizer_takes_the_same_steps_as_torchs(fused: bool) -> None:
    torch.manual_seed(0)
    start = torch.randn(5, 4)
    ends = []
    for kind in (loop.AdamW, torch.optim.AdamW):
        weights = start.clone().requires_grad_()
        optimizer = kind([weights], lr=0.05, weight_decay=0.1, fused=fused)
        for step in range(4):
            optimizer.zero_grad()
            (weights.sin() * step).sum().backward()
            optimizer.step()
        ends.append((weights.detach(), optimizer.state_dict()["state"][0]["exp_avg_sq"]))
    assert not torch.equal(ends[0][0], start) and all(map(torch.equal, *ends))
