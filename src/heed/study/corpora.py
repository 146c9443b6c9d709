"""The sections `sources`, `corpora` and `split`: the values that are allowed, and their checks."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, WithJsonSchema

from heed.corpora.declared import SHA256, Corpus, Source, Split
from heed.corpora.kinds import KINDS, SOURCE_KINDS
from heed.corpora.publication import split_of_key
from heed.corpora.rows import READERS, is_text_encoding
from heed.paths import MAX_NAME
from heed.study.section import make_section, reads
from heed.tokens.meta import NEEDED_PACKAGES, Tokenizer

LANGUAGE = "[a-z][a-z0-9_]*"
# keys that only some kinds of source take, and only some kinds of corpus
SOURCE_KEYS = (
    "files", "documents", "seed", "path", "paths", "sha256", "hashes", "format", "encoding",
    "delimiter", "quote", "header", "flags",
)  # fmt: skip
COLUMN_KEYS = (
    "text_column", "text_columns", "text_separator", "label_column", "label_columns",
    "split_column", "id_column", "group_column", "rationale_column", "columns", "alignment_base",
    "label_separator", "drop_unlabelled",
)  # fmt: skip


def _check_language(name: str) -> str:
    """Return the name of a language, or of two. Raises ValueError for any other text."""
    if len(name) > MAX_NAME or not re.fullmatch(f"{LANGUAGE}(-{LANGUAGE})?", name):
        raise ValueError(
            "files and languages have names of lower-case letters, digits and '_', and a '-' "
            f"stands between two languages, found {name[:MAX_NAME]!r}"
        )
    return name


def _check_tokenizer(name: object) -> object:
    """Return the name. Raises ValueError for one of spaCy's that heed's environment cannot run."""
    if isinstance(name, str) and name in NEEDED_PACKAGES:
        raise ValueError(
            f"spaCy's tokenizer {name} needs the package {NEEDED_PACKAGES[name]}, which heed does "
            "not install. Split the texts into words with it, put spaces between them, and use "
            "whitespace"
        )
    return name


def _check_encoding(name: str | None) -> str | None:
    if name is not None and not is_text_encoding(name):
        raise ValueError(
            f"expected an encoding that Python knows, such as windows-1252, found {name!r}"
        )
    return name


def _check_delimiter(delimiter: str | None) -> str | None:
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise ValueError(
            'expected one character, such as ";" or "\\t" (a tab), and no quote, found '
            f"{delimiter!r}"
        )
    return delimiter


def check_source(source: Source) -> Source:
    """Return a source. Raises ValueError where its keys contradict each other or its kind."""
    kind = SOURCE_KINDS[source.kind]
    if (source.vectors is None) != (source.vectors_sha256 is None):
        raise ValueError("vectors needs vectors_sha256, and vectors_sha256 needs vectors")
    if source.vectors and source.kind in {each.source.name for each in _parallel_kinds()}:
        raise ValueError(
            f"a source of kind {source.kind} takes no vectors: no translator reads them"
        )
    keys = {key for key in SOURCE_KEYS if getattr(source, key) is not None}
    if missing := {*kind.required_keys} - keys:
        raise ValueError(f"a source of kind {source.kind} needs {_join(missing)}")
    known = {*kind.required_keys, *kind.optional_keys}
    alternatives = [{*group} for group in kind.alternative_keys]
    if extra := keys - known.union(*alternatives):
        raise ValueError(f"a source of kind {source.kind} does not take {_join(extra)}")
    if alternatives and keys - known not in alternatives:
        groups = ", or ".join(map(_join, alternatives))
        raise ValueError(f"a source of kind {source.kind} needs {groups}")
    paths, hashes = source.paths, source.hashes
    if paths and hashes and {*paths} != {*hashes}:
        raise ValueError(
            f"hashes: expected one for each of {_join({*paths})}, as in paths, found "
            f"{_join({*hashes})}"
        )
    if kind.parallel:
        _check_languages(paths, "paths")
    if paths is not None and not paths:
        raise ValueError("paths: expected one file or more")
    return source


def _parallel_kinds() -> list[Any]:
    return [kind for kind in KINDS.values() if kind.parallel]


def file_splits(source: Source) -> dict[str, str]:
    """Return the split that the key of each file names; empty unless the key of each does."""
    splits = {key: split_of_key(key) for key in source.paths or ()}
    if SOURCE_KINDS[source.kind].parallel:
        return {}
    known = {key: split for key, split in splits.items() if split}
    return known if len(known) == len(splits) else {}


def check_split(split: Split) -> Split:
    """Return a split. Raises ValueError where its keys contradict each other."""
    if (split.kind == "random") != (split.test is not None):
        raise ValueError("kind random needs `test`, and no other kind takes it")
    if isinstance(split.test, float) and split.test >= 1:
        raise ValueError(
            f"`test` is a share below 1 or a whole number of documents, found {split.test}"
        )
    if (split.kind == "folds") != (split.k is not None):
        raise ValueError("kind folds needs `k`, and no other kind takes it")
    if split.grouped and split.kind == "given":
        raise ValueError("`grouped` is only for kinds random and folds")
    if split.kind == "folds" and (split.train or split.train_per_class):
        raise ValueError(
            "`train` and `train_per_class` are not for kind folds, which tests every document"
        )
    if split.train and split.train_per_class:
        raise ValueError("use `train` or `train_per_class`, not both")
    return split


def check_corpus(corpus: Corpus) -> Corpus:
    """Return a corpus. Raises ValueError where its keys contradict each other or its kind."""
    kind = KINDS[corpus.kind]
    keys = {key for key in COLUMN_KEYS if getattr(corpus, key) not in (None, "")}
    groups = [*((key,) for key in kind.required_keys), *kind.one_of_keys]
    if missing := [" or ".join(group) for group in groups if not keys & {*group}]:
        raise ValueError(f"a corpus of kind {kind.name} needs {', and '.join(missing)}")
    if twice := [group for group in groups if len(keys & {*group}) > 1]:
        raise ValueError(f"use {' or '.join(twice[0])}, not both")
    if extra := keys - kind.keys:
        suitable = [other.name for other in KINDS.values() if extra & other.keys]
        raise ValueError(f"{_join(extra)} go with kind {' and '.join(suitable)}")
    _check_table_keys(corpus)
    _check_parallel_keys(corpus)
    _check_split_of_kind(corpus)
    return corpus


def _check_table_keys(corpus: Corpus) -> None:
    """Check the keys of a table. Raises ValueError."""
    for key, names in {"text": corpus.text_names, "label": corpus.label_names}.items():
        if len({*names}) < len(names):
            raise ValueError(f"{key}_columns: each column once, found {', '.join(names)}")
    if both := {*corpus.text_names} & {*corpus.label_names}:
        raise ValueError(f"the column {min(both)!r} is both text and label")
    if corpus.text_separator is not None and not corpus.text_columns:
        raise ValueError("text_separator stands between text_columns, which are not there")
    if corpus.rationale_column and len(corpus.text_names) > 1:
        raise ValueError(
            "evidence_column counts the characters of one text: use text_column, not text_columns"
        )


def _check_parallel_keys(corpus: Corpus) -> None:
    """Check the keys of texts in several languages. Raises ValueError."""
    kind, columns = KINDS[corpus.kind], corpus.columns
    if corpus.tokenizers and not kind.parallel:
        raise ValueError(
            f"tokenizers: a corpus of kind {kind.name} has no languages; it takes `tokenizer`"
        )
    if corpus.optional_languages and not kind.parallel:
        raise ValueError(f"optional_languages: a corpus of kind {kind.name} has no languages")
    _check_languages(columns, "columns")
    languages = kind.languages or {key for key in columns or () if "-" not in key}
    for name in ("tokenizers", "optional_languages"):
        if languages and (unknown := {*(getattr(corpus, name) or ())} - {*languages}):
            raise ValueError(
                f"{name}: the corpus has no language {_join(unknown)}. Its languages: "
                f"{', '.join(sorted(languages))}"
            )
    if columns and len({*columns.values()}) < len(columns):
        raise ValueError("columns: a column is named twice")
    if columns and (corpus.alignment_base is None) == any("-" in key for key in columns):
        raise ValueError(
            "`columns` with an alignment need alignment_base (0 or 1), and alignment_base needs an "
            "alignment"
        )


def _check_split_of_kind(corpus: Corpus) -> None:
    """Check that the split is one that this kind of corpus has. Raises ValueError."""
    kind, split = KINDS[corpus.kind], corpus.split
    if corpus.split_column is not None and split.kind != "given":
        raise ValueError("split_column needs split kind given")
    allowed = " or ".join(kind.splits)
    if split.kind not in kind.splits and split.kind == "given":
        raise ValueError(f"corpus kind {kind.name} comes without a split of its own: use {allowed}")
    if split.kind not in kind.splits:
        raise ValueError(
            f"corpus kind {kind.name} is used with its published files: split kind must be "
            f"{allowed}"
        )
    if split.grouped and not (kind.grouped or corpus.group_column):
        names = " and ".join(other.name for other in KINDS.values() if other.grouped)
        raise ValueError(f"only {names} have groups, and a table with a group_column")
    if split.train_per_class and kind.parallel:
        raise ValueError(f"train_per_class: a corpus of kind {kind.name} has no labels")


def _check_languages(mapping: dict[str, str] | None, key: str) -> None:
    """Raise ValueError unless a mapping has two languages, and each alignment two of these."""
    if mapping is None:
        return
    languages = {name for name in mapping if "-" not in name}
    if len(languages) < 2:
        raise ValueError(
            f"{key}: expected two languages or more, found {_join({*mapping}) or 'none'}"
        )
    for name in mapping:
        if "-" in name and (not {*name.split("-")} <= languages or len({*name.split("-")}) < 2):
            raise ValueError(
                f"{key}.{name}: an alignment is of two different languages of "
                f"{', '.join(sorted(languages))}"
            )


def _join(keys: set[str]) -> str:
    return " and ".join(sorted(keys))


# The values that the registries of kinds and readers allow, and the sections made with them.
KindOfSource: Any = Literal[tuple(SOURCE_KINDS)]
KindOfCorpus: Any = Literal[tuple(KINDS)]
Format: Any = Literal[tuple(READERS)]
AnyTokenizer = Annotated[Tokenizer, BeforeValidator(_check_tokenizer)]
# the key of a file; a language, or two of them for the alignment of their words
LanguageOrPair = Annotated[
    str,
    AfterValidator(_check_language),
    WithJsonSchema({"type": "string", "pattern": f"^{LANGUAGE}(-{LANGUAGE})?$"}),
]
SOURCE = make_section(
    Source,
    kind=KindOfSource,
    paths=dict[LanguageOrPair, str] | None,
    hashes=dict[LanguageOrPair, Annotated[str, Field(pattern=SHA256)]] | None,
    format=Format | None,
    encoding=Annotated[str | None, AfterValidator(_check_encoding)],
    delimiter=Annotated[str | None, AfterValidator(_check_delimiter)],
)
SPLIT = make_section(Split)
AnySplit = Annotated[Split, reads(SPLIT, Split, check_split)]
CORPUS = make_section(
    Corpus,
    kind=KindOfCorpus,
    split=AnySplit,
    tokenizer=AnyTokenizer,
    tokenizers=dict[LanguageOrPair, AnyTokenizer] | None,
    columns=dict[LanguageOrPair, str] | None,
)
AnySource = Annotated[Source, reads(SOURCE, Source, check_source)]
AnyCorpus = Annotated[Corpus, reads(CORPUS, Corpus, check_corpus)]


def read_corpus(values: dict[str, object]) -> Corpus:
    """Return the section of a corpus. Raises pydantic's ValidationError."""
    corpus: Corpus = TypeAdapter(AnyCorpus).validate_python(values)
    return corpus
