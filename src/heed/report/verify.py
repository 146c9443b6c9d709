"""Recompute the intervals and verdicts of an edition from its statistics of every run and item.

The formulas of docs/statistics.md are written down here a second time, with numpy, scipy and pandas
alone, so that a reader can check an edition without heed: python verify.py docs/studies/NAME
"""

import contextlib
import csv
import hashlib
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pandas as pd
import yaml
from scipy import optimize, stats

STATISTICS, CHECKSUMS = "statistics", "SHA256SUMS"  # the folder in an edition, and in it its hashes
KEYS = ["model", "seed", "fold", "item"]  # of a row; then come the metric and its statistics
ALPHA, NOTHING, SMALLEST_P, SMALLEST_T_P = 0.05, 1e-12, sys.float_info.min, 1e-100
ROUNDING, MANY_ITEMS, FEW_DIFFERENT = 1e-16, 100, 10
MEANS = {"accuracy": "right", "subset_accuracy": "right"}  # metric: the statistic it is the mean of
LABELS = ("true:", "predicted:", "both:")  # of each class, in columns with these prefixes
OF_LABELS = re.compile(r"(micro|macro|weighted)_(precision|recall|f1)|label_accuracy")
CHECKED = ("tests", "difference_pp", "low_pp", "high_pp", "p", "p_corrected", "equal_within_pp")
PAIR = ("first", "second", "family", "verdict")  # further columns of a table of comparisons
INTERVAL = re.compile(r"([+-]\d+\.\d+|0\.0+) (?:to|bis) ([+-]\d+\.\d+|0\.0+)")

Array = np.ndarray
Numbers = dict[str, float]  # of a comparison, by CHECKED
Critical = Callable[[float], float]  # the critical difference, two-sided, at a level
Pair = tuple[str, str, str]  # the experiment and both models of a comparison
Results = dict[Pair, tuple[Numbers, str]]  # with the verdict


class EditionError(Exception):
    """An edition that cannot be recomputed, or comes out otherwise, with what to do."""


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
        raise EditionError(f"{metric}: a metric without a formula here")
    if len(values.columns) == 1:
        return values.iloc[:, 0].to_numpy()
    score_of = {"bleu": _bleu, "chrf": _chrf}.get(metric) or (lambda sums: _of_labels(metric, sums))
    if metric == "label_accuracy":  # a mean
        return score_of(values)
    score, without = score_of(values.sum().to_frame().T), score_of(values.sum() - values)
    return np.asarray(score + (len(values) - 1) * (without.mean() - without))


def _of_labels(metric: str, sums: pd.DataFrame) -> Array:
    true, predicted, both = (sums.filter(regex=f"^{kind}").to_numpy() for kind in LABELS)
    average, kind = metric.split("_")
    if average == "label":
        return np.asarray(1 - (true + predicted - 2 * both).mean(1))
    if average == "micro":
        true, predicted, both = (each.sum(1, keepdims=True) for each in (true, predicted, both))
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
    """Return the critical difference of k folds, drawn once or more often.

    By Student's t (Nadeau & Bengio 2003, of repeated folds Bouckaert & Frank 2004).
    """
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
    else:  # all items have one difference: their number decides
        unseen = 1 - (level / 2 if size > NOTHING else level) ** (1 / number)
        half, p = (2 * size * unseen, 2 * 0.5**number) if size > NOTHING else (unseen, 1.0)
        within, p = size + half, max(p, SMALLEST_P)
    numbers |= {"low_pp": 100 * (mean - half), "high_pp": 100 * (mean + half), "p": p}
    return numbers | {"p_corrected": min(1.0, tests * p), "equal_within_pp": 100 * within}


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
    said = ("worse" if worse else "better") if differs else "undecided"
    return "practically the same" if same else said


def recompute(edition: Path) -> str:
    """Recompute an edition, a folder docs/studies/NAME; return how much is as printed.

    Raises EditionError: it cannot be recomputed, or some is not as printed, which has lines.
    """
    if not (edition / STATISTICS / CHECKSUMS).is_file():
        raise EditionError(
            f"{edition}: has no {STATISTICS}/: it was published before heed kept the statistics of "
            "every run and item (or is no edition), and cannot be recomputed. Publish it again"
        )
    with _reading(edition / "params.yaml") as path:
        params = yaml.safe_load(path.read_text("utf-8"))
        names = [*params["experiments"]]
    with _reading(edition / STATISTICS / CHECKSUMS) as path:
        hashes = dict(line.split("  ", 1)[::-1] for line in path.read_text("utf-8").splitlines())
    for name in hashes.keys() | {f"{name}.parquet" for name in names}:
        path = edition / STATISTICS / Path(name).name
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        if not digest or digest != hashes.get(name):
            raise EditionError(f"{path}: not as it was published (by its hash in {CHECKSUMS})")
    results: Results = {}
    primary: dict[str, Pair] = {}
    lines = [f"{edition}: not as printed:"]
    for name in names:
        with _reading(edition / STATISTICS / f"{name}.parquet"):
            lines += _wrong_rows(edition, params, name, results, primary)
    for wrong in (_wrong_verdicts, _wrong_metrics, _wrong_tables, _wrong_prose):
        with _reading(edition):
            lines += wrong(edition, results, primary)
    if len(lines) > 1:
        raise EditionError("\n".join(lines))
    intervals, n = sum("low_pp" in numbers for numbers, _ in results.values()), len(results)
    return (
        f"{edition}: {intervals} intervals and {n} verdicts of {n} comparisons are as printed in "
        "its tables"
    )


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[Path]:
    """Turn what reading broken files raises into one message."""
    try:
        yield path
    except (OSError, ValueError, LookupError, TypeError, AttributeError, yaml.YAMLError) as error:
        said = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        raise EditionError(f"{path}: cannot be read ({said}). Publish it again") from None


