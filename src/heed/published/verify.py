"""Recompute a published study from its statistics: scores, differences, intervals and verdicts.

The formulas of docs/read/statistics.md are written down here a second time, with numpy, scipy and
pandas alone, so that a reader can check a study without heed: python verify.py docs/studies/NAME
"""

import bisect
import functools
import re
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml
from scipy import optimize, stats
from scipy.stats import norm

PARAMS, EDITION, SCORES = "params.yaml", "edition.json", "results.csv"  # of a published study
STATISTICS, VERDICTS = "statistics.parquet", "verdicts.csv"
KEYS = ["model", "seed", "fold", "item"]  # of a run's row; then come the metric and its statistics
ALPHA, POWER, MAX_SEEDS, MANY_ITEMS, FEW_DIFFERENT = 0.05, 0.8, 1000, 100, 10
NOTHING, LEAST_P = 1e-12, 1e-100
MEANS = {"accuracy": "right"}  # metric: the statistic it is the mean of
SAME = {"accuracy": "weighted_recall", "weighted_recall": "accuracy"}  # of items with one label
LABELS = ("true:", "predicted:", "both:")  # of each class, in columns with these prefixes
OF_LABELS = re.compile(r"(macro|weighted)_(precision|recall|f1)")
BROKEN = (  # errors of files that are not as `heed publish` writes them
    ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError,
    yaml.YAMLError,
)  # fmt: skip
AGAIN = "Restore it by git, or publish it again"
CHECKED = {  # of a comparison, with the format that each is printed in
    "tests": "d", "difference_pp": ".2f", "low_pp": ".2f", "high_pp": ".2f", "p": ".3g",
    "p_corrected": ".3g", "equal_within_pp": ".2f", "seeds_needed": "d", "detectable_pp": ".2f",
    "verdict": "s",
}  # fmt: skip
UNCHECKED = "first_rise_pp, second_rise_pp and tuned_alike"

Array = np.ndarray
Numbers = dict[str, float]  # of a comparison, by CHECKED
Runs = dict[str, list[Array]]  # by model: for each fold, (runs, items)


class PublishedError(Exception):
    """A published study that cannot be recomputed, or comes out otherwise, with what to do."""

    def __str__(self) -> str:
        """Return its lines."""
        return _shown(*self.args)


def _shown(*lines: str) -> str:
    """Return the lines without what controls a terminal, which a stranger's files may have."""
    text = "\n".join(line.replace("\n", "[U+000A]") for line in lines)
    return "".join(c if c.isprintable() or c == "\n" else f"[U+{ord(c):04X}]" for c in text)


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


class Variance(NamedTuple):
    """The variance of a mean difference: one part falls with the number of seeds, one stays."""

    of_seeds: float  # of one seed
    of_items: float
    models: float  # whose seeds vary; 0: folds, whose degrees of freedom are those of both parts
    freedom: float

    def error(self, seeds: int) -> float:
        """Return the standard error."""
        return float((self.of_seeds / seeds + self.of_items) ** 0.5)

    def critical(self, level: float, seeds: int) -> float:
        """Return the critical difference, two-sided: that of both parts, combined as Howe 1974."""
        t = stats.t.isf(level / 2, [self.models * (seeds - 1) or self.freedom, self.freedom])
        return float(np.hypot(*(t * np.sqrt([self.of_seeds / seeds, self.of_items]))))

    def power(self, size: float, level: float, seeds: int) -> float:
        """Return how probably a difference is found, by one t with the same critical difference."""
        if (error := self.error(seeds)) <= NOTHING**2:
            return float(size > NOTHING)
        t = self.critical(level, seeds) / error
        freedom = 1 / _root(lambda share: t - stats.t.isf(level / 2, 1 / share), 1e-9, 2)
        shift = min(size / error, 20 * t + 50)  # where it is 1; beyond, scipy returns NaN
        lower, upper = stats.nct.cdf(-t, freedom, shift), stats.nct.sf(t, freedom, shift)
        return float(np.nan_to_num(lower) + upper)


