"""The searches of an experiment: from the space in params.yaml to the winner in results/search/."""

import dataclasses
import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from heed.files import (
    HeedError,
    read_json,
    verify_checksums,
    write_json,
    write_yaml,
    writing_folder,
)
from heed.hyperparameters import Configuration
from heed.paths import SEARCHES, TIMING
from heed.progress import progress_bar
from heed.search import results
from heed.search.candidates import STARTS, TrialSetup, find_candidates, make_setup
from heed.search.cluster import ray_running, read_address
from heed.study import Params, Search
from heed.study.model_rules import search_space
from heed.tables import write_csv
from heed.terminal import print_line

SETUP = "setup.json"  # in the folder of a search: the digest of all that it was made with


def run_searches(params: Params, experiment: str, tokens: Path, cores: int) -> Iterator[str]:
    """Run the searches of an experiment that are not today's; yield lines for people of each.

    Raises HeedError as `run_search`.
    """
    folder = SEARCHES / experiment
    # all before the first search, which imports more modules: these are part of a setup
    setups = {name: _make_setups(params, name, tokens) for name in params.searches_of(experiment)}
    for name, each in setups.items():
        if _is_todays(folder / name, _digest(params, name, each)):
            yield f"{name}: kept"
        else:
            yield _run(params, name, each, folder, cores)


def _make_setups(params: Params, name: str, tokens: Path) -> dict[str, TrialSetup]:
    models = params.searched_models(name)
    return {model: make_setup(params, name, tokens, model) for model in models}


def _digest(params: Params, name: str, setups: dict[str, TrialSetup]) -> str:
    works = {model: setup.work.name for model, setup in setups.items()}
    content = json.dumps([works, dataclasses.asdict(params.searches[name])], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _is_todays(folder: Path, digest: str) -> bool:
    try:
        verify_checksums(folder, "")
        return bool(read_json(folder / SETUP, "") == digest)
    except HeedError:
        return False


def run_search(params: Params, name: str, searches: Path, tokens: Path, cores: int) -> str:
    """Run search `name`; write its results and results/timing/; return lines for people.

    A search that was killed resumes. `searches` is the folder of the experiment's searches,
    `tokens` of the corpus; `cores` are for a local Ray, where HEED_RAY_ADDRESS names no
    cluster. Raises HeedError: a file is missing; the space is too small; no cluster; no
    trial gave a score.
    """
    setups = _make_setups(params, name, tokens)
    return _run(params, name, setups, searches, cores)


def _run(
    params: Params, name: str, setups: dict[str, TrialSetup], searches: Path, cores: int
) -> str:
    search, started = params.search(name), time.time()
    digest = _digest(params, name, setups)
    tried, where = _run_on_ray(params, name, setups, cores)
    # `run_trials` raises where no trial of a model has a score
    winners = {model: results.winner(trials, search.metric) for model, trials in tried.items()}
    with writing_folder(searches / name, checksums=True) as out:
        for model, best in winners.items():
            folder, setup = _of_model(out, search, model), setups[model]
            winner = best.configuration | epochs_and_select(setup, best)
            write_yaml(folder / "best.yaml", winner)
            _write_results(folder, params, name, setup, tried[model], best)
        write_json(out / SETUP, digest)
    _write_timing(name, search, setups, tried, time.time() - started, where)
    for setup in setups.values():
        shutil.rmtree(setup.work, ignore_errors=True)
    return "\n".join(
        f"{name}: {'' if search.model else f'{model}, '}trial {best.trial} of {len(tried[model])}, "
        f"validation {search.metric} {best.score:.4f} at epoch {best.best_epoch}"
        for model, best in winners.items()
    )


def _of_model(folder: Path, search: Search, model: str) -> Path:
    """Return the folder of a model's winner: its own where each model is searched."""
    return folder if search.model else folder / model


def _run_on_ray(
    params: Params, name: str, setups: dict[str, TrialSetup], cores: int
) -> tuple[dict[str, list[results.Trial]], str]:  # fmt: skip
    search = params.search(name)
    # before Ray starts: the error of a space that is too small
    candidates = {model: find_candidates(params, name, each) for model, each in setups.items()}
    for setup in setups.values():
        setup.work.mkdir(parents=True, exist_ok=True)
    with (
        progress_bar(name) as bar,
        ray_running(read_address(), cores, search.cpu, search.gpu) as where,
    ):
        from heed.search.trials import Job, run_trials  # ray reads its environment now

        of_models = f" of each of {len(setups)} models" if len(setups) > 1 else ""
        print_line(f"{name}: {search.trials} trials{of_models} on {where}")
        jobs = {model: Job(setup, search, candidates[model]) for model, setup in setups.items()}
        return run_trials(jobs, bar), where


def epochs_and_select(setup: TrialSetup, best: results.Trial) -> Configuration:
    """Return `epochs` and `monitor` of best.yaml, with which a training repeats the trial `best`.

    A learning rate with a schedule depends on the number of epochs, which then is unchanged.
    """
    h = setup.recipe.changed(best.configuration).hyperparameters
    has_schedule = h.warmup > 0 or h.lr_schedule != "none"
    return {"epochs": h.epochs if has_schedule else best.best_epoch, "monitor": setup.metric}


def _write_results(
    out: Path, params: Params, name: str, setup: TrialSetup, trials: Sequence[results.Trial],
    best: results.Trial,
) -> None:  # fmt: skip
    search, model = params.search(name, setup.recipe.model), setup.recipe.model
    tables = {"trials": results.trial_table(trials), "epochs": results.epoch_table(trials)}
    for table_name, table in tables.items():
        write_csv(out / f"{table_name}.csv", table)
    space, with_own = search_space(params, name, model), not params.searches[name].model
    result = results.Search(
        name, model, search.experiment, setup.recipe.corpus, search.scheduler, search.seed,
        metric=search.metric, trials=list(trials),
        space={key: {each.kind: each.values} for key, each in space.items()},
        best=results.Best(best.trial, best.score or 0.0, best.best_epoch),
        stops=dict(sorted(Counter(trial.stop for trial in trials).items())),
        epochs=sum(trial.epochs for trial in trials),
        training=setup.recipe.hyperparameters.epochs if with_own else None,
    )  # fmt: skip
    results.write_search(out, result)


def _write_timing(
    name: str, search: Search, setups: dict[str, TrialSetup], tried: dict[str, list[results.Trial]],
    seconds: float, where: str,
) -> None:  # fmt: skip
    rows = []
    for model, trials in tried.items():
        of_model = {} if search.model else {"model": model}
        for trial in trials:
            file = setups[model].trial_folder(trial.trial) / STARTS
            lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
            row = {"trial": trial.trial, "stop": trial.stop, "epochs": len(trial.history)}
            rows.append(of_model | row | {"starts": [json.loads(line) for line in lines]})
    timing = {"seconds": round(seconds, 2), "on": where, "trials": rows}
    write_json(TIMING / "search" / f"{name}.json", timing)