def _read_csv(path: Path, *columns: str) -> list[dict[str, str]]:
    if not path.is_file():
        raise EditionError(f"{path}: not there: the edition is not whole. Publish it again")
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if absent := [name for name in columns if name not in (reader.fieldnames or ())]:
            raise EditionError(f"{path}: has no column {', '.join(absent)}. Publish it again")
        return [*reader]


def _read_runs(path: Path) -> dict[str, list[Array]]:
    """Return for each model and test split what each item contributes to each run.

    Where less of a metric is better it is subtracted, as heed does, by the metric's name.
    """
    table = pd.read_parquet(path).sort_values(KEYS)
    metric = table["metric"].iloc[0]
    sign = -1 if metric.endswith(("loss", "error")) else 1
    if (table.groupby(KEYS[:3])["item"].agg(tuple).groupby("fold").nunique() > 1).any():
        raise EditionError(f"{path}: the models were not tested on the same items")
    seeds = table[table["seed"] != 0].groupby(["model", "fold"])["seed"].unique().map(tuple)
    if table.duplicated(KEYS).any() or (seeds.groupby("fold").nunique() > 1).any():
        raise EditionError(f"{path}: the models have not the same runs, one of each seed")
    return {
        str(model): [
            np.stack([sign * contributions(metric, run) for _, run in of_fold.groupby("seed")])
            for _, of_fold in of_model.groupby("fold")
        ]
        for model, of_model in table.groupby("model")
    }


def _agrees(name: str, text: str, value: float | None) -> bool:
    """Return whether a printed number is the value, to two decimals; a p to three digits.

    Where nothing varies between seeds, rounding decides a p below ROUNDING.
    """
    if not text or value is None:
        return not text and value is None
    try:
        printed = float(text)
    except ValueError:
        return False
    step = 0.01
    if name.startswith("p"):
        printed, value = max(printed, ROUNDING), max(value, ROUNDING)
        step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return abs(printed - value) <= 0.500001 * step


def _wrong_numbers(printed: Mapping[str, str], numbers: Numbers, kind: str = "") -> list[str]:
    """Return what is printed otherwise of a comparison's numbers; `kind` begins their names."""
    renamed = {"gain_pp": "difference_pp", f"{kind}low_pp": "low_pp", f"{kind}high_pp": "high_pp"}
    return [
        f"{name} is printed as {printed[name] or 'empty'}, and comes out as {numbers.get(number)}"
        for name, number in ({number: number for number in CHECKED} | renamed).items()
        if name in printed and not _agrees(number, printed[name], numbers.get(number))
    ]


def _wrong_rows(
    edition: Path, params: Any, experiment: str, results: Results, primary: dict[str, Pair]
) -> Iterator[str]:
    """Recompute the comparisons of an experiment into `results`; yield those that differ.

    Whether a model has converged its table of convergence says.
    """
    declared, tables = params["experiments"][experiment], edition / "tables"
    margin = params["study"].get("equivalence_margin", 1.0)
    k = params["corpora"][declared["corpus"]]["split"].get("k", 0)
    runs = _read_runs(edition / STATISTICS / f"{experiment}.parquet")
    rows = _read_csv(tables / f"{experiment}_comparisons.csv", *PAIR, *CHECKED)
    tried = tables / f"{experiment}_convergence.csv"
    columns = "variant", "convergence", "metric", "difference_pp", "margin_pp"
    longer = _read_csv(tried, *columns) if tried.is_file() else []
    rises = {
        row["variant"]: float(row["difference_pp"]) + float(row["margin_pp"])
        if row["metric"] == declared.get("metric", row["metric"])
        else np.inf
        for row in longer
        if row["convergence"] == "not converged"
    }
    families = Counter(row["family"] for row in rows) | {"trivial": 1}
    for row in rows:
        pair = row["first"], row["second"]
        if absent := {*pair} - {*runs}:
            raise EditionError(f"{edition}: {experiment} has no statistics of {min(absent)}")
        numbers = compare(runs[pair[0]], runs[pair[1]], k, families[row["family"]])
        said = verdict(numbers, margin, *(rises.get(each, 0.0) for each in pair))
        results[experiment, *pair] = numbers, said
        if row["family"] == "primary":
            primary[experiment] = experiment, *pair
        wrong = _wrong_numbers(row, numbers)
        if said != row["verdict"]:
            wrong.append(f"the verdict is printed as {row['verdict']}, and comes out as {said}")
        if wrong:
            yield f"{experiment}: {pair[0]} − {pair[1]}: {'; '.join(wrong)}"
    compared = {name for row in rows for name in (row["first"], row["second"])}
    if experiment in primary and (absent := {*runs} - compared):
        yield f"{experiment}: no row of its comparisons has {min(absent)}"


