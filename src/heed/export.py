"""The command `heed export`: a trained run as a folder that a hub of models shows and others load.

The folder has the files of the run, so that `heed.load_run` reads it anywhere; config.json; a model
card, README.md; and model.onnx where the network reads token ids and lengths alone. It has no
SHA256SUMS, since its owner edits the card.
"""

import dataclasses
import logging
import shutil
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import yaml
from scipy import stats
from torch import Tensor, nn

import heed
from heed import paths
from heed.files import CHECKSUMS, HeedError, reading, verify_checksums, write_json, writing_folder
from heed.inputs.batches import Batch
from heed.models.classifier import Classifier
from heed.prediction import load_predictor
from heed.recipe import Recipe, read_model_prediction, read_model_recipe, write_prediction
from heed.task import task_module
from heed.tasks.texts import trained_seeds
from heed.training.run import RunInfo, read_run

FOLDER, CONFIG, CARD, ONNX = Path("exports"), "config.json", "README.md", "model.onnx"
PACKAGES = ("onnx", "onnxscript", "onnxruntime")  # of the extra
OTHER_INPUTS = ("hierarchical", "bigram_buckets", "character_buckets", "tfidf_branch")
IDS, LENGTHS = ("batch", "time"), ("batch",)
AXES = {"ids": IDS, "lengths": LENGTHS, "logits": LENGTHS, "weights": IDS}
TOLERANCE = 1e-5  # of a logit, or of its size where that is above 1


def export_model(model: str, seed: int | None, into: Path | None) -> str:
    """Write the folder of a model's run, by default of its smallest seed; return what was done.

    Raises HeedError: there is no such run, it was not scored, or the folder is there already.
    """
    seed, into = trained_seeds(model)[0] if seed is None else seed, into or FOLDER / model
    if into.exists():
        raise HeedError(f"{into}: is there already. Remove it, or name another folder: --into")
    run, scores = read_run(model, seed), _read_scores(model, seed)
    if (study := read_model_recipe(model)).of_first_repeat() == run.recipe:
        run = dataclasses.replace(run, recipe=study)  # it has all repeats of the folds
    predictor: Any = load_predictor(run, "cpu")
    with writing_folder(into) as out:
        for file in paths.run_folder(model, seed).iterdir():
            if file.name != CHECKSUMS:
                shutil.copyfile(file, out / file.name)
        write_prediction(out / paths.MODEL_PREDICTION, read_model_prediction(run.recipe))
        write_json(out / CONFIG, _config(run, predictor))
        problem = difference = ""
        try:
            difference = f"{write_onnx(predictor, out / ONNX):.0e}"
        except HeedError as error:
            problem = f" There is no {ONNX}: {error}."
        (out / CARD).write_text(
            _card(run, predictor, scores, difference, problem), encoding="utf-8"
        )
    return f"{into}: {model}, seed {seed}.{problem}"


def _config(run: RunInfo, predictor: Any) -> dict[str, object]:
    recipe, classes = run.recipe, dict(enumerate(getattr(run.recipe.data, "classes", ())))
    about: dict[str, object] = {
        "model_type": "heed",
        "architectures": [type(predictor.model).__name__],
    }
    about |= {"heed_version": heed.__version__, "task": recipe.task, "seed": run.seed}
    labels = {"id2label": classes, "label2id": {name: i for i, name in classes.items()}}
    return about | (labels if classes else {}) | dataclasses.asdict(recipe.hyperparameters)


# --- ONNX


class _Graph(nn.Module):
    """A classifier as a function of tensors: its logits, and the weight of each token."""

    def __init__(self, model: Classifier) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        batch = Batch(ids, lengths, np.zeros(0, np.int64))
        return self.model(batch), self.model.token_weights(batch)


