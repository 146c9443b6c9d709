"""A corpus of the user's own becomes a study, or a part of one: `heed corpus add` and `remove`."""

import dataclasses
import sys
from typing import TYPE_CHECKING, Any

from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from heed.corpora.formats import (
    SPLIT_NAMES,
    FoundFormat,
    Roles,
    find_format,
    find_roles,
    read_found,
)
from heed.corpora.rows import (
    AT,
    EncodingError,
    Format,
    check_format,
    is_text_encoding,
    join_names,
    read_table,
)
from heed.corpora.table import DocumentReader, UnlabelledError
from heed.files import HeedError, write_text
from heed.paths import PARAMS, is_name
from heed.study.cost import summarise_cost
from heed.study.editing import changed_text
from heed.study.own_entries import (
    CorpusEntries,
    OwnCorpusStatistics,
    add_entries,
    as_yaml,
    check_corpus,
    corpus_section,
    describe_corpus,
    describe_entries,
    make_entries,
    read_corpus_statistics,
    remove_entries,
)
from heed.study.own_files import CorpusOptions, UnclearError, UserFiles, default_name, name_files
from heed.study.reader import parse, read_text, read_yaml
from heed.study.studies import (
    changing_studies,
    empty_study,
    find_active_own_study,
    own_study_file,
    save_active_study,
    save_study,
    start_study,
)
from heed.terminal import print_line

if TYPE_CHECKING:
    import pyarrow as pa

    from heed.corpora.declared import Corpus

SEVERAL_LABELS = ";"  # the separator of a corpus whose cells have lists of labels
MANY_NUMBERS = 50  # different numbers of a label that are doubted to be classes
FEW_ROWS = 20  # with fewer, a class for every second row is not doubted
ENCODINGS = ("windows-1252", "windows-1250")  # the likely ones of a file that is not UTF-8


def add_corpus(options: CorpusOptions, cores: int) -> str:
    """Make a study of a corpus of the user's own, or add it to the active one; return a message.

    Every row is read as `heed tokenize` will read it, and nothing is written before all is checked.
    What cannot be told from the files is asked once on a terminal, and is an error elsewhere.

    Raises HeedError: a file cannot be read, lacks a column or a class, has a row that does not fit,
    or cannot be split; a name is invalid or already used; params.yaml was edited by hand and is no
    study of the user's own.
    """
    try:
        return _add_corpus(options, cores)
    except UnclearError as question:
        if not _is_terminal():
            raise
        lines = [f"  {i}  {answer.command()}" for i, answer in enumerate(question.answers, 1)]
        print_line("\n".join([question.question, *lines]))
        answer = input(f"Which one, 1 to {len(lines)}? ").strip()
        if not answer.isdigit() or not 1 <= int(answer) <= len(lines):
            raise
        return _add_corpus(question.answers[int(answer) - 1], cores)


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


@dataclasses.dataclass(frozen=True)
class _ReadCorpus:
    """The files of a corpus after they were read: their tables, format, columns and notes.

    `options` are those that were typed, and what the content of the files adds.
    """

    options: CorpusOptions
    form: Format
    tables: "dict[str, pa.Table]"
    roles: Roles
    notes: list[str]


def _add_corpus(options: CorpusOptions, cores: int) -> str:
    """Add a corpus. Raises UnclearError where the files leave something open."""
    files = name_files(options.files)
    name = options.name or default_name(files)
    if not is_name(name):
        raise HeedError(
            f"{name!r} is no name: lower-case letters, digits and single '-'. Use --name NAME"
        )
    unknown = options.text_column or ["(text)"], options.label_column or ["(label)"]
    check_corpus(corpus_section(name, options, files, *unknown))  # before any file is read
    read = _read(files, options)
    section = corpus_section(name, read.options, files, read.roles.texts, read.roles.labels)
    corpus = check_corpus(section)
    statistics, notes = _check_documents(read, files, corpus, options)
    entries = make_entries(name, read.options, files, read.form, section, statistics)
    with changing_studies():
        lines, text = _write_entries(options, entries)
    used = {*corpus.text_names, *corpus.label_names, corpus.split_column, corpus.group_column}
    unused = [
        f"  column {column!r} is not used: if it has the parts, --split-column {column}"
        for column in next(iter(read.tables.values())).column_names
        if column.lower() in SPLIT_NAMES and column not in used and corpus.split.kind != "given"
    ]
    return "\n".join(
        [
            *describe_corpus(str(files), corpus, statistics),
            *(f"  {note}" for note in [*read.notes, *notes]),
            *unused,
            *describe_entries(entries, statistics),
            *lines,
            summarise_cost(parse(text, PARAMS), cores),
        ]
    )


