"""The commands besides the stages, each a function with its docstring as help; and the parser."""

import argparse
import contextlib
import inspect
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from heed.cli import stages
from heed.cli.stages import count_cores, read_comparison
from heed.hyperparameters import MAX_SEED, MAX_SEEDS
from heed.paths import PARAMS, PUBLISHED, RESULTS
from heed.terminal import print_data, print_line

# argparse has no public name for what add_subparsers returns
Commands = argparse._SubParsersAction


def study(name: str = "", force: bool = False, seeds: int | None = None) -> None:
    """List the studies and check params.yaml, or make a study active and say what it will train."""
    from heed.files import HeedError
    from heed.study import load
    from heed.study.reader import require_looked, set_seeds
    from heed.study.studies import activate_study, format_studies

    if seeds and name:
        raise HeedError("--seeds is for the active study: heed study --seeds N, without a name")
    if seeds:
        print_line(set_seeds(PARAMS, seeds))
    elif name:
        print_line(activate_study(name, force, count_cores()))
    else:
        print_line(format_studies())
        require_looked(params := load())
        print_line(
            f"{PARAMS}: no mistake: study {params.study.name}, {len(params.models)} models, "
            f"{len(params.seeds)} seeds"
        )


def corpus_add(files: list[str], **options: Any) -> None:
    """Make a study of your own texts, with and without attention, or add them to the active one."""
    from heed.study.own_corpus import add_corpus
    from heed.study.own_files import CorpusOptions

    print_line(add_corpus(CorpusOptions(files, **options), count_cores()))