def write_onnx(predictor: Any, path: Path) -> float:
    """Write a classifier as an ONNX file, for batches and texts of any size.

    Return the largest difference to PyTorch on random texts. Raises HeedError, and writes nothing:
    the network cannot be exported, or a package is missing.
    """
    if not isinstance(predictor.model, Classifier):
        raise HeedError("a translation is a search, and an ONNX file holds one network")
    h = predictor.recipe.hyperparameters
    if others := [each for each in OTHER_INPUTS if getattr(h, each) not in (0, "none")]:
        raise HeedError(
            f"it would read token ids and lengths, and this network more ({', '.join(others)})"
        )
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        raise HeedError(
            f"{', '.join(missing)} not installed. Run: make export, or pip install -e '.[export]'; "
            "then export again"
        )
    graph, words = _Graph(predictor.model), len(predictor.vocabulary)
    shapes = [(3, min(7, h.max_tokens)), (1, 1), (5, min(64, h.max_tokens))]
    texts = [_random_texts(*shape, words) for shape in shapes]
    try:
        path.write_bytes(_trace(graph.eval(), texts[0]))
        difference = max(_difference(graph, path, *each) for each in texts)
        if not difference <= TOLERANCE:
            raise ValueError(f"its results would differ from PyTorch's by {difference:.1e}")
    except Exception as error:  # PyTorch's and onnxruntime's have no base but this
        path.unlink(missing_ok=True)
        reason = " ".join(str(error.__cause__ or error).split())[:200]
        raise HeedError(f"the network cannot be exported ({reason})") from None
    return difference


def _random_texts(texts: int, time: int, words: int) -> tuple[Tensor, Tensor]:
    """Return random token ids and lengths, of which the first is the longest and one may be 0."""
    random = np.random.default_rng((texts, time))
    lengths = np.append(time, random.integers(0, time + 1, texts - 1))
    ids = random.integers(1, words, (texts, time)) * (np.arange(time) < lengths[:, None])
    return torch.from_numpy(ids), torch.from_numpy(lengths)


def _trace(graph: nn.Module, example: tuple[Tensor, Tensor]) -> bytes:
    """Return the ONNX file of a graph, whose batch and time are of any size."""
    for layer in (torch.ops.aten.lstm.input, torch.ops.aten.gru.input):
        layer._dispatch_cache.clear()  # else the exporter's own loop is used once a process
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    axes = {name: dict.fromkeys(range(len(AXES[name])), torch.export.Dim.DYNAMIC) for name in AXES}
    with warnings.catch_warnings(action="ignore"), torch.no_grad():
        program = torch.onnx.export(
            graph, example, dynamo=True, verbose=False, input_names=["ids", "lengths"],
            output_names=["logits", "weights"],
            dynamic_shapes={name: axes[name] for name in ("ids", "lengths")},
        )  # fmt: skip
    assert program is not None
    proto = program.model_proto
    # The exporter notes the example's length as that of recurrent states: onnxruntime then reuses
    # buffers that do not fit. It notes the lines of this machine's code, too.
    del proto.graph.value_info[:]
    for node in proto.graph.node:
        del node.metadata_props[:]
    for value in (*proto.graph.input, *proto.graph.output):
        for axis, name in zip(value.type.tensor_type.shape.dim, AXES[value.name], strict=False):
            axis.dim_param = name
    return bytes(proto.SerializeToString())


def _difference(graph: nn.Module, path: Path, ids: Tensor, lengths: Tensor) -> float:
    """Return by how much logits and weights of texts differ from PyTorch's."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    found = session.run(None, {"ids": ids.numpy(), "lengths": lengths.numpy()})
    with torch.inference_mode():
        expected = [each.numpy() for each in graph(ids, lengths)]
    pairs = zip(found, expected, strict=True)
    return max(float((np.abs(a - b) / np.maximum(1, np.abs(b))).max()) for a, b in pairs)


# --- the model card


def _read_scores(model: str, seed: int) -> pd.DataFrame:
    """Return the scores of a model's runs, a row for each seed. Raises HeedError: not of `seed`."""
    folder, command = paths.EVALUATIONS / model, f"heed score {model}"
    verify_checksums(folder, command)
    with reading(folder / "summary.csv", command):
        scores = pd.read_csv(folder / "summary.csv", index_col="seed")
    if seed not in scores.index:
        raise HeedError(f"{folder}: has no scores of seed {seed}. Run: {command}")
    return scores


