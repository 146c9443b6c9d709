"""Every hyperparameter that is not the default is printed, on the page, on paper and in CSV."""

import dataclasses
from typing import Any, get_args

import pytest

from heed.records import fields_of
from heed.report.results import Results
from heed.report.rows.hyperparameters import defaults
from heed.report.tables import csv_table, markdown_table
from heed.report.typesetting import table as in_latex
from heed.tasks.classification.recipe import Hyperparameters
from tests.fixtures.report import made_up
from tests.unit.report.conftest import read_made_up, tables_of

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


def printed(results: Results, h: Hyperparameters) -> tuple[str, str, str]:
    """The hyperparameters as text, LaTeX, and CSV, where attention has these."""
    (experiment,) = results.experiments
    models = dict(experiment.result.models)
    models["self-attention"] = dataclasses.replace(models["self-attention"], hyperparameters=h)
    result = dataclasses.replace(experiment.result, models=models)
    changed = dataclasses.replace(experiment, result=result)
    of = dataclasses.replace(results, experiments=[changed])
    (table,) = tables_of(of, "hyperparameters", NAME)
    (values,) = tables_of(of, "hyperparameter_values", NAME)
    rest = str(defaults(changed))
    return markdown_table(table) + rest, in_latex(table) + rest, csv_table(values)


@pytest.fixture(scope="module")
def multi_head(results: Results) -> tuple[str, str, str]:
    """The printed hyperparameters of MULTI_HEAD."""
    return printed(results, MULTI_HEAD)


@pytest.mark.parametrize("field", FIELDS)
def test_a_model_that_differs_in_one_hyperparameter_alone_has_another_printed_recipe(
    results, multi_head, field
):
    other = dataclasses.replace(MULTI_HEAD, **{field: another_value(field)})
    for one, another in zip(multi_head, printed(results, other), strict=True):
        assert one != another