def publish() -> None:
    """Write the report into docs/studies/NAME, without texts, and its summary into pages."""
    from tempfile import TemporaryDirectory

    from heed.evaluation.results import mixed_machine_kinds
    from heed.pipeline import check_up_to_date
    from heed.published import publish as published
    from heed.published.verify import published_statistics
    from heed.report.render import Addresses, render
    from heed.study import load

    root, params = Path(), load()
    name = params.study.name
    published.check_commit(root, name)
    check_up_to_date(root)
    comparison = read_comparison()
    statistics = published_statistics(comparison)
    edition = published.make_edition(root, name, comparison)
    addresses = Addresses(
        "params.yaml", "report.pdf" * published.has_paper(root), "edition.json",
        f"heed {edition.version}, {edition.commit[:10]}", has_files=False,
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        shown = published.without_paths(params, root)
        render(shown, comparison, PUBLISHED, RESULTS, Path(folder), False, addresses)
        print_line(str(published.publish(root, name, edition, Path(folder), statistics)))
    for message in mixed_machine_kinds(comparison):
        print_line(message)


def verify(folder: Path) -> None:
    """Recompute the scores, intervals and verdicts of a published study from its statistics."""
    from heed.published.verify import recompute

    print_line(recompute(folder))


def verdict(
    files: list[str], control: str = "", margin: float | None = None, metric: str = "",
    lower_is_better: bool = False, references: Path | None = None, csv: Path | None = None,
    html: Path | None = None, latex: Path | None = None, svg: Path | None = None,
    looks: list[int] | None = None,
) -> None:  # fmt: skip
    """Say which of several models are better, by their scores in files of any tool."""
    from heed.verdict import command
    from heed.verdict.pairs import Asked

    asked = Asked(control, margin, lower_is_better, tuple(sorted({*(looks or ())})))
    command.verdict(files, asked, metric, references, csv, html=html, latex=latex, svg=svg)


def pool(
    editions: list[Path], join: list[str] | None = None, without: list[str] | None = None,
    csv: Path | None = None, html: Path | None = None,
) -> None:  # fmt: skip
    """Say what the published studies find over all their corpora, and expect of another one."""
    from heed.files import HeedError
    from heed.verdict.pooled import print_answers

    pairs = [text.split("=") for text in join or []]
    if wrong := [pair for pair in pairs if len(pair) != 2]:
        raise HeedError(f"--join: expected EXPERIMENT=EXPERIMENT, found {'='.join(wrong[0])}")
    print_answers(editions, dict(pairs), without or [], csv, html)


def try_(model: str, changes: list[str]) -> None:
    """Try a change of a model, such as pooling=max: its score before and after, and the verdict."""
    from heed.terminal import wrap
    from heed.verdict.change import try_change

    print_line(wrap(try_change(model, changes)))


def classify(model: str, text: str) -> None:
    """Classify a text: mean probabilities of a model's runs, and the weights over its words."""
    print_line(_texts_of(model, "classify").classify(model, text))


def translate(
    model: str, text: str, translation: str = "", format: str = "text", seed: int | None = None
) -> None:
    """Translate a text line by line with a run of a model, or score given translations."""
    texts = _texts_of(model, "translate")
    if format == "svg":
        from heed.report.figures.translation import alignment_picture

        found = texts.translations_to_draw(model, text, translation, seed)
        print_data(alignment_picture(model, found))
        return
    for line in texts.translate(model, text, translation, format, seed):
        print_data(line)


def _texts_of(model: str, command: str) -> Any:
    """Return the part `texts` of a model's task. Raises HeedError: it has no such command."""
    from heed.files import HeedError
    from heed.task import task_module
    from heed.training.run import read_run, trained_seeds

    task = read_run(model, trained_seeds(model)[0]).recipe.task
    part = task_module(task, "texts")
    if not hasattr(part, command):
        raise HeedError(f"{model}: is a model of the task {task}, which has no `heed {command}`")
    return part


# --- arguments ------------------------------------------------------------------------------------


def character(text: str) -> str:
    """Return a character of a table, such as the one between fields; empty: none."""
    sign = text.replace("\\t", "\t")  # which a shell passes as two characters
    if len(sign) > 1 or sign in ("\r", "\n"):
        raise argparse.ArgumentTypeError(f"one character, or \\t for a tab, found {text[:20]!r}")
    return sign


def whole(text: str, most: int = MAX_SEED) -> int:
    """Return a whole number from 1."""
    if not text.isdecimal() or not 0 < int(text[:20]) <= most:
        raise argparse.ArgumentTypeError(f"a whole number from 1 to {most:,}, found {text[:20]!r}")
    return int(text)


def positive(text: str) -> float:
    """Return a number above 0."""
    return _number(text, "a number above 0", sys.float_info.min, sys.float_info.max)


def share(text: str) -> float:
    """Return a share of the texts, within the limits of params.yaml."""
    from heed.corpora.sections import MAX_SHARE, MIN_SHARE

    expected = f"a share of the texts from {MIN_SHARE} to {MAX_SHARE}"
    return _number(text, expected, MIN_SHARE, MAX_SHARE)


def _number(text: str, expected: str, least: float, most: float) -> float:
    with contextlib.suppress(ValueError):
        if least <= float(text) <= most:
            return float(text)
    raise argparse.ArgumentTypeError(f"{expected}, found {text[:20]!r}")


def seeds(text: str) -> list[int]:
    """Return the seeds of several runs, from a list with commas, each once."""
    if len({*(found := [whole(part) for part in text.split(",")])}) < len(found):
        raise argparse.ArgumentTypeError(f"each seed once, found {text[:20]!r}")
    return found


Settings = dict[str, object]  # of `add_argument`
Meaning = tuple[str, str] | tuple[str, str, Settings]
TYPES: dict[object, Settings] = {  # of options
    list[str]: {"action": "append"}, int: {"type": whole}, float: {"type": positive},
    list[int]: {"type": seeds}, Path: {"type": Path},
}  # fmt: skip
TEXT = "the text, a file with it (./NAME, or a name with a dot), or - for standard input"
# Parameter of a command, or COMMAND.PARAMETER → how its value is shown, what it means, and what
# argparse takes besides its type. What has a default is an option, unless it has `nargs`.
MEANINGS: dict[str, Meaning] = {
    "source": ("SOURCE", "a key of `sources` in params.yaml"),
    "corpus": ("CORPUS", "a key of `corpora` in params.yaml"),
    "model": ("MODEL", "a key of `models` in params.yaml"),
    "experiment": ("EXPERIMENT", "a key of `experiments` in params.yaml"),
    "seeds": ("SEEDS", "such as 1,2,3; default: the seeds in params.yaml"),
    "documents": ("FACTOR", "multiplies the numbers of documents; default: explain.documents in "
        "params.yaml"),
    "adversarial_attention.name": ("NAME", "a key of `adversarial_attention` in params.yaml"),
    "verify.folder": ("FOLDER", "docs/studies/NAME, which `heed publish` made", {"type": Path}),
    "study.name": ("STUDY", "the name of a study of heed's or of your own, or a file from "
        "elsewhere, which is checked first; without one they are listed", {"nargs": "?"}),
    "force": ("", "overwrite params.yaml that has a mistake, or your study if both were edited"),
    "study.seeds": ("N", "train each model of the active study with the seeds 1 to N",
        {"type": partial(whole, most=MAX_SEEDS)}),
    "changes": ("KEY=VALUE", "a key of the model's line in params.yaml and its new value; several "
        "are tried together", {"nargs": "+"}),
    "classify.model": ("MODEL", "a model with trained runs"),
    "translate.model": ("MODEL", "a model with trained runs"),
    "text": ("TEXT", TEXT),
    "translation": ("TEXT", "score this translation instead of searching; a text or a file, as "
        "TEXT"),
    "format": ("FORM", "text: translations; pharaoh: with score and word alignment, between |||; "
        "json: JSON lines with words and weights; svg: a picture of all alignments",
        {"choices": ("text", "pharaoh", "json", "svg")}),
    "seed": ("SEED", "the run's seed; default: the smallest"),
    "verdict.files": ("FILE", "a table with the columns model, seed, item and score, or a file of "
        "another tool (docs/read/verdict.md); NAME=FILE names the model if the file does not",
        {"nargs": "+"}),
    "editions": ("EDITION", "docs/studies/NAME, which `heed publish` made",
        {"nargs": "+", "type": Path}),
    "join": ("EXPERIMENT=EXPERIMENT", "count two experiments on the same texts as one corpus; may "
        "be repeated"),
    "without": ("EXPERIMENT", "leave an experiment out; may be repeated"),
    "control": ("MODEL", "compare the others with this model; default: all pairs"),
    "margin": ("POINTS", "models shown to differ by less than this are practically the same; "
        "default: 1 if scores are shares"),
    "metric": ("METRIC", "the metric to compare, in a file with several"),
    "lower_is_better": ("", "scores are losses or errors"),
    "looks": ("SEEDS", "the numbers of seeds at which you look, such as 5,10,20, if they were "
        "fixed before the first look (docs/read/statistics.md)"),
    "references": ("FILE", "the files are translations, one a line; FILE has their references"),
    "csv": ("FILE", "write all pairs with their numbers"),
    "html": ("FILE", "write a page: sentences, tables and a figure of all intervals"),
    "latex": ("FILE", "write the tables for LaTeX"),
    "svg": ("FILE", "write the figure of all intervals"),
    "files": ("FILE", "a table, a folder with a folder of .txt files for each class "
        "(docs/reference/corpora.md has all formats), or a data set on the hub of Hugging Face, "
        "hf://OWNER/NAME or hf://OWNER/NAME/CONFIG; several are one corpus; a "
        "file named by train, dev or test, or given as test=FILE, is that split",
        {"nargs": "+"}),
}  # fmt: skip
SEVERAL = "may be repeated; default: by usual names and content"
OWN: dict[str, Meaning] = {  # the options of `heed corpus add`, fields of CorpusOptions
    "text_column": ("COLUMN", f"the column with the text; {SEVERAL}", {"action": "append"}),
    "label_column": ("COLUMN", f"the column with the label; {SEVERAL}", {"action": "append"}),
    "study": ("TEXT", "the new study's name; default: the corpus's name"),
    "title": ("TEXT", "title of the study's report"),
    "name": ("TEXT", "name of the corpus; default: the file's name"),
    "split_column": ("COLUMN", "the column with train, validation (dev) or test; default: one that "
        "is named split, part, set or fold"),
    "no_split_column": ("", "draw the split, whatever columns and files are named"),
    "id_column": ("COLUMN", "the column with a name for each document"),
    "group_column": ("COLUMN", "the column whose groups stay together in the random split: an "
        "author, …"),
    "rationale_column": ("COLUMN", "the column with the rationale: spans of the text, such as 0-4 "
        "10-15"),
    "delimiter": ("SIGN", "character between fields of a .csv or .tsv file; default: what fits",
        {"type": character}),
    "encoding": ("TEXT", "encoding of a file (not parquet), such as windows-1252; default: utf-8"),
    "quote": ("SIGN", "the character around fields, such as '; default: a double quote; empty "
        "(--quote=): none",
        {"type": character}),
    "language": ("TEXT", "language of spaCy's tokenizer, such as en or de; default: xx, of none"),
    "metric": ("TEXT", "the metric that decides (docs/internals/tasks.md)"),
    "no_header": ("", "the first row is a text, and columns have no names"),
    "drop_unlabelled": ("", "leave out the rows without a label"),
    "as_labels": ("", "accept a label with many values, or with some in the test split alone"),
    "similar_labels": ("", "labels that look the same, such as pos and Pos, are kept apart"),
    "test": ("SHARE", "test texts of one random split; default: .2, or folds below 2,000 texts",
        {"type": share}),
    "train": ("N", "train on at most N texts", {"type": whole}),
    "seeds": ("N", "number of seeds of the study; default: 10",
        {"type": partial(whole, most=MAX_SEEDS)}),
    "minutes": ("MINUTES", "time for the trainings, on all cores: it sets the number of seeds, "
        "three to ten (with folds five or ten). If three take longer, they get fewer epochs, and "
        "then fewer texts",
        {"type": positive}),
}  # fmt: skip


def make_parser() -> argparse.ArgumentParser:
    """Return the parser; the commands are in the order of `heed --help`."""
    parser = _Parser(
        prog="heed", description="Does attention help? From raw corpora to a printed report."
    )
    subparsers = parser.add_subparsers(
        title="stages, in the order of the pipeline, then further commands",
        metavar="COMMAND",
        required=True,
    )
    further = (verdict, pool, publish, verify, study, try_, classify, translate)
    for function in (command for command in (*stages.STAGES, *further) if command != stages.embed):
        _add_command(subparsers, function, function.__name__.rstrip("_"))
    subparsers.choices["pretrained"].add_argument(
        "--vectors", dest="function", action="store_const", const=stages.embed,
        default=argparse.SUPPRESS, help="compute these vectors alone: data/embeddings/CORPUS",
    )  # fmt: skip
    description = "corpora of your own: heed corpus add --help"
    group = subparsers.add_parser("corpus", help=description, description=description)
    commands = group.add_subparsers(metavar="COMMAND", required=True, parser_class=_Intermixed)
    _add_command(commands, corpus_add, "add")
    return parser


def _add_command(subparsers: Commands, function: Callable[..., None], name: str) -> None:
    """Add the command of a function; only options that are given are passed to it."""
    description = (function.__doc__ or "").strip().rstrip(".")
    command = subparsers.add_parser(name, help=description, description=description)
    command.set_defaults(function=function)
    for key, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            for own, meaning in OWN.items():
                _add_argument(command, f"--{own.replace('_', '-')}", meaning, {})
            continue
        meaning = MEANINGS.get(f"{function.__name__}.{key}") or MEANINGS[key]
        kinds = get_args(parameter.annotation)
        kind = kinds[0] if NoneType in kinds else parameter.annotation
        is_option = parameter.default is not parameter.empty and "nargs" not in meaning[-1]
        name = f"--{key.replace('_', '-')}" if is_option else key
        _add_argument(command, name, meaning, TYPES.get(kind, {}) if is_option else {})


def _add_argument(group: Any, name: str, meaning: Meaning, settings: Settings) -> None:
    metavar, text, *more = meaning
    settings = settings | (more[0] if more else {})
    if name.startswith("--") or settings.get("nargs") == "?":
        settings["default"] = argparse.SUPPRESS
    if metavar:
        settings["metavar"] = metavar
    else:
        settings["action"] = "store_true"
    group.add_argument(name, help=text, **settings)


class _Parser(argparse.ArgumentParser):
    """A parser that prints as all of heed does."""

    def _print_message(self, message: str, file: Any = None) -> None:
        print_line(message.removesuffix("\n"), error=file is not sys.stdout)


class _Intermixed(_Parser):
    """A parser whose list of files may go on after an option."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the parsed arguments, and those that are not known."""
        namespace, rest = super().parse_known_args(args, namespace)
        namespace.files += [argument for argument in rest if not argument.startswith("-")]
        return namespace, [argument for argument in rest if argument.startswith("-")]
