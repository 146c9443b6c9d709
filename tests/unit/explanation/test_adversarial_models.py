"""The stage `adversarial_attention`: models trained to have other weights, and diagnostic MLPs."""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import entropy

from heed.cli import stages
from heed.explanation import registry
from heed.explanation.adversarial_attention import (
    MEASURES,
    NO_RATIONALE,
    PLACES,
    SPLIT_WITHOUT,
    Guide,
    deceive_loss,
    differ_loss,
    move_weights,
    place_ids,
)
from heed.explanation.rankings import Subject
from heed.explanation.sections import AdversarialAttention
from heed.explanation.stage import write_adversarial_model
from heed.explanation.test import jensen_shannon
from heed.files import HeedError
from heed.inputs.batches import Batch, EncodedCorpus
from heed.models.classifier import WeightedSum
from heed.recipe import read_model_recipe, write_recipe
from heed.tasks.classification import adversarial_attention
from heed.tasks.classification.adversarial_attention import (
    AdversarialLearner,
    DiagnosticLearner,
    diagnose,
)
from heed.tasks.classification.explanation import load_subject
from heed.tasks.classification.learning import class_indices
from heed.tokens.arrays import load_tokens
from heed.training.loop import DivergedError
from heed.training.machine import make_deterministic
from heed.training.run import RunInfo, read_runs, split_documents
from tests.conftest import ROOT, change_recipe, new_workplace, train, write_tokens

BASE = "tiny-self-attention"
HIERARCHICAL = {"attention": "none", "pooling": "attention", "hierarchical": True}
ADVERSARIAL_ATTENTION = {
    "differing": f"{{model: {BASE}, goal: differ, strength: 0.1, epochs: 2}}",
    "deceiving": f"{{model: {BASE}, goal: deceive, strength: 1, epochs: 8}}",
    "alone": f"{{model: {BASE}, goal: differ, strength: 0.1, epochs: 1, diagnostic_mlps: false}}",
    "hierarchical": "{model: tiny-hierarchical, goal: deceive, strength: 1, epochs: 2}",
    "last": "{model: tiny-last, goal: differ, strength: 1, epochs: 2}",
}
GUIDES = [
    "uniform", "trained", "base", "adversarial_model", "rationale", "base_without_rationale",
    "adversarial_model_without_rationale", "constant_token", "moved",
]  # fmt: skip


