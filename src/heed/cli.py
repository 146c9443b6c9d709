"""The commands: one for each stage, one for each user verb. No logic: each reads, calls one function, says what it did.

Every command imports only what it uses, so that `heed train` and `heed evaluate` run without dvc, snakemake, ray, spacy
and pydantic, and `heed --help` is quick.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Does attention help? Stages (run by dvc and snakemake) and verbs of heed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
corpus_app = typer.Typer(help="Corpora of your own.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(corpus_app, name="corpus")

RAW, TOKENS, RESULTS = Path("data/raw"), Path("data/tokens"), Path("results")
STAGES, VERBS = "Stages", "Verbs"
ModelName = Annotated[str, typer.Argument(help="a key of `models` in params.yaml", metavar="MODEL")]


def _cores() -> int:
    """Return how many cores this process may use: what Snakemake gave the stage, else what the system lets it use."""
    given = os.environ.get("HEED_THREADS", "")
    return int(given) if given.isdigit() and int(given) else len(os.sched_getaffinity(0))


def _known(name: str, section: str) -> None:
    """Refuse a name that params.yaml does not have."""
    import difflib

    from heed.files import HeedError
    from heed.params import load

    known = list(getattr(load(), section))
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise HeedError(f"params.yaml: {section}: there is no {name}{hint} Known: {', '.join(known)}")


@app.command(rich_help_panel=STAGES)
def download(source: Annotated[str, typer.Argument(help="a key of `sources`")]) -> None:
    """Fetch a source and verify it: data/raw/SOURCE."""
    from heed.corpora.source import download
    from heed.params import load

    _known(source, "sources")
    download(source, load().sources[source], RAW / source)


@app.command(rich_help_panel=STAGES)
def tokenize(corpus: Annotated[str, typer.Argument(help="a key of `corpora`")]) -> None:
    """Make documents and token arrays of a corpus: data/tokens/CORPUS."""
    from heed.params import load
    from heed.text.tokenizer import tokenize

    _known(corpus, "corpora")
    params = load()
    section = params.corpora[corpus]
    tokenize(corpus, section, RAW / section.source, TOKENS / corpus, _cores())


@app.command(rich_help_panel=STAGES)
def search(name: Annotated[str, typer.Argument(help="a key of `searches`, or none")]) -> None:
    """Search hyperparameters (trials 0: hand on what is given): results/search/NAME."""
    from heed.search.stage import write_untuned

    if name != "none":
        _known(name, "searches")
    write_untuned(RESULTS / "search" / name)


@app.command(rich_help_panel=STAGES)
def recipe(model: ModelName) -> None:
    """Resolve everything that determines a model's training into one file: results/recipe/MODEL.yaml."""
    from heed.params import load
    from heed.recipe import make_recipe, write_recipe

    _known(model, "models")
    params = load()
    section = params.models[model]
    made = make_recipe(params, model, RESULTS / "search" / section.tuned_by, TOKENS / section.corpus)
    write_recipe(RESULTS / "recipe" / f"{model}.yaml", made)


@app.command(rich_help_panel=STAGES)
def train(
    model: ModelName,
    seed: Annotated[int, typer.Option(help="the run's seed", min=1)],
) -> None:
    """Train a model once: results/train/MODEL/SEED. A training that was killed goes on where it stopped."""
    from heed.training.progress import telling
    from heed.training.run import train_run

    with telling(f"{model} seed {seed}") as tell:
        info = train_run(model, seed, tell)
    print(f"{model} seed {seed}: epoch {info['best_epoch']} kept, {info['parameters']:,} parameters")


@app.command(rich_help_panel=STAGES)
def opponents(experiment: Annotated[str, typer.Argument(help="a key of `experiments`")]) -> None:
    """Fit the linear and the majority model: results/opponents/EXPERIMENT."""
    from heed.opponents import write_opponents
    from heed.params import load
    from heed.text.tokens import load_tokens

    _known(experiment, "experiments")
    section = load().experiments[experiment]
    into = RESULTS / "opponents" / experiment
    write_opponents(load_tokens(TOKENS / section.corpus), section.label, section.opponent_features, into)


