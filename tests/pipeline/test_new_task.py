"""A folder in heed/tasks is a task: a regression, from a table to its report, by nothing else."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from heed.files import sha256
from tests.conftest import ROOT
from tests.pipeline.makers import Toy

SPLITS = ["train"] * 60 + ["validation"] * 16 + ["test"] * 24
PARAMS = (ROOT / "tests/studies/parts/prices.yaml").read_text()
COMMANDS = (
    "download offers", "tokenize offers", "recipe prices", "train prices-last-state",
    "train prices-self-attention", "score prices", "reference_models prices", "compare", "report",
)  # fmt: skip


def offers() -> pd.DataFrame:
    """Texts of five words, and their number: one more for each `good`, one less for each `bad`."""
    generator = np.random.default_rng(0)
    words = generator.choice(["good", "bad", "old", "new"], (len(SPLITS), 5))
    prices = (words == "good").sum(1) - (words == "bad").sum(1)
    prices = prices + generator.normal(0, 0.1, len(words))
    texts = [" ".join([*row, f"w{number}"]) for number, row in enumerate(words)]
    return pd.DataFrame({"text": texts, "price": prices.round(2), "part": SPLITS})


@pytest.mark.slow
def test_a_folder_of_its_own_makes_a_task_from_table_to_report(tmp_path: Path) -> None:
    offers().to_csv(tmp_path / "offers.csv", index=False)
    params = PARAMS.replace("SHA256", sha256(tmp_path / "offers.csv"))
    clone = Toy.of_real_heed(tmp_path / "clone", params)
    own_code = {"PYTHONPATH": str(clone.path / "src")}
    shutil.copy(tmp_path / "offers.csv", clone.path)
    shutil.copytree(ROOT / "tests/makers/regression", clone.path / "src/heed/tasks/regression")
    clone.run("python", "workflow/digests.py", **own_code)
    code = json.loads((clone.path / "results/code/train/prices.json").read_text())["files"]
    assert "src/heed/tasks/regression/learning.py" in code
    assert not [name for name in code if "translation" in name or "/report" in name]
    for command in COMMANDS:
        clone.run("heed", *command.split(), **own_code)
    result = json.loads((clone.path / "results/compare/comparison.json").read_text())
    experiment = result["experiments"]["prices"]
    errors = {
        name: each["summary"]["mean_squared_error"]["mean"]
        for name, each in (experiment["models"] | experiment["reference_models"]).items()
    }
    assert errors["ridge"] < 1 and errors["self-attention"] < offers()["price"].var()
    gain = experiment["comparisons"]["self-attention"]["ridge"]["mean_pp"]
    assert gain == pytest.approx(100 * (errors["ridge"] - errors["self-attention"])), (
        "less is better"
    )
    page = (clone.path / "reports/index.html").read_text()
    assert "Prices of offers" in page and "mean squared error" in page and "hundredths" in page
    assert f"{errors['self-attention']:.4f}" in page
