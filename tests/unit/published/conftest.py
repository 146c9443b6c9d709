"""A made-up report, and the study that `heed publish` makes of it in a clone."""

import functools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from heed.evaluation import significance
from heed.evaluation.results import Significance
from heed.evaluation.results import verdict as heeds_verdict
from heed.pipeline import run_git
from heed.published import verify
from heed.published.publish import Edition, publish
from heed.report.formats import POINTS, PROBABILITY, decimals
from heed.tasks.classification import metrics as classification
from heed.tasks.translation import metrics as translation
from heed.tasks.translation.recipe import Data as Languages
from heed.verdict.pairs import by_model
from tests.fixtures.git import commit_all

CLASSES = ["a", "b", "c"]
LANGUAGES = Languages("de", "en", "de", "en", has_gold_alignment=True)


def statistics_table(task: str, items: int, right: float, seed: int) -> pd.DataFrame:
    """The statistics of a run; the labels are the same in all runs, a class is rare."""
    fixed, drawn = np.random.default_rng(0), np.random.default_rng(seed)
    if task == "translation":
        names = translation.statistic_names(LANGUAGES)
        lengths = fixed.integers(4, 9, (items, 1)) * np.ones((1, len(names)), int)
        table = pd.DataFrame(drawn.binomial(lengths, right), columns=names)
        return table.assign(sentences=1, **{"bleu:reference": lengths[:, 0]})
    label = fixed.choice(3, items, p=[0.6, 0.35, 0.05])
    predicted = np.where(drawn.random(items) < right, label, drawn.integers(0, 3, items))
    values = classification.statistics(label, predicted, range(3))
    return pd.DataFrame(values, columns=classification.statistic_names(CLASSES))


EXPERIMENTS = {"plain": ("accuracy", "random"), "folded": ("macro_f1", "folds")}
PAIRS = [("self-attention", "average", "primary"), ("self-attention", "last-state", "secondary"),
    ("average", "last-state", "secondary"), ("self-attention", "majority", "trivial")]  # fmt: skip
SHARES = {"last-state": 0.5, "average": 0.78, "self-attention": 0.95, "majority": 0.3}
RISES = {"average": "82.00"}  # by model, of those that have not converged


@functools.cache
def runs_of(name: str) -> pd.DataFrame:
    metric, kind = EXPERIMENTS[name]
    parts = []
    for model, share in SHARES.items():
        for fold in range(3) if kind == "folds" else [0]:
            fixed, is_reference = kind == "random", model == "majority"
            for seed in [0] if is_reference else [1, 2, 3] if fixed else [fold + 1]:
                table = statistics_table("classification", 60, share, 10 * seed + len(model))
                table = table[verify.statistics_of(metric, list(table))]
                keys = {"experiment": name, "model": model, "seed": seed, "fold": fold}
                parts.append(table.assign(**keys, metric=metric, item=np.arange(60) + 60 * fold))
    return pd.concat(parts).sort_values(verify.KEYS, ignore_index=True)


def row_of(runs: pd.DataFrame, first: str, second: str, family: str) -> dict[str, object]:
    """A line of verdicts.csv, as heed computes and prints it."""
    tests = sum(other == family for *_, other in PAIRS)
    scores = by_model(verify.decisive(runs))
    found = significance.assess(scores[first], scores[second], tests)
    low, high = map(POINTS.plain, found.interval_pp or ())
    rises = [float(RISES.get(name, 0)) for name in (first, second)]
    said = heeds_verdict(found, Significance("", 0.05, 0.8, 1.0, None, {}), *rises)
    return {
        "first": first, "second": second, "family": family, "tests": tests,
        "difference_pp": POINTS.plain(found.mean_pp), "low_pp": low, "high_pp": high,
        "p": PROBABILITY.plain(found.p), "p_corrected": PROBABILITY.plain(found.p_corrected),
        "equal_within_pp": decimals(2).plain(found.equal_within_pp), "verdict": said,
        "seeds_needed": found.seeds_needed, "detectable_pp": decimals(2).plain(found.detectable_pp),
    }  # fmt: skip


