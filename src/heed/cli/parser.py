"""The parser of the command line: each command is a function, with its docstring as help."""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from heed.cli import commands, stages

# argparse has no public name for what add_subparsers returns
Commands = argparse._SubParsersAction


def with_tabs(text: str) -> str:
    r"""Return a text with a tab for each `\t`, which a shell passes as two characters."""
    return text.replace("\\t", "\t")


def delimiter(text: str) -> str:
    """Return the character between the fields of a table."""
    character = with_tabs(text)
    if len(character) != 1 or character in '"\r\n':
        raise argparse.ArgumentTypeError(f"one character, or \\t for a tab, found {text[:20]!r}")
    return character


def _number(
    kind: type[int] | type[float], low: float, high: float, expected: str
) -> Callable[[str], Any]:
    """Return the type of an argument that is a number above `low` and at most `high`."""

    def read(text: str) -> float:
        try:
            number = kind(text)
        except ValueError:
            number = low
        if not low < number <= high:
            raise argparse.ArgumentTypeError(f"{expected}, found {text[:20]}")
        return number

    return read


count = _number(int, 0, 1000, "a whole number from 1 to 1000")
size = _number(int, 0, 100_000_000, "a number of texts from 1")
share = _number(float, 0, math.nextafter(1, 0), "a share above 0 and below 1")
factor = _number(float, 0, 100, "a number above 0 and at most 100")


def seed(text: str) -> int:
    """Return the seed of a run."""
    from heed.hyperparameters import MAX_SEED

    return int(_number(int, 0, MAX_SEED, f"a seed is a whole number from 1 to {MAX_SEED}")(text))


def seeds(text: str) -> list[int]:
    """Return the seeds of several runs, from a list with commas."""
    return [seed(part) for part in text.split(",")]


def make_parser() -> argparse.ArgumentParser:
    """Return the parser; the commands are in the order of `heed --help`."""
    parser = argparse.ArgumentParser(
        prog="heed", description="Does attention help? From raw corpora to a printed report."
    )
    subparsers = parser.add_subparsers(
        title="stages, in the order of the pipeline, then further commands",
        metavar="COMMAND",
        required=True,
    )
    _add_stages(subparsers)
    for function in (commands.provenance, commands.publish):
        _add(subparsers, function)
    _add_studies(subparsers)
    _add_classify(_add(subparsers, commands.classify))
    _add_translate(_add(subparsers, commands.translate))
    _add_checks(subparsers)
    _add_corpus(subparsers)
    _add_model(subparsers)
    return parser


def _add(
    subparsers: Commands, function: Callable[..., None], name: str = ""
) -> argparse.ArgumentParser:
    """Add the command of a function, with the function's name or another; return its parser."""
    description = (function.__doc__ or "").strip().rstrip(".")
    command: argparse.ArgumentParser = subparsers.add_parser(
        name or function.__name__, help=description, description=description
    )
    command.set_defaults(function=function)
    return command


# The argument of a stage's command, as messages name it, and the section that it is a key of.
KEYED: dict[Callable[..., None], tuple[str, str, str]] = {
    stages.download: ("source", "SOURCE", "sources"),
    stages.tokenize: ("corpus", "CORPUS", "corpora"),
    stages.search: ("name", "SEARCH", "searches"),
    stages.recipe: ("model", "MODEL", "models"),
    stages.train: ("model", "MODEL", "models"),
    stages.score: ("model", "MODEL", "models"),
    stages.explain: ("model", "MODEL", "models"),
    stages.adversaries: ("name", "ADVERSARY", "adversaries"),
    stages.opponents: ("experiment", "EXPERIMENT", "experiments"),
}
WITH_SEEDS = (stages.train, stages.score, stages.explain, stages.adversaries)


def _add_stages(subparsers: Commands) -> None:
    """Add the stages in the order of the pipeline."""
    parsers: dict[Callable[..., None], argparse.ArgumentParser] = {
        function: _add(subparsers, function) for function in stages.STAGES
    }
    for function, (name, metavar, section) in KEYED.items():
        parsers[function].add_argument(
            name, metavar=metavar, help=f"a key of `{section}` in params.yaml"
        )
    for function in WITH_SEEDS:
        parsers[function].add_argument(
            "--seeds",
            type=seeds,
            default=[],
            help="such as 1,2,3; default: the seeds in params.yaml",
        )
    parsers[stages.search].add_argument(
        "--address",
        default="",
        metavar="HOST:PORT",
        help="a Ray cluster; default: HEED_RAY_ADDRESS, else this machine",
    )
    parsers[stages.explain].add_argument(
        "--documents",
        type=factor,
        default=0.0,
        metavar="FACTOR",
        help="multiplies the numbers of documents; default: explain.documents in params.yaml",
    )
    parsers[stages.report].add_argument(
        "--check",
        action="store_true",
        help="write nothing; list the numbers in reports/ that differ from results/",
    )


