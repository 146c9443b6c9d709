"""The command line: a command for each stage of the pipeline, and further ones for users.

A command has no logic: it reads its inputs, calls one function and prints the outcome.

Every command imports only what it uses, so that `heed train` and `heed evaluate` run without dvc,
snakemake, ray, spacy and pydantic, and `heed --help` is fast. argparse, because typer imports
pydantic.
"""

import argparse
import array
import contextlib
import fcntl
import os
import select
import stat
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.fork_client import run_in_fork
from heed.paths import (
    ADVERSARIES,
    COMPARISON,
    EXPLANATIONS,
    LOCKS,
    METRICS,
    PARAMS,
    PUBLISHED,
    RAW,
    REPORTS,
    RESULTS,
    SEARCHES,
    TOKENS,
    prediction_file,
    recipe_file,
)
from heed.terminal import print_line, visible

if TYPE_CHECKING:
    from heed.evaluation.results import Comparison


def _count_cores() -> int:
    """Return how many cores this process may use: HEED_THREADS, else all that the system allows."""
    threads = os.environ.get("HEED_THREADS", "")
    return int(threads) if threads.isdigit() and int(threads) else len(os.sched_getaffinity(0))


def download(source: str) -> None:
    """Download a source and verify it: data/raw/SOURCE."""
    from heed.corpora.source import download
    from heed.study import load

    download(source, load().section("sources", source), RAW / source)


def tokenize(corpus: str) -> None:
    """Clean, split and tokenize the documents of a corpus: data/tokens/CORPUS."""
    from heed.study import load
    from heed.tokens.tokenizer import tokenize

    section = load().section("corpora", corpus)
    tokenize(corpus, section, RAW / section.source, TOKENS / corpus, _count_cores())


def search(name: str, address: str) -> None:
    """Search hyperparameters (trials 0: keep the configured values): results/search/NAME."""
    from heed.search.stage import run_search, write_untuned

    if name == "none":
        write_untuned(SEARCHES / name)
        return
    from heed.study import load

    params = load()
    section = params.section("searches", name)
    print_line(run_search(params, name, SEARCHES, TOKENS / section.corpus, _count_cores(), address))


def adopt(name: str) -> None:
    """Write a search's winner into params.yaml for review in git, without repeating the search."""
    from heed.search.adopt import adopt

    print_line(adopt(name, PARAMS, SEARCHES))


def recipe(model: str) -> None:
    """Write all that determines a model's training into one file: results/recipe/MODEL.yaml.

    How its test items are predicted is in MODEL.prediction.yaml, so that it repeats no training.
    """
    from heed.recipe import make_recipe, write_prediction, write_recipe
    from heed.study import load

    params = load()
    section = params.section("models", model)
    resolved = make_recipe(params, model, SEARCHES / section.tuned_by, TOKENS / section.corpus)
    write_recipe(recipe_file(model), resolved)
    write_prediction(prediction_file(model), params.prediction(model))


def train(model: str, seed: int) -> None:
    """Train a model with one seed: results/train/MODEL/SEED.

    A training that was killed continues from its last checkpoint.
    """
    from heed.training.progress import training_progress
    from heed.training.run import train_run

    with training_progress(f"{model} seed {seed}") as report_progress:
        info = train_run(model, seed, report_progress)
    print_line(f"{model} seed {seed}: epoch {info.best_epoch} kept, {info.parameters:,} parameters")


def predict(model: str, text: list[str], seeds: list[int]) -> None:
    """Predict the validation and test parts with a model's runs: results/predict/MODEL.

    To classify a text of your own: heed classify.
    """
    from heed.prediction import write_predictions

    if text or _is_piped():
        from heed.files import HeedError

        raise HeedError(
            f"heed predict is the stage that writes results/predict/{model}: it takes no text. "
            f"To classify one: heed classify {model} {'TEXT' if text else '-'}"
            + ("" if text else ". In a loop that reads a pipe, run: heed predict ... </dev/null")
        )
    count = write_predictions(model, seeds or _study_seeds())
    print_line(f"{model}: {count:,} predictions")