def _root(falls: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function that falls is 0, or the end of the range that is nearest."""
    if falls(low) <= 0 or falls(high) >= 0:
        return low if falls(low) <= 0 else high
    return float(optimize.brentq(falls, low, high))


def crossed(first: Array, second: Array) -> Variance:
    """Return the variance with a fixed split: seeds (rows) and items are crossed.

    Student's t is for seeds (Welch 1947), and for items below MANY_ITEMS, else the normal one.
    """
    difference = first - second
    runs, items = difference.shape
    own = np.array([each.mean(1).var(ddof=1) if len(each) > 1 else 0 for each in (first, second)])
    by_item, by_run = difference.mean(0), difference.mean(1, keepdims=True)
    rest = ((difference - by_run - by_item + difference.mean()) ** 2).sum()
    residual = rest / ((runs - 1) * (items - 1))
    models = np.clip(own.sum() ** 2 / max((own**2).sum(), sys.float_info.min), 1, 2)
    of_items = max(by_item.var(ddof=1) - residual / runs, 0) / items
    freedom = items - 1 if items < MANY_ITEMS else np.inf
    return Variance(max(own.sum(), residual / items), of_items, models, freedom)


def folds(differences: Sequence[Array], k: int) -> Variance:
    """Return that of k folds, also drawn anew (Nadeau & Bengio 2003, Bouckaert & Frank 2004)."""
    number, runs = len(differences), len(differences[0])  # k times the draws; runs of a fold
    of_items = np.mean([each.mean(0).var(ddof=1) / each.shape[1] for each in differences])
    whole = np.var([each.mean() for each in differences], ddof=1)
    whole = whole if whole > NOTHING**2 else of_items
    one = np.mean([each.mean(1).var(ddof=1) for each in differences]) if runs > 1 else None
    of_seeds = np.clip(whole - of_items if one is None else one, 0, whole * runs)
    factor = 1 / number + 1 / (k - 1)
    return Variance(factor * number * of_seeds, factor * (whole - of_seeds / runs), 0, number - 1)


def _crossing(places: Array, mass: Array, step: float, more: float, end: float) -> float:
    """Return by how much the probability to cross an end, above or below, is more than `more`."""
    return float(mass @ (norm.sf(end, places, step) + norm.cdf(-end, places, step)) - more)


@functools.cache
def look_levels(looks: tuple[int, ...], alpha: float) -> list[float]:
    """Return the level of each look at so many seeds (Lan & DeMets 1983, as O'Brien & Fleming).

    A path is a sum of normal steps; `mass` has those that have crossed no boundary, by place.
    """
    places, mass, before, used, found = np.zeros(1), np.ones(1), 0.0, 0.0, []
    for share in np.array(looks) / looks[-1]:
        step, spent = (share - before) ** 0.5, 4 * norm.sf(norm.isf(alpha / 4) / share**0.5)
        crossing = functools.partial(_crossing, places, mass, step, spent - used)
        end = _root(crossing, 0, 40 * share**0.5)
        found.append(float(2 * norm.sf(end / share**0.5)))
        grid = np.linspace(-end, end, 4001)
        mass = (grid[1] - grid[0]) * (mass @ norm.pdf(grid, places[:, None], step))
        mass[[0, -1]] /= 2
        places, before, used = grid, share, spent
    return found


def _levels(looks: Sequence[int], seeds: int, alpha: float) -> tuple[float, float]:
    """Return the level of the look with so many seeds, and of the last one."""
    levels = look_levels((*looks,), alpha) if looks else [alpha]
    return levels[looks.index(seeds) if looks else 0], levels[-1]


def compare(
    first: Sequence[Array], second: Sequence[Array], k: int, tests: int, looks: Sequence[int] = ()
) -> Numbers:
    """Return the numbers of a comparison, corrected by Bonferroni for the tests of its family.

    The first arguments have for each test split what each item (column) contributes to each run.
    Of declared looks each has a level of its own, and `seeds_needed` is by that of the last.
    """
    differences = [one - other for one, other in zip(first, second, strict=True)]
    runs, items = zip(*(each.shape for each in differences), strict=True)
    mean, seeds = float(np.average([each.mean() for each in differences], weights=runs)), sum(runs)
    numbers: Numbers = {"tests": tests, "difference_pp": 100 * mean}
    if min(items) < 2 or seeds < 2:
        return numbers
    if k:
        variance, step = folds(differences, k), len(differences)
        number = sum(items) * k // step  # of different items
    else:
        variance, step, number = crossed(first[0], second[0]), 1, items[0]
    level, last = _levels(looks, seeds, ALPHA / tests)
    size = abs(mean)
    if (error := variance.error(seeds)) > NOTHING:
        half, within = (variance.critical(each, seeds) for each in (level, min(2 * level, 1)))
        within = max(size + within, _largest_share(differences, number, size, level))
        log = _root(lambda log: variance.critical(np.exp(log), seeds) - size, np.log(LEAST_P), 0)
        p, limit = float(np.exp(log)), 20 * half + 50 * error
        found = _root(lambda each: POWER - variance.power(each, level, seeds), 0, limit)
    else:
        half, p = _of_equal_differences(size, level, number)
        found, within = half, size + half
    numbers |= _seeds_needed(variance, size, last, range(max(step, 2), MAX_SEEDS + 1, step))
    low, high, within = max(mean - half, -1.0), min(mean + half, 1.0), min(within, 1.0)
    ends = {"low_pp": 100 * low, "high_pp": 100 * high, "p": p}
    others = {"equal_within_pp": 100 * within, "detectable_pp": min(100 * found, 100)}
    return numbers | ends | others | {"p_corrected": min(1.0, ALPHA / level * p)}


def _of_equal_differences(size: float, level: float, number: int) -> tuple[float, float]:
    """Return half the interval, and p: the number of items decides."""
    if size > NOTHING:
        half = 2 * size * (1 - (level / 2) ** (1 / number))
        return half, max(2 * 0.5**number, sys.float_info.min)
    return 1 - level ** (1 / number), 1.0


def _seeds_needed(variance: Variance, size: float, level: float, counts: range) -> Numbers:
    """Return the least number of seeds that detects a difference of this size, if any does."""
    powers = functools.partial(variance.power, size, level)
    enough = powers(counts[-1]) >= POWER
    return {"seeds_needed": counts[bisect.bisect(counts, POWER, key=powers)]} if enough else {}


def _largest_share(differences: Sequence[Array], number: int, size: float, level: float) -> float:
    """Return the largest tenable share of items that differ (Clopper & Pearson 1934).

    It is 0 where no share is compared, or FEW_DIFFERENT of so many items differ in any run.
    """
    each_item = np.concatenate([each.any(0) for each in differences])
    is_share = all(np.isin(each, (-1, 0, 1)).all() for each in differences)
    if not is_share or each_item.mean() * number >= FEW_DIFFERENT:
        return 0.0
    return float(stats.beta(size * number + 1, number * (1 - size)).isf(level))


def verdict(numbers: Numbers, margin: float, first: float, second: float) -> str:
    """Return the verdict; twice the epochs may raise the models by `first` and `second` points."""
    differs = numbers.get("p_corrected", 1) < ALPHA
    same = numbers.get("equal_within_pp", np.inf) < margin
    better = numbers["difference_pp"] >= 0
    said = "better" if better else "worse"
    if same or not differs:
        said, rise, near = "practically the same" if same else "undecided", first + second, 0.0
    else:
        rise = second if better else first
        near = min(abs(numbers.get("low_pp", 0)), abs(numbers.get("high_pp", 0)))
    return "not converged" if 0 < rise >= near else said


def recompute(folder: Path) -> str:
    """Recompute a published study, a folder docs/studies/NAME; return what is as printed, what not.

    Raises PublishedError: it cannot be recomputed, or some is not as printed, which has lines.
    """
    lines: list[str] = []
    unchecked: Counter[str] = Counter()  # scores, by split and metric
    try:
        for path in sorted(folder.rglob("*")):
            if stat.S_IFMT(path.lstat().st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
                raise PublishedError(f"{path}: a link, or no file. Remove it, or {AGAIN}")
        (folder / EDITION).lstat()
        params = yaml.safe_load((folder / PARAMS).read_text("utf-8"))
        statistics = pd.read_parquet(folder / STATISTICS)
        rows, scores = (
            pd.read_csv(folder / name, dtype=str, keep_default_na=False)
            for name in (VERDICTS, SCORES)
        )
        unknown = {*rows["experiment"], *scores["experiment"]} - {*params["experiments"]}
        lines += [f"{name}: no experiment of {PARAMS}" for name in sorted(unknown)]
        for name in params["experiments"]:
            of_name = [each[each["experiment"] == name] for each in (statistics, rows, scores)]
            runs = of_name[0].dropna(axis="columns", how="all")
            found = [*_wrong_rows(params, name, of_name[1], _read_runs(name, runs))]
            lines += [*found, *_wrong_scores(name, of_name[2], runs, unchecked)]
    except BROKEN as error:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        raise PublishedError(f"{folder}: cannot be read ({said}). {AGAIN}") from None
    if lines:
        raise PublishedError(f"{folder}: not as printed:", *lines)
    intervals, n, m = rows["low_pp"].ne("").sum(), len(rows), len(scores)
    return _shown(
        f"{folder}: {intervals} intervals and {n} verdicts of {n} comparisons are as printed in "
        f"{VERDICTS}, and {m - unchecked.total()} of {m} scores in {SCORES}",
        f"Not checked, as {STATISTICS} does not have it: {', '.join(unchecked)} in {SCORES}; "
        f"{UNCHECKED} in {VERDICTS}; {EDITION}; text and figures",
    )


def _read_runs(name: str, table: pd.DataFrame) -> Runs:
    """Return what each item adds to the metric that decides, in every run: more is better."""
    metric = str(table["metric"].iloc[0])
    sign = -1 if metric.endswith(("loss", "error")) else 1
    if (table.groupby(KEYS[:3])["item"].agg(tuple).groupby("fold").nunique() > 1).any():
        raise PublishedError(f"{name}: the models were not tested on the same items. {AGAIN}")
    seeds = table[table["seed"] != 0].groupby(["model", "fold"])["seed"].unique().map(tuple)
    if table.duplicated(KEYS).any() or (seeds.groupby("fold").nunique() > 1).any():
        raise PublishedError(f"{name}: the models have not the same runs, one of each seed")
    return {
        str(model): [
            np.stack([sign * contributions(metric, run) for _, run in of_fold.groupby("seed")])
            for _, of_fold in of_model.groupby("fold")
        ]
        for model, of_model in table.sort_values(KEYS).groupby("model")
    }


def _agrees(form: str, text: str, value: Any) -> bool:
    """Return whether a value is printed in its format: where it ends in a 5, up or down."""
    if form == "s" or not text or value is None:
        return bool(text == ("" if value is None else value))
    near = (1,) if form == "d" else (1 - 1e-9, 1, 1 + 1e-9)
    return pd.to_numeric(text, errors="coerce") in {float(f"{value * n:{form}}") for n in near}


def _wrong_rows(params: Any, name: str, rows: pd.DataFrame, runs: Runs) -> Iterator[str]:
    """Yield the comparisons of an experiment that come out otherwise; rows have `…_rise_pp`."""
    margin = params["study"].get("equivalence_margin", 1.0)
    k = params["corpora"][params["experiments"][name]["corpus"]]["split"].get("k", 0)
    families = Counter(rows["family"]) | {"trivial": 1}
    for row in rows.to_dict("records"):
        first, second = row["first"], row["second"]
        if absent := {first, second} - {*runs}:
            raise PublishedError(f"{name}: no statistics of {min(absent)}. {AGAIN}")
        looks = params["study"].get("looks", ())
        numbers = compare(runs[first], runs[second], k, families[row["family"]], looks)
        rises = (float(row[f"{each}_rise_pp"] or 0) for each in ("first", "second"))
        found: dict[str, Any] = {**numbers, "verdict": verdict(numbers, margin, *rises)}
        if wrong := [
            f"{each} is printed as {row[each] or 'empty'}, and recomputed it is {found.get(each)}"
            for each, form in CHECKED.items()
            if not _agrees(form, row[each], found.get(each))
        ]:
            yield f"{name}: {first} − {second}: {'; '.join(wrong)}"
    yield from (f"{name}: {wrong}" for wrong in _missing_rows(rows, families, runs))


def _missing_rows(rows: pd.DataFrame, families: dict[Any, int], runs: Runs) -> Iterator[str]:
    in_family = rows.groupby("family")["first"].agg(set)
    if "primary" in families and (absent := {*runs} - {*rows["first"], *rows["second"]}):
        yield f"no row of {VERDICTS} has {min(absent)}"
    if absent := in_family.get("reference_models", set()) - in_family.get("trivial", set()):
        yield f"no row of {VERDICTS} compares {min(absent)} with the trivial model"
    if ("primary" in families) != rows["role"].isin(["control", "baseline"]).any():
        yield f"{VERDICTS} has no primary row, or no role of it"


def _wrong_scores(
    name: str, printed: pd.DataFrame, runs: pd.DataFrame, unchecked: Counter[str]
) -> Iterator[str]:
    """Yield the scores that are not those of the runs, and count the `unchecked`."""
    by_run, decides = [*runs.groupby(KEYS[:3])], ("test", runs["metric"].iloc[0])
    seeds = printed["seed"].replace("", "0").astype(int)  # a reference model has none
    printed = printed.assign(seed=seeds, value=printed["value"].astype(float))
    groups: dict[Any, pd.DataFrame] = dict([*printed.groupby(["split", "metric"])])
    for split, metric in sorted({decides, *groups}):
        rows = groups.get((split, metric), printed[:0])
        formula = _formula(metric, runs) if split == "test" else ""
        if not formula:  # its seeds, at least, are those of the runs
            unchecked[f"{split} {metric}"] += len(rows)
            rows = rows.assign(value=0.0)
        shown: dict[Any, list[Any]] = {
            model: [*zip(each["seed"], each["value"], strict=True)]
            for model, each in rows.groupby("model")
        }
        found = _scores_of(by_run, formula)
        names = {*shown, *found} if (split, metric) == decides else {*shown}
        for model in sorted(names):
            one, other = (sorted(each.get(model, [])) for each in (shown, found))
            if len(one) != len(other) or not np.allclose(one, other, 1e-12, 0):
                said = f"{split} {metric} by seed in {SCORES} is printed as"
                yield f"{name}: {model}: {said} {one}, and recomputed they are {other}"


def _formula(metric: str, runs: pd.DataFrame) -> str:
    """Return the metric, or one of the same value, that these statistics have; empty: none."""
    possible = (
        each for each in (metric, SAME.get(metric, "")) if statistics_of(each, [*map(str, runs)])
    )
    return next(possible, "")


def _scores_of(by_run: list[Any], formula: str) -> dict[Any, list[Any]]:
    """Return seeds and scores by model; without a formula each score is 0."""
    found: dict[Any, list[Any]] = {}
    for (model, seed, _), run in by_run:
        value = float(contributions(formula, run).mean()) if formula else 0.0
        found.setdefault(model, []).append((seed, value))
    return found


if __name__ == "__main__":
    try:
        print(recompute(Path(sys.argv[-1])))
    except PublishedError as error:
        sys.exit(str(error))
