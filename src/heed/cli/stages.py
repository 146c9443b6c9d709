"""The commands of stages, whose code is found from the functions' imports (workflow/digests.py)."""

import contextlib
import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING

from heed import paths
from heed.files import CHECKSUMS, digest_as_key, digest_folder, write_text
from heed.terminal import print_line, wrap

if TYPE_CHECKING:
    from heed.evaluation.results import Comparison

CPU_LIMIT = Path("/sys/fs/cgroup/cpu.max")  # of a container: its microseconds in each period


def download(source: str) -> None:
    """Download a source and verify it: data/raw/SOURCE."""
    from heed.corpora.kinds import download
    from heed.study import load

    params = load()
    section = dataclasses.replace(params.section("sources", source), files=params.files_of(source))
    download(source, section, paths.RAW / source)
    write_digest(paths.RAW / source)


def tokenize(corpus: str) -> None:
    """Clean, split and tokenize the documents of a corpus: data/tokens/CORPUS."""
    from heed.study import load
    from heed.tokens.corpus import tokenize

    section = load().section("corpora", corpus)
    tokenize(corpus, section, paths.RAW / section.source, paths.TOKENS / corpus, count_cores())
    write_digest(paths.TOKENS / corpus)


def recipe(experiment: str) -> None:
    """Write all that determines the trainings of an experiment: results/recipe/EXPERIMENT.

    Its searches run first; those with today's space, tokens and code are kept. MODEL.yaml is of a
    model's training. MODEL.prediction.yaml says how test items are predicted, and repeats none.
    """
    from heed.study import load
    from heed.study.recipes import write_recipes

    params = load()
    tokens = paths.TOKENS / params.section("experiments", experiment).corpus
    if params.searches_of(experiment):
        from heed.digests import require_installed
        from heed.search.stage import run_searches

        require_installed(["ray"], f"heed recipe {experiment}")
        for outcome in run_searches(params, experiment, tokens, count_cores()):
            print_line(outcome)
    write_recipes(params, experiment, tokens)
    write_shown("search", experiment, paths.SEARCHES)


def train(model: str, seeds: list[int] | None = None) -> None:
    """Train a model with each seed: results/train/MODEL/SEED.

    A run whose recipe and code are today's is kept. A training that was killed continues from its
    last checkpoint. Seeds are trained at the same time, as many as there are cores (HEED_THREADS)
    or GPUs (HEED_GPUS). Unless seeds are named, the first one is also trained longer, with twice
    the epochs, to see whether the model has converged: results/train/MODEL/longer.
    """
    from heed.training.run import LongerInfo, delete_other_runs, train_runs, write_trained

    of_study, with_longer = seeds or read_seeds(model), not seeds and read_longer_training()
    for info in train_runs(model, of_study, count_cores(), with_longer):
        if isinstance(info, LongerInfo):
            epochs = info.recipe.hyperparameters.epochs
            outcome = f"epoch {info.best_epoch} of {epochs} is the best"
            print_line(f"{model} seed {info.seed}, trained longer: {info.diverged or outcome}")
            continue
        print_line(
            f"{model} seed {info.seed}: epoch {info.best_epoch} kept, "
            f"{info.parameters:,} parameters"
        )
    if not seeds:
        delete_other_runs(model, of_study, with_longer)
    write_trained(model)
    write_digest(paths.RUNS / model, paths.trained_file(model))
    write_shown("timing", model, paths.TIMING / "train")


def score(experiment: str, seeds: list[int] | None = None) -> None:
    """Predict and score the validation and test splits: results/predict and results/evaluate.

    Reads the predictions of the runs of the experiment's models, for each seed. To classify a
    text of your own: heed classify.
    """
    from heed.evaluation.item_statistics import evaluate
    from heed.prediction import write_predictions

    for model in read_models(experiment):
        of_model = seeds or read_seeds(model)
        print_line(f"{model}: {write_predictions(model, of_model):,} predictions")
        print_line(evaluate(model, of_model).to_string(index=False))
    write_shown("evaluate", experiment, paths.EVALUATIONS)