def _is_piped() -> bool:
    """Return whether a pipe on standard input holds text, without reading it.

    The standard input that DVC gives to a stage does not count.
    """
    from heed.code.stage import VARIABLE

    if VARIABLE in os.environ or sys.stdin is None or sys.stdin.closed:
        return False
    descriptor = sys.stdin.fileno()
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return False
    select.select([descriptor], [], [], 0.2)  # the writing process may start later
    unread_bytes = array.array("i", [0])
    fcntl.ioctl(descriptor, termios.FIONREAD, unread_bytes)
    return unread_bytes[0] > 0


def _study_seeds() -> list[int]:
    from heed.seeds import read_seeds

    return read_seeds()


def explain(model: str, seeds: list[int], documents: float) -> None:
    """Test what a model's weights explain, on random test documents: results/explain/MODEL.

    Seeds that are done are kept until all are.
    """
    if model == "none":
        from heed.explanation.unexplained import write_unexplained

        write_unexplained(EXPLANATIONS / model, ADVERSARIES / model)
        return
    from heed.explanation.stage import read_noise, read_scale, write_explanations
    from heed.progress import progress_bar

    with progress_bar(model) as bar:
        summary = write_explanations(
            model,
            seeds or _study_seeds(),
            documents or read_scale(),
            lambda seed, done, total: bar.update(done, total, f"seed {seed}"),
            read_noise(model),
        )
    print_line(f"{model}: {summary['mean'].notna().sum():,} means of tests in summary.csv")


def adversaries(name: str, seeds: list[int]) -> None:
    """Train models with other weights, and networks guided by both: results/adversaries/ADVERSARY.

    Seeds that are done are kept until all are.
    """
    from heed.explanation.adversary_stage import write_adversary
    from heed.progress import progress_bar

    with progress_bar(name) as bar:
        summary = write_adversary(
            name,
            seeds or _study_seeds(),
            lambda seed, what, done, total: bar.update(done, total, f"seed {seed}, {what}"),
        )
    print_line(f"{name}: {summary['mean'].notna().sum():,} means in summary.csv")


def opponents(experiment: str) -> None:
    """Fit the reference models, such as a linear one: results/opponents/EXPERIMENT."""
    from heed.opponents import write_opponents
    from heed.study import load

    write_opponents(experiment, load().section("experiments", experiment))


def evaluate(model: str, seeds: list[int]) -> None:
    """Compute a model's scores from its predictions, for each seed: results/evaluate/MODEL."""
    from heed.evaluation.tables import evaluate

    print_line(evaluate(model, seeds or _study_seeds()).to_string(index=False))


def compare() -> None:
    """Compare all models and opponents, with tests: results/compare and metrics.json."""
    from heed.evaluation.comparison import compare, models_by_variant, question_of
    from heed.evaluation.machines import mixed_machine_kinds
    from heed.study import load

    params = load()
    question = question_of(params)
    comparison = compare(models_by_variant(params), params.seeds, question, COMPARISON, METRICS)
    for message in mixed_machine_kinds(comparison):
        print_line(message)


def report(check: bool) -> None:
    """Write the report into reports/: HTML, LaTeX, figures, tables and the document browser."""
    from heed.study import load

    inputs = load(), _read_comparison(), PUBLISHED, RESULTS, REPORTS
    if check:
        from heed.pipeline import LOCK
        from heed.report.check import check_report

        print_line(check_report(*inputs, LOCK))
        return
    from heed.report.render import render

    render(*inputs)


def provenance() -> None:
    """Write reports/provenance.html: commit, versions, machine, dates, core-hours."""
    from heed.report.provenance import write_provenance
    from heed.study import load

    write_provenance(Path(), REPORTS / "provenance.html", load().models)
    print_line(f"{REPORTS}/provenance.html")


