"""statistics.parquet of a published study: `heed publish` writes it, `heed verify` recomputes.

Scores, differences, intervals and verdicts are computed of it as `heed compare` does, and compared
with the tables of the study, cell by cell. docs/reference/files.md says what is not checked.
"""

import io
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from heed.evaluation import significance
from heed.evaluation.comparison import RESULTS_TABLE, ByItem, Differences, assess_pairs
from heed.evaluation.item_statistics import Tested, read_model, read_reference_models
from heed.evaluation.looks import Looks
from heed.evaluation.results import Comparison, ExperimentResult, Significance, verdict
from heed.files import HeedError
from heed.paths import PARAMS
from heed.task.interface import Metric
from heed.tasks.classification import metrics as classification
from heed.tasks.translation import metrics as translation

EDITION, STATISTICS = "edition.json", "statistics.parquet"  # of a published study
SCORES, VERDICTS = RESULTS_TABLE, "verdicts.csv"
KEYS = ["model", "seed", "fold", "item"]  # of a row; then come the metric and its statistics
RUN = KEYS[:3]
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
SUBJECT = {"metric": "s", "corpus": "s"}  # what is compared, and on which texts
UNCHECKED = "mark, role, first_rise_pp, second_rise_pp and tuned_alike"


# --- what is written ------------------------------------------------------------------------------


def published_statistics(comparison: Comparison) -> pd.DataFrame:
    """Return the statistics of all experiments. Raises HeedError: what it needs.

    A row has the experiment, KEYS, the metric that decides, and its statistics.
    """
    parts = {
        name: _published_statistics(name, result, comparison.seeds_of(name))
        for name, result in comparison.experiments.items()
    }
    return pd.concat(parts, names=["experiment"]).reset_index("experiment").reset_index(drop=True)


def _published_statistics(name: str, result: ExperimentResult, seeds: list[int]) -> pd.DataFrame:
    """Return the statistics of every run of an experiment.

    Items have the same numbers in all runs, in place of ids, and reference models the seed 0.
    """
    corpus = result.corpus.name if "pretrained" in result.reference_models else ""
    tested: Mapping[str, Tested] = {
        **{key: read_model(model.model, seeds, name) for key, model in result.models.items()},
        **read_reference_models(name, corpus),
    }
    parts = []
    for model, runs in tested.items():
        own_seeds = seeds if model in result.models else [0] * len(runs.folds)
        for seed, fold, table in zip(own_seeds, runs.folds, runs.statistics, strict=True):
            kept = table[statistics_of(result.metric, table.columns.tolist())]
            kept = kept.convert_dtypes().reset_index(names="item")
            parts.append(kept.assign(model=model, seed=seed, fold=fold, metric=result.metric))
    table = pd.concat(parts, ignore_index=True)
    table["item"] = pd.factorize(table["item"], sort=True)[0] + 1
    first = [*KEYS, "metric"]
    return table[[*first, *table.columns.difference(first, sort=False)]].sort_values(KEYS)


def packed(statistics: pd.DataFrame) -> bytes:
    """Return the statistics of all runs as parquet.

    Items, which each run has in the same order, are written as steps: a tenth of the bytes.
    """
    file = io.BytesIO()
    statistics.to_parquet(
        file, index=False, compression="zstd", column_encoding={"item": "DELTA_BINARY_PACKED"},
        use_dictionary=[name for name in statistics if name != "item"],
    )  # fmt: skip
    return file.getvalue()


def statistics_of(metric: str, names: Sequence[str]) -> list[str]:
    """Return those of the statistics `names` that a metric is computed from."""
    several = LABELS if OF_LABELS.fullmatch(metric) else f"{metric}:"
    mean_of = MEANS.get(metric, metric)
    return [name for name in names if name == mean_of or name.startswith(several)]


# --- what is computed of it -----------------------------------------------------------------------


def contributions(metric: str, run: pd.DataFrame) -> np.ndarray:
    """Return what each item contributes to the metric of a run, (items,): their mean is the metric.

    Raises HeedError: the run has no statistics of this metric.
    """
    names = statistics_of(metric, run.columns.tolist())
    if not names:
        raise HeedError(f"{metric}: a metric of which there are no statistics. {AGAIN}")
    if len(names) == 1:
        return run[names[0]].to_numpy(float)
    if OF_LABELS.fullmatch(metric):
        classes = [name.removeprefix(LABELS[0]) for name in names if name.startswith(LABELS[0])]
        computed = classification.average_metric(*metric.split("_"))
        names = classification.statistic_names(classes)
    else:
        computed = Metric(metric, {"bleu": translation.bleu, "chrf": translation.chrf}[metric])
    return computed.by_item(run.reindex(columns=names, fill_value=0).to_numpy(float)[None])[0]


