"""The search stage: from the space in params.yaml to the winner in results/search/NAME/."""

import hashlib
import json
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from heed.files import HeedError, write_json, write_text, write_yaml, writing_folder
from heed.hyperparameters import Configuration
from heed.paths import TIMING, WORK

if TYPE_CHECKING:
    from heed.search.outcome import Trial
    from heed.search.trainable import Plan
    from heed.study import Params


def write_untuned(into: Path, best: Configuration | None = None) -> None:
    """Write a search without trials: its best.yaml is `best`, by default empty, which changes
    nothing in a recipe.
    """
    with writing_folder(into, checksums=True) as out:
        write_yaml(out / "best.yaml", best or {})
        write_text(out / "trials.csv", "trial\n")


def run_search(params: "Params", name: str, searches: Path, tokens: Path, cores: int) -> str:
    """Search as `searches.NAME` says: results/search/NAME/ and its times in results/timing/.

    Returns a line for people.

    A search that was killed goes on where it was. Its folder in .heed/work is deleted when it has
    ended.

    Args:
        params: the study.
        name: a key of `searches`.
        searches: the folder of all searches' results.
        tokens: the folder of the search's corpus.
        cores: of this machine, for a local Ray.

    Raises:
        HeedError: a file is missing; the space is too small; no cluster; no trial gave a score.

    """
    from heed.recipe import read_best

    search = params.searches[name]
    before = read_best(searches / search.after)
    if not search.trials:
        write_untuned(searches / name, before)
        return f"{name}: no trials, hyperparameters as given"

    from heed.search import outcome
    from heed.search.cluster import ray_running
    from heed.search.progress import search_progress
    from heed.search.space import Space, draw
    from heed.study import rules

    started = time.time()
    given = params.hyperparameters(search.model)
    dimensions = search.dimensions(given)

    def fits(drawn: Configuration) -> bool:
        return rules.is_valid_configuration(params, search.model, before | drawn)

    try:  # for tpe too: a space that is too small is found before Ray starts
        configurations = draw(dimensions, search.trials, search.seed, fits)
    except HeedError as error:
        raise HeedError(f"params.yaml: searches.{name}.space: {error}") from None
    plan = make_plan(params, name, before, tokens)
    space = Space(dimensions, fits, configurations if search.sampler == "random" else None)
    plan.store.mkdir(parents=True, exist_ok=True)
    with (
        search_progress(name) as progress,
        ray_running(search.address, cores, search.cpu, search.gpu) as where,
    ):
        from heed.search.tuner import run_trials

        print(f"{name}: {search.trials} trials on {where}", flush=True)
        trials = run_trials(plan, search, space, progress)
    best = outcome.winner(trials, search.metric)
    if best is None:
        raise HeedError(
            f"search {name}: no trial had one epoch in {search.minutes} minutes. Give it more "
            "`minutes`"
        )
    kept = before | best.configuration | kept_by(plan, best)
    with writing_folder(searches / name, checksums=True) as out:
        write_yaml(out / "best.yaml", kept)
        outcome.table(trials, search.metric).to_csv(
            out / "trials.csv", index=False, lineterminator="\n"
        )
        outcome.by_epoch(trials).to_csv(out / "epochs.csv", index=False, lineterminator="\n")
        about = {
            "search": name,
            "model": search.model,
            "experiment": search.experiment,
            "corpus": search.corpus,
            "sampler": search.sampler,
            "scheduler": search.scheduler,
            "seed": search.seed,
            "space": {
                key: {dimension.kind: dimension.values} for key, dimension in dimensions.items()
            },
        }
        write_json(
            out / "search.json", about | outcome.summary(trials, search.metric, search.sampler)
        )
    _write_timing(name, plan, trials, time.time() - started, where)
    shutil.rmtree(plan.store, ignore_errors=True)
    return (
        f"{name}: trial {best.number} of {len(trials)}, validation {search.metric} "
        f"{best.score(search.metric):.4f} "
        f"at epoch {best.best_epoch(search.metric)}"
    )


def make_plan(params: "Params", name: str, before: Configuration, tokens: Path) -> "Plan":
    """Return what the trials need: the recipe without a configuration, the tokens, and a work
    folder of their own.

    Another space, recipe, seed, code or version of torch is another folder. What only places the
    trials is not in it.
    """
    import torch

    from heed.code.digests import loaded_modules
    from heed.recipe import resolve
    from heed.search.trainable import Plan
    from heed.tasks import load_parts
    from heed.tokens.meta import read_meta

    search = params.searches[name]
    given = params.hyperparameters(search.model)
    fixed = before | {"epochs": search.epochs or given.epochs, "select": search.metric}
    recipe = resolve(params, search.model, fixed, read_meta(tokens))
    section = search.model_dump(exclude={"address", "concurrent", "retries", "cpu", "minutes"})
    load_parts(recipe.task, "search")
    # it imports ray, which the environment of ray_running must precede
    code = loaded_modules("heed.search.tuner")
    what = json.dumps([recipe.as_dict(), section, code, torch.__version__], sort_keys=True)
    store = WORK / f"search-{hashlib.sha256(what.encode()).hexdigest()[:16]}"
    reports = search.reports if search.scheduler == "asha" else 1
    return Plan(
        recipe, tokens.resolve(), store.resolve(), search.seed, search.metric, search.gpu, reports
    )


def kept_by(plan: "Plan", best: "Trial") -> Configuration:
    """Return what best.yaml says beside the configuration, so that a training with it is the trial
    again.

    `epochs` is the winner's best epoch. A learning rate that rises or falls over all epochs would
    not be the same with fewer: then the epochs stay, and the training goes through them all and
    keeps the best.
    """
    h = plan.recipe.changed(best.configuration).hyperparameters
    scheduled = h.warmup > 0 or h.decay != "none"
    return {
        "epochs": h.epochs if scheduled else best.best_epoch(plan.metric),
        "select": plan.metric,
    }


def _write_timing(
    name: str, plan: "Plan", trials: "list[Trial]", seconds: float, where: str
) -> None:
    """Note where each trial ran and when it started: for people, read by no stage."""
    from heed.search.trainable import STARTS

    rows = []
    for trial in trials:
        file = plan.folder(trial.number) / STARTS
        starts = (
            [json.loads(text) for text in file.read_text(encoding="utf-8").splitlines()]
            if file.exists()
            else []
        )
        rows.append(
            {
                "trial": trial.number,
                "stop": trial.stop,
                "epochs": len(trial.history),
                "starts": starts,
            }
        )
    write_json(
        TIMING / "search" / f"{name}.json",
        {"seconds": round(seconds, 2), "on": where, "trials": rows},
    )