def publish() -> None:
    """Write the report into docs/studies/NAME, without texts of corpora, and update README.md."""
    from heed.evaluation.machines import mixed_machine_kinds
    from heed.pipeline import check_up_to_date
    from heed.report.publish import publish
    from heed.study import load

    check_up_to_date(Path())
    comparison = _read_comparison()
    folder = publish(load(), comparison, PUBLISHED, RESULTS, Path())
    print_line(str(folder))
    for message in mixed_machine_kinds(comparison):
        print_line(message)


def _read_comparison() -> "Comparison":
    """Return the results of `heed compare`."""
    from heed.evaluation.results import read_comparison
    from heed.files import verify_checksums

    verify_checksums(COMPARISON, "heed compare")
    return read_comparison(COMPARISON / "comparison.json")


def study(name: str, new_name: str, title: str, force: bool) -> None:
    """List the studies, make one active and estimate what it will cost, or make one of your own."""
    from heed.files import HeedError
    from heed.study.studies import NEW, activate_study, format_studies, make_study

    if name != NEW and (new_name or title):
        raise HeedError(f"to make a study of your own: heed study {NEW} NAME --title TITLE")
    if name == NEW:
        print_line(make_study(new_name, title))
    else:
        print_line(activate_study(name, force) if name else format_studies())


def cost(name: str) -> None:
    """Estimate what a study costs, by model; its models' speeds are measured here in seconds."""
    from heed.calibration import calibrate
    from heed.study.cost.estimate import study_workloads
    from heed.study.cost.table import format_cost
    from heed.study.studies import read_study

    params = read_study(name)
    print_line(format_cost(params, calibrate(study_workloads(params)), _count_cores()))


def classify(
    model: str,
    text: str,
    table: Path | None,
    text_column: list[str],
    text_separator: str,
    id_column: str,
    encoding: str,
    delimiter: str | None,
    no_quotes: bool,
    output: Path | None,
) -> None:
    """Classify a text, or each row of a table: mean probabilities of a model's runs.

    Of a text the weights over its words are printed too.
    """
    if table is None:
        from heed.files import HeedError
        from heed.tasks.classification.classify import classify

        if text_column or id_column or encoding or delimiter or no_quotes or output:
            raise HeedError("heed classify: its options are of --table FILE, and not of a TEXT")
        print_line(classify(model, text))
        return
    from heed.study.text_columns import model_text_columns
    from heed.tasks.classification.classify_table import TextTable, classify_table

    given = tuple(text_column), text_separator
    columns, separator = given if text_column else model_text_columns(model)
    quotes = False if no_quotes else None
    rows = TextTable(table, columns, separator, id_column, encoding, delimiter, quotes)
    print_line(classify_table(model, rows, output), error=output is None)


def translate(
    model: str, text: str, translation: str, n_best: int, form: str, seed: int | None
) -> None:
    """Translate a text line by line with a run of a model, or score given translations."""
    from heed.tasks.translation.translate import translate

    for line in translate(model, text, translation, n_best, form, seed):
        print_line(line)


def check() -> None:
    """Check params.yaml and report each mistake with its line.

    That includes text that DVC cannot read.
    """
    from heed.study import load

    params = load()
    print_line(
        f"{PARAMS}: no mistake: study {params.study.name}, {len(params.models)} models, "
        f"{len(params.seeds)} seeds"
    )


def format_study(file: Path) -> None:
    """Write what follows from the rest into a study's models, one line a model, in order."""
    from heed.study.editing.formatting import format_study

    print_line(format_study(file))


def model_add(experiment: str, variant: str, settings: list[str], like: str) -> None:
    """Add a model to params.yaml: its line with all that follows, checked."""
    from heed.study.editing.model_lines import add_model

    print_line(add_model(PARAMS, experiment, variant, settings, like))


def model_remove(model: str) -> None:
    """Remove a model from params.yaml."""
    from heed.study.editing.model_lines import remove_model

    print_line(remove_model(PARAMS, model))


