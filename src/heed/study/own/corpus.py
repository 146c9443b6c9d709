"""A corpus of the user's own becomes a study, or a part of one: `heed corpus add` and `remove`."""

import dataclasses
from typing import Any

from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from heed.corpora.table import read_documents
from heed.files import HeedError, write_text
from heed.paths import PARAMS, is_name
from heed.study.editing import changed_text
from heed.study.own.entries import (
    CorpusEntries,
    CorpusOptions,
    add_entries,
    check_corpus,
    corpus_section,
    make_entries,
    make_seeds,
    remove_entries,
)
from heed.study.own.facts import read_facts
from heed.study.own.files import default_name, find_columns, name_files, recognise_columns
from heed.study.own.summary import describe_corpus, describe_entries, describe_unused
from heed.study.reader import parse, read_text
from heed.study.studies import (
    changing_studies,
    describe_cost,
    empty_study,
    find_active_own_study,
    own_study_file,
    save_active_study,
    save_study,
    start_study,
)
from heed.study.syntax import read_yaml


def add_corpus(options: CorpusOptions, cores: int) -> str:
    """Add a corpus to the active study of the user's own, or make a study of it; return a message.

    Every row is read as `heed tokenize` will read it, and nothing is written before all is checked.

    Args:
        options: what the user typed.
        cores: that the study will run on.

    Raises:
        HeedError: a file cannot be read, lacks a column or a class, has a row that does not fit, or
            cannot be split; a name is invalid or already used; params.yaml was edited by hand and
            is no study of the user's own.

    """
    files = name_files(options.files)
    name = options.name or default_name(files)
    if not is_name(name):
        raise HeedError(
            f"{name!r} is no name: lower-case letters, digits and single '-'. Use --name NAME"
        )
    unknown = options.text_column or ["(text)"], options.label_column or ["(label)"]
    check_corpus(corpus_section(name, options, files, *unknown))  # before any file is read
    quotes = False if options.no_quotes else None
    columns, delimiter = find_columns(files, options.encoding, options.delimiter, quotes)
    texts, labels = recognise_columns(columns, options.text_column, options.label_column)
    if not (texts and labels):
        raise _unknown_columns(options, columns, texts, labels)
    options = dataclasses.replace(options, delimiter=delimiter)
    section = corpus_section(name, options, files, texts, labels)
    corpus = check_corpus(section)
    facts = read_facts(read_documents(files.paths, corpus), corpus, str(files))
    entries = make_entries(name, options, files, section, facts)
    with changing_studies():
        lines, text = _write_entries(options, entries)
    return "\n".join(
        [
            *describe_corpus(files, corpus, facts),
            *describe_unused(columns, corpus),
            *describe_entries(entries, facts),
            *lines,
            describe_cost(parse(text, PARAMS), cores),
        ]
    )


def _unknown_columns(
    options: CorpusOptions, columns: list[str], texts: list[str], labels: list[str]
) -> HeedError:
    """Return the error of columns that are not known, with all columns and the command to type."""
    if not columns:
        return HeedError(
            f"{options.files[0]}: empty: expected rows, and the names of their columns"
        )
    unknown = " and ".join(["the text"] * (not texts) + ["the label"] * (not labels))
    named = dataclasses.replace(
        options, text_column=texts or ["COLUMN"], label_column=labels or ["COLUMN"]
    )
    return HeedError(
        f"{options.files[0]}: which column has {unknown}? Columns, by the first row: "
        f"{', '.join(columns)}. Run, with its name for COLUMN: {named.command()}"
    )


def _write_entries(options: CorpusOptions, entries: CorpusEntries) -> tuple[list[str], str]:
    """Write the entries into the active own study, or a new one; return lines, and its text."""
    own = find_active_own_study()
    extends = own is not None and options.study in ("", own.stem)
    study = own.stem if own and extends else options.study or entries.name
    path = PARAMS if extends else own_study_file(study)

    def change(tree: Any) -> None:
        add_entries(tree, entries, path)
        if options.seeds:
            tree["seeds"] = make_seeds(options.seeds)
        if options.title:
            tree["study"]["title"] = DoubleQuotedScalarString(options.title)

    old = PARAMS.read_text(encoding="utf-8") if extends else empty_study(study, options.title)
    text = changed_text(old, path, change)
    if not extends:
        return start_study(study, text), text
    _replace_study(study, text)
    changed = [f"the title is now {options.title!r}"] if options.title else []
    changed += [f"all models have {options.seeds} seeds now"] if options.seeds else []
    lines = [f"{PARAMS}, {own}: corpus {entries.name} is added to the study {study}."]
    return [*lines, *(f"  {each}" for each in changed)], text


def remove_corpus(name: str) -> str:
    """Remove a corpus, and all that is made from it, from the active study; return a message.

    The results that it had are deleted by the next run of snakemake, and stay in DVC's cache.

    Raises:
        HeedError: the active study is none of the user's own, or has no such corpus.

    """
    with changing_studies():
        own = find_active_own_study()
        if own is None:
            read_yaml(read_text(PARAMS), PARAMS)  # its message: a mistake hides whose study it is
            raise HeedError(
                f"{PARAMS}: is no study of your own: `heed study` lists them, heed study NAME "
                "activates one"
            )
        text = changed_text(
            PARAMS.read_text(encoding="utf-8"),
            PARAMS,
            lambda tree: remove_entries(tree, name, PARAMS),
            may_be_empty=True,
        )
        _replace_study(own.stem, text)
    return f"{PARAMS}, {own}: corpus {name} is removed, with its experiments and models."


def _replace_study(name: str, text: str) -> None:
    """Write the new text of the active study into params.yaml and into its own file."""
    save_active_study(False, name)  # refuses where the file has edits that params.yaml has not
    write_text(PARAMS, text)
    save_study(name, text)
