"""The search stage: from the space in params.yaml to the winner in results/search/."""

import dataclasses
import hashlib
import json
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from heed.files import HeedError, write_json, write_text, write_yaml, writing_folder
from heed.hyperparameters import Configuration
from heed.paths import TIMING, WORK
from heed.terminal import print_line

if TYPE_CHECKING:
    from heed.search.results import TrialRun
    from heed.search.trials import Plan, Space
    from heed.study import Params, Search


def write_untuned(folder: Path, best: Configuration | None = None) -> None:
    """Write the results of a search without trials: best.yaml holds `best`, by default nothing.

    An empty best.yaml changes nothing in a recipe.
    """
    with writing_folder(folder, checksums=True) as out:
        write_yaml(out / "best.yaml", best or {})
        write_text(out / "trials.csv", "trial\n")


def run_search(
    params: "Params", name: str, searches: Path, tokens: Path, cores: int, address: str = ""
) -> str:
    """Run search `name`; write its results and results/timing/; return a line for people.

    A search that was killed resumes. Its folder in .heed/work is deleted when it has ended.

    `searches` is the folder with the results of the experiment's searches, `tokens` that of the
    search's corpus; `cores` are of this machine, for a local Ray, and `address` is of a cluster, by
    default HEED_RAY_ADDRESS, else this machine.

    Raises HeedError: a file is missing; the space is too small; no cluster; no trial gave a score.
    """
    from heed.recipe import read_best

    search = params.search(name)
    previous = read_best(searches / search.after) if search.after != "none" else {}
    if not search.trials:
        write_untuned(searches / name, previous)
        return f"{name}: no trials, hyperparameters as given"

    from heed.search.results import winner

    started = time.time()
    space = _make_space(params, name, previous)
    plan = make_plan(params, name, previous, tokens)
    trials, ray_description = _run_trials(plan, name, search, space, cores, address)
    if (best := winner(trials, search.metric)) is None:
        problem = f"no trial had one epoch in {search.minutes} minutes"
        raise HeedError(f"search {name}: {problem}. Give it more `minutes`")
    hyperparameters = previous | best.configuration | epochs_and_select(plan, best)
    _write_results(searches / name, search, space, trials, best, hyperparameters)
    _write_timing(name, plan, trials, time.time() - started, ray_description)
    shutil.rmtree(plan.work, ignore_errors=True)
    return (
        f"{name}: trial {best.number} of {len(trials)}, validation {search.metric} "
        f"{best.score(search.metric):.4f} at epoch {best.best_epoch(search.metric)}"
    )


def _make_space(params: "Params", name: str, previous: Configuration) -> "Space":
    """Return the space of search `name`, after a search with the winner `previous`."""
    from heed.search.trials import Space, draw
    from heed.study import rules
    from heed.study.model_rules import search_space

    search, dimensions = params.searches[name], search_space(params, name)

    def is_valid(configuration: Configuration) -> bool:
        return rules.is_valid_configuration(params, search.model, previous | configuration)

    try:  # for tpe too: the error of a space that is too small comes before Ray starts
        configurations = draw(dimensions, search.trials, search.seed, is_valid)
    except HeedError as error:
        raise HeedError(f"params.yaml: searches.{name}.space: {error}") from None
    return Space(dimensions, is_valid, configurations if search.sampler == "random" else None)


def _run_trials(
    plan: "Plan", name: str, search: "Search", space: "Space", cores: int, address: str
) -> "tuple[list[TrialRun], str]":
    """Run the trials on Ray; return them, and a description of that Ray for people."""
    from heed.progress import progress_bar
    from heed.search.cluster import ray_running, read_address

    plan.work.mkdir(parents=True, exist_ok=True)
    with (
        progress_bar(name) as bar,
        ray_running(address or read_address(), cores, search.cpu, search.gpu) as ray_description,
    ):
        from heed.search.tuner import run_trials

        print_line(f"{name}: {search.trials} trials on {ray_description}")
        return run_trials(plan, search, space, bar), ray_description