def interval(values: pd.Series, recipe: Recipe[Any, Any]) -> tuple[float, float] | None:
    """Return the 95% interval of a mean over seeds, by Student's t; None of fewer than two runs.

    With folds the mean of each is a value, and the variance is that of Nadeau & Bengio (2003).
    """
    overlap = 0.0
    if recipe.folds:
        values = values.groupby([recipe.fold(seed) for seed in values.index]).mean()
        overlap = 1 / (recipe.folds / recipe.repeats - 1)
    if (count := len(values)) < 2:
        return None
    half = stats.t.ppf(0.975, count - 1) * values.std() * (1 / count + overlap) ** 0.5
    return values.mean() - half, values.mean() + half


def _card(run: RunInfo, predictor: Any, scores: pd.DataFrame, difference: str, problem: str) -> str:
    """Return the model card: metadata of the hub, data, training, scores, limits, how to load."""
    recipe, metrics = run.recipe, task_module(run.recipe.task, "metrics")
    near = recipe.statistics.near_duplicates
    test = [each.name for each in metrics.make_metrics(recipe.data).all if each.name in scores]
    validation = [name for name in map(str, scores) if name.startswith("validation_")]
    shown, rows = scores[[*test, *validation]].dropna(axis=1), []
    for name, values in shown.items():
        ends, split = interval(values, recipe), "validation" if name in validation else "test"
        within = f"{ends[0]:.4f} to {ends[1]:.4f}" if ends else "–"
        metric = str(name).removeprefix("validation_")
        rows.append(
            f"| {split} | {metric} | {values[run.seed]:.4f} | {values.mean():.4f} | {within} |"
        )
    default = dataclasses.asdict(type(recipe.hyperparameters)())
    own = dataclasses.asdict(recipe.hyperparameters).items()
    mine = {name: float(shown[name][run.seed]) for name in test if name in shown}
    metadata = _metadata(run, predictor.hub_task, mine)
    template = Path(__file__).with_name("model_card.md").read_text(encoding="utf-8")
    return template.format(
        metadata=yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True),
        run=run, recipe=recipe, about=recipe.statistics, seeds=len(scores), rows="\n".join(rows),
        splits=", ".join(f"{count:,} {split}" for split, count in run.documents.items()),
        fold=f", fold {run.fold} of 0 to {recipe.folds - 1}" if recipe.folds else "",
        near=f"{'' if near.complete else 'at least '}{near.total:,}"
        f"{' in all folds' if recipe.folds else ''}",
        origin="generated texts" if recipe.statistics.generated else "texts",
        changed=", ".join(f"`{name}: {value}`" for name, value in own if value != default[name]),
        call=predictor.method,
        onnx=problem.strip() or ONNX_INPUTS.format(difference=difference),
    )  # fmt: skip


def _metadata(run: RunInfo, task: str, values: dict[str, float]) -> dict[str, object]:
    """Return the metadata of the card, as the hub's documentation of model cards has them."""
    recipe = run.recipe
    named = {getattr(recipe.data, side, "") for side in ("source", "target")} | {recipe.tokenizer}
    metrics = [{"type": name, "value": round(value, 6)} for name, value in values.items()]
    dataset = {"name": recipe.corpus, "type": recipe.statistics.kind, "split": "test"}
    result = {"task": {"type": task}, "dataset": dataset, "metrics": metrics}
    languages = sorted(name for name in named if len(name) in (2, 3) and name != "xx")
    return ({"language": languages} if languages else {}) | {
        "license": "unknown", "library_name": "heed", "pipeline_tag": task,
        "tags": ["heed", "pytorch", recipe.task, recipe.variant], "metrics": list(values),
        "model-index": [{"name": recipe.model, "results": [result]}],
    }  # fmt: skip


ONNX_INPUTS = (
    "`model.onnx` reads `ids` (int64, batch × time: a token's line in `vocabulary.txt`, from 0; 0 "
    "is padding, 1 an unknown word) and `lengths` (int64, batch); it returns `logits`, and "
    "`weights` of the tokens. It differs from PyTorch by at most {difference} (onnxruntime, CPU)."
)
