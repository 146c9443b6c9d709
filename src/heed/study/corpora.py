"""The sections `sources`, `corpora` and `split`: the values that are allowed, and their checks."""

from typing import Annotated, Literal

from heed.corpora.declared import MAX_SHARE, MIN_SHARE, SHA256, Corpus, Source, Split
from heed.corpora.kinds import KINDS, SOURCE_KINDS
from heed.corpora.rows import READERS, check_encoding
from heed.paths import MAX_NAME
from heed.records import Limits, Types
from heed.tokens.meta import TOKENIZERS, Tokenizer

LANGUAGE = "[a-z][a-z0-9_]*"
SOURCE_KEYS = {
    key
    for kind in SOURCE_KINDS.values()
    for key in (*kind.required_keys, *sum(kind.alternative_keys, ()), *kind.optional_keys)
}
PARALLEL = [kind.source for kind in KINDS.values() if kind.parallel]
COLUMN_KEYS = {key for kind in KINDS.values() for key in kind.keys}


def refuse(mistakes: dict[str, object]) -> None:
    """Raise ValueError with the first message whose condition holds."""
    for message, holds in mistakes.items():
        if holds:
            raise ValueError(message)


def check_source(source: Source) -> None:
    """Raise ValueError where the keys of a source contradict each other or its kind."""
    kind, paths, hashes = SOURCE_KINDS[source.kind], source.paths or {}, source.hashes or {}
    keys = {key for key in SOURCE_KEYS if getattr(source, key) is not None}
    known = {*kind.required_keys, *kind.optional_keys}
    groups = [*map(set, kind.alternative_keys)]
    published = {file.name for file in kind.files}
    unknown = {*(source.files or [])} - published
    missing, extra = {*kind.required_keys} - keys, keys - known.union(*groups)
    takes = f"a source of kind {source.kind}"
    refuse(
        {
            "vectors needs vectors_sha256, and vectors_sha256 needs vectors": (
                source.has_vectors != (source.vectors_sha256 is not None)
            ),
            "one of vectors and vectors_package": None
            not in (source.vectors, source.vectors_package),
            f"{takes} takes no vectors: no translator reads them": (
                source.has_vectors and kind in PARALLEL
            ),
            f"{takes} needs {_join(missing)}": missing,
            f"{takes} does not take {_join(extra)}": extra,
            f"{takes} needs {', or '.join(map(_join, groups))}": (
                groups and keys - known not in groups
            ),
            f"hashes: expected one for each of {_join({*paths})}, as in paths, found "
            f"{_join({*hashes})}": {*paths} != {*hashes},
            "paths: expected one file or more": source.paths == {},
            f"paths: a file is named twice: {_join({*paths.values()})}": (
                len({*paths.values()}) < len(paths)
            ),
            f"files: {_join(unknown)}: no file of {source.kind}, whose files are "
            f"{_join(published)}": unknown,
            f"delimiter and quote are the same character, {source.delimiter!r}": (
                source.delimiter == source.quote is not None
            ),
        }
    )


def check_split(split: Split) -> None:
    """Raise ValueError where the keys of a split contradict each other."""
    refuse(
        {
            "kind random needs `test`, and no other kind takes it": (
                (split.kind == "random") != (split.test is not None)
            ),
            f"`test` is a share from {MIN_SHARE} to {MAX_SHARE} or a whole number of documents, "
            f"found {split.test}": (
                isinstance(split.test, float) and not MIN_SHARE <= split.test <= MAX_SHARE
            ),
            "kind folds needs `k`, and no other kind takes it": (
                (split.kind == "folds") != (split.k is not None)
            ),
            "`repeats` is only for kind folds": split.kind != "folds" and split.repeats > 1,
            "`grouped` is only for kinds random and folds": split.grouped and split.kind == "given",
            "`train` is not for kind folds, which tests every document": (
                split.kind == "folds" and split.train
            ),
        }
    )


