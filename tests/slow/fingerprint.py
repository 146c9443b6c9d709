"""The fingerprint of the finished small study (tests/studies/small.yaml), by key, which must not
change by a refactoring.

`python -m tests.slow.fingerprint FOLDER FILE` writes it. tests/fixtures/fingerprint.json was
written on the machine kind that it names; results are the same bytes on one machine kind only. Its
values are those of commit 3678362, but for those of the comparison and of metrics.json, which
changed with the verdicts, and for the linear reference model's shares, of 32-bit features since.
"""

import hashlib
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from safetensors import safe_open

from heed.files import write_json
from heed.training.machine import machine_kind

TABLES = {  # a table of results/evaluate/MODEL: the columns that are the key of a row
    "classes.csv": ["seed", "class"],
    "summary.csv": ["seed"],
    "history.csv": ["seed", "epoch"],
    "confusion.csv": ["seed", "label", "predicted"],
    "lengths.csv": ["seed", "longest"],
    "calibration.csv": ["seed", "low"],
}


def machine() -> str:
    """Return the machine kind and numpy's version, which floating-point results depend on."""
    return f"{machine_kind('cpu')}, numpy {np.__version__}"


def fingerprint(root: Path) -> dict[str, Any]:
    """Return {key: value} of the study in `root`: hashes of weights and columns, and statistics."""
    results = root / "results"
    values: dict[str, Any] = {}
    for recipe in sorted((results / "recipe").glob("*.yaml")):
        if not recipe.stem.endswith(".prediction"):
            values |= _of_model(results, recipe.stem)
    for path in sorted((results / "reference_models").glob("*/*.parquet")):
        key = f"reference_models/{path.parent.name}/{path.stem}"
        values |= _columns(pd.read_parquet(path), ["id"], key)
    for path in sorted((results / "search").glob("*/*/trials.csv")):
        values |= _columns(_read(path), ["trial"], f"search/{path.parent.name}/trials")
        best = yaml.safe_load((path.parent / "best.yaml").read_text(encoding="utf-8"))
        values |= dict(_flat(f"search/{path.parent.name}/best", best))
    comparison = json.loads((results / "compare" / "comparison.json").read_text(encoding="utf-8"))
    metrics = json.loads((root / "metrics.json").read_text(encoding="utf-8"))
    return values | dict(
        [*_flat("comparison", comparison["experiments"]), *_flat("metrics", metrics)]
    )


def _of_model(results: Path, model: str) -> dict[str, str]:
    """Return the fingerprint of a model's runs, predictions and evaluation."""
    values: dict[str, str] = {}
    predictions = pd.read_parquet(results / "predict" / model / "predictions.parquet")
    for run in sorted(path for path in (results / "train" / model).iterdir() if path.is_dir()):
        values |= _weights(run / "model.safetensors", f"weights/{model}/{run.name}")
        of_run = predictions[predictions["seed"] == int(run.name)].drop(columns="seed")
        values |= _columns(of_run, ["id"], f"predictions/{model}/{run.name}")
    for table, key in TABLES.items():
        frame = _read(results / "evaluate" / model / table)
        values |= _columns(frame, key, f"evaluate/{model}/{table}")
    for name, key in (("documents", ["id"]), ("weights", ["id", "token"])):
        frame = pd.read_parquet(results / "predict" / model / f"{name}.parquet")
        values |= _columns(frame, key, f"{name}/{model}")
    return values


def _read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def differences(reference: dict[str, Any], values: dict[str, Any]) -> list[str]:
    """Return a line for each key of the reference that is missing or has another value."""
    return [
        f"{key}: {value!r} became {values.get(key, 'nothing')!r}"
        for key, value in reference.items()
        if key not in values or values[key] != value
    ]


def _weights(path: Path, key: str) -> dict[str, str]:
    with safe_open(path, "np") as file:
        return {
            f"{key}/{name}": _hash(file.get_tensor(name).tobytes()) for name in sorted(file.keys())
        }


def _columns(frame: pd.DataFrame, key: list[str], prefix: str) -> dict[str, str]:
    """Return a hash for each column, over its values in the order of the key, bit for bit."""
    frame = frame.sort_values([*key, *(["split"] if "split" in frame else [])], kind="stable")
    names = "\0".join("\1".join(map(str, row)) for row in frame[key].itertuples(index=False))
    return {
        f"{prefix}/{name}": _hash(f"{names}\2{_text(frame[name])}".encode())
        for name in frame.columns
    }


def _text(column: pd.Series) -> str:
    if column.dtype.kind == "f":
        return column.to_numpy().tobytes().hex()
    return "\0".join(map(str, column))


def _flat(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _flat(f"{key}/{name}", part)
    elif isinstance(value, list):
        yield key, json.dumps(value)
    else:
        yield key, value if not isinstance(value, float) or math.isfinite(value) else repr(value)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


if __name__ == "__main__":
    write_json(sys.argv[2], {"machine": machine(), "values": fingerprint(Path(sys.argv[1]))})
