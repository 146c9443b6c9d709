"""The commands that are no stages: studies and their publication, and texts of a user."""

from pathlib import Path
from typing import Any

from heed.cli.stages import read_comparison
from heed.cli.workspace import count_cores
from heed.paths import PARAMS, PUBLISHED, REPORTS, RESULTS, SEARCHES
from heed.terminal import print_data, print_line


def adopt(name: str) -> None:
    """Write a search's winner into params.yaml for review in git, without repeating the search."""
    from heed.search.adopt import adopt

    print_line(adopt(name, PARAMS, SEARCHES))


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
    from heed.speed import measure_all
    from heed.study.cost import format_cost, study_workloads
    from heed.study.studies import read_study

    params = read_study(name)
    print_line(format_cost(params, measure_all(study_workloads(params)), count_cores()))


def graph(name: str, dot: bool) -> None:
    """Draw the pipeline of a study, a node for each kind of stage: text in Mermaid's language."""
    from heed.pipeline import PIPELINE, draw_dot, draw_mermaid, read_kinds
    from heed.study.studies import read_study

    kinds = read_kinds(PIPELINE, read_study(name))
    print_line((draw_dot if dot else draw_mermaid)(kinds))


def check() -> None:
    """Check params.yaml and report each mistake with its line.

    That includes text that DVC cannot read.
    """
    from heed.study.reader import describe_old_form, load

    params = load()
    if old_form := describe_old_form():
        print_line(old_form)
    print_line(
        f"{PARAMS}: no mistake: study {params.study.name}, {len(params.models)} models, "
        f"{len(params.seeds)} seeds"
    )


def schema() -> None:
    """Write docs/params.md and docs/params.schema.json from the schema."""
    from heed.files import write_json, write_text
    from heed.study.reference import json_schema, reference

    write_text("docs/params.md", reference())
    write_json("docs/params.schema.json", json_schema())


def corpus_add(**options: Any) -> None:
    """Make a study of your own of a corpus, or add the corpus to it: baseline and attention."""
    from heed.study.own_corpus import add_corpus
    from heed.study.own_files import CorpusOptions

    print_line(add_corpus(CorpusOptions(**options), count_cores()))


def corpus_remove(name: str) -> None:
    """Remove a corpus from your own study, with its experiments and models."""
    from heed.study.own_corpus import remove_corpus

    print_line(remove_corpus(name))


def model_add(experiment: str, variant: str, settings: list[str], like: str) -> None:
    """Add a model to params.yaml: its line with all that follows, checked."""
    from heed.study.editing import add_model

    print_line(add_model(PARAMS, experiment, variant, settings, like))


def model_remove(model: str) -> None:
    """Remove a model from params.yaml."""
    from heed.study.editing import remove_model

    print_line(remove_model(PARAMS, model))


def provenance() -> None:
    """Write reports/provenance.html: commit, versions, machine, dates, core-hours."""
    from heed.report.provenance import write_provenance
    from heed.study import load

    write_provenance(Path(), REPORTS / "provenance.html", load().models)
    print_line(f"{REPORTS}/provenance.html")


def publish() -> None:
    """Write the report into docs/studies/NAME, without texts, and its summary into pages."""
    from heed.evaluation.results import mixed_machine_kinds
    from heed.pipeline import check_up_to_date
    from heed.report.publish import check_commit, publish
    from heed.study import load

    params = load()
    check_commit(Path(), params.study.name)
    check_up_to_date(Path())
    comparison = read_comparison()
    folder = publish(params, comparison, PUBLISHED, RESULTS, Path())
    print_line(str(folder))
    for message in mixed_machine_kinds(comparison):
        print_line(message)


def classify(
    model: str,
    text: str,
    table: Path | None,
    text_column: list[str],
    text_separator: str | None,
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

        of_table = (text_column, id_column, encoding, delimiter, no_quotes, output)
        if any(of_table) or text_separator is not None:
            raise HeedError("heed classify: its options are of --table FILE, and not of a TEXT")
        print_line(_texts_of(model, "classify").classify(model, text))
        return
    from heed.study.reader import model_text_columns

    columns, separator = (tuple(text_column), " ") if text_column else model_text_columns(model)
    separator = separator if text_separator is None else text_separator
    quotes = False if no_quotes else None
    part = _texts_of(model, "classify_table")
    rows = part.TextTable(table, columns, separator, id_column, encoding, delimiter, quotes)
    print_line(part.classify_table(model, rows, output), error=output is None)


def translate(
    model: str, text: str, translation: str, n_best: int, form: str, seed: int | None
) -> None:
    """Translate a text line by line with a run of a model, or score given translations."""
    lines = _texts_of(model, "translate").translate(model, text, translation, n_best, form, seed)
    for line in lines:
        print_data(line)


def _texts_of(model: str, command: str) -> Any:
    """Return the part `texts` of a model's task, which has this function.

    Raises HeedError: the model has no trained run, or is of a task without such a command.
    """
    from heed.files import HeedError
    from heed.task import task_module
    from heed.tasks.texts import trained_seeds
    from heed.training.run import read_run

    task = read_run(model, trained_seeds(model)[0]).recipe.task
    part = task_module(task, "texts")
    if not hasattr(part, command):
        raise HeedError(f"{model}: is a model of the task {task}, which has no `heed {command}`")
    return part
