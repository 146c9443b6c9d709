"""Recompute a published study from its statistics: scores, differences, intervals and verdicts.

The formulas of docs/statistics.md are written down here a second time, with numpy, scipy and pandas
alone, so that a reader can check a study without heed: python verify.py docs/studies/NAME
"""

import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy import optimize, stats

PARAMS, SCORES = "params.yaml", "results.csv"  # files of a published study
STATISTICS, VERDICTS = "statistics.parquet", "verdicts.csv"
KEYS = ["model", "seed", "fold", "item"]  # of a run's row; then come the metric and its statistics
ALPHA, NOTHING, SMALLEST_P, SMALLEST_T_P = 0.05, 1e-12, sys.float_info.min, 1e-100
ROUNDING, MANY_ITEMS, FEW_DIFFERENT = 1e-16, 100, 10
MEANS = {"accuracy": "right"}  # metric: the statistic it is the mean of
LABELS = ("true:", "predicted:", "both:")  # of each class, in columns with these prefixes
OF_LABELS = re.compile(r"(macro|weighted)_(precision|recall|f1)")
BROKEN = (  # errors of files that are not as `heed publish` writes them
    ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError, yaml.YAMLError,
)  # fmt: skip
AGAIN = "Restore it by git, or publish it again"
CHECKED = ("tests", "difference_pp", "low_pp", "high_pp", "p", "p_corrected", "equal_within_pp")

Array = np.ndarray
Numbers = dict[str, float]  # of a comparison, by CHECKED
Critical = Callable[[float], float]  # the critical difference, two-sided, at a level
Runs = dict[str, list[Array]]  # by model: for each fold, (runs, items)


class PublishedError(Exception):
    """A published study that cannot be recomputed, or comes out otherwise, with what to do."""


def statistics_of(metric: str, names: Sequence[str]) -> list[str]:
    """Return those of the statistics `names` that a metric is computed from."""
    several = LABELS if OF_LABELS.fullmatch(metric) else f"{metric}:"
    mean_of = MEANS.get(metric, metric)
    return [name for name in names if name == mean_of or name.startswith(several)]


def contributions(metric: str, table: pd.DataFrame) -> Array:
    """Return what each item contributes to the metric of a run, (items,): their mean is the metric.

    Of a metric that is no mean, the jackknife's pseudo-values (Efron & Tibshirani 1993), shifted.
    """
    values = table[statistics_of(metric, table.columns.tolist())].astype(float)
    if values.empty:
        raise PublishedError(f"{metric}: a metric without a formula here")
    if len(values.columns) == 1:
        return values.iloc[:, 0].to_numpy()
    score_of = {"bleu": _bleu, "chrf": _chrf}.get(metric) or (lambda sums: _of_labels(metric, sums))
    score, without = score_of(values.sum().to_frame().T), score_of(values.sum() - values)
    return np.asarray(score + (len(values) - 1) * (without.mean() - without))


def _of_labels(metric: str, sums: pd.DataFrame) -> Array:
    true, predicted, both = (sums.filter(regex=f"^{kind}").to_numpy() for kind in LABELS)
    average, kind = metric.split("_")
    whole = {"precision": predicted, "recall": true, "f1": (true + predicted) / 2}[kind]
    weights = true if average == "weighted" else (true + predicted > 0).astype(float)
    return _ratio((_ratio(both, whole) * weights).sum(1), weights.sum(1))


def _bleu(sums: pd.DataFrame) -> Array:
    """Return BLEU with sacrebleu's smoothing `exp`: 1 / 2^k for the k-th count without a match."""
    length, reference, *counts = sums.to_numpy().T
    matches, totals = np.stack(counts[:4], 1), np.stack(counts[4:], 1)
    none = matches == 0
    precision = _ratio(np.where(none, 0.5 ** none.cumsum(1), matches), totals)
    known = (totals > 0).all(1) & ~none.all(1)
    logarithm = np.log(np.where(known[:, None], precision, 1)).mean(1)
    return np.where(known, np.exp(logarithm + np.minimum(1 - _ratio(reference, length), 0)), 0)