def _add_studies(subparsers: Commands) -> None:
    """Add the commands that choose a study and its values."""
    _add(subparsers, commands.adopt).add_argument(
        "name", metavar="SEARCH", help="a key of `searches` that has run"
    )
    command = _add(subparsers, commands.study)
    command.add_argument(
        "name",
        metavar="STUDY",
        nargs="?",
        default="",
        help=(
            "the name of a study of heed's or of your own, or a file from elsewhere, which is "
            "checked first; without one they are listed. `new`: make one of your own"
        ),
    )
    command.add_argument(
        "new_name", metavar="NAME", nargs="?", default="", help="of the study that `new` makes"
    )
    command.add_argument("--title", default="", help="of the study that `new` makes")
    command.add_argument(
        "--force", action="store_true", help="overwrite a params.yaml that you have edited"
    )
    for function in (commands.cost, commands.graph):
        command = _add(subparsers, function)
        command.add_argument(
            "name",
            metavar="STUDY",
            nargs="?",
            default="",
            help="a study of heed's or of your own, or a file; without one the active study",
        )
    command.add_argument("--dot", action="store_true", help="in Graphviz's language")


def _add_checks(subparsers: Commands) -> None:
    """Add the commands that check a study, and write what follows from it."""
    _add(subparsers, commands.check)
    _add(subparsers, commands.schema)


def _add_corpus(subparsers: Commands) -> None:
    """Add the commands that edit the corpora of a study."""
    description = "corpora of your own: heed corpus add --help"
    corpus = subparsers.add_parser("corpus", help=description, description=description)
    edits = corpus.add_subparsers(metavar="COMMAND", required=True, parser_class=_Intermixed)
    _add_corpus_options(_add(edits, commands.corpus_add, "add"))
    _add(edits, commands.corpus_remove, "remove").add_argument(
        "name", metavar="CORPUS", help="a key of `corpora` in params.yaml"
    )


def _add_model(subparsers: Commands) -> None:
    """Add the commands that edit the models of a study."""
    description = "models: heed model add --help"
    model = subparsers.add_parser("model", help=description, description=description)
    edits = model.add_subparsers(metavar="COMMAND", required=True, parser_class=_Intermixed)
    _add_model_add(_add(edits, commands.model_add, "add"))
    _add(edits, commands.model_remove, "remove").add_argument(
        "model", metavar="MODEL", help="a key of `models`"
    )


class _Intermixed(argparse.ArgumentParser):
    """A parser whose list of arguments, such as FILE…, may go on after an option."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the parsed arguments, and those that are not known."""
        namespace, rest = super().parse_known_args(args, namespace)
        lists = [each for each in self._actions if each.nargs in ("*", "+")]
        if lists and not lists[0].option_strings:
            values = getattr(namespace, lists[0].dest)
            values += [each for each in rest if not each.startswith("-")]
            rest = [each for each in rest if each.startswith("-")]
        return namespace, rest


CORPUS_OPTIONS = {  # of `heed corpus add`, that take a text
    "study": "the new study's name; default: the corpus's name",
    "title": "title of the study's report",
    "name": "name of the corpus; default: the file's name",
    "label-separator": "between the labels of a cell that has several, such as ;: task multilabel",
    "split-column": "the column with train, validation (dev) or test; default: a random split",
    "id-column": "the column with a name for each document",
    "group-column": "the column whose groups stay together in the random split: an author, …",
    "evidence-column": "the column with the evidence: spans of the text, such as 0-4 10-15",
    "text-separator": "between the texts of several --text-column; default: a space",
    "delimiter": "between the fields of a .csv or .tsv file; default: the one that fits",
    "encoding": "of a file that is not parquet, such as windows-1252; default: utf-8",
    "quote": "the character around fields, such as ': found by itself where one fits",
    "header": "the names of the columns of a file without them: label,text",
    "language": "of the texts, such as en or de: spaCy's tokenizer; default: xx, of none",
    "metric": "the figure that decides (docs/tasks.md)",
    "vectors": "a file with word vectors, in the text format of word2vec or GloVe",
}


