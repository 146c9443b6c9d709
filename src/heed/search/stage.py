"""The search stage: from the space in params.yaml to the winner in results/search/."""

import json
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from heed.files import HeedError, write_json, write_text, write_yaml, writing_folder
from heed.hyperparameters import Configuration
from heed.paths import TIMING
from heed.progress import progress_bar
from heed.recipe import read_best
from heed.search import results
from heed.search.cluster import ray_running, read_address
from heed.search.plan import STARTS, Plan, draw_configurations, make_plan
from heed.study import Params
from heed.study.model_rules import search_space
from heed.tables import write_csv
from heed.terminal import print_line


def run_search(
    params: Params, name: str, searches: Path, tokens: Path, cores: int, address: str = ""
) -> str:
    """Run search `name`; write its results and results/timing/; return a line for people.

    A search that was killed resumes. `searches` is the folder of the experiment's searches,
    `tokens` of the corpus; `cores` are for a local Ray, `address` is of a cluster, by default
    HEED_RAY_ADDRESS. Raises HeedError: a file is missing; the space is too small; no cluster; no
    trial gave a score.
    """
    search, started = params.search(name), time.time()
    previous = read_best(searches / search.after) if search.after != "none" else {}
    if not search.trials:
        with writing_folder(searches / name, checksums=True) as out:
            write_yaml(out / "best.yaml", previous)
            write_text(out / "trials.csv", "trial\n")
        return f"{name}: no trials, hyperparameters as given"
    plan = make_plan(params, name, previous, tokens)
    trials, where = _run_on_ray(params, name, previous, plan, cores, address or read_address())
    if (best := results.winner(trials, search.metric)) is None:
        problem = f"no trial had one epoch in {search.minutes} minutes"
        raise HeedError(f"search {name}: {problem}. Give it more `minutes`")
    with writing_folder(searches / name, checksums=True) as out:
        winner = previous | best.configuration | epochs_and_select(plan, best)
        write_yaml(out / "best.yaml", winner)
        _write_results(out, params, name, trials, best)
    _write_timing(name, plan, trials, time.time() - started, where)
    shutil.rmtree(plan.work, ignore_errors=True)
    return (
        f"{name}: trial {best.trial} of {len(trials)}, validation {search.metric} "
        f"{best.score:.4f} at epoch {best.best_epoch}"
    )


def _run_on_ray(
    params: Params, name: str, previous: Configuration, plan: Plan, cores: int, address: str
) -> tuple[list[results.Trial], str]:
    search, space = params.search(name), search_space(params, name)
    # before Ray starts, and for tpe too: the error of a space that is too small
    configurations, is_valid = draw_configurations(params, name, previous)
    plan.work.mkdir(parents=True, exist_ok=True)
    with progress_bar(name) as bar, ray_running(address, cores, search.cpu, search.gpu) as where:
        from heed.search.trials import Sampler, run_trials  # ray reads its environment now

        print_line(f"{name}: {search.trials} trials on {where}")
        sampler = None
        if search.sampler == "tpe":
            sampler = Sampler(plan, search, space, is_valid)
        return run_trials(plan, search, sampler or configurations, bar), where


def epochs_and_select(plan: Plan, best: results.Trial) -> Configuration:
    """Return `epochs` and `monitor` of best.yaml, with which a training repeats the trial `best`.

    A learning rate with a schedule depends on the number of epochs, which then is unchanged.
    """
    h = plan.recipe.changed(best.configuration).hyperparameters
    has_schedule = h.warmup > 0 or h.lr_schedule != "none"
    return {"epochs": h.epochs if has_schedule else best.best_epoch, "monitor": plan.metric}


def _write_results(
    out: Path, params: Params, name: str, trials: Sequence[results.Trial], best: results.Trial
) -> None:
    search = params.search(name)
    tables = {"trials": results.trial_table(trials), "epochs": results.epoch_table(trials)}
    for table_name, table in tables.items():
        write_csv(out / f"{table_name}.csv", table)
    result = results.Search(
        name, search.model, search.experiment, search.corpus, search.sampler, search.scheduler,
        search.seed, metric=search.metric, trials=list(trials),
        space={key: {each.kind: each.values} for key, each in search_space(params, name).items()},
        best=results.Best(best.trial, best.score or 0.0, best.best_epoch),
        stops=dict(sorted(Counter(trial.stop for trial in trials).items())),
        epochs=sum(trial.epochs for trial in trials),
        by_parameter=results.scores_by_parameter(trials),
        expected_best=results.expected_best(trials, search.metric, search.sampler),
    )  # fmt: skip
    results.write_search(out, result)


def _write_timing(
    name: str, plan: Plan, trials: Sequence[results.Trial], seconds: float, where: str
) -> None:
    rows = []
    for trial in trials:
        file = plan.trial_folder(trial.trial) / STARTS
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        row = {"trial": trial.trial, "stop": trial.stop, "epochs": len(trial.history)}
        rows.append(row | {"starts": [json.loads(line) for line in lines]})
    timing = {"seconds": round(seconds, 2), "on": where, "trials": rows}
    write_json(TIMING / "search" / f"{name}.json", timing)
