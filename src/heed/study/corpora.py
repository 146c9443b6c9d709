"""The sections `sources` and `corpora`: published files, and the corpora made from them."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, field_validator, model_validator

from heed.corpora.kinds import KINDS, SOURCE_KINDS
from heed.corpora.publication import SplitKind
from heed.study.section import Section, Seed

SAMPLE_TEXT = 'text,"label"\n'  # an encoding of text gives it back

# The kinds that the modules of heed.corpora declare, and no others.
if TYPE_CHECKING:
    KindOfSource = str
    KindOfCorpus = str
else:
    KindOfSource = Literal[tuple(SOURCE_KINDS)]
    KindOfCorpus = Literal[tuple(KINDS)]


MAX_CHARACTERS = 100_000_000
MAX_DOCUMENTS = 100_000_000
Documents = Annotated[int, Field(gt=0, le=MAX_DOCUMENTS)]


class Source(Section):
    """Files as published."""

    kind: KindOfSource = Field(
        description=(
            "the publication, whose URLs and hashes are in src/heed/corpora/; `table` is a file "
            "of your own"
        )
    )
    files: list[str] | None = Field(
        None, description="only these of the publication's files (default: all)", min_length=1
    )
    documents: Documents | None = Field(
        None, description="kind sample: how many documents each generated corpus has"
    )
    seed: Seed | None = Field(None, description="kind sample: the generator's seed")
    path: str | None = Field(None, description="kind table: the file, .csv, .jsonl or .parquet")
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        None, description="kinds sample and table: hash of the file"
    )

    @model_validator(mode="after")
    def _check_keys(self) -> "Source":
        kind = SOURCE_KINDS[self.kind]
        keys = {
            key
            for key in ("files", "documents", "seed", "path", "sha256")
            if getattr(self, key) is not None
        }
        if missing := {*kind.required_keys} - keys:
            raise ValueError(f"a source of kind {self.kind} needs {_join(missing)}")
        if extra := keys - {*kind.required_keys, *kind.optional_keys}:
            raise ValueError(f"a source of kind {self.kind} does not take {_join(extra)}")
        return self


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
            "kind folds: documents of one group (a letter) are in the same fold, and in the same "
            "one of train and validation"
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
        if self.grouped and self.kind != "folds":
            raise ValueError("`grouped` is only for kind folds")
        return self


class Corpus(Section):
    """Documents with labels and splits, made from a source."""

    source: str = Field(description="a key of `sources`")
    kind: KindOfCorpus = Field(
        description="the rules that make documents from the files; see docs/corpora.md"
    )
    split: Split
    tokenizer: Literal["xx", "en", "de", "whitespace"] = Field(
        "xx",
        description=(
            "a blank spaCy tokenizer for the whole corpus, whatever a document's language; "
            "`whitespace`: the text is tokenised already"
        ),
    )
    max_characters: Annotated[int, Field(gt=0, le=MAX_CHARACTERS)] = Field(
        1_000_000, description="longer documents are cut here, and counted in meta.json"
    )
    drop_duplicates: bool = Field(
        False,
        description="drop training documents whose text is in the test or validation part too",
    )
    sample: Documents | None = Field(
        None,
        description=(
            "keep only this many documents, drawn at random; the report marks the corpus as reduced"
        ),
    )
    text_column: str | None = Field(None, description="kind table: the column with the text")
    label_column: str | None = Field(None, description="kind table: the column with the label")
    split_column: str | None = Field(
        None,
        description="kind table: the column with train, validation or test, for split kind given",
    )
    encoding: str | None = Field(
        None,
        description=(
            "kind table: the encoding of a .csv or .jsonl file, such as windows-1252 (default: "
            "utf-8)"
        ),
    )

    @field_validator("encoding")
    @classmethod
    def _check_encoding(cls, name: str | None) -> str | None:
        try:
            is_text = name is None or SAMPLE_TEXT.encode(name).decode(name) == SAMPLE_TEXT
        except (LookupError, ValueError):  # unknown, or no encoding of text
            is_text = False
        if not is_text:
            raise ValueError(
                f"expected an encoding that Python knows, such as windows-1252, found {name!r}"
            )
        return name

    @model_validator(mode="after")
    def _check_keys(self) -> "Corpus":
        kind, split = KINDS[self.kind], self.split
        keys = ("text_column", "label_column", "split_column", "encoding")
        columns = {key for key in keys if getattr(self, key)}
        if missing := [key for key in kind.required_keys if key not in columns]:
            raise ValueError(f"a corpus of kind {kind.name} needs {' and '.join(missing)}")
        if self.text_column and self.text_column == self.label_column:
            raise ValueError(f"text_column and label_column are both {self.text_column!r}")
        if "split_column" in kind.optional_keys and (split.kind == "given") != (
            self.split_column is not None
        ):
            raise ValueError(
                "split kind given needs split_column, and split_column needs split kind given"
            )
        if extra := columns - {*kind.required_keys, *kind.optional_keys}:
            suitable = [
                other.name
                for other in KINDS.values()
                if extra & {*other.required_keys, *other.optional_keys}
            ]
            raise ValueError(f"{_join(extra)} go with kind {' and '.join(suitable)}")
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
        if split.grouped and not kind.grouped:
            raise ValueError(
                f"only {' and '.join(other.name for other in KINDS.values() if other.grouped)} "
                "has groups"
            )
        return self


def _join(keys: set[str]) -> str:
    return " and ".join(sorted(keys))
