"""Scores of any tool as one long table: dataset, metric, model, seed, fold, item, score.

The forms are known by their content: a table with these columns, per-sample logs of
lm-evaluation-harness, per-instance statistics of HELM, translations with their references, an array
of scikit-learn, and the statistics of a published study.
"""

import dataclasses
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heed.corpora.formats import find_format, read_found
from heed.corpora.rows import AT, Format
from heed.files import HeedError, reading, require_readable
from heed.task.interface import Metric
from heed.verdict.pairs import RUN, count_seeds

COLUMNS = ("dataset", "metric", "model", "seed", "fold", "item", "score")
NEEDED = ("model", "score")
OWN = "the file that you gave"  # in the advice of a message
TRUTH = {"True": 1, "False": 0, "TRUE": 1, "FALSE": 0}
HARNESS_DATE = re.compile(r"_\d{4}-\d\d-\d\dT[\d.:-]*$")  # after the name of a task


@dataclasses.dataclass(frozen=True)
class Given:
    """A file of scores, and the model's name where the user gave NAME=FILE."""

    name: str
    path: Path

    @property
    def model(self) -> str:
        """The name of a model in a file without any: the given one, or the folder's, or its own."""
        own = self.path.parent.name or self.path.stem
        return self.name or (own if self.path.suffix in (".json", ".jsonl") else self.path.stem)


Row = tuple[Any, ...]  # of AT and COLUMNS
Reader = Callable[[Given, Iterable[dict[str, Any]]], Iterator[Row]]


def given_files(files: Sequence[str]) -> list[Given]:
    """Return the given files, each FILE or NAME=FILE. Raises HeedError: one is not there."""
    given = []
    for text in files:
        name, equals, path = text.partition("=")
        is_named = equals and not Path(text).exists()
        given.append(Given(name, Path(path)) if is_named else Given("", Path(text)))
        require_readable(given[-1].path)
    return given


def read_scores(
    files: Sequence[str], references: Path | None = None, metric: str = ""
) -> pd.DataFrame:
    """Return the scores in files, each FILE or NAME=FILE, checked: see `check`. Raises HeedError.

    `references`, one a line or several between tabs, make the others translations. Of a dataset
    with the `metric` others are left out.
    """
    given = given_files(files)
    if references:
        table = _read_translations(given, references)
    else:
        table = pd.concat([_read(file) for file in given], ignore_index=True)
    if metric and "metric" in table:
        is_asked = table["metric"].eq(metric)
        datasets = table["dataset"] if "dataset" in table else is_asked * 0
        table = table[is_asked | ~is_asked.groupby(datasets).transform("any")]
    return check(table)


def _read(given: Given) -> pd.DataFrame:
    suffixes = "".join(given.path.suffixes)
    if suffixes.endswith(".npy"):
        return _read_array(given)
    if suffixes.endswith(".parquet"):
        with reading(given.path, OWN):
            table = pd.read_parquet(given.path)
        rows = pd.Series(np.arange(1, len(table) + 1)).astype(str)
        table = table.reset_index(drop=True).assign(**{AT: f"{given.path}: row " + rows})
        is_study = {"experiment", "metric", *RUN, "item"} <= {*table} and "score" not in table
        return _of_study(table) if is_study else _long(given, table)
    if suffixes.endswith((".json", ".jsonl")):
        rows = _objects(given.path)
        first = next(rows, {})
        for known, read in FORMS.items():
            if {*known} <= first.keys():
                if found := _read_known(read, given, itertools.chain([first], rows)):
                    return pd.DataFrame(found, columns=[AT, *COLUMNS])
                raise HeedError(f"{given.path}: no score of any item. Log the samples' metrics")
    form = find_format(given.path, Format(), no_header=False)
    form = Format(delimiter=form.delimiter, quote=form.quote)  # the first row is always a header
    rows_of_text = read_found(given.path, form, Format())[0].to_pandas()
    return _long(given, rows_of_text.assign(**{AT: f"{given.path}" + rows_of_text[AT]}))