def _write_results(
    folder: Path, search: "Search", space: "Space", runs: "list[TrialRun]", best: "TrialRun",
    hyperparameters: Configuration,
) -> None:  # fmt: skip
    """Write the results of a search (docs/search.md); `hyperparameters` are its best.yaml."""
    from heed.search import results

    metric = search.metric
    trials = [run.as_trial(metric) for run in runs]
    result = results.Search(
        search=folder.name, **{key: getattr(search, key) for key in results.OF_SEARCH},
        space={key: {each.kind: each.values} for key, each in space.dimensions.items()},
        best=results.Best(best.number, best.score(metric) or 0.0, best.best_epoch(metric)),
        stops=dict(sorted(Counter(run.stop for run in runs).items())),
        epochs=sum(run.length for run in runs), trials=trials,
        by_parameter=results.scores_by_parameter(trials),
        expected_best=results.expected_best(trials, metric, search.sampler),
    )  # fmt: skip
    tables = {"trials": results.trial_table(trials), "epochs": results.epoch_table(runs)}
    with writing_folder(folder, checksums=True) as out:
        write_yaml(out / "best.yaml", hyperparameters)
        for name, table in tables.items():
            table.to_csv(out / f"{name}.csv", index=False, lineterminator="\n")
        results.write_search(out, result)


def make_plan(params: "Params", name: str, previous: Configuration, tokens: Path) -> "Plan":
    """Return the plan of a search: recipe, tokens and work folder of its trials.

    The name of the work folder depends on space, recipe, seed, code and version of torch; not on
    the settings that only decide where and how long trials run. `previous` is the winner of the
    search that this one follows, and `tokens` the folder of its corpus.
    """
    import torch

    from heed.digests import loaded_modules
    from heed.search.trials import Plan
    from heed.study.recipes import resolve
    from heed.task import import_stage_modules, task_module
    from heed.tokens.meta import read_meta

    search = params.search(name)
    epochs = search.epochs or params.hyperparameters(search.model).epochs
    fixed = previous | {"epochs": epochs, "monitor": search.metric}
    meta = read_meta(tokens)
    recipe = resolve(params, search.model, fixed, meta)
    contradiction = task_module(recipe.task, "recipe").corpus_contradiction
    for value in getattr(search.space.get("vectors"), "values", ()):
        if message := contradiction(recipe.changed({"vectors": value}).hyperparameters, meta):
            raise HeedError(f"params.yaml: searches.{name}.space.vectors: {message}")
    section = {
        key: value
        for key, value in dataclasses.asdict(search).items()
        if key not in ("concurrent", "retries", "cpu", "minutes")
    }
    import_stage_modules(recipe.task, "search")
    # named, not imported: it imports ray, which must come after the environment of ray_running
    code = loaded_modules("heed.search.tuner")
    key = json.dumps([recipe.as_dict(), section, code, torch.__version__], sort_keys=True)
    work = WORK / f"search-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    reports = search.reports if search.scheduler == "asha" else 1
    return Plan(
        recipe, tokens.resolve(), work.resolve(), search.seed, search.metric, search.gpu, reports
    )


def epochs_and_select(plan: "Plan", best: "TrialRun") -> Configuration:
    """Return `epochs` and `monitor` of best.yaml, with which a training repeats the trial `best`.

    `epochs` is the best epoch of the trial. But a learning rate with a schedule depends on the
    number of epochs: then `epochs` is unchanged, and the training keeps its best epoch.
    """
    h = plan.recipe.changed(best.configuration).hyperparameters
    has_schedule = h.warmup > 0 or h.lr_schedule != "none"
    return {
        "epochs": h.epochs if has_schedule else best.best_epoch(plan.metric),
        "monitor": plan.metric,
    }


def _write_timing(
    name: str, plan: "Plan", trials: "list[TrialRun]", seconds: float, ray_description: str
) -> None:
    """Write when and where each trial ran; for people, no stage reads it."""
    from heed.search.trials import STARTS

    rows = []
    for trial in trials:
        file = plan.trial_folder(trial.number) / STARTS
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        row = {"trial": trial.number, "stop": trial.stop, "epochs": len(trial.history)}
        rows.append(row | {"starts": [json.loads(line) for line in lines]})
    timing = {"seconds": round(seconds, 2), "on": ray_description, "trials": rows}
    write_json(TIMING / "search" / f"{name}.json", timing)