def schema() -> None:
    """Write docs/params.md and docs/params.schema.json from the schema."""
    from heed.files import write_json, write_text
    from heed.study.reference import json_schema, reference

    write_text("docs/params.md", reference())
    write_json("docs/params.schema.json", json_schema())


def corpus_add(**options: Any) -> None:
    """Make a study of your own of a corpus, or add the corpus to it: baseline and attention."""
    from heed.study.own.corpus import add_corpus
    from heed.study.own.entries import CorpusOptions

    print_line(add_corpus(CorpusOptions(**options), _count_cores()))


def corpus_remove(name: str) -> None:
    """Remove a corpus from your own study, with its experiments and models."""
    from heed.study.own.corpus import remove_corpus

    print_line(remove_corpus(name))


STAGES = (
    download, tokenize, search, recipe, train, predict, explain, adversaries, opponents, evaluate,
    compare, report,
)  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    """Return the parser; each command is a function above, with its docstring as help."""
    parser = argparse.ArgumentParser(
        prog="heed", description="Does attention help? From raw corpora to a printed report."
    )
    commands = parser.add_subparsers(
        title="stages, in the order of the pipeline, then further commands",
        metavar="COMMAND",
        required=True,
    )

    def add(
        function: Callable[..., None],
        name: str = "",
        subparsers: "argparse._SubParsersAction | None" = None,
    ) -> argparse.ArgumentParser:
        description = (function.__doc__ or "").strip().rstrip(".")
        command = (subparsers or commands).add_parser(
            name or function.__name__, help=description, description=description
        )
        command.set_defaults(function=function)
        return command

    add(download).add_argument("source", metavar="SOURCE", help="a key of `sources` in params.yaml")
    add(tokenize).add_argument("corpus", metavar="CORPUS", help="a key of `corpora`")
    command = add(search)
    command.add_argument(
        "name",
        metavar="SEARCH",
        help=(
            "a key of `searches`, or `none`, the search without trials of models that are not tuned"
        ),
    )
    command.add_argument(
        "--address",
        default="",
        metavar="HOST:PORT",
        help="a Ray cluster; default: HEED_RAY_ADDRESS, else this machine",
    )
    add(recipe).add_argument("model", metavar="MODEL", help="a key of `models`")
    command = add(train)
    command.add_argument("model", metavar="MODEL", help="a key of `models`")
    command.add_argument("--seed", type=_seed, required=True, help="the run's seed, from 1")
    command = add(predict)
    command.add_argument("model", metavar="MODEL", help="a key of `models`")
    # accepted to name `heed classify` in the error message
    command.add_argument("text", nargs="*", help=argparse.SUPPRESS)
    command.add_argument(
        "--seeds", type=_seeds, default=[], help="such as 1,2,3; default: the seeds in params.yaml"
    )
    command = add(explain)
    command.add_argument(
        "model",
        metavar="MODEL",
        help="a key of `models`, or `none`, which writes tables without a row for the report",
    )
    command.add_argument(
        "--seeds", type=_seeds, default=[], help="such as 1,2,3; default: the seeds in params.yaml"
    )
    command.add_argument(
        "--documents",
        type=_factor,
        default=0.0,
        metavar="FACTOR",
        help="multiplies the numbers of documents; default: explain.documents in params.yaml",
    )
    command = add(adversaries)
    command.add_argument("name", metavar="ADVERSARY", help="a key of `adversaries`")
    command.add_argument(
        "--seeds", type=_seeds, default=[], help="such as 1,2,3; default: the seeds in params.yaml"
    )
    add(opponents).add_argument("experiment", metavar="EXPERIMENT", help="a key of `experiments`")
    command = add(evaluate)
    command.add_argument("model", metavar="MODEL", help="a key of `models`")
    command.add_argument(
        "--seeds", type=_seeds, default=[], help="such as 1,2,3; default: the seeds in params.yaml"
    )
    add(compare)
    add(report).add_argument(
        "--check",
        action="store_true",
        help="write nothing; list the numbers in reports/ that differ from results/",
    )
    add(provenance)
    add(publish)
    add(adopt).add_argument("name", metavar="SEARCH", help="a key of `searches` that has run")
    command = add(study)
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
    add(cost).add_argument(
        "name",
        metavar="STUDY",
        nargs="?",
        default="",
        help="a study of heed's or of your own, or a file; without one the active study",
    )
    _add_classify(add(classify))
    _add_translate(add(translate))
    add(check)
    add(format_study, "format").add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        type=Path,
        default=PARAMS,
        help="the file of a study; default: params.yaml",
    )
    add(schema)
    corpus = commands.add_parser(
        "corpus",
        help=(description := "corpora of your own: heed corpus add --help"),
        description=description,
    ).add_subparsers(metavar="COMMAND", required=True, parser_class=_Intermixed)
    _add_corpus_options(add(corpus_add, "add", corpus))
    command = add(corpus_remove, "remove", corpus)
    command.add_argument("name", metavar="CORPUS", help="a key of `corpora` in params.yaml")
    model = commands.add_parser(
        "model", help=(description := "models: heed model add --help"), description=description
    )
    of_model = model.add_subparsers(metavar="COMMAND", required=True, parser_class=_Intermixed)
    _add_model_add(add(model_add, "add", of_model))
    add(model_remove, "remove", of_model).add_argument(
        "model", metavar="MODEL", help="a key of `models`"
    )
    return parser


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
    "language": "of the texts, such as en or de: spaCy's tokenizer; default: xx, of none",
    "metric": "the figure that decides (docs/tasks.md)",
    "vectors": "a file with word vectors, in the text format of word2vec or GloVe",
}


