"""`heed verify` says what heed says, and finds what was changed in an edition."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats

from heed.cli import commands
from heed.evaluation import significance
from heed.evaluation.results import Significance
from heed.evaluation.results import verdict as heeds_verdict
from heed.files import HeedError, write_checksums
from heed.report import verify
from heed.report.formats import POINTS, PROBABILITY, decimals
from heed.report.publish import PUBLISHED_REPORTS, write_statistics
from heed.task import task_module
from heed.tasks.classification import metrics as classification
from heed.tasks.classification.recipe import Data
from heed.tasks.multilabel import metrics as multilabel
from heed.tasks.translation import metrics as translation
from heed.tasks.translation.recipe import Data as Languages
from tests.conftest import ROOT

STUDIES = sorted(path.parent.name for path in (ROOT / PUBLISHED_REPORTS).glob("*/edition.json"))
CLASSES = ["a", "b", "c"]
LANGUAGES = Languages("de", "en", "de", "en", has_gold_alignment=True)
TASKS = ("classification", "multilabel", "translation")


def statistics_table(task: str, items: int, right: float, seed: int) -> pd.DataFrame:
    """The statistics of a run; the labels are the same in all runs, a class is rare."""
    fixed, drawn = np.random.default_rng(0), np.random.default_rng(seed)
    if task == "translation":
        names = translation.statistic_names(LANGUAGES)
        lengths = fixed.integers(4, 9, (items, 1)) * np.ones((1, len(names)), int)
        table = pd.DataFrame(drawn.binomial(lengths, right), columns=names)
        return table.assign(sentences=1, **{"bleu:reference": lengths[:, 0]})
    if task == "multilabel":
        true = fixed.random((items, 3)) < [0.5, 0.3, 0.1]
        predicted = np.where(drawn.random(true.shape) < right, true, ~true)
        values = multilabel.statistics(true, predicted)
        return pd.DataFrame(values, columns=multilabel.statistic_names(CLASSES))
    label = fixed.choice(3, items, p=[0.6, 0.35, 0.05])
    predicted = np.where(drawn.random(items) < right, label, drawn.integers(0, 3, items))
    values = classification.statistics(label, predicted, range(3))
    return pd.DataFrame(values, columns=classification.statistic_names(CLASSES))


METRICS = [
    (task, name) for task in TASKS for name in task_module(task, "recipe").METRICS if name != "aer"
]


@pytest.mark.parametrize(("task", "metric"), METRICS)
@pytest.mark.parametrize("right", [0.0, 0.1, 0.8])
def test_an_item_contributes_to_every_metric_what_it_does_in_heed(task, metric, right):
    data = LANGUAGES if task == "translation" else Data("", CLASSES)
    table = statistics_table(task, 40, right, 1)
    of_heed = task_module(task, "metrics").make_metrics(data).named(metric)
    expected = of_heed.by_item(table.to_numpy()[None])[0]
    assert verify.contributions(metric, table) == pytest.approx(expected, abs=1e-12)
    kept = table[verify.statistics_of(metric, list(table))]
    assert verify.contributions(metric, kept) == pytest.approx(expected, abs=1e-12)


def drawn(share: float, *shape: int) -> np.ndarray:
    generator = np.random.default_rng((int(100 * share), *shape))
    difficulty = generator.normal(0, 0.1, shape[-1])
    run = generator.normal(0, 0.03, (shape[0], 1))
    return (generator.random(shape) < share + difficulty + run).astype(float)


SAME = np.tile([1.0, 0.0, 1.0, 1.0], (3, 1))
BLOCKS = {
    "seeds": ([drawn(0.8, 3, 200)], [drawn(0.7, 3, 200)]),
    "a reference model": ([drawn(0.7, 5, 100)], [drawn(0.72, 1, 100)]),
    "a reference model, and one seed": ([drawn(0.7, 1, 100)], [drawn(0.6, 1, 100)]),
    "one item": ([drawn(0.5, 3, 1)], [drawn(0.5, 3, 1)]),
    "right on the same items": ([SAME], [SAME]),
    "one item differs": ([np.eye(1, 300).repeat(3, 0)], [np.zeros((3, 300))]),
    "one item of folds differs": (
        [np.eye(1, 60, fold - 9) for fold in range(10)], [np.zeros((1, 60))] * 10,
    ),
    "always right, and never": ([np.ones((3, 8))], [np.zeros((3, 8))]),
    "seeds that differ, items that do not": (
        [np.repeat([[1.0], [0.0], [1.0]], 30, 1)], [np.zeros((3, 30))],
    ),
    "far apart": ([drawn(0.99, 5, 2000)], [drawn(0.01, 5, 2000)]),
    "folds": tuple([drawn(share, 1, 50 + i) for i in range(5)] for share in (0.8, 0.6)),
    "folds with two seeds": tuple([drawn(s, 2, 60 + i) for i in range(3)] for s in (0.7, 0.6)),
    "folds with one mean": (
        [np.array([[1.0, 0.0, 1.0, 0.0]])] * 3, [np.array([[0.0, 0.0, 0.0, 1.0]])] * 3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("tests", [1, 8])
@pytest.mark.parametrize("name", BLOCKS)
def test_a_comparison_comes_out_as_in_heed(name, tests):
    first, second = BLOCKS[name]
    expected = significance.assess(first, second, tests)
    found = verify.compare(first, second, len(first) if len(first) > 1 else 0, tests)
    low, high = expected.interval_pp or (None, None)
    ends = {"low_pp": low, "high_pp": high, "difference_pp": expected.mean_pp}
    for key, value in (vars(expected) | ends).items():
        if key in verify.CHECKED and value is None:
            assert key not in found
        elif key in verify.CHECKED:
            assert found[key] == pytest.approx(value, rel=1e-6, abs=1e-12), key
    rises = [(1, 0, 0), (90, 0, 0), (1, 0, 9e9), (1, 9e9, 0), (90, 9e9, 0), (1, 0, 5), (1, 5, 5)]
    for margin, *rise in rises:
        method = Significance("", 0.05, 0.8, margin, None, {})
        said = heeds_verdict(expected, method, *rise)
        assert verify.verdict(found, margin, *rise) == said


def test_less_is_better_of_losses(tmp_path):
    table = pd.DataFrame(
        [(model, seed, 0, 1, "loss", loss)
         for model, loss in (("a", 0.2), ("b", 0.5)) for seed in (1, 2)],
        columns=[*verify.KEYS, "metric", "loss"],
    )  # fmt: skip
    table.to_parquet(tmp_path / "x.parquet")
    runs = verify._read_runs(tmp_path / "x.parquet")
    assert verify.compare(runs["a"], runs["b"], 0, 1)["difference_pp"] == pytest.approx(30)


def test_repeated_folds_have_the_variance_of_bouckaert_and_frank():
    k, repeats = 5, 4
    blocks = [drawn(0.8, 1, 40 + i) for i in range(k * repeats)]
    means = [block.mean() for block in blocks]
    found = verify.compare(blocks, [np.zeros_like(block) for block in blocks], k, 1)
    error = ((1 / (k * repeats) + 1 / (k - 1)) * np.var(means, ddof=1)) ** 0.5
    half = stats.t.ppf(0.975, k * repeats - 1) * error
    assert found["low_pp"] == pytest.approx(100 * (np.mean(means) - half))
    same = verify.compare(blocks, blocks, k, 1)
    items = sum(block.shape[1] for block in blocks) // repeats
    assert same["equal_within_pp"] == pytest.approx(100 * (1 - 0.05 ** (1 / items)))


# --- editions -------------------------------------------------------------------------------------

EXPERIMENTS = {"plain": ("accuracy", "random"), "folded": ("macro_f1", "folds")}
PAIRS = [("attention", "mean", "primary"), ("attention", "baseline", "secondary"),
    ("mean", "baseline", "secondary"), ("attention", "majority", "trivial")]  # fmt: skip
SHARES = {"baseline": 0.5, "mean": 0.78, "attention": 0.95, "majority": 0.3}


def runs_of(metric: str, kind: str) -> pd.DataFrame:
    parts = []
    for model, share in SHARES.items():
        for fold in range(3) if kind == "folds" else [0]:
            fixed, is_reference = kind == "random", model == "majority"
            for seed in [0] if is_reference else [1, 2, 3] if fixed else [fold + 1]:
                table = statistics_table("classification", 60, share, 10 * seed + len(model))
                keys = {"model": model, "seed": seed, "fold": fold, "metric": metric}
                parts.append(table.assign(**keys, item=np.arange(60) + 60 * fold))
    return pd.concat(parts).sort_values(verify.KEYS, ignore_index=True)


def row_of(runs: pd.DataFrame, metric: str, first: str, second: str, family: str) -> dict:
    """A line of the table of comparisons, as heed computes and prints it."""
    of_heed = classification.make_metrics(Data("", CLASSES)).named(metric)
    scores = []
    for name in (first, second):
        blocks = [table for _, table in runs[runs["model"] == name].groupby("fold")]
        by_run = [
            [run.drop(columns=[*verify.KEYS, "metric"]) for _, run in b.groupby("seed")]
            for b in blocks
        ]
        scores.append([of_heed.by_item(np.stack(each)) for each in by_run])
    tests = sum(each == family for *_, each in PAIRS)
    found = significance.assess(*scores, tests, family)
    low, high = map(POINTS.plain, found.interval_pp or ())
    rises = [82.0 if name == "mean" else 0.0 for name in (first, second)]
    said = heeds_verdict(found, Significance("", 0.05, 0.8, 1.0, None, {}), *rises)
    return {
        "first": first, "second": second, "family": family, "tests": tests,
        "difference_pp": POINTS.plain(found.mean_pp), "low_pp": low, "high_pp": high,
        "p": PROBABILITY.plain(found.p), "p_corrected": PROBABILITY.plain(found.p_corrected),
        "equal_within_pp": decimals(2).plain(found.equal_within_pp), "verdict": said,
    }  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An edition with a fixed split and with folds, in which `mean` has not converged."""
    folder = tmp_path_factory.mktemp("edition")
    (folder / "tables").mkdir()
    runs = {name: runs_of(*each) for name, each in EXPERIMENTS.items()}
    write_statistics(folder, runs)
    longer = pd.DataFrame(
        {"variant": ["mean"], "convergence": ["not converged"], "metric": ["accuracy"],
         "difference_pp": ["+80.00"], "margin_pp": ["2.00"]}
    )  # fmt: skip
    verdicts, summaries, metrics, page = [], [], {}, "<p>Also 3 to 4, 0.5 to 0.75 and +1 to +2.</p>"
    for name, (metric, _) in EXPERIMENTS.items():
        table = pd.DataFrame([row_of(runs[name], metric, *pair) for pair in PAIRS])
        table.insert(0, "experiment", name)
        table.to_csv(folder / f"tables/{name}_comparisons.csv", index=False)
        longer.to_csv(folder / f"tables/{name}_convergence.csv", index=False)
        low, high, said = table.loc[0, ["low_pp", "high_pp", "verdict"]]
        numbers = table.loc[0, ["difference_pp", "low_pp", "high_pp"]].astype(float)
        metrics[name] = {"verdict": said, **numbers, "baseline": 0.5}
        gain = table.loc[[1], ["experiment", "low_pp", "high_pp"]].add_prefix("gain_")
        gain = gain.rename(columns={"gain_experiment": "experiment"}).assign(verdict=said)
        summaries.append(gain)
        page += f"<td>{low} to {high}</td>".replace("-", "−")
        matrix = {"experiment": name, "variant": "attention", "control": "mean"}
        size = table.loc[0, "difference_pp"]
        verdicts.append(matrix | {"control_verdict": said, "control_pp": size})
    pd.DataFrame(verdicts).to_csv(folder / "tables/verdicts.csv", index=False)
    (folder / "index.html").write_text(page)
    pd.concat(summaries).to_csv(folder / "tables/summary.csv", index=False)
    (folder / "metrics.json").write_text(json.dumps(metrics))
    params = {
        "study": {"name": "made"},
        "corpora": {"plain": {"split": {"kind": "random"}}, "folded": {"split": {"k": 3}}},
        "experiments": {name: {"task": "classification", "corpus": name} for name in EXPERIMENTS},
    }
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    return folder