def _read_known(read: Reader, given: Given, rows: Iterable[dict[str, Any]]) -> list[Row]:
    try:
        return [*read(given, rows)]
    except (AttributeError, KeyError, TypeError) as error:
        raise HeedError(
            f"{given.path}: not as its tool writes it ({error!r}). Give the file that it wrote"
        ) from None


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON list, or of JSON lines; nothing where there are others."""
    with reading(path, OWN, "not valid JSON"):
        text = path.read_text(encoding="utf-8-sig")
        whole = text.lstrip().startswith("[")
        lines = filter(str.strip, text.split("\n"))  # a text in JSON may have other line ends
        found = json.loads(text) if whole else map(json.loads, lines)
        yield from (record for record in found if isinstance(record, dict))


# --- the forms ------------------------------------------------------------------------------------


def _long(given: Given, table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with a row for each score, whose columns have the names in COLUMNS."""
    names = _names(given.path, table)
    needed = NEEDED if not given.name else NEEDED[1:]
    if absent := [name for name in needed if name not in names]:
        raise HeedError(
            f"{given.path}: no column {absent[0]}. A table of scores has the columns model, seed, "
            "item and score, and may have fold, metric and dataset; this has "
            f"{', '.join(sorted(names.keys() - {AT}))}"
        )
    if "item" not in names and "seed" not in names:
        raise HeedError(
            f"{given.path}: neither a column item nor a column seed. One score of each model "
            "has no interval"
        )
    own = {name: table[names[name]] for name in COLUMNS if name in names}
    return pd.DataFrame({AT: table[AT], "model": given.name, **own})


def _names(path: Path, table: pd.DataFrame) -> dict[str, Any]:
    """Return a table's names of columns, by what they are in lower case. Raises HeedError."""
    if table.empty:
        raise HeedError(f"{path}: no rows. Give a table with a row for each score")
    known = [str(name).strip().lower() for name in table]
    if twice := [name for name in COLUMNS if known.count(name) > 1]:
        raise HeedError(f"{path}: several columns {twice[0]}. Rename all but one of them")
    return dict(zip(known, table, strict=True))


def _of_harness(given: Given, rows: Iterable[dict[str, Any]]) -> Iterator[Row]:
    """Yield the scores in `samples_TASK_DATE.jsonl` of lm-evaluation-harness, by metric and filter.

    The file does not name its model: its folder does.
    """
    task = HARNESS_DATE.sub("", given.path.stem.removeprefix("samples_"))
    for number, row in enumerate(rows, 1):
        own = "" if row.get("filter", "none") == "none" else f" ({row['filter']})"
        for metric in row.get("metrics") or [key for key in ("acc", "exact_match") if key in row]:
            if not isinstance(row.get(metric), list):  # what a metric of all items is made of
                at = f"{given.path}:{number}"
                yield at, task, metric + own, given.model, 1, 0, row["doc_id"], row.get(metric)


def _of_helm(given: Given, rows: Iterable[dict[str, Any]]) -> Iterator[Row]:
    """Yield the means in `per_instance_stats.json` of HELM; a trial of the prompt is a seed.

    The folder has the names of the scenario and the model: mmlu:subject=anatomy,model=openai_gpt2.
    """
    scenario, _, model = given.model.rpartition("model=")
    model = model.partition(",")[0]
    for number, row in enumerate(rows, 1):
        for stat in row["stats"]:
            name = stat["name"]
            if "mean" in stat and "perturbation" not in name:  # without: nothing was counted
                at, seed = f"{given.path}: {number}", row.get("train_trial_index", 0) + 1
                own = scenario.strip(":,"), name["name"], given.name or model
                yield at, *own, seed, 0, row["instance_id"], stat["mean"]


FORMS: dict[tuple[str, ...], Reader] = {
    ("doc_id", "filtered_resps"): _of_harness,
    ("instance_id", "stats"): _of_helm,
}


def _of_study(table: pd.DataFrame) -> pd.DataFrame:
    """Return what each item adds to the metric that decides: statistics.parquet of a study."""
    from heed.published.verify import KEYS, decisive  # here: it imports the metrics of all tasks

    scored = pd.concat(decisive(rows) for _, rows in table.groupby("experiment", sort=False))
    return scored[[AT, "experiment", "metric", *KEYS, "score"]].rename(
        columns={"experiment": "dataset"}
    )


def _read_array(given: Given) -> pd.DataFrame:
    """Return the scores in an array: (items,) or (seeds, items), such as predictions == labels."""
    with reading(given.path, OWN):
        array = np.atleast_2d(np.load(given.path, allow_pickle=False).astype(float))
    if array.ndim != 2:
        raise HeedError(f"{given.path}: expected (items,) or (seeds, items), found {array.shape}")
    seeds, items = (index.ravel() + 1 for index in np.indices(array.shape))
    pairs = zip(seeds, items, strict=True)
    places = [f"{given.path}: seed {seed}, item {item}" for seed, item in pairs]
    return pd.DataFrame(
        {AT: places, "model": given.model, "seed": seeds, "item": items, "score": array.ravel()}
    )


