"""The sections `sources` and `corpora`: published files, and the corpora made from them."""

import dataclasses
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from heed.corpora.kinds import KINDS, SOURCE_KINDS
from heed.corpora.publication import SplitKind, part_of_key
from heed.corpora.rows import READERS, is_text_encoding
from heed.paths import MAX_NAME
from heed.study.section import Section, Seed
from heed.tokens.meta import NEEDED_PACKAGES, Tokenizer

# The kinds that the modules of heed.corpora declare, and no others.
if TYPE_CHECKING:
    KindOfSource = str
    KindOfCorpus = str
    Format = str
else:
    KindOfSource = Literal[tuple(SOURCE_KINDS)]
    KindOfCorpus = Literal[tuple(KINDS)]
    Format = Literal[tuple(READERS)]


MAX_CHARACTERS = 100_000_000
MAX_DOCUMENTS = 100_000_000
Documents = Annotated[int, Field(gt=0, le=MAX_DOCUMENTS)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Columns = Annotated[list[str], Field(min_length=1)]
LANGUAGE = "[a-z][a-z0-9_]*"


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


AnyTokenizer = Annotated[Tokenizer, BeforeValidator(_check_tokenizer)]

# the key of a file; a language, or two of them for the alignment of their words
LanguageOrPair = Annotated[
    str,
    AfterValidator(_check_language),
    WithJsonSchema({"type": "string", "pattern": f"^{LANGUAGE}(-{LANGUAGE})?$"}),
]


@dataclasses.dataclass(frozen=True)
class UserFile:
    """A file of the user's own, and the keys of a source that declare it and its hash."""

    path: str
    sha256: str
    key: str
    hash_key: str
    name: str = ""  # its key in `paths`: a language or two of them, or of a table any name


class Source(Section):
    """Files as published."""

    kind: KindOfSource = Field(
        description=(
            "the publication, whose URLs and hashes are in src/heed/corpora/; `table` and "
            "`parallel` are files of your own"
        )
    )
    files: list[str] | None = Field(
        None, description="only these of the publication's files (default: all)", min_length=1
    )
    documents: Documents | None = Field(
        None,
        description=(
            "kinds of generated text (sample, sample-…): how many documents each corpus has "
            "(without the long ones)"
        ),
    )
    seed: Seed | None = Field(None, description="kinds of generated text: the generator's seed")
    path: str | None = Field(
        None,
        description="kinds table and parallel: the file, or of kind table the folder",
    )
    paths: dict[LanguageOrPair, str] | None = Field(
        None,
        description=(
            "instead of `path`, several files. Kind table: tables with the same columns; keys that "
            "are train, validation and test (also dev, valid, val, and train_1, train_2) are the "
            "parts of their rows, for split kind given. Kind parallel: a text file for each "
            "language, with a line for each sentence; and for SOURCE-TARGET, two of the languages, "
            "the alignments of their words"
        ),
    )
    sha256: Sha256 | None = Field(
        None, description="of a generated file, and of the file of `path`: its hash"
    )
    hashes: dict[LanguageOrPair, Sha256] | None = Field(
        None, description="of `paths`: the SHA-256 of each file, by the same keys"
    )

    format: Format | None = Field(
        None, description="kinds table and parallel: of a file whose ending does not say it"
    )
    encoding: str | None = Field(
        None,
        description=(
            "kinds table and parallel: the encoding of a file of text, such as windows-1252 "
            "(default: utf-8)"
        ),
    )
    delimiter: str | None = Field(
        None,
        description=(
            "kinds table and parallel: the character between two fields of a .csv or .tsv file "
            "(default: a comma in .csv, a tab in .tsv)"
        ),
    )
    quote: str | None = Field(
        None,
        max_length=1,
        description=(
            "kinds table and parallel: the character around a field of a .csv or .tsv file, which "
            "is no part of it (default: a double quote); empty: every quote is a character as any "
            "other"
        ),
    )
    header: Columns | None = Field(
        None,
        description=(
            "kinds table and parallel: the names of the columns of a file whose first line has none"
        ),
    )
    flags: Columns | None = Field(
        None,
        description=(
            "kind table: columns of 0 and 1, one a label; they become one column, `labels`, with "
            "the names of those that are 1"
        ),
    )

    @field_validator("encoding")
    @classmethod
    def _check_encoding(cls, name: str | None) -> str | None:
        if name is not None and not is_text_encoding(name):
            raise ValueError(
                f"expected an encoding that Python knows, such as windows-1252, found {name!r}"
            )
        return name

    @field_validator("delimiter")
    @classmethod
    def _check_delimiter(cls, delimiter: str | None) -> str | None:
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise ValueError(
                'expected one character, such as ";" or "\\t" (a tab), and no quote, found '
                f"{delimiter!r}"
            )
        return delimiter

    vectors: str | None = Field(
        None,
        description=(
            "kinds whose documents have labels: a file with word vectors in the text format of "
            "word2vec or GloVe, plain or .gz (docs/corpora.md)"
        ),
    )
    vectors_sha256: Sha256 | None = Field(None, description="of `vectors`: the file's hash")

    @model_validator(mode="after")
    def _check_vectors(self) -> "Source":
        if (self.vectors is None) != (self.vectors_sha256 is None):
            raise ValueError("vectors needs vectors_sha256, and vectors_sha256 needs vectors")
        parallel = {kind.source.name for kind in KINDS.values() if kind.parallel}
        if self.vectors and self.kind in parallel:
            raise ValueError(
                f"a source of kind {self.kind} takes no vectors: no translator reads them"
            )
        return self

    @model_validator(mode="after")
    def _check_keys(self) -> "Source":
        kind = SOURCE_KINDS[self.kind]
        keys = {key for key in SOURCE_KEYS if getattr(self, key) is not None}
        if missing := {*kind.required_keys} - keys:
            raise ValueError(f"a source of kind {self.kind} needs {_join(missing)}")
        known = {*kind.required_keys, *kind.optional_keys}
        alternatives = [{*group} for group in kind.alternative_keys]
        if extra := keys - known.union(*alternatives):
            raise ValueError(f"a source of kind {self.kind} does not take {_join(extra)}")
        if alternatives and keys - known not in alternatives:
            groups = ", or ".join(map(_join, alternatives))
            raise ValueError(f"a source of kind {self.kind} needs {groups}")
        if self.paths and self.hashes and {*self.paths} != {*self.hashes}:
            raise ValueError(
                f"hashes: expected one for each of {_join({*self.paths})}, as in paths, found "
                f"{_join({*self.hashes})}"
            )
        if kind.parallel:
            _check_languages(self.paths, "paths")
        if self.paths is not None and not self.paths:
            raise ValueError("paths: expected one file or more")
        return self

    def file_parts(self) -> dict[str, str]:
        """Return the part that the key of each file names; empty unless the key of each does."""
        parts = {key: part_of_key(key) for key in self.paths or ()}
        if SOURCE_KINDS[self.kind].parallel:
            return {}
        known = {key: part for key, part in parts.items() if part}
        return known if len(known) == len(parts) else {}

    def user_files(self) -> Iterator[UserFile]:
        """Yield the files of the user's own that this source is made of."""
        if self.path and self.sha256:
            yield UserFile(self.path, self.sha256, "path", "sha256")
        for key, path in (self.paths or {}).items():
            assert self.hashes
            yield UserFile(path, self.hashes[key], f"paths.{key}", f"hashes.{key}", key)

    def vector_file(self) -> UserFile | None:
        """Return the file with word vectors, if there is one."""
        if not self.vectors or not self.vectors_sha256:
            return None
        return UserFile(self.vectors, self.vectors_sha256, "vectors", "vectors_sha256")

    def copied_files(self) -> list[UserFile]:
        """Return all files of the user's own that `heed download` copies, vectors among them."""
        return [*self.user_files(), *filter(None, [self.vector_file()])]


# keys that only some kinds of source take
SOURCE_KEYS = (
    "files", "documents", "seed", "path", "paths", "sha256", "hashes", "format", "encoding",
    "delimiter", "quote", "header", "flags",
)  # fmt: skip


class Split(Section):
    """Which documents are for training, validation and test. All draws are seeded by `seed`."""

    kind: SplitKind = Field(
        description=(
            "given: the source's own split; random: drawn; folds: seed s tests on fold (s - 1) "
            "mod k"
        )
    )
    test: float | int | None = Field(
        None,
        description="kind random: the test part, as a share (< 1) or a number of documents",
        gt=0,
        le=MAX_DOCUMENTS,
    )
    k: Annotated[int, Field(ge=2, le=100)] | None = Field(
        None, description="kind folds: the number of folds"
    )
    validation: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.1, description="share of the training documents kept for validation"
    )
    stratify: bool = Field(True, description="keep the label proportions in every part")
    grouped: bool = Field(
        False,
        description=(
            "kinds random and folds: documents of one group (a letter, a value of group_column) "
            "are in the same part; the shares of the parts are then approximate"
        ),
    )
    train: Documents | None = Field(
        None,
        description=(
            "kinds given and random: keep at most so many training documents, drawn with the "
            "labels' proportions (see `stratify`); validation and test stay whole, and the report "
            "marks the corpus as reduced"
        ),
    )
    train_per_class: Documents | None = Field(
        None,
        description=(
            "as `train`, but at most so many of each class (of a corpus with several labels: of "
            "each combination of their values)"
        ),
    )
    seed: Seed = Field(1234, description="seed of the draw, the same for every run of the study")

    @model_validator(mode="after")
    def _check_keys(self) -> "Split":
        if (self.kind == "random") != (self.test is not None):
            raise ValueError("kind random needs `test`, and no other kind takes it")
        if isinstance(self.test, float) and self.test >= 1:
            raise ValueError(
                f"`test` is a share below 1 or a whole number of documents, found {self.test}"
            )
        if (self.kind == "folds") != (self.k is not None):
            raise ValueError("kind folds needs `k`, and no other kind takes it")
        if self.grouped and self.kind == "given":
            raise ValueError("`grouped` is only for kinds random and folds")
        if self.kind == "folds" and (self.train or self.train_per_class):
            raise ValueError(
                "`train` and `train_per_class` are not for kind folds, which tests every document"
            )
        if self.train and self.train_per_class:
            raise ValueError("use `train` or `train_per_class`, not both")
        return self


