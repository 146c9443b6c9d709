"""The commands that choose, check and edit a study, and its models and corpora."""

from typing import Any

from heed.cli.cores import count_cores
from heed.paths import PARAMS, SEARCHES
from heed.terminal import print_line


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
    from heed.calibration import calibrate
    from heed.study.cost.estimate import study_workloads
    from heed.study.cost.table import format_cost
    from heed.study.studies import read_study

    params = read_study(name)
    print_line(format_cost(params, calibrate(study_workloads(params)), count_cores()))


def graph(name: str, dot: bool) -> None:
    """Draw the pipeline of a study, a node for each kind of stage: text in Mermaid's language."""
    from heed.graph import PIPELINE, draw_dot, draw_mermaid, read_kinds
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
    from heed.study.own.corpus import add_corpus
    from heed.study.own.entries import CorpusOptions

    print_line(add_corpus(CorpusOptions(**options), count_cores()))


def corpus_remove(name: str) -> None:
    """Remove a corpus from your own study, with its experiments and models."""
    from heed.study.own.corpus import remove_corpus

    print_line(remove_corpus(name))


def model_add(experiment: str, variant: str, settings: list[str], like: str) -> None:
    """Add a model to params.yaml: its line with all that follows, checked."""
    from heed.study.editing import add_model

    print_line(add_model(PARAMS, experiment, variant, settings, like))


def model_remove(model: str) -> None:
    """Remove a model from params.yaml."""
    from heed.study.editing import remove_model

    print_line(remove_model(PARAMS, model))
