"""Every hyperparameter that is not the default is printed, on the page, on paper and in CSV."""

import dataclasses
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