def scores_of(name: str, runs: pd.DataFrame) -> list[dict[str, object]]:
    """The lines of results.csv, by the metric that decides."""
    metric, of_seeds = EXPERIMENTS[name][0], runs.groupby("model")["seed"].unique()
    scores = by_model(verify.decisive(runs))
    return [
        {"experiment": name, "model": model, "seed": seed or "", "split": "test",
         "metric": metric, "value": score}
        for model in SHARES
        for seed, score in zip(
            of_seeds[model] if len(of_seeds[model]) > 1 else [0] * 3,
            [run.mean() for fold in scores[model] for run in fold], strict=False,
        )
    ]  # fmt: skip


PAGE = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
FIGURE = (
    """<svg role="img" aria-label="'It' & 100%" xmlns="http://www.w3.org/2000/svg" version="1.1">"""
    '<g fill="none"><path d="M0,0h2v0h-2Z"/><text font-family="Sans" fill="#123456" opacity="1">'
    "'It'</text><g/></g></svg>"
)


def write_report(folder: Path) -> pd.DataFrame:
    """Write a report with the files that `heed publish` reads; return the statistics."""
    runs = {name: runs_of(name) for name in EXPERIMENTS}
    (folder / "tables").mkdir(parents=True)
    (folder / "figures").mkdir()
    matrix = []
    for name, table in runs.items():
        first = {"experiment": name, "corpus": name, "mark": ""}
        rows = [first | row_of(table, *pair) for pair in PAIRS]
        pd.DataFrame(rows).to_csv(folder / f"tables/{name}_comparisons.csv", index=False)
        longer = {"variant": "average", "convergence": "not converged", "difference_pp": "+80.00"}
        longer |= {"metric": EXPERIMENTS[name][0], "margin_pp": "2.00"}
        ends = longer | {"variant": "self-attention", "convergence": "converged"}
        pd.DataFrame([longer, ends]).to_csv(folder / f"tables/{name}_convergence.csv", index=False)
        roles = {"variant": "self-attention", "control": "average", "baseline": "last-state"}
        matrix.append(first | roles)
    pd.DataFrame(matrix).to_csv(folder / "tables/verdicts.csv", index=False)
    (folder / "figures/it.svg").write_text(FIGURE)
    (folder / "index.html").write_text(PAGE)
    return pd.concat(runs.values(), ignore_index=True).convert_dtypes()


def write_clone(root: Path) -> None:
    """Write the top folder of a clone with a study that has run."""
    corpora = {"plain": {"split": {"kind": "random"}}, "folded": {"split": {"k": 3}}}
    experiments = {
        name: {"task": "classification", "corpus": name, "title": name, "metric": metric}
        for name, (metric, _) in EXPERIMENTS.items()
    }
    params = {"study": {"name": "it"}, "corpora": corpora, "experiments": experiments}
    scores = [row for name in EXPERIMENTS for row in scores_of(name, runs_of(name))]
    others = [row | {"metric": "loss", "value": 9} for row in scores if row["model"] == "average"]
    for folder in ("docs/studies/it", "results/compare"):
        (root / folder).mkdir(parents=True)
    (root / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    (root / "dvc.lock").write_text("stages: {}\n")
    pd.DataFrame([*scores, *others]).to_csv(root / "results/compare/results.csv", index=False)
    table = "<!-- heed publish results of it/plain it/folded: begin -->\n"
    table += "<!-- heed publish results: end -->\n"
    (root / "docs/studies/index.md").write_text(f"# Studies\n{table}")
    (root / "docs/studies/it/README.md").write_text("# What came out\n")
    run_git(root, "init", "--quiet", "--initial-branch=main")
    commit_all(root)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which a made-up study is published."""
    root, report = tmp_path_factory.mktemp("published") / "clone", tmp_path_factory.mktemp("report")
    write_clone(root)
    statistics = write_report(report / "it")
    publish(root, "it", Edition("0", "c0ffee", ["a machine"], "make"), report / "it", statistics)
    return root