CORPUS_FLAGS = {  # of `heed corpus add`, that take nothing
    "no-quotes": "a quote is any other character",
    "no-header": "the first row has a text, and no names of columns",
    "drop-unlabelled": "leave out the rows without a label",
    "as-labels": "a label with many different numbers, or values, is one",
}
TEXT_HELP = "the text, a file with it (./NAME, or a name with a dot), or - for standard input"
SEPARATORS = ("text-separator", "label-separator", "delimiter")


def _add_corpus_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help=(
            "a table, a folder with a folder of .txt files for each class, or a data set that "
            "save_to_disk wrote (docs/corpora.md has all formats); several are one corpus, and "
            "those named by train, dev or test, or given as test=FILE, are these parts of it"
        ),
    )
    for key in ("text", "label"):
        command.add_argument(
            f"--{key}-column",
            action="append",
            default=[],
            metavar="COLUMN",
            help=f"the column with the {key}; several times for several. Known names are found",
        )
    for option, meaning in CORPUS_OPTIONS.items():
        # an empty separator or quote is one too
        default = None if option in ("text-separator", "quote") else ""
        convert = with_tabs if option in SEPARATORS else str
        command.add_argument(
            f"--{option}", type=convert, default=default, metavar="TEXT", help=meaning
        )
    for option, meaning in CORPUS_FLAGS.items():
        command.add_argument(f"--{option}", action="store_true", help=meaning)
    command.add_argument("--test", type=share, metavar="SHARE", help="of a random split; .2")
    command.add_argument("--train", type=size, metavar="N", help="train on at most so many texts")
    command.add_argument(
        "--train-per-class", type=size, metavar="N", help="as --train, but of each class"
    )
    command.add_argument("--seeds", type=count, metavar="N", help="of the study; default: 3")


def _add_classify(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", help="a model with trained runs")
    given = command.add_mutually_exclusive_group(required=True)
    given.add_argument("text", metavar="TEXT", nargs="?", help=TEXT_HELP)
    given.add_argument(
        "--table", metavar="FILE", type=Path, help="classify each row of a table instead"
    )
    command.add_argument(
        "--text-column",
        metavar="COLUMN",
        action="append",
        default=[],
        help="of the table, several times for texts to join; default: as the model's corpus",
    )
    command.add_argument(
        "--text-separator",
        type=with_tabs,
        help="what joins several texts; default: as the model's corpus, of --text-column a space",
    )
    command.add_argument(
        "--id-column",
        metavar="COLUMN",
        default="",
        help="of the table: a name for each row; default: rows are numbered from 1",
    )
    command.add_argument(
        "--encoding", default="", help="of the table, such as windows-1252; default: utf-8"
    )
    command.add_argument(
        "--delimiter", type=delimiter, help="of the table; default: a comma in .csv, a tab in .tsv"
    )
    command.add_argument(
        "--no-quotes", action="store_true", help="of the table: a quote is any other character"
    )
    command.add_argument(
        "--output",
        metavar="FILE",
        type=Path,
        help="of a table: a .csv, .jsonl or .parquet file; default: CSV on standard output",
    )


def _add_model_add(command: argparse.ArgumentParser) -> None:
    command.add_argument("experiment", metavar="EXPERIMENT", help="a key of `experiments`")
    command.add_argument(
        "variant", metavar="VARIANT", help="its name: the model is EXPERIMENT-VARIANT"
    )
    command.add_argument(
        "settings",
        metavar="KEY=VALUE",
        nargs="*",
        help=(
            "what differs from `defaults`, and preset, tuned_by, match, threads, gpus "
            "(docs/params.md)"
        ),
    )
    command.add_argument(
        "--like",
        default="",
        metavar="VARIANT",
        help="take the keys of another variant or model; those of the command replace them",
    )


def _add_translate(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", help="a model with trained runs")
    command.add_argument("text", metavar="TEXT", help=TEXT_HELP)
    command.add_argument(
        "--translation",
        default="",
        metavar="TEXT",
        help="score this translation instead of searching; a text or a file, as TEXT",
    )
    command.add_argument(
        "--n-best",
        type=count,
        default=1,
        metavar="N",
        help="so many translations of each line; above the beam, the beam is as wide as that",
    )
    command.add_argument(
        "--format",
        dest="form",
        choices=("text", "pharaoh", "json"),
        default="text",
        help=(
            "text: translations; pharaoh: with score and word alignment, between |||; json: JSON "
            "lines with words and weights"
        ),
    )
    command.add_argument("--seed", type=seed, help="the run's seed; default: the smallest")