@pytest.fixture
def edition(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "made")


def test_an_edition_comes_out_as_printed(edition, capsys):
    commands.verify(edition)
    expected = (
        f"{edition}: 8 intervals and 8 verdicts of 8 comparisons are as printed in its tables\n"
    )
    assert capsys.readouterr().out == expected
    rows = pd.concat(map(pd.read_csv, (edition / "tables").glob("*_comparisons.csv")))
    assert {*rows["verdict"]} >= {"better", "not converged"}, "the verdicts are of several kinds"


Change = Callable[[Path], object]


def text(name: str, old: str, new: str) -> Change:
    def change(folder: Path) -> None:
        before = (folder / name).read_text()
        assert old in before
        (folder / name).write_text(before.replace(old, new))

    return change


def cell(experiment: str, column: str, value: str) -> Change:
    """Change the second comparison, attention over the baseline, in the table."""

    def change(folder: Path) -> None:
        path = folder / f"tables/{experiment}_comparisons.csv"
        table = pd.read_csv(path, dtype=str)
        table.loc[1, column] = value
        table.to_csv(path, index=False)

    return change


def answer(folder: Path) -> None:
    """Make a wrong answer of attention right."""
    path = folder / "statistics/plain.parquet"
    table = pd.read_parquet(path)
    wrong = table.index[table["right"].eq(0) & table["model"].eq("attention")]
    table.loc[wrong[0], "right"] = 1
    table.to_parquet(path)