def _read_translations(given: Sequence[Given], references: Path) -> pd.DataFrame:
    """Return what each sentence adds to BLEU and chrF, of files with a translation a line.

    Several files of one name, NAME=FILE, are the seeds of a model.
    """
    from sacrebleu.metrics import BLEU, CHRF  # here: both take a while

    from heed.tasks.translation import metrics

    expected = [line.split("\t") for line in _lines(references)]
    columns = [*itertools.zip_longest(*expected)]
    tables, seeds = [], Counter[str]()
    for file in given:
        lines = _lines(file.path)
        if len(lines) != len(expected):
            raise HeedError(
                f"{file.path}: {len(lines):,} lines, and {references} has {len(expected):,}: write "
                "the translation of each sentence on one line"
            )
        seeds[file.model] += 1
        own = {AT: [f"{file.path}:{i + 1}" for i in range(len(lines))], "model": file.model,
               "seed": seeds[file.model], "item": range(1, len(lines) + 1)}  # fmt: skip
        for metric, scorer in (("bleu", BLEU()), ("chrf", CHRF())):
            # what `corpus_score` sums; the method that returns it by sentence is not documented
            counts = np.array(scorer._extract_corpus_statistics(lines, columns))
            score = Metric(metric, getattr(metrics, metric)).by_item(counts[None])[0]
            tables.append(pd.DataFrame({**own, "metric": metric, "score": score}))
    return pd.concat(tables, ignore_index=True)


def _lines(path: Path) -> list[str]:
    with reading(path, OWN):
        return path.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")


# --- what every table must hold -------------------------------------------------------------------


def check(table: pd.DataFrame) -> pd.DataFrame:
    """Return scores with all COLUMNS, sorted; a table without items has one, `seed` is 1 if absent.

    Raises HeedError, naming a row: a score that is not a number, two scores of one item, runs or
    models with other items, models with other numbers of seeds than one and each other's.
    """
    defaults: dict[str, Any] = {"dataset": "", "metric": "", "seed": 1, "fold": 0, "item": 0}
    table = table.assign(**{name: value for name, value in defaults.items() if name not in table})
    table = table.fillna(defaults | {"model": ""}).reset_index(drop=True)
    for key in COLUMNS[:-1]:
        table[key] = _as_text(table, key)
    numbers = pd.to_numeric(table["score"].replace(TRUTH), errors="coerce")
    for wrong, said in (
        (~np.isfinite(numbers.astype(float)), "the score is {score!r}, which is not a number"),
        (table["model"] == "", "the row names no model"),
        (
            table.duplicated(["dataset", "metric", *RUN, "item"]),
            "a second score of the model {model}, seed {seed}, item {item}",
        ),
    ):
        if wrong.any():
            row: Any = table[wrong].iloc[0]
            said = said.format(**row.to_dict() | {"score": str(row["score"])})
            raise HeedError(f"{row[AT]}: {said}. Correct it, or leave the row out")
    for key in RUN[1:]:  # 2 comes before 10
        table[key] = table[key].map(int) if table[key].str.isdecimal().all() else table[key]
    table["score"] = numbers.astype(float)
    for _, scores in table.groupby(["dataset", "metric"]):
        _check_complete(scores)
    return table.sort_values(["dataset", "metric", *RUN, "item"], kind="stable")[[AT, *COLUMNS]]


def _as_text(table: pd.DataFrame, key: str) -> np.ndarray:
    """Return the names of runs or items as text, since files have numbers or texts for the same."""
    try:
        codes, found = pd.factorize(table[key])
    except TypeError:  # a list or an object
        raise HeedError(
            f"{table[AT][0]}: the column {key} is to have a number or a text in each row"
        ) from None
    whole = (int(x) if isinstance(x, float) and x.is_integer() else x for x in found)
    return np.array([str(value).strip() for value in whole], object)[codes]


def _check_complete(table: pd.DataFrame) -> None:
    """Raise HeedError unless all runs have the same items, and the models as many seeds."""
    of_runs, of_folds = (table.groupby(keys)["item"].nunique() for keys in (RUN, "fold"))
    for model, seed, fold in of_runs.index[of_runs < of_folds.reindex(of_runs.index, level="fold")]:
        of_fold = table[table["fold"] == fold]
        run = of_fold[(of_fold["model"] == model) & (of_fold["seed"] == seed)]
        others = of_fold[~of_fold["item"].isin(run["item"])]
        missing = min(others["item"])
        other = others[others["item"] == missing].iloc[0]
        raise HeedError(
            f"{other[AT]}: the item {missing} is scored here, and not of the model {model}, seed "
            f"{seed}. All models are compared on the same items: there "
            f"{others['item'].nunique():,} are missing. Add them, or leave them out everywhere"
        )
    seeds = count_seeds(table)
    most, once = seeds.to_numpy().max(), seeds.eq(1).all(axis=1)
    for model, counts in seeds[~once & seeds.ne(most).any(axis=1)].iterrows():
        fold, row = counts[counts != most].index[0], table[table["model"] == model].iloc[0]
        place = f" in the fold {fold}" if len(counts) > 1 else ""
        raise HeedError(
            f"{row[AT]}: the model {model} has {counts[fold]} of {most} seeds{place}: leave seeds "
            "out of all models, or train further"
        )
