"""A corpus of the user's own becomes a study, or a part of one: `heed corpus add`."""

import codecs
import contextlib
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from heed.corpora import formats
from heed.corpora.publication import SPLITS, split_of
from heed.corpora.rows import (
    EncodingError,
    Format,
    JoinedRowsError,
    describe_left_out,
    join_names,
    read_table,
    suffix_of,
)
from heed.corpora.table import DocumentReader, SimilarLabelsError, UnlabelledError
from heed.files import HeedError, write_texts
from heed.paths import PARAMS, is_name
from heed.study import own_entries, studies
from heed.study.cost import (
    LONGER_SHARE,
    PREDICTION,
    describe_gain,
    describe_trainings,
    next_commands,
)
from heed.study.own_files import CorpusOptions, UserFiles, default_name, name_files
from heed.study.reader import as_yaml, changed_text, load, parse, read_text, read_yaml
from heed.study.schema import Params

if TYPE_CHECKING:
    import pyarrow as pa

    from heed.corpora.sections import Corpus

Tables = dict[str, "pa.Table"]
MANY_NUMBERS = 50  # different numbers of a label that are doubted to be classes
NOT_ACCEPTED = {"reject", "ignore"}  # answers of Prodigy
FEW_ROWS = 20  # with fewer, a class for every second row is not doubted
LONG_NAME = 200  # characters of a column's name that are typed
WITH_HEADER = (".csv", ".tsv", ".xlsx")  # files whose first row may have no names
WHOLE = re.compile(r"\A(-?\d+)\.0\Z", re.ASCII)  # as pandas writes it where a number is missing
LEAST_SEEDS, FEWEST_TEXTS = 3, 100  # of a study that is to take some minutes
SAFETY = 1.1  # of the least time: it is measured again
SEEN_BYTES = 4096  # of a file that is not UTF-8
MISSING = {"na", "n/a", "#n/a", "nan", "nat", "<na>", "null", "none"}  # as programs write a gap
ENCODINGS = ("windows-1252", "windows-1250")  # the likely ones of a file that is not UTF-8


class UnclearError(HeedError):
    """A question that the files leave open, with the options of the likely answers."""

    def __init__(self, question: str, *answers: CorpusOptions) -> None:
        commands = [f"  {answer.command()}" for answer in answers]
        super().__init__("\n".join([f"{question} Run one of these:", *commands]))


def add_corpus(typed: CorpusOptions, cores: int) -> str:
    """Make a study of a corpus of the user's own, or add it to the active one; return a message.

    Every row is read as `heed tokenize` will read it, and nothing is written before all is checked.
    Raises HeedError for any mistake, UnclearError where something cannot be told from the files.
    """
    files = name_files(typed.files, typed.no_split_column)
    name = typed.name or default_name(files)
    if not is_name(name):
        raise HeedError(
            f"{files}: {name!r} is not a name: up to 100 lower-case letters, digits and single "
            "'-'. Use --name NAME"
        )
    options, form, tables = _read(files, typed)
    rows = sum(table.num_rows for table in tables.values())
    section = own_entries.corpus_section(name, options, files, rows, _count_seeds(options))
    corpus = own_entries.check_corpus(section)
    statistics, notes = _check_documents(tables, files, corpus, typed)
    entries = own_entries.make_entries(name, options, files, form, section, statistics)
    notes += _describe_reading(tables, files, form, typed)
    if corpus.split.kind != "given" and not typed.no_split_column:
        notes += [
            f"column {column!r} is not used: if it has the splits, --split-column {column}"
            for column in _split_columns(tables, options)
        ]
    found = [*own_entries.describe_corpus(str(files), corpus, statistics)]
    found += [f"  {note}" for note in notes]
    with studies.changing_studies():
        less: list[str] = []
        if options.minutes:
            params = parse(_with_entries(options, entries)[0][PARAMS], PARAMS)
            options, entries, less = _fit(typed, options, entries, statistics, params, cores)
        texts, lines = _with_entries(options, entries)
        params = parse(texts[PARAMS], PARAMS)
        times = own_entries.training_times(entries, statistics, params)
        cost = describe_trainings(params, len(times), times, cores)
        write_texts(texts)
    found += [*own_entries.describe_entries(entries, statistics), *less]
    experiment = next(iter(entries.sections["experiments"]))
    found.append(f"  {describe_gain(params, experiment, statistics.splits['test'])}")
    return "\n".join([*found, *lines, cost, next_commands(cores)])