def decisive(table: pd.DataFrame) -> pd.DataFrame:
    """Return an experiment's rows with a `score`: what each adds to the metric that decides."""
    runs = [run.dropna(axis="columns", how="all") for _, run in table.groupby(RUN, sort=False)]
    return pd.concat(run.assign(score=contributions(run["metric"].iloc[0], run)) for run in runs)


def _by_item(name: str, table: pd.DataFrame) -> ByItem:
    if (table.groupby(RUN)["item"].agg(tuple).groupby("fold").nunique() > 1).any():
        raise HeedError(f"{name}: the models were not tested on the same items. {AGAIN}")
    seeds = table[table["seed"] != 0].groupby(["model", "fold"])["seed"].unique().map(tuple)
    if table.duplicated(KEYS).any() or (seeds.groupby("fold").nunique() > 1).any():
        raise HeedError(f"{name}: the models have not the same runs, one of each seed. {AGAIN}")
    return {
        str(model): [
            of_fold.pivot(index="seed", columns="item", values="score")
            for _, of_fold in of_model.groupby("fold")
        ]
        for model, of_model in decisive(table).groupby("model")
    }


def recompute(folder: Path) -> str:
    """Recompute a published study, a folder docs/studies/NAME; return what is as printed, what not.

    Raises HeedError: it cannot be recomputed, or some is not as printed, which has lines.
    """
    lines: list[str] = []
    unchecked: Counter[str] = Counter()  # scores, by split and metric
    try:
        for path in sorted(folder.rglob("*")):
            if stat.S_IFMT(path.lstat().st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
                raise HeedError(f"{path}: a link, or no file. Remove it, or {AGAIN}")
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
            runs, own_rows, own_scores = (
                table[table["experiment"] == name] for table in (statistics, rows, scores)
            )
            runs = runs.dropna(axis="columns", how="all")
            lines += _wrong_rows(params, name, own_rows, runs)
            lines += _wrong_scores(name, own_scores, runs, unchecked)
    except BROKEN as error:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        raise HeedError(f"{folder}: cannot be read ({said}). {AGAIN}") from None
    if lines:  # a cell of a stranger's file may have several lines, which could pass for heed's
        one_each = (line.replace("\n", "[U+000A]") for line in lines)
        raise HeedError("\n".join((f"{folder}: not as printed:", *one_each)))
    intervals, n, m = rows["low_pp"].ne("").sum(), len(rows), len(scores)
    names = ", ".join(unchecked).replace("\n", "[U+000A]")
    return (
        f"{folder}: {intervals} intervals and {n} verdicts of {n} comparisons are as printed in "
        f"{VERDICTS}, and {m - unchecked.total()} of {m} scores in {SCORES}\n"
        f"Not checked, as {STATISTICS} does not have it: {names} in {SCORES}; "
        f"{UNCHECKED} in {VERDICTS}; {EDITION}; text and figures"
    )


def _agrees(form: str, text: str, value: Any) -> bool:
    """Return whether a value is printed in its format: where it ends in a 5, up or down."""
    if form == "s" or not text or value is None:
        return bool(text == ("" if value is None else value))
    near = (1,) if form == "d" else (1 - 1e-9, 1, 1 + 1e-9)
    return pd.to_numeric(text, errors="coerce") in {float(f"{value * n:{form}}") for n in near}


def _assess(params: Any, name: str, rows: pd.DataFrame, runs: pd.DataFrame) -> Differences:
    by_item = _by_item(name, runs)
    if absent := {*rows["first"], *rows["second"]} - {*by_item}:
        raise HeedError(f"{name}: no statistics of {min(absent)}. {AGAIN}")
    k = params["corpora"][params["experiments"][name]["corpus"]]["split"].get("k", 0)
    repeats = runs["fold"].nunique() // k if k else 1
    plan = params["study"].get("looks", ())
    looks = Looks((*plan,), runs.loc[runs["seed"] != 0, "seed"].nunique()) if plan else None
    pairs = [*zip(rows["first"], rows["second"], rows["family"], strict=True)]
    return assess_pairs(by_item, pairs, runs["metric"].iloc[0], repeats, looks)


def _wrong_rows(params: Any, name: str, rows: pd.DataFrame, runs: pd.DataFrame) -> Iterator[str]:
    """Yield the comparisons of an experiment that come out otherwise; rows have `…_rise_pp`."""
    found, margin = _assess(params, name, rows, runs), params["study"].get("equivalence_margin", 1)
    method = Significance("", significance.ALPHA, significance.POWER, margin, None, {})
    for row in rows.to_dict("records"):
        difference = found[row["first"], row["second"]]
        rises = (float(row[f"{place}_rise_pp"] or 0) for place in ("first", "second"))
        low, high = difference.interval_pp or (None, None)
        numbers: dict[str, Any] = vars(difference) | {
            "difference_pp": difference.mean_pp, "low_pp": low, "high_pp": high,
            "verdict": verdict(difference, method, *rises), "metric": runs["metric"].iloc[0],
            "corpus": params["experiments"][name]["corpus"],
        }  # fmt: skip
        if wrong := [
            f"{column} is printed as {row[column] or 'empty'}, and recomputed it is "
            f"{numbers[column]}"
            for column, form in (CHECKED | SUBJECT).items()
            if not _agrees(form, row[column], numbers[column])
        ]:
            yield f"{name}: {row['first']} − {row['second']}: {'; '.join(wrong)}"
    yield from (f"{name}: {wrong}" for wrong in _missing_rows(rows, {*runs["model"]}))


def _missing_rows(rows: pd.DataFrame, models: set[str]) -> Iterator[str]:
    in_family = rows.groupby("family")["first"].agg(set)
    if rows.empty and len(models) > 1:
        yield f"no row of {VERDICTS} compares {' with '.join(sorted(models)[:2])}"
    if "primary" in in_family and (absent := models - {*rows["first"], *rows["second"]}):
        yield f"no row of {VERDICTS} has {min(absent)}"
    if absent := in_family.get("reference_models", set()) - in_family.get("trivial", set()):
        yield f"no row of {VERDICTS} compares {min(absent)} with the trivial model"
    if ("primary" in in_family) != rows["role"].isin(["control", "baseline"]).any():
        yield f"{VERDICTS} has no primary row, or no role of it"


def _wrong_scores(
    name: str, printed: pd.DataFrame, runs: pd.DataFrame, unchecked: Counter[str]
) -> Iterator[str]:
    """Yield the scores that are not those of the runs, and count the `unchecked`."""
    decides = ("test", runs["metric"].iloc[0])
    seeds = printed["seed"].replace("", "0").astype(int)  # a reference model has none
    printed = printed.assign(seed=seeds, value=printed["value"].astype(float))
    groups: dict[Any, pd.DataFrame] = dict([*printed.groupby(["split", "metric"])])
    for split, metric in sorted({decides, *groups}):
        rows = groups.get((split, metric), printed[:0])
        formula = _formula(metric, runs) if split == "test" else ""
        if not formula:  # its seeds, at least, are those of the runs
            unchecked[f"{split} {metric}"] += len(rows)
            rows = rows.assign(value=0.0)
        shown, found = (_by_model(table) for table in (rows, _scores(runs, formula)))
        names = {*shown, *found} if (split, metric) == decides else {*shown}
        for model in sorted(names):
            one, other = shown.get(model, []), found.get(model, [])
            if len(one) != len(other) or not np.allclose(one, other, 1e-12, 0):
                said = f"{split} {metric} by seed in {SCORES} is printed as"
                yield f"{name}: {model}: {said} {one}, and recomputed they are {other}"


def _formula(metric: str, runs: pd.DataFrame) -> str:
    """Return the metric, or one of the same value, that these statistics have; empty: none."""
    names = runs.columns.tolist()
    possible = (name for name in (metric, SAME.get(metric, "")) if statistics_of(name, names))
    return next(possible, "")


def _scores(runs: pd.DataFrame, formula: str) -> pd.DataFrame:
    """Return a row for each run: model, seed, value; without a formula each value is 0."""
    return pd.DataFrame(
        [
            (model, seed, float(contributions(formula, run).mean()) if formula else 0.0)
            for (model, seed, _), run in runs.groupby(RUN)
        ],
        columns=["model", "seed", "value"],
    )


def _by_model(scores: pd.DataFrame) -> dict[Any, list[tuple[int, float]]]:
    """Return seeds and scores by model, in order."""
    return {
        model: sorted(zip(own["seed"].tolist(), own["value"].tolist(), strict=True))
        for model, own in scores.groupby("model")
    }