def explain(model: str, seeds: list[int] | None = None, documents: float = 0.0) -> None:
    """Test what a model's weights explain, on random test documents: results/explain/MODEL."""
    from heed.explanation.stage import read_explain, write_explanations
    from heed.progress import progress_bar

    declared = read_explain()
    noise = declared.models[model].noise if model in declared.models else None
    with progress_bar(model) as bar:
        summary = write_explanations(
            model, seeds or read_seeds(model), documents or declared.documents,
            lambda seed, done, total: bar.update(done, total, f"seed {seed}"), noise,
        )  # fmt: skip
    print_line(f"{model}: {summary['mean'].notna().sum():,} means of tests in summary.csv")
    if model in declared.models:  # else the report has nothing of it
        write_shown("explain", model, paths.EXPLANATIONS)


def adversarial_attention(name: str, seeds: list[int] | None = None) -> None:
    """Train models with other weights, and networks with weights from both:
    results/adversarial_attention/NAME.

    A training that was stopped continues.
    """
    from heed.explanation.stage import write_adversarial_model
    from heed.progress import progress_bar

    with progress_bar(name) as bar:
        summary = write_adversarial_model(
            name, seeds or read_seeds(_read_entry("adversarial_attention", name).get("model")),
            lambda seed, what, done, total: bar.update(done, total, f"seed {seed}, {what}"),
        )  # fmt: skip
    print_line(f"{name}: {summary['mean'].notna().sum():,} means in summary.csv")
    write_shown("adversarial_attention", name, paths.ADVERSARIAL_ATTENTION)


def reference_models(experiment: str) -> None:
    """Fit the reference models, such as a linear one: results/reference_models/EXPERIMENT."""
    from heed.reference_models import write_reference_models
    from heed.study import load

    write_reference_models(experiment, load().section("experiments", experiment))


def embed(corpus: str) -> None:
    """Compute the vector of each document by the encoder: data/embeddings/CORPUS."""
    from heed.pretrained import write_embedding
    from heed.study import load
    from heed.tokens.arrays import load_tokens

    params = load()
    encoder = params.encoders[params.section("pretrained", corpus).encoder]
    write_embedding(corpus, load_tokens(paths.TOKENS / corpus), encoder, count_cores())


def pretrained(corpus: str) -> None:
    """Fit linear models on an encoder's vectors: results/reference_models/CORPUS.pretrained.

    --vectors computes these vectors alone. If the entry says so, test what the encoder's attention
    explains: results/explain.
    """
    from heed.reference_models import write_pretrained
    from heed.study import load

    params = load()
    declared = params.section("pretrained", corpus)
    encoder, experiments = params.encoders[declared.encoder], params.experiments_on(corpus)
    write_pretrained(corpus, declared, encoder, experiments, count_cores())
    write_shown("explain", f"{corpus}.pretrained", paths.EXPLANATIONS)


def compare() -> None:
    """Compare all models and reference models, with tests: results/compare and metrics.json."""
    from heed.evaluation.comparison import Question, compare
    from heed.evaluation.results import mixed_machine_kinds
    from heed.study import load
    from heed.study.reader import note_looks

    params = load()
    models: dict[str, dict[str, str]] = {}  # experiment → variant → model
    for name in params.experiments:
        for model, section in params.models.items():
            if section.experiment == name:
                models.setdefault(name, {})[section.variant] = model
    metrics = {name: experiment.metric for name, experiment in params.experiments.items()}
    asked, tuning = params.study, {model: params.tuning(model) for model in params.models}
    question = Question(
        asked.name, asked.attention, metrics, asked.equivalence_margin, asked.convergence_pp,
        tuning, [*params.pretrained],
        {name: entry.control for name, entry in params.experiments.items()},
        {name: entry.seeds for name, entry in params.experiments.items() if entry.seeds},
        asked.looks, asked.looked,
    )  # fmt: skip
    comparison = compare(models, params.seeds, question, paths.COMPARISON, paths.METRICS)
    note_looks(params)
    for message in mixed_machine_kinds(comparison):
        print_line(message)