def _chrf(sums: pd.DataFrame) -> Array:
    """Return chrF2: precision and recall are means over the lengths of n-grams that both have."""
    hypothesis, reference, matches = (sums.to_numpy()[:, i::3] for i in range(3))
    has = (hypothesis > 0) & (reference > 0)
    precision, recall = (
        _ratio((_ratio(matches, of) * has).sum(1), has.sum(1)) for of in (hypothesis, reference)
    )
    return _ratio(5 * precision * recall, 4 * precision + recall)


def _ratio(numerator: Array, denominator: Array) -> Array:
    return np.divide(numerator, denominator, np.zeros(numerator.shape), where=denominator != 0)


def crossed(first: Array, second: Array) -> Critical:
    """Return the critical difference of a fixed split: seeds (rows) and items are crossed.

    Student's t for seeds (Welch 1947) and the normal distribution for items (below MANY_ITEMS also
    Student's t), combined as Howe 1974.
    """
    difference = first - second
    runs, items = difference.shape
    own = np.array([each.mean(1).var(ddof=1) if len(each) > 1 else 0 for each in (first, second)])
    by_item, by_run = difference.mean(0), difference.mean(1, keepdims=True)
    rest = ((difference - by_run - by_item + difference.mean()) ** 2).sum()
    residual = rest / ((runs - 1) * (items - 1))
    of_seeds = (max(own.sum(), residual / items) / runs) ** 0.5
    of_items = (max(by_item.var(ddof=1) - residual / runs, 0) / items) ** 0.5
    freedom = (runs - 1) * np.clip(own.sum() ** 2 / max((own**2).sum(), SMALLEST_P), 1, 2)
    t, z = stats.t(freedom).isf, (stats.norm if items >= MANY_ITEMS else stats.t(items - 1)).isf
    return lambda level: float(np.hypot(t(level / 2) * of_seeds, z(level / 2) * of_items))


def folds(differences: Sequence[Array], k: int) -> Critical:
    """Return that of k folds, also drawn anew (Nadeau & Bengio 2003, Bouckaert & Frank 2004)."""
    number = len(differences)  # k times the draws
    variance = np.var([each.mean() for each in differences], ddof=1)
    if variance <= NOTHING**2:
        variance = np.mean([each.mean(0).var(ddof=1) / each.shape[1] for each in differences])
    error = (variance * (1 / number + 1 / (k - 1))) ** 0.5
    return lambda level: float(stats.t.isf(level / 2, number - 1) * error)


def compare(first: Sequence[Array], second: Sequence[Array], k: int, tests: int) -> Numbers:
    """Return the numbers of a comparison, corrected by Bonferroni for the tests of its family.

    The arguments have for each test split what each item (column) contributes to each run.
    """
    differences = [one - other for one, other in zip(first, second, strict=True)]
    runs, items = zip(*(each.shape for each in differences), strict=True)
    mean = float(np.average([each.mean() for each in differences], weights=runs))
    numbers: Numbers = {"tests": tests, "difference_pp": 100 * mean}
    if min(items) < 2 or sum(runs) < 2:
        return numbers
    critical = folds(differences, k) if k else crossed(first[0], second[0])
    number = sum(items) * k // len(items) if k else items[0]  # of different items
    level, size = ALPHA / tests, abs(mean)
    if critical(level) > NOTHING:
        half, p = critical(level), _p_value(critical, size)
        within = size + critical(min(2 * level, 1))
        if _few_differ(differences, k):  # Clopper & Pearson 1934
            share = stats.beta(size * number + 1, number * (1 - size)).isf(level)
            within = max(within, float(share))
    else:
        half, p = _of_one_difference(size, level, number)
        within = size + half
    low, high, within = max(mean - half, -1.0), min(mean + half, 1.0), min(within, 1.0)
    numbers |= {"low_pp": 100 * low, "high_pp": 100 * high, "p": p}
    return numbers | {"p_corrected": min(1.0, tests * p), "equal_within_pp": 100 * within}


