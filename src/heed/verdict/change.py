"""`heed try`: a change of one model, run in a copy of the study, and the verdict on it.

Nothing of the study is written. A copy needs no commit, and has files that git does not know; `dvc
exp run --temp` needs the one and lacks the others.
"""

import contextlib
import dataclasses
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from heed.evaluation import results, significance
from heed.evaluation.looks import Looks
from heed.evaluation.results import ExperimentResult, ModelResult
from heed.evaluation.tested import read_model
from heed.files import HeedError, locked, write_text
from heed.paths import COMPARISON, LOCKS, PARAMS
from heed.pipeline import check_up_to_date, copy_clone, run_git, run_stages
from heed.report.differences import TestedDifference, tested_differences
from heed.report.formats import format_coverage, format_interval, join_and
from heed.report.measures import measure_of
from heed.study import Params, parse
from heed.study.reader import changed_model, read_text
from heed.task import task_module
from heed.terminal import print_line

FOLDER = Path(".heed/try")


@dataclasses.dataclass(frozen=True)
class State:
    """The results of a model in one state of the study."""

    result: ModelResult
    experiment: ExperimentResult
    method: results.Significance
    by_item: list[Any]  # for each fold what each item (column) contributes to each run's score
    repeats: int


def try_change(model: str, changes: Sequence[str]) -> Iterator[str]:
    """Run a change of a model in a copy of the study; yield what it changes, in sentences.

    `changes` are KEY=VALUE, keys of the model's line in params.yaml. Raises HeedError, also where
    it is interrupted: no such model, key or value; the study has not run.
    """
    run_git(Path(), "rev-parse", "--git-dir")
    text = read_text(PARAMS)
    params = parse(text)
    params.section("models", model)
    wanted = dict(map(read_change, changes))
    changed = changed_model(text, model, wanted)
    old, new = (_settings(each, model) for each in (params, parse(changed)))
    if new == old:
        raise HeedError(f"{' '.join(changes)}: {model} has this already. Try another value")
    for key in ("experiment", "variant"):
        if new[key] != old[key]:
            raise HeedError(f"{key}: is not to be tried: it says what {model} is compared with")
    check_up_to_date(Path())
    before = _read_state(params, model)
    with _copy() as folder:
        write_text(folder / PARAMS, changed)
        run_stages(folder, "compare", _report)
        with contextlib.chdir(folder):
            after = _read_state(params, model)
    yield f"{model}: {join_and([f'{key} {new[key]} (before: {old[key]})' for key in wanted])}."
    yield from describe(before, after, params.study.looks)
    yield f"The study is as it was. To keep the change, write it into {PARAMS}."


def read_change(text: str) -> tuple[str, str]:
    """Return key and value of KEY=VALUE. Raises HeedError."""
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise HeedError(f"{text}: expected KEY=VALUE, such as pooling=max")
    return key, value


def _settings(params: Params, model: str) -> Mapping[str, object]:
    """Return every setting of a model, also those that params.yaml leaves at their default."""
    line = dataclasses.replace(params.models[model], overrides={})
    return vars(line) | vars(params.prediction(model)) | vars(params.hyperparameters(model))


def _report(stage: str) -> None:
    if stage.startswith(("recipe@", "train@", "score@")):
        print_line(f"heed: running {stage}", error=True)


@contextlib.contextmanager
def _copy() -> Iterator[Path]:
    """Yield a copy of the clone, which is deleted. Raises HeedError where it is interrupted."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with locked(LOCKS / FOLDER.name, "another `heed try` is running here: waiting for it"):
        try:
            shutil.rmtree(FOLDER, ignore_errors=True)  # of one that was killed
            copy_clone(FOLDER)
            yield FOLDER
        except KeyboardInterrupt:
            raise HeedError("stopped: the study is as it was") from None
        finally:
            shutil.rmtree(FOLDER, ignore_errors=True)


def _read_state(params: Params, model: str) -> State:
    """Return the results of a model in the working folder."""
    section = params.models[model]
    comparison = results.read_comparison(COMPARISON / "comparison.json")
    experiment = comparison.experiments[section.experiment]
    tested = read_model(model, params.seeds_of(section.experiment), section.experiment)
    metrics = task_module(tested.recipe.task, "metrics").make_metrics(tested.recipe.data)
    return State(
        experiment.models[section.variant], experiment, comparison.significance,
        tested.by_item(metrics.named(experiment.metric)), tested.recipe.repeats,
    )  # fmt: skip


def describe(before: State, after: State, looks: Sequence[int] = ()) -> Iterator[str]:
    """Yield both scores, the verdict on their difference, and what it changes in the study."""
    measure, difference = measure_of(before.experiment), compare(before, after, looks)
    scores = (
        measure.short(each.experiment.compared_score(each.result).mean, named=True)
        for each in (before, after)
    )
    yield "Before {}, after {}.".format(*scores)
    interval = f"{format_coverage(significance.ALPHA)} interval"
    yield (
        f"Difference: {measure.difference(difference.mean_pp)} ({interval} "
        f"{format_interval(difference.interval_pp)}). The change is {difference.verdict_words}."
    )
    old = {(each.first, each.second): each for each in _differences(before)}
    for now in _differences(after):
        was = old[now.first, now.second]
        if now.verdict_words != was.verdict_words:
            yield (
                f"In the study {now.first} against {now.second} would be {now.verdict_words} "
                f"({measure.difference(now.mean_pp)}) in place of {was.verdict_words} "
                f"({measure.difference(was.mean_pp)})."
            )
            break


def _differences(state: State) -> list[TestedDifference]:
    """Return the differences of the experiment, those of its question first."""
    return tested_differences(state.experiment, state.method)


def compare(before: State, after: State, looks: Sequence[int] = ()) -> TestedDifference:
    """Return the tests of a model's score after a change minus that before. Raises HeedError."""
    if [[*table] for table in before.by_item] != [[*table] for table in after.by_item]:
        raise HeedError("the change leaves other test items, whose scores cannot be compared")
    first, second = ([table.to_numpy() for table in each.by_item] for each in (after, before))
    scores = (first, second) if before.experiment.sign > 0 else (second, first)
    seeds = len(before.result.best_epochs)
    planned = Looks((*looks,), seeds) if looks else None
    found = significance.assess(scores[0], scores[1], repeats=before.repeats, looks=planned)
    rises = (each.result.rise_pp(before.experiment.metric) for each in (after, before))
    judged = dataclasses.replace(found, verdict=results.verdict(found, before.method, *rises))
    return TestedDifference(
        first="after", second="before", method=before.method,
        measure=measure_of(before.experiment), one_seed=seeds == 1, **vars(judged),
    )  # fmt: skip