def check_corpus(corpus: Corpus) -> None:
    """Raise ValueError where the keys of a corpus contradict each other or its kind."""
    kind = KINDS[corpus.kind]
    keys = {key for key in COLUMN_KEYS if getattr(corpus, key) not in (None, "")}
    missing = [" or ".join(group) for group in kind.one_of_keys if not keys & {*group}]
    twice = [" or ".join(group) for group in kind.one_of_keys if len(keys & {*group}) > 1]
    extra = keys - kind.keys
    suitable = " and ".join(other.name for other in KINDS.values() if extra & other.keys)
    columns = [*corpus.text_names, *corpus.label_names]
    refuse(
        {
            f"a corpus of kind {kind.name} needs {', and '.join(missing)}": missing,
            f"use {', '.join(twice)}, not both": twice,
            f"{_join(extra)} go with kind {suitable}": extra,
            f"each column once, found {', '.join(columns)}": len({*columns}) < len(columns),
            "rationale_column counts the characters of one text: use text_column, not "
            "text_columns": corpus.rationale_column and len(corpus.text_names) > 1,
        }
    )
    _check_languages_of_corpus(corpus)
    _check_split_of_kind(corpus)


def _check_languages_of_corpus(corpus: Corpus) -> None:
    columns = corpus.columns or {}
    _check_languages(columns)
    is_aligned = any("-" in key for key in columns)
    refuse(
        {
            "columns: a column is named twice": len({*columns.values()}) < len(columns),
            "`columns` with an alignment need alignment_base (0 or 1), and alignment_base needs an "
            "alignment": columns and (corpus.alignment_base is None) == is_aligned,
        }
    )


def _check_split_of_kind(corpus: Corpus) -> None:
    kind, split = KINDS[corpus.kind], corpus.split
    has_groups = " and ".join(other.name for other in KINDS.values() if other.grouped)
    refuse(
        {
            "split_column needs split kind given": (
                corpus.split_column is not None and split.kind != "given"
            ),
            f"a corpus of kind {kind.name} has split kind {' or '.join(kind.splits)}, found "
            f"{split.kind}": split.kind not in kind.splits,
            f"only {has_groups} have groups, and a table with a group_column": (
                split.grouped and not (kind.grouped or corpus.group_column)
            ),
        }
    )


def _check_languages(mapping: dict[str, str]) -> None:
    """Raise ValueError unless a mapping has none or two languages, each alignment two of these."""
    languages = {name for name in mapping if "-" not in name}
    pairs = {name: {*name.split("-")} for name in mapping if "-" in name}
    wrong = {name for name, pair in pairs.items() if len(pair) < 2 or not pair <= languages}
    names = ", ".join(sorted(languages))
    refuse(
        {
            f"columns: expected two languages or more, found {names or 'none'}": (
                mapping and len(languages) < 2
            ),
            f"columns.{_join(wrong)}: an alignment is of two different languages of {names}": wrong,
        }
    )


def _join(keys: set[str]) -> str:
    return " and ".join(sorted(keys))


# the key of a file; a language, or two of them for the alignment of their words
LanguageOrPair = Annotated[
    str,
    Limits(
        pattern=f"^{LANGUAGE}(-{LANGUAGE})?$",
        max_length=MAX_NAME,
        expected="the name of a file, of a language or (with '-') of two: lower-case letters, "
        "digits and '_'",
    ),
]
AnyTokenizer = Annotated[
    Tokenizer,
    Limits(
        expected=f"one of {', '.join(TOKENIZERS)} (in place of another of spaCy's, which needs a "
        "package that heed does not install: split the texts into words with it, put spaces "
        "between them, and use whitespace)"
    ),
]
AnySplit = Annotated[Split, check_split]
# The types of what the registries of kinds and formats allow.
AnySource = Annotated[
    Source,
    Types(
        kind=Literal[tuple(SOURCE_KINDS)],
        paths=dict[LanguageOrPair, str] | None,
        hashes=dict[LanguageOrPair, Annotated[str, Limits(pattern=SHA256)]] | None,
        format=Literal[tuple(READERS)] | None,
        header=Annotated[list[Annotated[str, Limits(blank=True)]], Limits(min_length=1)] | None,
        encoding=Annotated[str, check_encoding] | None,
        delimiter=Annotated[
            str,
            Limits(
                pattern=r'[^"\r\n]',
                expected='one character, such as ";" or "\\t" (a tab), and no quote',
            ),
        ]
        | None,
    ),
    check_source,
]
AnyCorpus = Annotated[
    Corpus,
    Types(
        kind=Literal[tuple(KINDS)],
        split=AnySplit,
        tokenizer=AnyTokenizer,
        tokenizers=dict[LanguageOrPair, AnyTokenizer] | None,
        columns=dict[LanguageOrPair, str] | None,
    ),
    check_corpus,
]