def report() -> None:
    """Write the report into reports/: HTML, LaTeX, figures, tables and the document browser.

    Prints the answer over all experiments.
    """
    from heed.report.render import render
    from heed.study import load

    outcome = render(load(), read_comparison(), paths.PUBLISHED, paths.RESULTS, paths.REPORTS)
    if outcome.failures:
        print_line("\n".join(outcome.failures), error=True)
    print_line(wrap(outcome.answer))


def read_comparison() -> "Comparison":
    """Return the results of `heed compare`."""
    from heed.evaluation.results import read_comparison
    from heed.files import verify_checksums

    verify_checksums(paths.COMPARISON, "heed compare")
    return read_comparison(paths.COMPARISON / "comparison.json")


def write_digest(folder: Path, listing: Path | None = None) -> None:
    """Write .digest into a folder: of its hashes, or of the file that lists them.

    DVC tracks it in place of the folder, which would be a column of `dvc exp show`.
    """
    text = (listing or folder / CHECKSUMS).read_text(encoding="utf-8")
    write_text(folder / ".digest", digest_as_key(text))


def write_shown(stage: str, key: str, folder: Path) -> None:
    """Write results/shown/STAGE/KEY: the digest of folder/KEY, which the report reads.

    The report depends on these files in place of the folders of five stages.
    """
    write_text(paths.SHOWN / stage / key, f"{digest_folder(folder / key)}\n")


def count_cores() -> int:
    """Return how many cores this process may use: HEED_THREADS, else all that the system allows."""
    threads, allowed = os.environ.get("HEED_THREADS", ""), len(os.sched_getaffinity(0))
    with contextlib.suppress(OSError, ValueError):  # no limit of a container's processor time
        quota, period = map(int, CPU_LIMIT.read_text().split())
        allowed = min(allowed, max(1, quota // period))
    return int(threads) if threads.isdigit() and int(threads) else allowed


def read_longer_training() -> bool:
    """Return `study.longer_training` of params.yaml, read as `read_seeds` reads it."""
    study = _read_params().get("study")
    return not isinstance(study, dict) or study.get("longer_training") is not False


def _read_params() -> dict[str, object]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    from heed.files import require_readable

    require_readable(paths.PARAMS, ". Run heed in the top folder of a clone, or name --seeds")
    try:
        values = YAML(typ="safe").load(paths.PARAMS)  # YAML 1.2, as DVC reads it: 010 is ten
    except (OSError, ValueError, YAMLError, LookupError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def read_models(experiment: str) -> list[str]:
    """Return the models of an experiment, read as `read_seeds` reads. Raises HeedError: none."""
    from heed.files import HeedError

    entries = _read_params().get("models")
    names = [*entries] if isinstance(entries, dict) else []
    found = [name for name in names if _read_entry("models", name).get("experiment") == experiment]
    if not found:
        raise HeedError(f"{paths.PARAMS}: models: none is of an experiment {experiment}")
    return found


def _read_entry(section: str, name: object) -> dict[str, object]:
    """Return an entry of a section of params.yaml, or {}, read as `read_seeds` reads it."""
    entries = _read_params().get(section)
    entry = entries.get(name) if isinstance(entries, dict) else None
    return entry if isinstance(entry, dict) else {}


def read_seeds(model: object) -> list[int]:
    """Return the seeds of a model's experiment, or else the study's.

    params.yaml is read without the schema, which checks all of the file.
    """
    from heed.files import HeedError

    own = _read_entry("experiments", _read_entry("models", model).get("experiment")).get("seeds")
    seeds = own or _read_params().get("seeds")
    if not (isinstance(seeds, list) and seeds and all(type(s) is int and s > 0 for s in seeds)):
        raise HeedError(
            f"{paths.PARAMS}: seeds: expected whole numbers from 1, found {seeds}. `heed study` "
            "says more"
        )
    return seeds


STAGES = (
    download, tokenize, recipe, train, score, explain, adversarial_attention,
    reference_models, embed, pretrained, compare, report,
)  # fmt: skip
