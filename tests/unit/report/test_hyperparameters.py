"""Every hyperparameter that is not the default is printed, on the page, on paper and in CSV."""

import csv
import dataclasses
import io
from typing import Any, get_args

import pytest

from heed.records import fields_of
from heed.report import html, latex
from heed.report.blocks import Table
from heed.report.chapters import hyperparameters
from heed.report.html import csv_table
from heed.report.results import Results
from heed.tasks.classification.recipe import Hyperparameters
from tests.fixtures.report import made_up
from tests.unit.report.conftest import read_made_up

FIELDS = [field.name for field in dataclasses.fields(Hyperparameters)]
NAME = "sample-author"
MULTI_HEAD = Hyperparameters(attention="multi-head")


def another_value(field: str) -> Any:
    """Another value of a hyperparameter than that of MULTI_HEAD."""
    value, declared = getattr(MULTI_HEAD, field), fields_of(Hyperparameters)[field]
    kind = declared.declared
    if options := declared.limits.get("choices", get_args(kind)):
        return next(option for option in options if option != value)
    return not value if kind is bool else value + 1 if kind is int else value + 0.015625


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The made-up results of one experiment with three models."""
    data = made_up.comparison("sample")
    data = dataclasses.replace(data, experiments={NAME: data.experiments[NAME]})
    return read_made_up(made_up.study("sample"), data, tmp_path_factory.mktemp("results"))


def tables(results: Results, **variants: Hyperparameters) -> list[Table]:
    """The tables of the experiment where models have these hyperparameters."""
    result = results.comparison.experiments[NAME]
    models = dict(result.models)
    for variant, h in variants.items():
        models[variant] = dataclasses.replace(models[variant], hyperparameters=h)
    result = dataclasses.replace(result, models=models)
    experiment = dataclasses.replace(results.experiments[0], result=result)
    blocks = hyperparameters.chapter(results, experiment)
    return [block for block in blocks if isinstance(block, Table)]


def printed(results: Results, **variants: Hyperparameters) -> tuple[str, str, str]:
    """The hyperparameters as HTML, LaTeX with its notes, and CSV."""
    in_csv, in_both = tables(results, **variants)
    notes = latex.document([dataclasses.replace(in_both, rows=())], "", "", "")
    page = html.page([in_both], lambda figure: "", "", "", "")
    return page, latex.table(in_both) + notes, csv_table(in_csv)


@pytest.fixture(scope="module")
def multi_head(results: Results) -> tuple[str, str, str]:
    """The printed hyperparameters of MULTI_HEAD."""
    return printed(results, attention=MULTI_HEAD)


@pytest.mark.parametrize("field", FIELDS)
def test_a_model_that_differs_in_one_hyperparameter_alone_has_another_printed_recipe(
    results, multi_head, field
):
    other = dataclasses.replace(MULTI_HEAD, **{field: another_value(field)})
    for one, another in zip(multi_head, printed(results, attention=other), strict=True):
        assert one != another


def test_those_that_differ_have_a_row_and_all_others_are_named_with_their_default(results):
    other = dataclasses.replace(MULTI_HEAD, hierarchical=True, patience=3, max_tokens=12_000)
    everyone = dict.fromkeys(("baseline", "attention", "mean"), MULTI_HEAD)
    in_csv, table = tables(results, **(everyone | {"attention": other}))
    rows = {row.cells[0].value: [cell.value for cell in row.cells[1:]] for row in table.rows}
    names = [column.heading for column in table.columns[1:]]
    hierarchical = {"baseline": "no", "attention": "yes", "mean": "no"}
    assert dict(zip(names, rows["hierarchical"], strict=True)) == hierarchical
    assert rows["max_tokens"][names.index("attention")] == "12,000"
    assert {"attention", "patience", "best_epochs"} < set(rows)
    ((note, *spans),) = table.notes
    text = note + "".join(part if isinstance(part, str) else part.text for part in spans)
    assert text.startswith("All others have their default: vocabulary_size 30,000, lowercase yes, ")
    named = {part.text for part in spans if not isinstance(part, str) and part.style == "code"}
    assert named | set(rows) >= {*FIELDS} and not named & set(rows)
    lines = list(csv.DictReader(io.StringIO(csv_table(in_csv))))
    values = {line["hyperparameter"]: line for line in lines if line["variant"] == "attention"}
    assert set(values) == {*FIELDS} | {"parameters", "best_epochs"}
    assert [values[key]["value"] for key in ("hierarchical", "max_tokens")] == ["true", "12000"]
    assert [values[key]["default"] for key in ("hierarchical", "max_tokens")] == ["false", "400"]