def _read(files: UserFiles, options: CorpusOptions) -> _ReadCorpus:
    """Return the files, read; UnclearError where a header, a column or the encoding is not clear.

    The format is found in the first file.
    """
    first_key, first = next(iter(files.paths.items()))
    _check_form(options.form)
    try:
        found = find_format(first, options.form, options.no_header)
        if not first.is_dir():
            check_format(first, found.form)
        table, found = read_found(first, found, options.form.quote is not None)
    except EncodingError as error:
        if options.encoding:
            raise
        answers = [dataclasses.replace(options, encoding=name) for name in ENCODINGS]
        raise UnclearError(f"{error}.", answers) from None
    if not table.num_rows and len(table.column_names) == 1:
        raise HeedError(f"{first}: empty: expected rows, and the names of their columns")
    roles = find_roles(table, options.text_column, options.label_column)
    if not (roles.texts and roles.labels) or (found.header_is_unclear and not options.text_column):
        raise _unclear_columns(options, first, table, roles, found)
    form, notes = dataclasses.replace(found.form, flags=tuple(roles.flags)), [*found.notes]
    tables = {first_key: table} if not roles.flags else {}
    for key, path in files.paths.items():
        tables[key] = tables[key] if key in tables else read_table(path, form)
    if form.delimiter:
        notes.append(f"fields are separated by {form.delimiter!r}")
    if roles.flags:
        notes.append(f"the columns of 0 and 1 are one label: {join_names(roles.flags)}")
    completed = _with_found(options, first.is_dir(), tables[first_key], roles)
    if completed.label_separator and not options.label_separator:
        notes.append("a text may have several labels")
    return _ReadCorpus(completed, form, tables, roles, notes)


def _check_form(form: Format) -> None:
    """Raise HeedError for a format that no file has."""
    if form.encoding and not is_text_encoding(form.encoding):
        raise HeedError(f"--encoding: expected one that Python knows, found {form.encoding!r}")
    for option, sign in {"delimiter": form.delimiter, "quote": form.quote}.items():
        if sign and len(sign) != 1:
            raise HeedError(f"--{option}: expected one character, found {sign!r}")


def _with_found(
    options: CorpusOptions, is_folder: bool, table: "pa.Table", roles: Roles
) -> CorpusOptions:
    """Return the options with what the content of the first table shows."""
    changed = options
    cells = [cell for label in roles.labels for cell in _column(table, label)]
    if any(isinstance(cell, list) and len(cell) > 1 for cell in cells):
        separator = options.label_separator or SEVERAL_LABELS
        changed = dataclasses.replace(changed, label_separator=separator)
    if is_folder and not options.split_column and {"train", "test"} <= {*_column(table, "split")}:
        changed = dataclasses.replace(changed, split_column="split")
    if is_folder and not options.id_column and "file" in table.column_names:
        changed = dataclasses.replace(changed, id_column="file")
    return changed


def _column(table: "pa.Table", name: str) -> list[Any]:
    return table.column(name).to_pylist() if name in table.column_names else []


def _unclear_columns(
    options: CorpusOptions, path: Any, table: "pa.Table", roles: Roles, found: FoundFormat
) -> HeedError:
    """Return the question which columns have the text and the label, with the likely commands."""
    columns = [name for name in table.column_names if name != AT]
    likely = [
        dataclasses.replace(options, text_column=texts, label_column=labels)
        for texts, labels in [*roles.candidates, (roles.texts, roles.labels)]
        if texts and labels
    ][:2]
    if found.header_is_unclear:
        answers = [dataclasses.replace(options, no_header=True), *likely[:1]]
        return UnclearError(
            f"{path}: does the first row have the names of the columns, or a text? It has "
            f"{join_names(columns)}.",
            answers,
        )
    unknown = " and ".join(["the text"] * (not roles.texts) + ["the label"] * (not roles.labels))
    return UnclearError(
        f"{path}: which column has {unknown}? Columns: {join_names(columns)}.",
        likely or [dataclasses.replace(options, text_column=["COLUMN"], label_column=["COLUMN"])],
    )


