"""The commands: one for each stage, one for each user verb.

No logic: each reads, calls one function, says what it did.

Every command imports only what it uses, so that `heed train` and `heed evaluate` run without dvc,
snakemake, ray, spacy and pydantic, and `heed --help` is quick. argparse, because typer loads
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
from typing import TYPE_CHECKING

from heed.paths import (
    COMPARISON,
    LOCKS,
    METRICS,
    PARAMS,
    PUBLISHED,
    RAW,
    REPORTS,
    RESULTS,
    SEARCHES,
    TOKENS,
    recipe_file,
)

if TYPE_CHECKING:
    from heed.evaluation.results import Comparison


def _cores() -> int:
    """Return how many cores this process may use: what Snakemake gave the stage, else what the
    system lets it use.
    """
    given = os.environ.get("HEED_THREADS", "")
    return int(given) if given.isdigit() and int(given) else len(os.sched_getaffinity(0))


def download(source: str) -> None:
    """Fetch a source and verify it: data/raw/SOURCE."""
    from heed.corpora.source import download
    from heed.study import load

    download(source, load().section("sources", source), RAW / source)


def tokenize(corpus: str) -> None:
    """Make documents and token arrays of a corpus: data/tokens/CORPUS."""
    from heed.study import load
    from heed.tokens.tokenizer import tokenize

    section = load().section("corpora", corpus)
    tokenize(corpus, section, RAW / section.source, TOKENS / corpus, _cores())


def search(name: str) -> None:
    """Search hyperparameters (trials 0: hand on what is given): results/search/NAME."""
    from heed.search.stage import run_search, write_untuned

    if name == "none":
        write_untuned(SEARCHES / name)
        return
    from heed.study import load

    params = load()
    section = params.section("searches", name)
    print(run_search(params, name, SEARCHES, TOKENS / section.corpus, _cores()))


def adopt(name: str) -> None:
    """Write a search's winner into params.yaml, to be reviewed in git; the search is not
    repeated.
    """
    from heed.search.adopt import adopt

    print(adopt(name, PARAMS, SEARCHES))


def recipe(model: str) -> None:
    """Resolve everything that determines a model's training into one file:
    results/recipe/MODEL.yaml.
    """
    from heed.recipe import make_recipe, write_recipe
    from heed.study import load

    params = load()
    section = params.section("models", model)
    made = make_recipe(params, model, SEARCHES / section.tuned_by, TOKENS / section.corpus)
    write_recipe(recipe_file(model), made)


def train(model: str, seed: int) -> None:
    """Train a model once: results/train/MODEL/SEED.

    A training that was killed goes on where it stopped.
    """
    from heed.training.progress import training_progress
    from heed.training.run import train_run

    with training_progress(f"{model} seed {seed}") as report_progress:
        info = train_run(model, seed, report_progress)
    print(f"{model} seed {seed}: epoch {info.best_epoch} kept, {info.parameters:,} parameters")


def predict(model: str, text: list[str], seeds: list[int]) -> None:
    """Predict validation and test part with the runs of a model: results/predict/MODEL.

    For a text: heed classify.
    """
    from heed.prediction import write_predictions

    if text or _is_piped():
        from heed.files import HeedError

        raise HeedError(
            f"heed predict is the stage that writes results/predict/{model}: it takes no text. "
            f"To classify one: heed classify {model} {'TEXT' if text else '-'}"
            + ("" if text else ". In a loop that reads a pipe say: heed predict ... </dev/null")
        )
    count = write_predictions(model, seeds or _study_seeds())
    print(f"{model}: {count:,} predictions")


def _is_piped() -> bool:
    """Whether a text waits in a pipe on standard input; a driver's own input is none.

    Nothing is read of it.
    """
    if "DVC_STAGE" in os.environ or sys.stdin is None or sys.stdin.closed:
        return False
    descriptor = sys.stdin.fileno()
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return False
    select.select([descriptor], [], [], 0.2)  # who writes into it may be slower to start
    waiting = array.array("i", [0])
    fcntl.ioctl(descriptor, termios.FIONREAD, waiting)
    return waiting[0] > 0


def _study_seeds() -> list[int]:
    from heed.seeds import read_seeds

    return read_seeds()


def opponents(experiment: str) -> None:
    """Fit the reference models from outside, such as a linear one: results/opponents/EXPERIMENT."""
    from heed.opponents import write_opponents
    from heed.study import load

    write_opponents(experiment, load().section("experiments", experiment))


def evaluate(model: str, seeds: list[int]) -> None:
    """Make the tables of a model from its predictions, for each seed: results/evaluate/MODEL."""
    from heed.evaluation.tables import evaluate

    print(evaluate(model, seeds or _study_seeds()).to_string(index=False))


def compare() -> None:
    """Set all models and opponents side by side: results/compare and metrics.json."""
    from heed.evaluation.comparison import compare, models_by_variant
    from heed.study import load

    params = load()
    compare(models_by_variant(params), params.seeds, COMPARISON, METRICS)


def report(check: bool) -> None:
    """Write reports/index.html, report.tex, figures, tables and the document browser; or check them
    against the results.
    """
    from heed.study import load

    made_of = load(), _compared(), PUBLISHED, RESULTS, REPORTS
    if check:
        from heed.pipeline import LOCK
        from heed.report.check import check_report

        print(check_report(*made_of, LOCK))
        return
    from heed.report.render import render

    render(*made_of)


def provenance() -> None:
    """Write reports/provenance.html: commit, versions, machine, dates, core-hours."""
    from heed.report.provenance import write_provenance
    from heed.study import load

    params = load()
    threads = {name: params.hyperparameters(name).threads for name in params.models}
    write_provenance(Path(), REPORTS / "provenance.html", threads)
    print(f"{REPORTS}/provenance.html")


def publish() -> None:
    """Write docs/studies/NAME, the report without any text but what heed made itself, and its
    summary in README.md.
    """
    from heed.pipeline import check_up_to_date
    from heed.report.publish import publish
    from heed.study import load

    check_up_to_date(Path())
    print(publish(load(), _compared(), PUBLISHED, RESULTS, Path()))


def _compared() -> "Comparison":
    """Return what the comparison found."""
    from heed.evaluation.results import read_comparison
    from heed.files import check

    check(COMPARISON, "heed compare")
    return read_comparison(COMPARISON / "comparison.json")


def study(name: str, force: bool) -> None:
    """List the studies, or make one active and say what it will cost."""
    from heed.study.studies import activate, available

    if name:
        print(activate(name, force))
        return
    studies = available()
    width = max(len(key) for key, _, _ in studies)
    for key, title, active in studies:
        print(f"{'*' if active else ' '} {key:{width}} {title}")


def classify(model: str, text: str) -> None:
    """Classify a text with all trained runs of a model: mean probabilities, and the weights over
    its words.
    """
    from heed.tasks.classification.classify import classify

    print(classify(model, text))


def check() -> None:
    """Check params.yaml: say that it is fine, or each mistake with its line.

    What DVC cannot read is said here too.
    """
    from heed.study import load

    params = load()
    print(
        f"{PARAMS}: no mistake: study {params.study.name}, {len(params.models)} models, "
        f"{len(params.seeds)} seeds"
    )


def schema() -> None:
    """Write docs/params.md and docs/params.schema.json from the schema."""
    from heed.files import write_json, write_text
    from heed.study.reference import json_schema, reference

    write_text("docs/params.md", reference())
    write_json("docs/params.schema.json", json_schema())


def corpus_add(
    file: Path,
    text_column: str,
    label_column: str,
    split_column: str = "",
    name: str = "",
) -> None:
    """Add a corpus of your own to params.yaml: its source, an experiment and models to compare."""
    from heed.study.own_corpus import add

    print(
        add(
            file,
            name or file.stem.lower().replace("_", "-"),
            text_column,
            label_column,
            split_column,
            PARAMS,
        )
    )


STAGES = (download, tokenize, search, recipe, train, predict, opponents, evaluate, compare, report)


def _parser() -> argparse.ArgumentParser:
    """Return the command line: every command is one of the functions above, named as it is."""
    parser = argparse.ArgumentParser(
        prog="heed", description="Does attention help? From raw corpora to a printed report."
    )
    commands = parser.add_subparsers(
        title="stages, as dvc and snakemake run them, then verbs", metavar="COMMAND", required=True
    )

    def add(
        function: Callable[..., None],
        name: str = "",
        within: "argparse._SubParsersAction | None" = None,
    ) -> argparse.ArgumentParser:
        about = (function.__doc__ or "").strip().rstrip(".")
        command = (within or commands).add_parser(
            name or function.__name__, help=about, description=about
        )
        command.set_defaults(function=function)
        return command

    add(download).add_argument("source", metavar="SOURCE", help="a key of `sources` in params.yaml")
    add(tokenize).add_argument("corpus", metavar="CORPUS", help="a key of `corpora`")
    add(search).add_argument(
        "name",
        metavar="SEARCH",
        help=(
            "a key of `searches`, or `none`: the search that changes nothing, for models that are "
            "not tuned"
        ),
    )
    add(recipe).add_argument("model", metavar="MODEL", help="a key of `models`")
    command = add(train)
    command.add_argument("model", metavar="MODEL", help="a key of `models`")
    command.add_argument("--seed", type=_seed, required=True, help="the run's seed, from 1")
    command = add(predict)
    command.add_argument("model", metavar="MODEL", help="a key of `models`")
    command.add_argument("text", nargs="*", help=argparse.SUPPRESS)  # what `heed classify` takes
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
        help="write nothing: say which numbers of reports/ are not those of results/",
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
        help="one of workflow/studies; none: list them",
    )
    command.add_argument(
        "--force", action="store_true", help="overwrite a params.yaml that was edited by hand"
    )
    command = add(classify)
    command.add_argument("model", metavar="MODEL", help="a model with trained runs")
    command.add_argument(
        "text", metavar="TEXT", help="the text, a file with it, or - for standard input"
    )
    add(check)
    add(schema)
    corpus = commands.add_parser(
        "corpus", help=(about := "corpora of your own: heed corpus add --help"), description=about
    )
    command = add(corpus_add, "add", corpus.add_subparsers(metavar="COMMAND", required=True))
    command.add_argument("file", metavar="FILE", type=Path, help="a .csv, .jsonl or .parquet file")
    command.add_argument("--text-column", required=True, help="the column with the text")
    command.add_argument("--label-column", required=True, help="the column with the label")
    command.add_argument(
        "--split-column",
        default="",
        help="the column with train, validation or test; none: heed draws",
    )
    command.add_argument(
        "--name", default="", help="name of the corpus; default: from the file's name"
    )
    return parser


def _seed(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a seed is a whole number from 1, found {text}")
    return int(text)


def _seeds(text: str) -> list[int]:
    return [_seed(part) for part in text.split(",")]


@contextlib.contextmanager
def _alone(command: str) -> Iterator[None]:
    """Let one process at a time do the same thing in this folder; a second one waits.

    Where the driver of a stage was killed the stage may still be running, beside the one that the
    next driver starts. The kernel drops the lock when the process ends, kill -9 included.
    """
    if not PARAMS.exists() and not RESULTS.exists():  # nobody's clone: leave nothing there
        yield
        return
    LOCKS.mkdir(parents=True, exist_ok=True)
    with (LOCKS / command.replace("/", "-")).open("a") as lock:
        with contextlib.suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print(
                    f"another `heed {command}` is running here: waiting for it",
                    file=sys.stderr,
                    flush=True,
                )
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Run the command line; an error that the user can mend is one message and exit code 1."""
    from heed.code.guard import guarded, run_own_code
    from heed.files import HeedError

    try:
        run_own_code()
        arguments = vars(_parser().parse_args())
        function = arguments.pop("function")
        if function in STAGES:
            names = [
                str(value) for value in arguments.values() if isinstance(value, str | int) and value
            ]
            command = " ".join([function.__name__, *names])
            key = next((value for value in arguments.values() if isinstance(value, str)), "")
            with _alone(command), guarded(function.__name__, key, command):
                function(**arguments)
        else:
            function(**arguments)
    except HeedError as error:
        sys.exit(f"heed: {error}")
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or error
        sys.exit(f"heed: {what}. Free space or mend the rights, and run the same command again")
    except (MemoryError, RuntimeError) as error:
        # torch's own are RuntimeErrors
        if not isinstance(error, MemoryError) and "memory" not in str(error):
            raise
        sys.exit(
            f"heed: out of memory: {' '.join(str(error).split())[:200]}. Make the model, the "
            "batch or the corpus smaller"
        )
    except KeyboardInterrupt:
        sys.exit("heed: stopped; run the same command again to go on")


if __name__ == "__main__":
    main()