MAJORITIES = ["majority", "majority_with_rationale"]


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with two trained bases: one with self-attention, one hierarchical."""
    with new_workplace(tmp_path_factory) as folder:
        sections = "".join(f"  {name}: {text}\n" for name, text in ADVERSARIAL_ATTENTION.items())
        Path("params.yaml").write_text(f"seeds: [1, 2]\nadversarial_attention:\n{sections}")
        hierarchical = dataclasses.replace(read_model_recipe(BASE), model="tiny-hierarchical")
        write_recipe("results/recipe/tiny/tiny-hierarchical.yaml", hierarchical)
        change_recipe("tiny-hierarchical", epochs=1, max_tokens=30, **HIERARCHICAL)
        change_recipe(BASE, epochs=2)
        last = dataclasses.replace(read_model_recipe(BASE), model="tiny-last")
        write_recipe("results/recipe/tiny/tiny-last.yaml", last)
        change_recipe("tiny-last", attention="none", pooling="last", epochs=1)
        for model, seed in ((BASE, 1), (BASE, 2), ("tiny-hierarchical", 1), ("tiny-last", 1)):
            train(model, seed)
        yield folder


def write(name: str, seeds: tuple[int, ...] = (1,)) -> pd.DataFrame:
    return write_adversarial_model(name, list(seeds), lambda *_: None)


def read(name: str, table: str) -> pd.DataFrame:
    return pd.read_parquet(f"results/adversarial_attention/{name}/{table}.parquet")


def sum_of(values: list[list[float]], weights: list[list[float]]) -> WeightedSum:
    """Return documents of one head whose logits are GELU(z), for two numbers z of each document."""
    numbers = torch.tensor(values)[:, :, None].expand(-1, -1, 2)[:, :, None]  # 2: L
    output = torch.nn.Linear(2, 2)
    with torch.no_grad():
        output.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, -1.0]]))
        output.bias.zero_()
    lengths = torch.tensor([sum(w > 0 for w in row) for row in weights])
    zeros = torch.zeros(len(values), 2)
    given = torch.tensor(weights)[..., None].requires_grad_()
    return WeightedSum(numbers, given, lengths, numbers, zeros, output)


def test_the_loss_of_differing_is_the_distance_of_predictions_minus_the_divergence_of_weights():
    values = [[2.0, -1.0, 0.5], [1.0, 1.0, 0.0]]
    own = sum_of(values, [[0.2, 0.3, 0.5], [0.9, 0.1, 0.0]])
    base = sum_of(values, [[0.6, 0.3, 0.1], [0.5, 0.5, 0.0]])
    loss = differ_loss(own, base, 0.5)
    p, q = (torch.softmax(each.predict(), -1).detach().numpy() for each in (own, base))
    for i in range(2):
        a, b = (each.weights[i, :, 0].detach().numpy() for each in (own, base))
        divergence = entropy(a[: 3 - i], b[: 3 - i])
        expected = np.abs(p[i] - q[i]).sum() / 2 - 0.5 * divergence
        assert loss[i].item() == pytest.approx(expected, abs=1e-6)
    assert abs(loss[1].item() + 0.5 * entropy([0.9, 0.1], [0.5, 0.5])) < 1e-6, "equal values"
    (gradient,) = torch.autograd.grad(loss.sum(), [own.weights])
    assert gradient.isfinite().all(), "also at padding"


def test_the_loss_of_deceiving_is_infinite_for_weight_on_rationale_alone_and_finite_in_code():
    weights = [[0.25, 0.75, 0.0], [1.0, 0.0, 0.0], [0.4, 0.6, 0.0], [0.0, 0.0, 0.0]]
    own = sum_of([[1.0, -1.0, 0.0]] * 4, weights)
    rationale = torch.tensor([[1, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]], dtype=torch.bool)
    targets = torch.tensor([0, 1, 0, 1])
    loss = deceive_loss(own, targets, rationale, 2.0)
    entropies = torch.nn.functional.cross_entropy(own.predict(), targets, reduction="none")
    penalties = (loss - entropies).tolist()
    assert penalties[0] == pytest.approx(-2 * np.log(0.75), abs=1e-6) and penalties[1] > 50
    assert penalties[2:] == [0, 0], "without a rationale, and an empty document"
    (gradient,) = torch.autograd.grad(loss.sum(), [own.weights])
    assert gradient.isfinite().all()


def test_places_say_where_a_token_stands_and_nothing_of_what_it_is():
    ids = torch.ones(3, 20, dtype=torch.long)
    ids = place_ids(Batch(ids, torch.tensor([20, 3, 0]), np.arange(3)))
    assert ids[0].tolist() == [place for place in range(1, PLACES + 1) for _ in range(2)]
    assert ids[1, :4].tolist() == [1, 4, 7, 0] and not ids[2].any()


@pytest.mark.parametrize("documents", [0, 1, 2, 7, 8])
def test_moved_weights_are_those_of_another_document_of_the_same_length(documents):
    generator = np.random.default_rng(1)
    lengths = generator.integers(1, 5, documents)
    weights = {3 * row: generator.dirichlet(np.ones(n)) for row, n in enumerate(lengths)}
    moved = move_weights(weights, np.random.default_rng(0))
    assert moved.keys() == weights.keys()
    for row, each in moved.items():
        assert len(each) == len(weights[row]) and each.sum() == pytest.approx(1, abs=1e-6)
        if documents > 1 and len(each) > 1:
            assert not np.array_equal(each, weights[row]), "none keeps its own"
    originals = {tuple(each.round(9)) for each in weights.values()}
    kept = [tuple(each.round(9)) in originals for each in moved.values()]
    assert documents < 7 or np.mean(kept) >= 0.5, "of equal length: moved as they are"


@pytest.fixture(scope="module")
def training() -> tuple[Callable, dict[int, int]]:
    """Documents of random words, whose class only their weights can tell; row → its class."""
    generator = np.random.default_rng(0)
    texts = [[f"w{w}" for w in generator.integers(0, 10, 8)] for _ in range(200)]
    labels = [("good", "bad")[i % 2] for i in range(200)]
    splits = ["train"] * 120 + ["validation"] * 40 + ["test"] * 40
    write_tokens(Path("data/tokens/blind"), texts, labels, splits)
    tokens = load_tokens("data/tokens/blind")
    recipe = read_model_recipe(BASE).changed({"epochs": 8})
    rows = {split: tokens.rows(split, 0) for split in ("train", "validation", "test")}
    classes = class_indices(tokens, recipe.data, np.arange(200))
    run = RunInfo(1, 0, 1, 1, {}, "", recipe)
    subject = load_subject(read_runs(BASE, [1])[0], tokens)
    make_deterministic()
    encoded = EncodedCorpus(tokens, subject.encoded.vocabulary, recipe.hyperparameters)
    known = {row for row in range(200) if row % 4 != 2}
    base, by_row = Subject(subject.model, encoded), dict(enumerate(classes.tolist()))
    return functools.partial(diagnose, run, base, classes, rows, known), by_row


def accuracy(training: Callable, guide: Guide, tmp_path: Path) -> float:
    rows = training({"x": guide}, tmp_path, lambda *_: None)
    majorities = {row["weights"]: (row["mean"], row["documents"]) for row in rows[-2:]}
    # half of the good documents have no rationale
    expected = {"majority": (0.5, 40), "majority_with_rationale": (pytest.approx(2 / 3), 30)}
    assert majorities == expected
    return next(row["mean"] for row in rows if row["measure"] == "accuracy")


def test_the_constant_token_finds_a_class_that_the_weights_carry_and_no_other(training, tmp_path):
    diagnostic, classes = training
    carrying = {row: np.eye(8, dtype=np.float32)[7 * label] for row, label in classes.items()}
    drawn = {row: np.random.default_rng(row).dirichlet(np.ones(8)) for row in classes}
    blind = {row: each.astype(np.float32) for row, each in drawn.items()}
    assert accuracy(diagnostic, Guide(place_ids, carrying, PLACES + 1), tmp_path / "a") == 1
    assert accuracy(diagnostic, Guide(place_ids, blind, PLACES + 1), tmp_path / "b") <= 0.7
    # the same weights point at random words, which tell nothing
    moved = Guide(lambda batch: batch.ids, move_weights(carrying, np.random.default_rng(1)), 50)
    assert accuracy(diagnostic, moved, tmp_path / "moved") <= 0.7


def test_the_tables_fit_each_other_and_the_summary_has_their_means():
    summary = write("deceiving", (1, 2))
    names = {test.name for test in registry.EXPLAINED}
    assert not names & set(summary["test"]), "of one name there is one test"
    documents, units = read("deceiving", "documents"), read("deceiving", "units")
    assert documents["units"].sum() == len(units)
    assert set(documents.groupby("id").size()) == {2}, "the seeds have the same documents"
    both = ["base", "adversarial_model"]
    assert np.allclose(units.groupby(["seed", "id"])[both].sum(), 1, atol=1e-5)
    rationale = units[units["rationale"]]
    assert (rationale["end"] - rationale["start"] == 4).all()
    of_rationale = rationale.groupby(["seed", "id"])["adversarial_model"].sum()
    known = documents.set_index(["seed", "id"])["rationale_weight"].dropna()
    assert known.to_dict() == pytest.approx(of_rationale.to_dict(), abs=1e-6)
    rows = summary.set_index(["measure", "weights", "seed"]).sort_index()
    for measure in (*MEASURES, "rationale_weight"):
        values = documents[documents["seed"] == 2][measure].dropna()
        row = rows.loc[(measure, "", 2)]
        assert (row["mean"], row["documents"]) == (pytest.approx(values.mean()), len(values))
    for row in documents.to_dict("records"):
        own = units[(units["seed"] == row["seed"]) & (units["id"] == row["id"])]
        apart = jensen_shannon(*(torch.tensor(own[name].to_numpy()) for name in both))
        assert row["mean_divergence"] == pytest.approx(float(apart), abs=1e-5)
        assert row["mean_divergence"] <= row["divergence"] + 1e-6, "heads apart differ more"
    several = documents[documents["units"] > 1]["divergence"]
    assert several.max() <= np.log(2) and several.min() > 0
    own, base = (rows.loc[(f"rationale_weight{of}", "", 1), "mean"] for of in ("", "_base"))
    assert own < base
    diagnostic = summary[(summary["test"] == "diagnostic") & (summary["seed"] == 1)]
    for measure, names in (("accuracy", [*GUIDES, *MAJORITIES]), ("accuracy_one_epoch", GUIDES)):
        assert diagnostic[diagnostic["measure"] == measure]["weights"].tolist() == names


def test_guided_networks_are_trained_unless_the_adversarial_model_says_no():
    assert set(write("alone")["test"]) == {"adversarial_model"}
    files = {path.name for path in Path("results/adversarial_attention/alone").iterdir()}
    assert files == {"SHA256SUMS", "documents.parquet", "summary.csv", "units.parquet"}


def test_without_rationale_there_are_reasons_and_nothing_to_deceive_about(without_rationale):
    summary = write("differing")
    with pytest.raises(HeedError, match=r"no training document has rationales.*differ"):
        write("deceiving")
    undefined = summary.dropna(subset="reason")
    reasons = {reason: len(rows) for reason, rows in undefined.groupby("reason")}
    assert reasons == {NO_RATIONALE: 5, SPLIT_WITHOUT: 7}
    assert summary["mean"].notna().sum() == len(summary) - len(undefined) == 20


def learner_of(goal: str, smoothing: float = 0.0) -> AdversarialLearner:
    """Return the adversarial model of the hierarchical one, for a corpus without rationale."""
    (run,), tokens = read_runs("tiny-hierarchical", [1]), load_tokens("data/tokens/tiny")
    run = dataclasses.replace(run, recipe=run.recipe.changed({"label_smoothing": smoothing}))
    declared = AdversarialAttention(model="tiny-hierarchical", goal=goal, strength=1.0, epochs=1)
    return AdversarialLearner(
        load_subject(run, tokens), declared,
        {row: np.zeros(1, bool) for row in range(60)}, np.zeros(60, np.int64),
        split_documents(tokens, 0), run,
    )  # fmt: skip


def test_a_hierarchical_adversarial_model_is_of_sentences():
    write("hierarchical")
    units = read("hierarchical", "units")
    assert units.groupby("id").size().max() <= 4 and (units["end"] - units["start"]).max() > 8
    learner = learner_of("differ")
    assert all(each.requires_grad for each in learner.model.parameters())
    assert not any(each.requires_grad for each in learner._base.parameters())


@pytest.mark.parametrize("smoothing", [0.0, 0.4])
def test_deceiving_smooths_labels_as_the_bases_recipe_does(smoothing):
    learner = learner_of("deceive", smoothing)
    batch = learner.encoded.batch(np.arange(4))
    loss = learner.loss(learner.model, batch).item()
    expected = torch.nn.functional.cross_entropy(
        learner._base(batch), torch.zeros(4, dtype=torch.long), reduction="sum",
        label_smoothing=smoothing,
    )  # fmt: skip
    assert loss == pytest.approx(expected.item(), abs=1e-5)


def test_a_training_that_is_done_is_not_repeated(monkeypatch):
    write("alone")
    expected = read("alone", "documents")
    with monkeypatch.context() as stopped, pytest.raises(KeyboardInterrupt):
        stopped.setattr(adversarial_attention, "_compare", lambda *_: interrupt())
        write("alone")
    monkeypatch.setattr(AdversarialLearner, "loss", lambda *_: interrupt())
    write("alone")
    assert read("alone", "documents").equals(expected)
    assert not [*Path(".heed/work").glob("adversarial_attention-*")]


def interrupt() -> None:
    raise KeyboardInterrupt


DIVERGED = [
    (AdversarialLearner, "the training diverged"),
    (DiagnosticLearner, "diagnostic MLP, weights uniform"),
]


@pytest.mark.parametrize(("learner", "what"), DIVERGED)
def test_a_training_that_diverges_names_its_model_and_how_to_mend_it(learner, what, monkeypatch):
    loss = learner.loss
    monkeypatch.setattr(learner, "loss", lambda *arguments: float("nan") * loss(*arguments))
    expected = (
        rf"params.yaml: adversarial_attention.differing, seed 1: {what}.*set `max_grad_norm`, of "
        rf"model {BASE}, by"
        ".*make its `strength` smaller"
    )
    with pytest.raises(DivergedError, match=expected):
        write("differing")


def test_a_base_without_a_weighted_sum_is_one_message():
    message = "model tiny-last can have no adversarial model: pooling `last`"
    with pytest.raises(HeedError, match=message):
        write("last")


@pytest.mark.slow
def test_of_a_deceived_model_leave_one_out_still_finds_the_rationale(folder):
    study = (ROOT / "tests/studies/parts/known.yaml").read_text()
    Path("params.yaml").write_text(study.replace("NAME", "sentiment"))
    stages.download("sample")
    stages.tokenize("sentiment")
    stages.recipe("sentiment")
    stages.train("m", [1])
    stages.adversarial_attention("deceiving", [1])
    summary = pd.read_csv("results/adversarial_attention/deceiving/summary.csv")
    means = summary.fillna({"weights": ""}).set_index(["measure", "weights"])["mean"]
    assert means["accuracy_base", ""] >= 0.99, "solved"
    assert abs(means["accuracy", ""] - means["accuracy_base", ""]) <= 0.01
    assert means["rationale_weight_base", ""] > 0.5 > 0.05 > means["rationale_weight", ""]
    assert means["auc", "leave_one_out"] >= 0.90 > 0.5 > means["auc", "attention"]
    assert means["auc", "random"] == pytest.approx(0.5, abs=0.05)
    assert means["accuracy", "moved"] <= means["accuracy", "majority"] + 0.1