def _check_documents(
    read: _ReadCorpus, files: UserFiles, corpus: "Corpus", typed: CorpusOptions
) -> tuple[OwnCorpusStatistics, list[str]]:
    """Return the facts of all documents, and notes on their labels.

    Raises UnclearError: rows have no label, or a label may be a number or an id.
    """
    reader = DocumentReader(corpus)
    batches = {key: table.to_batches() for key, table in read.tables.items()}
    try:
        statistics = read_corpus_statistics(reader.read(batches), corpus, str(files))
    except UnlabelledError as error:
        question = str(error).partition(" Label them, ")[0]
        raise UnclearError(question, [dataclasses.replace(typed, drop_unlabelled=True)]) from None
    notes = [
        f"{count:,} labels in column {column!r} had blanks around them, which are trimmed"
        for column, count in reader.trimmed.items()
        if count
    ]
    if reader.unlabelled:
        notes.append(
            f"{reader.unlabelled:,} of {reader.rows:,} rows have no label and are left out"
        )
    for label, classes in statistics.classes.items():
        if not typed.as_labels and (question := _doubt(label, classes, statistics.documents)):
            answers = [
                dataclasses.replace(typed, label_column=["COLUMN"], id_column=""),
                dataclasses.replace(typed, as_labels=True),
            ]
            raise UnclearError(f"{files}: {question}", answers)
    return statistics, notes


def _doubt(label: str, classes: dict[str, int], documents: int) -> str:
    """Return the question whether a column with so many classes is a label, or ""."""
    found = f"column {label!r} has {len(classes):,} different"
    if len(classes) > MANY_NUMBERS and all(map(_is_number, classes)):
        return (
            f"{found} numbers in {documents:,} rows: is it a number to predict, which heed does "
            "not do, or an id? Name the column of the label, or say that they are classes."
        )
    if 2 * len(classes) > documents > FEW_ROWS:
        return (
            f"{found} values in {documents:,} rows: is it a label? Name another column, or say "
            "that they are classes."
        )
    return ""


def _is_number(name: str) -> bool:
    try:
        float(name.replace(",", "."))
    except ValueError:
        return False
    return True


def _write_entries(options: CorpusOptions, entries: CorpusEntries) -> tuple[list[str], str]:
    """Write the entries into a new study, or the active own one that is named; return lines.

    The second item is the text of the study.
    """
    own = find_active_own_study()
    extends = own is not None and options.study == own.stem
    if options.study and own is None:
        read_yaml(read_text(PARAMS), PARAMS)  # its message: a mistake hides whose study it is
    study = options.study or entries.name
    path = PARAMS if extends else own_study_file(study)

    def change(tree: Any) -> None:
        add_entries(tree, entries, path)
        if options.seeds:
            tree["seeds"] = as_yaml([*range(1, options.seeds + 1)])
        if options.title:
            tree["study"]["title"] = DoubleQuotedScalarString(options.title)

    old = PARAMS.read_text(encoding="utf-8") if extends else empty_study(study, options.title)
    text = changed_text(old, path, change)
    if not extends:
        join = f"  To add the corpus to {own.stem} instead: --study {own.stem}" if own else ""
        return [*start_study(study, text), *filter(None, [join])], text
    _replace_study(study, text)
    lines = [f"{PARAMS}, {own}: corpus {entries.name} is added to the study {study}."]
    lines += [f"  the title is now {options.title!r}"] if options.title else []
    lines += [f"  all models have {options.seeds} seeds now"] if options.seeds else []
    return lines, text


def remove_corpus(name: str) -> str:
    """Remove a corpus, and all that is made from it, from the active study; return a message.

    The results that it had are deleted by the next run of snakemake, and stay in DVC's cache.
    Raises HeedError: the active study is none of the user's own, or has no such corpus.
    """
    with changing_studies():
        own = find_active_own_study()
        if own is None:
            read_yaml(read_text(PARAMS), PARAMS)  # its message: a mistake hides whose study it is
            raise HeedError(
                f"{PARAMS}: is no study of your own: `heed study` lists them, heed study NAME "
                "activates one"
            )
        old = PARAMS.read_text(encoding="utf-8")
        text = changed_text(old, PARAMS, lambda tree: remove_entries(tree, name, PARAMS), True)
        _replace_study(own.stem, text)
    return f"{PARAMS}, {own}: corpus {name} is removed, with its experiments and models."


def _replace_study(name: str, text: str) -> None:
    """Write the new text of the active study into params.yaml and into its own file."""
    save_active_study(False, name)  # refuses where the file has edits that params.yaml has not
    write_text(PARAMS, text)
    save_study(name, text)