def _fit(
    typed: CorpusOptions, options: CorpusOptions, entries: own_entries.CorpusEntries,
    statistics: own_entries.OwnCorpusStatistics, params: Params, cores: int,
) -> tuple[CorpusOptions, own_entries.CorpusEntries, list[str]]:  # fmt: skip
    """Return the options and entries whose trainings take the minutes, and a line on what is less.

    With three seeds, one for each fold, or those that someone has chosen, the epochs and then the
    texts are as many as there is time for; then the seeds are. Raises UnclearError where even the
    least takes longer.
    """
    trained, minutes = statistics.splits["train"], float(options.minutes or 0)
    validated = PREDICTION * statistics.splits["validation"]  # texts that take as long to train
    times = own_entries.training_times(entries, statistics, params)
    is_free, folds = _seeds_are_free(options, params), entries.split.get("k", 0)
    longer = LONGER_SHARE * params.study.longer_training
    least = max(folds, LEAST_SEEDS) if is_free else len(params.seeds)
    longest = max(times) * max(1, longer)  # a training runs on one core
    seeds = 60 * minutes * cores / sum(times)  # for which there is time, with the longer trainings
    fits = min(seeds / (least + longer), 60 * minutes / longest)
    epochs = entries.epochs if fits >= 1 else entries.fewest_epochs
    whole, wanted = trained + validated, fits * entries.epochs / epochs * (trained + validated)
    fewest = trained if options.train or folds else min(trained, FEWEST_TEXTS)
    texts = min(trained, max(fewest, int(wanted - validated)))
    if (needed := (texts + validated) / wanted) > 1:
        question = f"--minutes {minutes:g}: even {least} seeds of {epochs} epochs take longer."
        longer_time = replace(typed, minutes=math.ceil(SAFETY * minutes * needed))
        single = [replace(typed, test=own_entries.TEST)] * bool(folds)
        raise UnclearError(question, longer_time, *single)
    split = {"train": texts} if texts < trained else {}
    if is_free:
        seeds *= entries.epochs / epochs * whole / (texts + validated)
        most = min(studies.SEEDS, int(seeds - longer))  # folds are repeated as a whole
        count = max(least, most - most % max(1, folds))
        options = replace(options, seeds=count)
        split |= {"repeats": count // folds} if folds else {}
    less = [f"{entries.epochs - epochs:,} of the {entries.epochs:,} epochs"]
    less *= epochs < entries.epochs
    less += [f"{trained - texts:,} of the {trained:,} texts to train on"] * (texts < trained)
    lines = [f"  left out for --minutes {minutes:g}: {', '.join(less)}"] * bool(less)
    return options, entries.with_less(epochs, **split), lines


def _extends(options: CorpusOptions) -> bool:
    """Return whether the corpus is added to the active study, which the options name."""
    own = studies.find_active_own_study()
    return own is not None and own.stem == options.study


def _count_seeds(options: CorpusOptions) -> int:
    return options.seeds or (len(load().seeds) if _extends(options) else studies.SEEDS)


def _seeds_are_free(options: CorpusOptions, params: Params) -> bool:
    """Return whether nobody has chosen the seeds of a study, and no other corpus has them."""
    is_given = params.seeds == [*range(1, studies.SEEDS + 1)]  # of a new study
    return not options.seeds and len(params.corpora) == 1 and is_given


# --- reading the files ----------------------------------------------------------------------------


def _read(files: UserFiles, typed: CorpusOptions) -> tuple[CorpusOptions, Format, Tables]:
    """Return the options with what the first file's content adds, the format and all tables.

    Raises UnclearError where the encoding, the quotes or the columns cannot be told.
    """
    try:
        return _read_tables(files, typed)
    except EncodingError as error:
        if typed.encoding:
            raise
        answers = [replace(typed, encoding=name) for name in _likely_encodings(files)]
        raise UnclearError(f"{error}.", *answers) from None
    except JoinedRowsError as error:
        answers = [replace(typed, quote=""), replace(typed, quote='"')]
        raise UnclearError(f"{error}.", *answers) from None


def _likely_encodings(files: UserFiles) -> tuple[str, ...]:
    """Return the likely encodings of files that are not UTF-8: by the mark that one begins with.

    Raises HeedError where a file has bytes that no text has.
    """
    for path in filter(Path.is_file, files.paths.values()):
        with path.open("rb") as file:
            start = file.read(SEEN_BYTES)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return ("utf-16",)
        if b"\0" in start:
            raise HeedError(
                f"{path}: not a text. Unpack it, or save the table as .csv, .xlsx or .parquet"
            )
    return ENCODINGS


def _read_tables(files: UserFiles, typed: CorpusOptions) -> tuple[CorpusOptions, Format, Tables]:
    first = next(iter(files.paths.values()))
    found = formats.find_format(first, typed.form, typed.no_header)
    table, form = formats.read_found(first, found, typed.form)
    if not table.num_rows:
        raise HeedError(f"{first}: empty: expected rows, and the names of their columns")
    texts, labels = formats.find_roles(table, typed.text_column, typed.label_column)
    _doubt_names(table, first, form, typed)
    if not len(texts) == len(labels) == 1:
        raise _unclear_columns(typed, first, form, table, texts, labels)
    done = replace(typed, text_column=texts[0], label_column=labels[0])
    if form.format == "text-folder" and len(files.paths) == 1:  # files of two may have one name
        done = replace(done, id_column=typed.id_column or "file")
    tables = {key: read_table(path, form) for key, path in files.paths.items()}
    _require_no_quotes(files, form, typed)
    if not files.have_splits:
        done = replace(done, split_column=_find_split_column(tables, done))
    return done, form, tables


def _describe_reading(
    tables: Tables, files: UserFiles, form: Format, typed: CorpusOptions
) -> list[str]:
    """Return notes on the format that was found, and on what is left out."""
    (first, *_), table = files.paths.values(), next(iter(tables.values()))
    notes = formats.describe_format(typed.form, form)
    if _may_be_row(table, first, form, typed):
        notes += formats.describe_names(_names(table))
    if form.format == "text-folder" and (others := describe_left_out(first)):
        notes.append(f"left out: {others}")
    if left_out := join_names(files.left_out):
        notes.append(f"left out, without labels or of an unknown name: the split {left_out}")
    return notes


def _find_split_column(tables: Tables, options: CorpusOptions) -> str:
    """Return the split column: given, or the first that is named and filled like one; "": none."""
    if options.split_column or options.no_split_column or options.test or options.group_column:
        return options.split_column
    for column in _split_columns(tables, options):
        cells = itertools.chain(*(_column(table, column) for table in tables.values()))
        if {"train", "test"} <= {*map(split_of, {*map(str, cells)})} <= {*SPLITS}:
            return column
    return ""


def _split_columns(tables: Tables, options: CorpusOptions) -> list[str]:
    """Return the columns whose name says that they have the splits, but those used otherwise."""
    used = {*options.text_column, *options.label_column, options.group_column, options.id_column}
    names = next(iter(tables.values())).column_names
    return [
        name for name in names if name.strip().lower() in formats.SPLIT_NAMES and name not in used
    ]


def _require_no_quotes(files: UserFiles, form: Format, typed: CorpusOptions) -> None:
    """Raise UnclearError where quotes that do not pair up in one file do in another."""
    for path in files.paths.values() if form.quote == "" and typed.quote is None else ():
        table = read_table(path, form)
        quoted = table
        with contextlib.suppress(HeedError):
            quoted = read_table(path, replace(form, quote=None))
        if quoted != table:
            raise UnclearError(
                f"{path}: its texts are in double quotes, and the quotes of another of the files "
                "do not pair up: correct them there. If all are characters of the texts:",
                replace(typed, quote=""),
            )


def _column(table: "pa.Table", name: str) -> list[Any]:
    return table.column(name).to_pylist() if name in table.column_names else []


def _names(table: "pa.Table") -> list[str]:
    """Return the names of a table's columns."""
    return table.column_names[1:]  # the first is AT


def _has_names(path: Path, form: Format) -> bool:
    """Return whether the names of the columns are the first row of a file."""
    return not form.header and (form.format == "csv" or suffix_of(path) in WITH_HEADER)


def _may_be_row(table: "pa.Table", path: Path, form: Format, typed: CorpusOptions) -> bool:
    """Return whether the names of the columns are a row, of which nobody has named any."""
    named = {*typed.text_column, *typed.label_column} & {*_names(table)}
    return _has_names(path, form) and not named


def _doubt_names(table: "pa.Table", path: Path, form: Format, typed: CorpusOptions) -> None:
    """Raise UnclearError where a name that the first row gives to a column looks like a text."""
    text = formats.find_text(_names(table))
    if text and _may_be_row(table, path, form, typed):
        named = replace(typed, text_column=[text])
        if formats.SampledColumn(_column(table, text)).is_label:
            named = replace(typed, label_column=[text])
        raise UnclearError(
            f"{path}: the first row has {join_names([text])!r}: is that the name of a column, or "
            "a text, in a file without names of columns?",
            replace(typed, no_header=True),
            *[named] * (len(text) <= LONG_NAME),
        )


def _unclear_columns(
    typed: CorpusOptions, path: Path, form: Format, table: "pa.Table", texts: formats.Choices,
    labels: formats.Choices,
) -> UnclearError:  # fmt: skip
    unknown = ["the text"] * (len(texts) != 1) + ["the label"] * (len(labels) != 1)
    pairs = itertools.product(texts[:2] or [["COLUMN"]], labels[:2] or [["COLUMN"]])
    answers = [replace(typed, text_column=text, label_column=label) for text, label in pairs]
    columns = join_names(_names(table))
    question = f"{path}: which column has {' and '.join(unknown)}? Columns: {columns}."
    may_be_row = not labels and formats.describe_names(_names(table))
    if _has_names(path, form) and (not texts or may_be_row):
        question += " Or is the first row a text, and columns have no names?"
        answers.insert(0, replace(typed, no_header=True))
    return UnclearError(question, *answers[:2])


def _check_documents(
    tables: Tables, files: UserFiles, corpus: "Corpus", typed: CorpusOptions
) -> tuple[own_entries.OwnCorpusStatistics, list[str]]:
    """Return the facts of all documents, and notes on their labels."""
    _refuse_rejected(tables, files)
    reader = DocumentReader(corpus)
    batches = {key: table.to_batches() for key, table in tables.items()}
    try:
        known, counts, digests = own_entries.read_labels(reader.read(batches), corpus, str(files))
    except UnlabelledError:
        question = reader.describe_unlabelled()
        raise UnclearError(question, replace(typed, drop_unlabelled=True)) from None
    except SimilarLabelsError as error:
        raise UnclearError(str(error), replace(typed, similar_labels=True)) from None
    for label in corpus.label_names if not typed.as_labels else ():
        _doubt_classes(f"{files}: column {label!r}", [*known.counts[label]], len(counts), typed)
    statistics = own_entries.split_statistics(known, counts, digests, corpus, str(files))
    if corpus.split.kind == "given" and not typed.as_labels:
        _doubt_unseen(str(files), statistics.unseen, typed)
    left = f"{reader.unlabelled:,} of {reader.rows:,} rows have no label and are left out"
    return statistics, [left] * bool(reader.unlabelled)


def _doubt_unseen(files: str, unseen: dict[str, list[str]], typed: CorpusOptions) -> None:
    """Raise UnclearError where no text to train on has some classes of a given split."""
    for label, names in unseen.items():
        if names:
            raise UnclearError(
                f"{files}: column {label!r}: no text to train on has the classes "
                f"{join_names(names)}, which other texts have. Are they written alike in all "
                "splits? If they are, say that they are classes.",
                replace(typed, as_labels=True),
            )


def _refuse_rejected(tables: Tables, files: UserFiles) -> None:
    """Raise HeedError where a label that was rejected would be the text's label."""
    for key, table in tables.items():
        answers = {*_column(table, "answer")} - {"accept", None}
        if answers and answers <= NOT_ACCEPTED:
            raise HeedError(
                f"{files.paths[key]}: column 'answer' has {join_names(sorted(answers))}, as "
                "Prodigy writes it. Keep the rows whose answer is accept, such as by jq -c "
                "'select(.answer == \"accept\")'"
            )


def _doubt_classes(column: str, names: list[str], documents: int, typed: CorpusOptions) -> None:
    """Raise UnclearError where the values of a label may be no classes."""
    for misread in _misread_classes(names):
        raise UnclearError(f"{column}: {misread}", replace(typed, as_labels=True))
    are_numbers = len(names) > MANY_NUMBERS and all(map(formats.is_number, names))
    if are_numbers or 2 * len(names) > documents > FEW_ROWS:
        raise UnclearError(
            f"{column} has {len(names):,} different {'numbers' if are_numbers else 'values'} in "
            f"{documents:,} rows: is it a label, or a number to predict, which heed cannot, or an "
            "id? Name another column, or say that they are classes.",
            replace(typed, label_column=["COLUMN"], id_column=""),
            replace(typed, as_labels=True),
        )


def _misread_classes(names: list[str]) -> Iterator[str]:
    """Yield a question on each missing value, quoted class, and number that is written twice."""
    ways: dict[str, list[str]] = {}
    for name in names:
        ways.setdefault(WHOLE.sub(r"\1", name), []).append(name)
        if name.lower() in MISSING:
            yield (
                f"{name!r}, as programs write a missing value, would be a class. Leave these "
                "labels empty, and their rows are left out; or say that it is a class."
            )
        if name[0] == name[-1] == '"' != name:
            yield (
                f"the quotes around {name} would be a part of the class. Delete blanks between a "
                "delimiter and a quote; or say that it is a class."
            )
    for same in ways.values():
        if len(same) > 1:
            yield (
                f"the classes {' and '.join(map(repr, same))} are one value that is written in two "
                "ways (where a number is missing, pandas writes 1 as 1.0). Write it in one way, or "
                "say that they are classes."
            )


# --- writing the study ----------------------------------------------------------------------------


def _with_entries(
    options: CorpusOptions, entries: own_entries.CorpusEntries
) -> tuple[dict[Path, str], list[str]]:
    """Return the files of a new study, or the named active one, with the entries; and lines.

    Raises HeedError: the active study was edited after params.yaml.
    """
    own, extends = studies.find_active_own_study(), _extends(options)
    if options.study and own is None:
        read_yaml(read_text(PARAMS), PARAMS)  # its message: a mistake hides whose study it is
    study = options.study or entries.name
    path = PARAMS if extends else studies.own_study_file(study)

    def change(tree: Any) -> None:
        own_entries.add_entries(tree, entries, path)
        if options.seeds:
            tree["seeds"] = as_yaml([*range(1, options.seeds + 1)])
        if options.title:
            tree["study"]["title"] = DoubleQuotedScalarString(options.title)

    old = (
        PARAMS.read_text(encoding="utf-8") if extends else studies.empty_study(study, options.title)
    )
    text = changed_text(old, path, change)
    if not extends:
        join = f"  To add the corpus to {own.stem} instead: --study {own.stem}" if own else ""
        texts, lines = studies.new_study(study, text)
        return texts, [*lines, *filter(None, [join])]
    lines = [f"{PARAMS}, {own}: corpus {entries.name} is added to the study {study}."]
    lines += [f"  the title is now {options.title!r}"] * bool(options.title)
    lines += [f"  all models have {options.seeds} seeds now"] * bool(options.seeds)
    studies.unsaved_edits(False, study)
    texts = {PARAMS: text, studies.own_study_file(study): studies.own_study_text(text)}
    return texts, lines