def _of_one_difference(size: float, level: float, number: int) -> tuple[float, float]:
    """Return half the interval, and p, of equal differences: the number of items decides."""
    if size > NOTHING:
        return 2 * size * (1 - (level / 2) ** (1 / number)), max(2 * 0.5**number, SMALLEST_P)
    return 1 - level ** (1 / number), 1.0


def _few_differ(differences: Sequence[Array], k: int) -> bool:
    """Return whether a share of items is compared, and few of them differ in any run."""
    draws = len(differences) / k if k else 1
    different = sum(each.any(0).sum() for each in differences) / draws
    is_share = all(np.isin(each, (-1, 0, 1)).all() for each in differences)
    return bool(is_share and different < FEW_DIFFERENT)


def _p_value(critical: Critical, size: float) -> float:
    """Return the level at which a difference of this size is critical."""
    if critical(SMALLEST_T_P) <= size or not size:
        return SMALLEST_T_P if size else 1.0
    log = optimize.brentq(lambda x: critical(np.exp(x)) - size, np.log(SMALLEST_T_P), 0)
    return float(np.exp(log))


def verdict(numbers: Numbers, margin: float, first: float, second: float) -> str:
    """Return the verdict; twice the epochs may raise the models by `first` and `second` points."""
    differs = numbers.get("p_corrected", 1) < ALPHA
    same = numbers.get("equal_within_pp", np.inf) < margin
    worse = numbers["difference_pp"] < 0
    rise = first if worse else second
    near = min(abs(numbers.get("low_pp", 0)), abs(numbers.get("high_pp", 0)))
    stands = differs and not same and (not rise or rise < near)
    if (first or second) and not stands:
        return "not converged"
    said = ("better", "worse")[worse] if differs else "undecided"
    return "practically the same" if same else said


def recompute(folder: Path) -> str:
    """Recompute a published study, a folder docs/studies/NAME; return how much is as printed.

    Raises PublishedError: it cannot be recomputed, or some is not as printed, which has lines.
    """
    try:
        params = yaml.safe_load((folder / PARAMS).read_text("utf-8"))
        statistics = pd.read_parquet(folder / STATISTICS)
        printed, scores = (
            pd.read_csv(folder / name, dtype=str, keep_default_na=False)
            for name in (VERDICTS, SCORES)
        )
        unknown = {*printed["experiment"], *scores["experiment"]} - {*params["experiments"]}
        lines = [f"{name}: no experiment of {PARAMS}" for name in sorted(unknown)]
        for name in params["experiments"]:
            rows = printed[printed["experiment"] == name]
            runs = statistics[statistics["experiment"] == name].dropna(axis="columns", how="all")
            metric, of_model = _read_runs(name, runs)
            lines += _wrong_rows(params, name, rows, of_model)
            lines += _wrong_scores(scores[scores["experiment"] == name], metric, runs)
    except BROKEN as error:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        raise PublishedError(f"{folder}: cannot be read ({said}). {AGAIN}") from None
    if lines:
        raise PublishedError("\n".join([f"{folder}: not as printed:", *lines]))
    intervals, n = printed["low_pp"].ne("").sum(), len(printed)
    return (
        f"{folder}: {intervals} intervals and {n} verdicts of {n} comparisons are as printed in "
        f"{VERDICTS}, and the scores in {SCORES}"
    )


def _read_runs(name: str, table: pd.DataFrame) -> tuple[str, Runs]:
    """Return an experiment's metric, and what each item adds to it in every run: more is better."""
    metric = str(table["metric"].iloc[0])
    sign = -1 if metric.endswith(("loss", "error")) else 1
    if (table.groupby(KEYS[:3])["item"].agg(tuple).groupby("fold").nunique() > 1).any():
        raise PublishedError(f"{name}: the models were not tested on the same items. {AGAIN}")
    seeds = table[table["seed"] != 0].groupby(["model", "fold"])["seed"].unique().map(tuple)
    if table.duplicated(KEYS).any() or (seeds.groupby("fold").nunique() > 1).any():
        raise PublishedError(f"{name}: the models have not the same runs, one of each seed")
    return metric, {
        str(model): [
            np.stack([sign * contributions(metric, run) for _, run in of_fold.groupby("seed")])
            for _, of_fold in of_model.groupby("fold")
        ]
        for model, of_model in table.sort_values(KEYS).groupby("model")
    }