def _wrong_verdicts(edition: Path, results: Results, primary: dict[str, Pair]) -> Iterator[str]:
    """Yield the verdicts in the matrix that do not come out, and what has no row there."""
    rows = _read_csv(edition / "tables/verdicts.csv", "experiment", "variant")
    for row in rows:
        for kind in (name for name in row if row[name] and f"{name}_verdict" in row):
            of = row["experiment"], row["variant"], row[kind]
            numbers, said = results.get(of, ({}, ""))
            pair = f"tables/verdicts.csv: {of[0]}: {of[1]} − {of[2]}"
            if said != (printed := row[f"{kind}_verdict"]):
                yield f"{pair}: {printed or 'none'} is printed, {said or 'none'} comes out"
            for wrong in _wrong_numbers({"difference_pp": row[f"{kind}_pp"]}, numbers):
                yield f"{pair}: {wrong}"
    # a study of reference models alone has no column of a control
    there = {(row["experiment"], row["variant"], row.get("control", "")) for row in rows}
    for experiment, first, second in sorted({*primary.values()} - there):
        yield f"tables/verdicts.csv: {experiment}: no row has {first} − {second}"


def _wrong_metrics(edition: Path, results: Results, primary: dict[str, Pair]) -> Iterator[str]:
    """Yield what metrics.json has otherwise than the primary comparison of each experiment."""
    with _reading(edition / "metrics.json") as path:
        metrics = json.loads(path.read_text("utf-8"), parse_float=str, parse_int=str)
    for experiment, pair in primary.items():
        numbers, said = results[pair]
        names = [name for name in ("difference_pp", "low_pp", "high_pp") if name in numbers]
        printed = dict.fromkeys(names, "") | metrics.get(experiment, {})
        wrong = _wrong_numbers({name: printed[name] for name in names}, numbers)
        if printed.get("verdict") != said:
            wrong.append(f"the verdict is printed as {printed.get('verdict')}, not {said}")
        if wrong:
            yield f"metrics.json: {experiment}: {'; '.join(wrong)}"


def _wrong_tables(edition: Path, results: Results, primary: dict[str, Pair]) -> Iterator[str]:
    """Yield the rows of other tables with an interval that is not that of their comparison."""
    for path in sorted(edition.rglob("*.csv")):
        for row in _read_csv(path) if "_comparisons" not in path.name else ():
            kind = "gain_" if "gain_low_pp" in row else ""
            if f"{kind}low_pp" not in row:
                continue
            numbers, said = results.get(pair := _pair_of(row, results, primary), ({}, ""))
            wrong = _wrong_numbers(row, numbers, kind) if numbers or row[f"{kind}low_pp"] else []
            if path.name.startswith("summary") and row["experiment"] in primary:
                said = results[primary[row["experiment"]]][1]
            if numbers and row.get("verdict", said) != said:
                wrong.append(f"the verdict is printed as {row['verdict']}, not {said}")
            if wrong:
                yield f"{path.relative_to(edition)}: {' '.join(pair)}: {'; '.join(wrong)}"


def _pair_of(row: Mapping[str, str], results: Results, primary: dict[str, Pair]) -> Pair:
    """Return the comparison of a row; a gain is over the variant's own baseline, or the baseline.

    A row without a variant is of the experiment's question.
    """
    experiment = row["experiment"]
    if "compared" in row:
        first, second = row["compared"].split(" − ")
        return experiment, first, second
    first = row.get("variant") or primary.get(experiment, ("", "", ""))[1]
    own = row.get("control") or f"{first}-baseline"
    has_own = "control" in row or (experiment, first, own) in results
    return experiment, first, own if has_own else "baseline"


def _wrong_prose(edition: Path, results: Results, _: dict[str, Pair]) -> Iterator[str]:
    """Yield each interval in page, paper and figures that is that of none of the comparisons."""
    if not (edition / "index.html").is_file():
        raise EditionError(f"{edition}/index.html: not there: the edition is not whole")
    known = [each for each, _ in results.values() if "low_pp" in each]
    for path in sorted(edition.rglob("*")):
        if path.suffix not in (".html", ".svg", ".tex"):
            continue
        text = unquote(path.read_text("utf-8")).replace("\\textminus{}", "-").replace("−", "-")
        for low, high in dict.fromkeys(INTERVAL.findall(text)):
            ends = {"low_pp": low, "high_pp": high}
            if all(_wrong_numbers(ends, each) for each in known):
                yield f"{path.relative_to(edition)}: {low} to {high} is that of no comparison"


if __name__ == "__main__":
    try:
        print(recompute(Path(sys.argv[-1])))
    except EditionError as error:
        sys.exit(str(error))
