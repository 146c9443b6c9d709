"""The commands that apply trained models to texts of a user."""

from pathlib import Path

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
        from heed.tasks.classification.classify import classify

        of_table = (text_column, id_column, encoding, delimiter, no_quotes, output)
        if any(of_table) or text_separator is not None:
            raise HeedError("heed classify: its options are of --table FILE, and not of a TEXT")
        print_line(classify(model, text))
        return
    from heed.study.text_columns import model_text_columns
    from heed.tasks.classification.classify_table import TextTable, classify_table

    columns, separator = (tuple(text_column), " ") if text_column else model_text_columns(model)
    separator = separator if text_separator is None else text_separator
    quotes = False if no_quotes else None
    rows = TextTable(table, columns, separator, id_column, encoding, delimiter, quotes)
    print_line(classify_table(model, rows, output), error=output is None)


def translate(
    model: str, text: str, translation: str, n_best: int, form: str, seed: int | None
) -> None:
    """Translate a text line by line with a run of a model, or score given translations."""
    from heed.tasks.translation.translate import translate

    for line in translate(model, text, translation, n_best, form, seed):
        print_data(line)