def _agrees(name: str, text: str, value: float | None) -> bool:
    """Return whether a printed number is the value, to two decimals; a p to three digits.

    Where nothing varies between seeds, rounding decides a p below ROUNDING.
    """
    if not text or value is None:
        return not text and value is None
    printed, step = float(pd.to_numeric(text, errors="coerce")), 0.01
    if name.startswith("p"):
        printed, value = max(printed, ROUNDING), max(value, ROUNDING)
        step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return abs(printed - value) <= 0.500001 * step


def _wrong_rows(params: Any, name: str, rows: pd.DataFrame, runs: Runs) -> Iterator[str]:
    """Yield the comparisons of an experiment that come out otherwise; rows have `…_rise_pp`."""
    margin = params["study"].get("equivalence_margin", 1.0)
    k = params["corpora"][params["experiments"][name]["corpus"]]["split"].get("k", 0)
    families = Counter(rows["family"]) | {"trivial": 1}
    for _, row in rows.iterrows():
        first, second = row["first"], row["second"]
        if absent := {first, second} - {*runs}:
            raise PublishedError(f"{name}: no statistics of {min(absent)}. {AGAIN}")
        numbers = compare(runs[first], runs[second], k, families[row["family"]])
        if wrong := [*_wrong_cells(row, numbers, margin)]:
            yield f"{name}: {first} − {second}: {'; '.join(wrong)}"
    in_family = rows.groupby("family")["first"].agg(set)
    if "primary" in families and (absent := {*runs} - {*rows["first"], *rows["second"]}):
        yield f"{name}: no row of {VERDICTS} has {min(absent)}"
    if absent := in_family.get("reference_models", set()) - in_family.get("trivial", set()):
        yield f"{name}: no row of {VERDICTS} compares {min(absent)} with the trivial model"
    if ("primary" in families) != rows["role"].isin(["control", "baseline"]).any():
        yield f"{name}: {VERDICTS} has no primary row, or no role of it"


def _wrong_cells(row: Any, numbers: Numbers, margin: float) -> Iterator[str]:
    for each in CHECKED:
        if not _agrees(each, row[each], value := numbers.get(each)):
            yield f"{each} is printed as {row[each] or 'empty'}, and comes out as {value}"
    rises = (float(row[f"{each}_rise_pp"] or 0) for each in ("first", "second"))
    if (said := verdict(numbers, margin, *rises)) != row["verdict"]:
        yield f"the verdict is printed as {row['verdict']}, and comes out as {said}"


def _wrong_scores(printed: pd.DataFrame, metric: str, runs: pd.DataFrame) -> Iterator[str]:
    """Yield the scores on the test that do not come out; a reference model has no seed."""
    rows = printed[(printed["split"] == "test") & (printed["metric"] == metric)]
    both: dict[tuple[str, str], tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for model, seed, value in zip(rows["model"], rows["seed"], rows["value"], strict=True):
        both[model, seed or "0"][0].append(float(value))
    for (model, seed, _), run in runs.groupby(KEYS[:3]):
        both[str(model), str(seed)][1].append(float(contributions(metric, run).mean()))
    for (model, seed), (there, found) in both.items():
        if len(there) != len(found) or not np.allclose(sorted(there), sorted(found), 1e-9, 0):
            yield f"{SCORES}: {model}, seed {seed}: {there} is printed, {found} comes out"


if __name__ == "__main__":
    try:
        print(recompute(Path(sys.argv[-1])))
    except PublishedError as error:
        sys.exit(str(error))
