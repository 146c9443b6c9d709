"""The options of `heed corpus add`, described once: the command line is made from their fields."""

import dataclasses
import shlex
from typing import Any

from heed.corpora.rows import Format


def _option(meaning: str, default: str | bool | None = "", kind: str = "") -> Any:
    """Return the field of an option; `kind` is a key of TYPES in heed.cli.commands."""
    return dataclasses.field(default=default, metadata={"help": meaning, "kind": kind})


KNOWN = "the column with the {}; several times for several. Known names are found"


@dataclasses.dataclass(frozen=True)
class CorpusOptions:
    """The options; empty or None where nothing was typed.

    Of `text_separator` and `quote` None is nothing, and empty a value.
    """

    files: list[str]
    text_column: list[str] = dataclasses.field(
        default_factory=list, metadata={"help": KNOWN.format("text"), "kind": "column"}
    )
    label_column: list[str] = dataclasses.field(
        default_factory=list, metadata={"help": KNOWN.format("label"), "kind": "column"}
    )
    study: str = _option("the new study's name; default: the corpus's name")
    title: str = _option("title of the study's report")
    name: str = _option("name of the corpus; default: the file's name")
    label_separator: str = _option(
        "between the labels of a cell that has several, such as ;: task multilabel", kind="sign"
    )
    split_column: str = _option(
        "the column with train, validation (dev) or test; default: a random split", kind="column"
    )
    id_column: str = _option("the column with a name for each document", kind="column")
    group_column: str = _option(
        "the column whose groups stay together in the random split: an author, …", kind="column"
    )
    rationale_column: str = _option(
        "the column with the rationale: spans of the text, such as 0-4 10-15", kind="column"
    )
    text_separator: str | None = _option(
        "between the texts of several --text-column; default: a space", None, "sign"
    )
    delimiter: str = _option(
        "between the fields of a .csv or .tsv file; default: the one that fits", kind="character"
    )
    encoding: str = _option("of a file that is not parquet, such as windows-1252; default: utf-8")
    quote: str | None = _option(
        "the character around fields, such as ': found by itself where one fits", None, "character"
    )
    header: str = _option("the names of the columns of a file without them: label,text")
    language: str = _option(
        "of the texts, such as en or de: spaCy's tokenizer; default: xx, of none"
    )
    metric: str = _option("the metric that decides (docs/tasks.md)")
    vectors: str = _option("a file with word vectors, in the text format of word2vec or GloVe")
    no_quotes: bool = _option("a quote is any other character", default=False)
    no_header: bool = _option("the first row has a text, and no names of columns", default=False)
    drop_unlabelled: bool = _option("leave out the rows without a label", default=False)
    as_labels: bool = _option("a label with many different numbers, or values, is one", False)
    test: float | None = _option("of a random split; .2", None, "share")
    train: int | None = _option("train on at most so many texts", None, "number")
    train_per_class: int | None = _option("as --train, but of each class", None, "number")
    seeds: int | None = _option("of the study; default: 3", None, "number")

    @property
    def form(self) -> Format:
        """The format of the files, as far as it is declared."""
        header = tuple(name.strip() for name in self.header.split(",")) if self.header else ()
        quote = "" if self.no_quotes else self.quote
        return Format("", self.encoding or None, self.delimiter or None, quote, header)

    def command(self) -> str:
        """Return the command line that gives these options."""
        words = ["heed", "corpus", "add", *self.files]
        for field in dataclasses.fields(self)[1:]:
            value, option = getattr(self, field.name), f"--{field.name.replace('_', '-')}"
            if value is True:
                words.append(option)
            elif isinstance(value, list):
                words += [word for each in value for word in (option, each)]
            elif value != field.default:
                words += [option, str(value).replace("\t", "\\t")] if value else [f"{option}="]
        return shlex.join(words)
