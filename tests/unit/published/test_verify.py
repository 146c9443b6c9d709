"""`heed verify` says what heed says, and finds what was changed in a published study."""

import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from heed.cli import commands, main
from heed.evaluation import looks, significance
from heed.evaluation.comparison import assess_pairs
from heed.evaluation.results import Significance, verdict
from heed.files import HeedError
from heed.published import verify
from heed.published.publish import PUBLISHED_STUDIES
from heed.task import task_module
from heed.tasks.classification.recipe import Data
from tests.conftest import ROOT, cases
from tests.makers import formulas
from tests.unit.published.conftest import CLASSES, LANGUAGES, statistics_table

STUDIES = sorted(path.parent.name for path in (ROOT / PUBLISHED_STUDIES).glob("*/edition.json"))
QUICK = "yelp"  # the one that is recomputed in the fast suite
TASKS = ("classification", "translation")


METRICS = [(task, name) for task in TASKS for name in task_module(task, "recipe").METRICS]
METRICS = [(task, name) for task, name in METRICS if name != "aer"]


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
    "repeated folds": tuple([drawn(s, 1, 40 + i) for i in range(20)] for s in (0.8, 0.75)),
    "folds with one mean": (
        [np.array([[1.0, 0.0, 1.0, 0.0]])] * 3, [np.array([[0.0, 0.0, 0.0, 1.0]])] * 3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("tests", [1, 8])
@pytest.mark.parametrize("name", BLOCKS)
def test_a_comparison_comes_out_by_the_formulas(name, tests):
    first, second = BLOCKS[name]
    repeats = 4 if name == "repeated folds" else 1
    expected = significance.assess(first, second, tests, repeats=repeats)
    k = len(first) // repeats if len(first) > 1 else 0
    found = formulas.compare(first, second, k, tests)
    low, high = expected.interval_pp or (None, None)
    ends = {"low_pp": low, "high_pp": high, "difference_pp": expected.mean_pp}
    numbers = verify.CHECKED.keys() - {"verdict"}
    for key, value in (vars(expected) | ends).items():
        if key in numbers and value is None:
            assert key not in found
        elif key in numbers:
            assert found[key] == pytest.approx(value, rel=1e-6, abs=1e-12), key
    rises = [(1, 0, 0), (90, 0, 0), (1, 0, 9e9), (1, 9e9, 0), (90, 9e9, 0), (1, 0, 5), (1, 5, 5)]
    for margin, *rise in rises:
        method = Significance("", 0.05, 0.8, margin, None, {})
        said = verdict(expected, method, *rise)
        assert formulas.verdict(found, margin, *rise) == said


def test_less_is_better_of_losses():
    losses = {"a": [[0.2], [0.2]], "b": [[0.5], [0.5]]}
    by_item = {model: [pd.DataFrame(loss)] for model, loss in losses.items()}
    found = assess_pairs(by_item, [("a", "b", "primary")], "loss", 1, None)
    assert found["a", "b"].mean_pp == pytest.approx(30)


# --- published studies ----------------------------------------------------------------------------


@pytest.fixture
def study(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made / PUBLISHED_STUDIES / "it", tmp_path / "made")


def test_a_study_comes_out_as_printed(study, capsys):
    commands.verify(study)
    said = "8 intervals and 8 verdicts of 8 comparisons are as printed in verdicts.csv, and 22 of"
    checked, not_checked = capsys.readouterr().out.splitlines()
    assert checked == f"{study}: {said} 28 scores in results.csv"
    assert not_checked.startswith("Not checked, as statistics.parquet does not have it: test loss")
    for name in ("second_rise_pp", "tuned_alike in verdicts.csv", "edition.json", "text"):
        assert name in not_checked
    verdicts = {*pd.read_csv(study / verify.VERDICTS)["verdict"]}
    assert verdicts >= {"better", "not converged"}, "the verdicts are of several kinds"


Change = Callable[[Path], object]


def text(name: str, old: str, new: str) -> Change:
    def change(folder: Path) -> None:
        before = (folder / name).read_text()
        assert old in before
        (folder / name).write_text(before.replace(old, new))

    return change


def cell(experiment: str, column: str, value: str, file: str = verify.VERDICTS) -> Change:
    """Change the second row of an experiment: attention over the baseline, or a second seed."""

    def change(folder: Path) -> None:
        table = pd.read_csv(folder / file, dtype=str)
        table.loc[table.index[table["experiment"] == experiment][1], column] = value
        table.to_csv(folder / file, index=False)

    return change


def rows_left(left_out: str, file: str = verify.STATISTICS) -> Change:
    def change(folder: Path) -> None:
        path = folder / file
        table = pd.read_csv(path, dtype=str) if file.endswith("csv") else pd.read_parquet(path)
        rest = table.drop(table.query(left_out).index)
        rest.to_csv(path, index=False) if file.endswith("csv") else rest.to_parquet(path)

    return change


def answer(folder: Path) -> None:
    """Make a wrong answer of attention right."""
    table = pd.read_parquet(folder / verify.STATISTICS)
    wrong = table.index[table["right"].eq(0) & table["model"].eq("self-attention")]
    table.loc[wrong[0], "right"] = 1
    table.to_parquet(folder / verify.STATISTICS)


KINDS = {"cell": cell, "rows_left": rows_left, "text": text}
CHANGES: dict[str, tuple[Change, str]] = {
    name: (KINDS[kind](*arguments), says)
    for name, ((kind, arguments), (_, says)) in ((k, v.items()) for k, v in cases(__file__).items())
} | {
    "an answer": (answer, "plain: self-attention − average: difference_pp is printed as"),
    "no file": (lambda folder: (folder / verify.SCORES).unlink(), r"cannot be read .*results\.csv"),
    "no edition": (lambda folder: (folder / verify.EDITION).unlink(),
                   r"cannot be read .*edition\.json.*publish it again"),
    "a link": (lambda folder: (folder / "x.html").symlink_to("/dev/zero"),
               "x.html: a link, or no file"),
    "a pipe in a folder": (
        lambda folder: (folder / "figures").mkdir() or os.mkfifo(folder / "figures/x"),
        "figures/x: a link, or no file. Remove it",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_a_study_is_found(study, name):
    change, message = CHANGES[name]
    change(study)
    with pytest.raises(HeedError, match=message):
        commands.verify(study)


def others(values: pd.Series, at: int) -> list[str]:
    """What may stand there by mistake: the number of another row, a last digit more, nothing."""
    mantissa, *exponent = re.split("(?=e)", str(values[at]))
    digit = f"{mantissa[:8]}{(int(mantissa[8:9] or 0) + 1) % 10}{''.join(exponent)}"
    return [next(value for value in values if value not in (values[at], "")), digit, ""]


@pytest.fixture
def quick(tmp_path: Path) -> Path:
    return shutil.copytree(ROOT / PUBLISHED_STUDIES / QUICK, tmp_path / QUICK)


def test_a_row_of_a_published_study_that_other_rows_do_not_need_is_missed(quick):
    rows_left("family == 'trivial' and first == 'self-attention'", verify.VERDICTS)(quick)
    with pytest.raises(HeedError, match="compares self-attention with the trivial model"):
        commands.verify(quick)


@pytest.mark.parametrize("kind", range(3), ids=["another row's", "a digit more", "none"])
def test_no_other_number_of_a_verdict_passes(quick, kind):
    """Each column of a published study is changed in a row of its own."""
    table = pd.read_csv(quick / verify.VERDICTS, dtype=str, keep_default_na=False)
    changed = table.copy()
    for number, column in enumerate(verify.CHECKED):
        at = table.index[table[column] != ""][number]
        changed.loc[at, column] = others(table[column], at)[kind]
    changed.to_csv(quick / verify.VERDICTS, index=False)
    with pytest.raises(HeedError) as error:
        verify.recompute(quick)
    assert {*re.findall(r"(\w+) is printed as", str(error.value))} >= {*verify.CHECKED}


@pytest.mark.parametrize("column", ["value", "seed"])
def test_no_other_score_passes_that_follows_from_the_statistics(quick, column):
    table = pd.read_csv(quick / verify.SCORES, dtype=str, keep_default_na=False)
    rows = table[table["metric"].isin([*verify.SAME]) & (table["split"] == "test")]
    at = rows.index[rows[column] != ""][0]
    for new in others(rows[column], at):
        changed = table.copy()
        changed.loc[at, column] = new
        changed.to_csv(quick / verify.SCORES, index=False)
        with pytest.raises(HeedError):
            verify.recompute(quick)


@pytest.mark.parametrize(("form", "text", "value", "agrees"), [
    (".2f", "", 0.0, False), (".2f", "0.00", None, False), (".2f", "", None, True),
    (".2f", "-0.13", -0.125, True), (".2f", "-0.12", -0.125, True), (".2f", "0.11", 0.125, False),
    (".2f", "+0.1201", 0.12, False), (".3g", "1e-100", 1e-100, True), ("d", "3", 3, True),
    ("s", "", "better", False), (".3g", "1e-99", 1e-100, False), ("d", "4", 3, False),
])  # fmt: skip
def test_a_number_is_printed_to_its_last_digit(form, text, value, agrees):
    assert verify._agrees(form, text, value) is agrees


def test_what_controls_a_terminal_is_never_printed(study, monkeypatch):
    cell("plain", "verdict", "\x1b]0;title\x07\u202eword\n docs/studies/it: as printed")(study)
    monkeypatch.setattr(sys, "argv", ["heed", "verify", str(study)])
    with pytest.raises(SystemExit) as end:
        main()
    said = str(end.value.code)
    assert "\x1b" not in said and "\u202e" not in said
    assert "verdict is printed as [U+001B]]0;title[U+0007][U+202E]word[U+000A]" in said
    assert not any(line.startswith(" docs") for line in said.splitlines())


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.slow] * (name != QUICK)) for name in STUDIES
])  # fmt: skip
def test_a_published_study_comes_out_as_printed(name):
    assert " are as printed in verdicts.csv" in verify.recompute(ROOT / PUBLISHED_STUDIES / name)


@pytest.mark.parametrize(("plan", "alpha"), [((5, 10), 0.05), ((3, 5, 10), 0.01)])
def test_levels_of_looks_are_those_of_the_study(plan, alpha):
    assert formulas.look_levels(plan, alpha) == pytest.approx(looks.levels(plan, alpha), rel=1e-5)