class Corpus(Section):
    """Documents with labels, or with texts in several languages, and splits, made from a source."""

    source: str = Field(description="a key of `sources`")
    kind: KindOfCorpus = Field(
        description="the rules that make documents from the files; see docs/corpora.md"
    )
    split: Split
    tokenizer: AnyTokenizer = Field(
        "xx",
        description=(
            "a blank spaCy tokenizer for the whole corpus, whatever a document's language (`xx`: "
            "of no language); `whitespace`: the text is tokenised already"
        ),
    )
    tokenizers: dict[LanguageOrPair, AnyTokenizer] | None = Field(
        None,
        description=(
            "texts in several languages: the tokenizer of a language, where it is not `tokenizer`"
        ),
    )
    optional_languages: list[str] | None = Field(
        None,
        description=(
            "texts in several languages: those in which a document may have no text, such as "
            "further references of a translation; without a text in any other it is dropped"
        ),
    )
    max_characters: Annotated[int, Field(gt=0, le=MAX_CHARACTERS)] = Field(
        1_000_000,
        description=(
            "longer documents are cut here, and counted in meta.json; of texts in several "
            "languages, the document is dropped"
        ),
    )
    drop_duplicates: bool = Field(
        False,
        description=(
            "drop training documents whose text (in any language) is in the test or validation "
            "part too"
        ),
    )
    sample: Documents | None = Field(
        None,
        description=(
            "keep only this many documents, drawn at random; the report marks the corpus as reduced"
        ),
    )
    columns: dict[LanguageOrPair, str] | None = Field(
        None,
        description=(
            "kind parallel, of a table: the column of each language; and for SOURCE-TARGET, two of "
            "the languages, the column with the alignments of their words"
        ),
    )
    alignment_base: Literal[0, 1] | None = Field(
        None,
        description="kind parallel, with alignments: the number of a sentence's first word in them",
    )
    text_column: str | None = Field(None, description="kind table: the column with the text")
    text_columns: Columns | None = Field(
        None,
        description=(
            "kind table, instead of text_column: several columns, whose texts are joined in this "
            "order"
        ),
    )
    text_separator: str | None = Field(
        None, description="kind table: what stands between the text_columns (default: a space)"
    )
    label_column: str | None = Field(
        None, description="kind table: the column with the label, whose name is the column's"
    )
    label_columns: Columns | None = Field(
        None,
        description=(
            "kind table, instead of label_column: several columns, each with a label of its name"
        ),
    )
    label_separator: str | None = Field(
        None,
        min_length=1,
        description=(
            "kind table: what stands between the labels of a document in each label column, such "
            "as ';', for task multilabel; a cell may also be a list, or empty"
        ),
    )
    split_column: str | None = Field(
        None,
        description=(
            "kinds table and parallel: the column with train, validation or test (also dev, valid, "
            "val, training, testing, in any case), for split kind given"
        ),
    )
    id_column: str | None = Field(
        None,
        description=(
            "kind table: the column with a name for each document, no two the same (default: "
            "row/1, row/2, …)"
        ),
    )
    group_column: str | None = Field(
        None,
        description=(
            "kind table: the column with the group of each document, such as its author, for "
            "`split.grouped`"
        ),
    )
    evidence_column: str | None = Field(
        None,
        description=(
            "kind table: the column with the characters of the text that are evidence for the "
            "label, such as 0-4 10-15 (docs/corpora.md)"
        ),
    )
    drop_unlabelled: bool | None = Field(
        None, description="kind table: leave out the rows without a label (default: an error)"
    )

    @model_validator(mode="after")
    def _check_keys(self) -> "Corpus":
        kind = KINDS[self.kind]
        keys = {key for key in COLUMN_KEYS if getattr(self, key) not in (None, "")}
        groups = [*((key,) for key in kind.required_keys), *kind.one_of_keys]
        if missing := [" or ".join(group) for group in groups if not keys & {*group}]:
            raise ValueError(f"a corpus of kind {kind.name} needs {', and '.join(missing)}")
        if twice := [group for group in groups if len(keys & {*group}) > 1]:
            raise ValueError(f"use {' or '.join(twice[0])}, not both")
        if extra := keys - kind.keys:
            suitable = [other.name for other in KINDS.values() if extra & other.keys]
            raise ValueError(f"{_join(extra)} go with kind {' and '.join(suitable)}")
        self._check_table_keys()
        self._check_parallel_keys()
        self._check_split()
        return self

    @property
    def text_names(self) -> list[str]:
        """The columns of a table with the text; empty of any other kind."""
        return self.text_columns or ([self.text_column] if self.text_column else [])

    @property
    def between_texts(self) -> str:
        """What joins the texts of several columns of a table."""
        return " " if self.text_separator is None else self.text_separator

    @property
    def label_names(self) -> list[str]:
        """The columns of a table with a label, whose names the labels have; else empty."""
        return self.label_columns or ([self.label_column] if self.label_column else [])

    def _check_table_keys(self) -> None:
        """Check the keys of a table. Raises ValueError."""
        named = {"text": self.text_names, "label": self.label_names}
        for key, names in named.items():
            if len({*names}) < len(names):
                raise ValueError(f"{key}_columns: each column once, found {', '.join(names)}")
        if both := {*self.text_names} & {*self.label_names}:
            raise ValueError(f"the column {min(both)!r} is both text and label")
        if self.text_separator is not None and not self.text_columns:
            raise ValueError("text_separator stands between text_columns, which are not there")
        if self.evidence_column and len(self.text_names) > 1:
            raise ValueError(
                "evidence_column counts the characters of one text: use text_column, not "
                "text_columns"
            )

    def _check_split(self) -> None:
        """Check that the split is one that this kind of corpus has. Raises ValueError."""
        kind, split = KINDS[self.kind], self.split
        if self.split_column is not None and split.kind != "given":
            raise ValueError("split_column needs split kind given")
        allowed = " or ".join(kind.splits)
        if split.kind not in kind.splits and split.kind == "given":
            raise ValueError(
                f"corpus kind {kind.name} comes without a split of its own: use {allowed}"
            )
        if split.kind not in kind.splits:
            raise ValueError(
                f"corpus kind {kind.name} is used with its published files: split kind must be "
                f"{allowed}"
            )
        if split.grouped and not (kind.grouped or self.group_column):
            names = " and ".join(other.name for other in KINDS.values() if other.grouped)
            raise ValueError(f"only {names} have groups, and a table with a group_column")
        if split.train_per_class and kind.parallel:
            raise ValueError(f"train_per_class: a corpus of kind {kind.name} has no labels")

    def _check_parallel_keys(self) -> None:
        """Check the keys of texts in several languages. Raises ValueError."""
        kind = KINDS[self.kind]
        if self.tokenizers and not kind.parallel:
            raise ValueError(
                f"tokenizers: a corpus of kind {kind.name} has no languages; it takes `tokenizer`"
            )
        if self.optional_languages and not kind.parallel:
            raise ValueError(f"optional_languages: a corpus of kind {kind.name} has no languages")
        _check_languages(self.columns, "columns")
        languages = kind.languages or {key for key in self.columns or () if "-" not in key}
        for name in ("tokenizers", "optional_languages"):
            if languages and (unknown := {*(getattr(self, name) or ())} - {*languages}):
                raise ValueError(
                    f"{name}: the corpus has no language {_join(unknown)}. Its languages: "
                    f"{', '.join(sorted(languages))}"
                )
        if self.columns and len({*self.columns.values()}) < len(self.columns):
            raise ValueError("columns: a column is named twice")
        if self.columns and (self.alignment_base is None) == any(
            "-" in key for key in self.columns
        ):
            raise ValueError(
                "`columns` with an alignment need alignment_base (0 or 1), and alignment_base "
                "needs an alignment"
            )

    def tokenizer_of(self, language: str) -> Tokenizer:
        """Return the tokenizer of a language of the corpus."""
        return (self.tokenizers or {}).get(language, self.tokenizer)


# keys that only some kinds take
COLUMN_KEYS = (
    "text_column", "text_columns", "text_separator", "label_column", "label_columns",
    "split_column", "id_column", "group_column", "evidence_column", "columns", "alignment_base",
    "label_separator", "drop_unlabelled",
)  # fmt: skip


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