def hashed(folder: Path) -> None:
    answer(folder)
    write_checksums(folder / "statistics")


def one_less(folder: Path) -> None:
    """Leave the last item of a run out."""
    path = folder / "statistics/plain.parquet"
    table = pd.read_parquet(path)
    table.iloc[:-1].to_parquet(path)
    write_checksums(path.parent)


def rows_left(folder: Path, left_out: str | None) -> None:
    """Leave rows out, or all."""
    path = folder / "statistics/plain.parquet"
    table = pd.read_parquet(path)
    table.drop(table.query(left_out).index if left_out else table.index).to_parquet(path)
    write_checksums(path.parent)


def gone(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


PRINTED = "plain: attention − baseline: "
CHANGES: dict[str, tuple[Change, str]] = {
    "an interval": (
        cell("plain", "low_pp", "+1.23"),
        rf"{PRINTED}low_pp is printed as \+1.23, and",
    ),
    "of folds": (cell("folded", "high_pp", "9.87"), "folded: attention − baseline: high_pp is "),
    "no interval": (cell("plain", "high_pp", ""), f"{PRINTED}high_pp is printed as empty, and"),
    "a p value": (cell("plain", "p_corrected", "0.04"), f"{PRINTED}p_corrected is printed as 0.04"),
    "the tests": (cell("plain", "tests", "1"), f"{PRINTED}tests is printed as 1, and"),
    "a verdict": (
        cell("plain", "verdict", "undecided"),
        f"{PRINTED}the verdict is printed as undecided, and comes out as better",
    ),
    "the matrix": (
        text(
            "tables/verdicts.csv",
            "plain,attention,mean,not converged",
            "plain,attention,mean,better",
        ),
        "verdicts.csv: plain: attention − mean: better is printed, not converged comes out",
    ),
    "a difference in the matrix": (
        text("tables/verdicts.csv", "not converged,", "not converged,1"),
        "verdicts.csv: plain: attention − mean: difference_pp is printed as",
    ),
    "the page": (
        text("index.html", "</td>", "</td><td>−1.00 to +2.00</td>"),
        r"index.html: -1.00 to \+2.00 is that of no comparison",
    ),
    "metrics.json": (
        text("metrics.json", '"high_pp": ', '"high_pp": 0.01, "before": '),
        "metrics.json: plain: high_pp is printed as 0.01, and comes out as",
    ),
    "the verdict in metrics.json": (
        text("metrics.json", '"not converged"', '"better"'),
        "metrics.json: plain: the verdict is printed as better, not not converged",
    ),
    "a gain": (
        text("tables/summary.csv", "plain,+", "plain,+1"),
        r"summary.csv: plain attention baseline: gain_low_pp is printed as \+1",
    ),
    "the verdict in the summary": (
        text("tables/summary.csv", "not converged", "better"),
        "summary.csv: plain attention baseline: the verdict is printed as better, not not",
    ),
    "fewer digits": (
        cell("plain", "low_pp", "+40"),
        rf"{PRINTED}low_pp is printed as \+40, and",
    ),
    "no number": (cell("plain", "low_pp", "few"), f"{PRINTED}low_pp is printed as few, and"),
    "an emptied verdict": (
        text("tables/verdicts.csv", "plain,attention,mean,not converged", "plain,attention,mean,"),
        "verdicts.csv: plain: attention − mean: none is printed, not converged comes out",
    ),
    "a row of the matrix": (
        text("tables/verdicts.csv", "plain,attention,mean", "plain,attention,baseline"),
        "verdicts.csv: plain: no row has attention − mean",
    ),
    "a row of a table": (
        text("tables/plain_comparisons.csv", "plain,attention,majority", "plain,attention,mean"),
        "plain: no row of its comparisons has majority",
    ),
    "a column": (
        text("tables/plain_comparisons.csv", "equal_within_pp", "within"),
        "plain_comparisons.csv: has no column equal_within_pp",
    ),
    "params.yaml": (text("params.yaml", "study:", "["), "params.yaml: cannot be read"),
    "no page": (gone("index.html"), "index.html: not there"),
    "an edition of before": (
        lambda folder: shutil.rmtree(folder / "statistics"),
        "made: has no statistics/: it was published before heed kept",
    ),
    "no hashes": (
        lambda folder: (folder / "statistics/SHA256SUMS").write_text(""),
        "plain.parquet|folded.parquet: not as it was published",
    ),
    "no rows": (lambda folder: rows_left(folder, None), "plain.parquet: cannot be read"),
    "a seed": (
        lambda folder: rows_left(folder, "model == 'mean' and seed == 3"),
        "plain.parquet: the models have not the same runs",
    ),
    "convergence": (
        text("tables/plain_convergence.csv", "not converged", "converged"),
        "plain: attention − mean: the verdict is printed as not converged, and comes out as",
    ),
    "the margin": (
        text("params.yaml", "study:", "study:\n  equivalence_margin: 90"),
        f"{PRINTED}the verdict is printed as better, and comes out as practically the same",
    ),
    "statistics": (answer, "plain.parquet: not as it was published"),
    "statistics and their hash": (hashed, "plain: attention − mean: difference_pp is printed as"),
    "an item": (one_less, "plain.parquet: the models were not tested on the same items"),
    "no statistics": (gone("statistics/folded.parquet"), "folded.parquet: not as it was published"),
    "no table": (gone("tables/plain_comparisons.csv"), "plain_comparisons.csv: not there"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_an_edition_is_found(edition, name):
    change, message = CHANGES[name]
    change(edition)
    with pytest.raises(HeedError, match=message):
        commands.verify(edition)


def test_statistics_have_the_same_bytes_each_time(edition, tmp_path):
    write_statistics(tmp_path, {name: runs_of(*each) for name, each in EXPERIMENTS.items()})
    for path in (tmp_path / "statistics").iterdir():
        assert path.read_bytes() == (edition / "statistics" / path.name).read_bytes()


def test_the_module_needs_nothing_of_heed(edition):
    code = "import runpy, sys; sys.modules['heed'] = None; sys.argv = sys.argv[1:]; "
    command = [sys.executable, "-c", f"{code} runpy.run_path(sys.argv[0], run_name='__main__')"]
    command += [verify.__file__, str(edition)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and "are as printed" in done.stdout


@pytest.mark.parametrize("name", STUDIES)
def test_a_published_study_comes_out_as_printed(name):
    said = verify.recompute(ROOT / PUBLISHED_REPORTS / name)
    assert said.endswith("are as printed in its tables")