SEPARATORS = ("text-separator", "label-separator", "delimiter")


def _add_corpus_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help=(
            ".csv, .tsv, .json, .jsonl or .parquet; several are one corpus, and those named by "
            "train, dev or test, or given as test=FILE, are these parts of it"
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
        default = None if option == "text-separator" else ""  # an empty separator is one too
        convert = _with_tabs if option in SEPARATORS else str
        command.add_argument(
            f"--{option}", type=convert, default=default, metavar="TEXT", help=meaning
        )
    command.add_argument("--no-quotes", action="store_true", help="a quote is any other character")
    command.add_argument("--test", type=_share, metavar="SHARE", help="of a random split; .2")
    command.add_argument("--train", type=_size, metavar="N", help="train on at most so many texts")
    command.add_argument(
        "--train-per-class", type=_size, metavar="N", help="as --train, but of each class"
    )
    command.add_argument("--seeds", type=_count, metavar="N", help="of the study; default: 3")


def _add_classify(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", help="a model with trained runs")
    given = command.add_mutually_exclusive_group(required=True)
    given.add_argument(
        "text",
        metavar="TEXT",
        nargs="?",
        help="the text, a file with it, or - for standard input",
    )
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
        "--text-separator", default=" ", help="what joins several --text-column; default: a space"
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
        "--delimiter",
        type=_delimiter,
        help="of the table; default: a comma in .csv, a tab in .tsv",
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
        help="what differs from `defaults`, and preset, tuned_by, match, gpu (docs/params.md)",
    )
    command.add_argument(
        "--like",
        default="",
        metavar="VARIANT",
        help="take the keys of another variant or model; those of the command replace them",
    )


def _add_translate(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", help="a model with trained runs")
    command.add_argument(
        "text", metavar="TEXT", help="the text, a file with it, or - for standard input"
    )
    command.add_argument(
        "--translation",
        default="",
        metavar="TEXT",
        help="score this translation instead of searching; a text or a file, as TEXT",
    )
    command.add_argument(
        "--n-best",
        type=_count,
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
    command.add_argument("--seed", type=_seed, help="the run's seed; default: the smallest")


def _with_tabs(text: str) -> str:
    return text.replace("\\t", "\t")  # a shell passes \t as two characters


def _delimiter(text: str) -> str:
    character = _with_tabs(text)
    if len(character) != 1 or character in '"\r\n':
        raise argparse.ArgumentTypeError(f"one character, or \\t for a tab, found {text[:20]!r}")
    return character


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"a whole number from 1 to 1000, found {text[:20]}")
    return int(text)


def _size(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100_000_000:
        raise argparse.ArgumentTypeError(f"a number of texts from 1, found {text[:20]}")
    return int(text)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"a share above 0 and below 1, found {text[:20]}")
    return share


def _factor(text: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 0 < factor <= 100:
        raise argparse.ArgumentTypeError(f"a number above 0 and at most 100, found {text[:20]}")
    return factor


def _seed(text: str) -> int:
    from heed.hyperparameters import MAX_SEED

    if not text.isdecimal() or len(text) > 10 or not 1 <= int(text) <= MAX_SEED:
        raise argparse.ArgumentTypeError(
            f"a seed is a whole number from 1 to {MAX_SEED}, found {text[:20]}"
        )
    return int(text)


def _seeds(text: str) -> list[int]:
    return [_seed(part) for part in text.split(",")]


@contextlib.contextmanager
def _lock_command(command: str) -> Iterator[None]:
    """Hold a lock, so that two processes do not run the same command in this folder; wait for it.

    When dvc or snakemake was killed, its stage may still be running while the next one starts the
    same stage.
    """
    if not PARAMS.exists() and not RESULTS.exists():  # not a clone: write nothing here
        yield
        return
    from heed.files import locked

    busy = f"another `heed {command}` is running here: waiting for it"
    with locked(LOCKS / command.replace("/", "-"), busy):
        yield


def _read_arguments() -> list[str]:
    """Return the arguments of the command line; a command alone gets those of DVC's stage.

    Raises HeedError: the stage has a name that params.yaml may not have.
    """
    from heed.code.stage import stage_arguments

    arguments = sys.argv[1:]
    return arguments + (stage_arguments(arguments[0]) if len(arguments) == 1 else [])


def _run_stage(function: Callable[..., None], arguments: dict[str, Any]) -> None:
    """Run the command of a stage: alone in this folder, with the code that was planned."""
    from heed.code.guard import guarded

    names = [
        str(value)
        for option, value in arguments.items()
        if isinstance(value, str | int) and value and option != "address"
    ]
    command = " ".join([function.__name__, *names])
    key = next((value for value in arguments.values() if isinstance(value, str)), "")
    with _lock_command(command), guarded(function.__name__, key, command):
        function(**arguments)


def main() -> None:
    """Run the command line; an error that the user can repair is one message and exit code 1."""
    if run_in_fork("heed") is not None:
        return
    from heed.code.guard import run_own_code
    from heed.files import HeedError

    try:
        run_own_code()
        arguments = vars(_parser().parse_args(_read_arguments()))
        function = arguments.pop("function")
        if function in (train, search):
            from heed.training.allocator import restart_without_cache

            restart_without_cache()
        if function in STAGES:
            _run_stage(function, arguments)
        else:
            function(**arguments)
    except HeedError as error:
        sys.exit(visible(f"heed: {error}"))
    except BrokenPipeError:  # the reader of a pipe has read enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        reason = error.strerror or error
        problem = f"{error.filename}: {error.strerror}" if error.filename else reason
        sys.exit(
            visible(
                f"heed: {problem}. Free space or correct the permissions, and run the same command "
                "again"
            )
        )
    except (MemoryError, RuntimeError) as error:
        # torch raises RuntimeError when memory runs out
        if not isinstance(error, MemoryError) and "memory" not in str(error):
            raise
        sys.exit(
            f"heed: out of memory: {' '.join(str(error).split())[:200]}. Make the model, the "
            "batch or the corpus smaller"
        )
    except KeyboardInterrupt:
        from heed.progress import INTERRUPTED

        sys.exit(f"heed: {INTERRUPTED}")


if __name__ == "__main__":
    main()