@app.command(rich_help_panel=STAGES)
def evaluate(
    model: ModelName,
    seeds: Annotated[str, typer.Option(help="such as 1,2,3; default: the seeds in params.yaml")] = "",
) -> None:
    """Make the tables of a model, per class and averaged, for each seed: results/evaluate/MODEL."""
    from heed.evaluation.classification import evaluate
    from heed.files import HeedError

    if seeds:
        try:
            chosen = [int(seed) for seed in seeds.split(",")]
        except ValueError:
            raise HeedError(f"--seeds: whole numbers with commas between, such as 1,2,3; found {seeds}") from None
    else:
        from heed.params import load

        chosen = load().seeds
    table = evaluate(model, chosen, RESULTS / "evaluate" / model)
    print(table[["seed", "accuracy", "macro_f1", "validation_accuracy", "best_epoch"]].to_string(index=False))


@app.command(rich_help_panel=STAGES)
def compare() -> None:
    """Set all models and opponents side by side: results/compare and metrics.json."""
    from heed.evaluation.comparison import compare
    from heed.params import load

    params = load()
    experiments: dict[str, dict[str, str]] = {name: {} for name in params.experiments}
    for name, model in params.models.items():
        experiments[model.experiment][model.variant] = name
    compare({name: m for name, m in experiments.items() if m}, params.seeds, RESULTS / "compare", Path("metrics.json"))


@app.command(rich_help_panel=STAGES)
def report() -> None:
    """Write reports/index.html, report.tex and the tables."""
    from heed.files import read_json
    from heed.params import load
    from heed.report.render import render

    comparison = read_json(RESULTS / "compare" / "comparison.json", "heed compare")
    render(load(), comparison, Path("data/published"), Path("reports"))


@app.command(rich_help_panel=VERBS)
def study(
    name: Annotated[str, typer.Argument(help="a study in workflow/studies; none: list them")] = "",
    force: Annotated[bool, typer.Option("--force", help="overwrite a params.yaml that was edited by hand")] = False,
) -> None:
    """List the studies, or make one active and say what it will cost."""
    from heed.study import activate, available

    if name:
        print(activate(name, force))
        return
    for key, title, active in available():
        print(f"{'*' if active else ' '} {key:12} {title}")


@app.command(rich_help_panel=VERBS)
def predict(
    model: ModelName,
    text: Annotated[str, typer.Argument(help="the text, a file with it, or - for standard input")],
) -> None:
    """Classify a text with all trained runs of a model: mean probabilities, and the weights over its words."""
    from heed.prediction import predict

    print(predict(model, text))


@app.command(rich_help_panel=VERBS)
def schema() -> None:
    """Write docs/params.md and docs/params.schema.json from the schema."""
    from heed.files import write_json, write_text
    from heed.params import json_schema, reference

    write_text("docs/params.md", reference())
    write_json("docs/params.schema.json", json_schema())


@corpus_app.command("add")
def corpus_add(
    file: Annotated[Path, typer.Argument(help="a .csv, .jsonl or .parquet file")],
    text_column: Annotated[str, typer.Option(help="the column with the text")],
    label_column: Annotated[str, typer.Option(help="the column with the label")],
    split_column: Annotated[str, typer.Option(help="the column with train, validation or test; none: heed draws")] = "",
    name: Annotated[str, typer.Option(help="name of the corpus; default: from the file's name")] = "",
) -> None:
    """Add a corpus of your own to params.yaml: its source, an experiment and models to compare."""
    from heed.corpora.own import add

    print(
        add(
            file,
            name or file.stem.lower().replace("_", "-"),
            text_column,
            label_column,
            split_column,
            Path("params.yaml"),
        )
    )


def main() -> None:
    """Run the command line; an error that the user can mend is one message and exit code 1."""
    from heed.files import HeedError

    try:
        app()
    except HeedError as error:
        sys.exit(f"heed: {error}")
    except KeyboardInterrupt:
        sys.exit("heed: stopped; run the same command again to go on")


if __name__ == "__main__":
    main()
