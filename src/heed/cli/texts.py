"""The commands that apply trained models to texts of a user."""

from pathlib import Path
from typing import Any

from heed.terminal import print_data, print_line


def classify(
    model: str,
    text: str,
    table: Path | None,
    text_column: list[str],
    text_separator: str | None,
    id_column: str,
    encoding: str,
    delimiter: str | None,
    no_quotes: bool,
    output: Path | None,
) -> None:
    """Classify a text, or each row of a table: mean probabilities of a model's runs.

    Of a text the weights over its words are printed too.
    """
    if table is None:
        from heed.files import HeedError

        of_table = (text_column, id_column, encoding, delimiter, no_quotes, output)
        if any(of_table) or text_separator is not None:
            raise HeedError("heed classify: its options are of --table FILE, and not of a TEXT")
        print_line(_texts_of(model, "classify").classify(model, text))
        return
    from heed.study.text_columns import model_text_columns

    columns, separator = (tuple(text_column), " ") if text_column else model_text_columns(model)
    separator = separator if text_separator is None else text_separator
    quotes = False if no_quotes else None
    part = _texts_of(model, "classify_table")
    rows = part.TextTable(table, columns, separator, id_column, encoding, delimiter, quotes)
    print_line(part.classify_table(model, rows, output), error=output is None)


def translate(
    model: str, text: str, translation: str, n_best: int, form: str, seed: int | None
) -> None:
    """Translate a text line by line with a run of a model, or score given translations."""
    lines = _texts_of(model, "translate").translate(model, text, translation, n_best, form, seed)
    for line in lines:
        print_data(line)


def _texts_of(model: str, command: str) -> Any:
    """Return the part `texts` of a model's task, which has this function.

    Raises HeedError: the model has no trained run, or is of a task without such a command.
    """
    from heed.files import HeedError
    from heed.task import task_module
    from heed.tasks.texts import trained_seeds
    from heed.training.run import read_run

    task = read_run(model, trained_seeds(model)[0]).recipe.task
    part = task_module(task, "texts")
    if not hasattr(part, command):
        raise HeedError(f"{model}: is a model of the task {task}, which has no `heed {command}`")
    return part
