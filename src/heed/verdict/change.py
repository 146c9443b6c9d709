"""`heed try`: a change of one model, run in a copy of the study, and the verdict on it.

The copy needs no commit, and has files that git does not know; `dvc exp run --temp` needs the one
and lacks the others.
"""

import contextlib
import dataclasses
import shutil
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heed.evaluation import results, significance
from heed.evaluation.item_statistics import read_model
from heed.evaluation.results import ExperimentResult, ModelResult, Significance
from heed.files import HeedError, locked, write_text
from heed.paths import COMPARISON, LOCKS, PARAMS
from heed.pipeline import check_up_to_date, copy_clone, run_git, run_stages
from heed.report.differences import TestedDifference, tested_differences
from heed.report.formats import format_coverage, format_interval, join_and
from heed.report.measures import measure_of
from heed.study import Params, parse
from heed.study.experiments import rules_of
from heed.study.reader import as_yaml, changed_text, read_text, read_yaml
from heed.task import task_module

FOLDER, CHANGED = Path(".heed/try"), Path("with this change, params.yaml")


class Tried(NamedTuple):
    """The results of a model in one state of the study."""

    model: ModelResult
    experiment: ExperimentResult
    method: Significance
    by_item: list[Any]  # for each fold what each item (column) contributes to each run's score
    repeats: int


def try_change(model: str, changes: Sequence[str]) -> Iterator[str]:
    """Run a change of a model in a copy of the study; yield what it changes, in sentences.

    `changes` are KEY=VALUE, keys of the model's line in params.yaml. Raises HeedError, also where
    it is interrupted: no such model, key or value; the study has not run.
    """
    run_git(Path(), "rev-parse", "--git-dir")
    params = parse(text := read_text(PARAMS))
    params.section("models", model)
    for change in changes:
        if change.find("=") < 1 or change.startswith(("experiment=", "variant=", "corpus=")):
            raise HeedError(f"{change}: expected KEY=VALUE of a hyperparameter, as in pooling=max")
    said = "\n".join(change.replace("=", ": ", 1) for change in changes)
    values = as_yaml(read_yaml(said, " ".join(changes))[1])
    changed = changed_text(text, CHANGED, lambda tree: tree["models"][model].update(values))
    study = parse(changed)
    old, new = (_settings(each, model) for each in (params, study))
    if new == old:
        raise HeedError(f"{' '.join(changes)}: {model} has this already. Try another value")
    idle = rules_of(study.task(study.models[model])).no_effect(study.hyperparameters(model))
    if useless := sorted({*values} & idle.keys()):
        raise HeedError(f"{useless[0]}: has no effect, by {idle[useless[0]]}. Leave it out")
    check_up_to_date(Path())
    before = _read(params, model)
    with _copy() as folder:
        write_text(folder / PARAMS, changed)
        run_stages(folder, "compare")
        with contextlib.chdir(folder):
            after = _read(params, model)
    yield f"{model}: {join_and([f'{key} {new[key]} (before: {old[key]})' for key in values])}."
    yield from _describe(before, after)
    yield f"The study is as it was. To keep the change, write it into {PARAMS}."


def _settings(params: Params, model: str) -> dict[str, object]:
    """Return every setting of a model, also those that params.yaml leaves at their default."""
    line = dataclasses.replace(params.models[model], overrides={})
    return vars(line) | vars(params.prediction(model)) | vars(params.hyperparameters(model))


@contextlib.contextmanager
def _copy() -> Iterator[Path]:
    """Yield a copy of the clone, which is deleted. Raises HeedError where it is interrupted."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with locked(LOCKS / FOLDER.name, "another `heed try` is running here: waiting for it"):
        shutil.rmtree(FOLDER, ignore_errors=True)  # of one that was killed
        try:
            copy_clone(FOLDER)
            yield FOLDER
        except KeyboardInterrupt:
            raise HeedError("stopped: the study is as it was") from None
        finally:
            shutil.rmtree(FOLDER, ignore_errors=True)


def _read(params: Params, model: str) -> Tried:
    section = params.models[model]
    comparison = results.read_comparison(COMPARISON / "comparison.json")
    experiment = comparison.experiments[section.experiment]
    tested = read_model(model, params.seeds_of(section.experiment), section.experiment)
    metrics = task_module(tested.recipe.task, "metrics").make_metrics(tested.recipe.data)
    return Tried(
        experiment.models[section.variant], experiment, comparison.significance,
        tested.by_item(metrics.named(experiment.metric)), tested.recipe.repeats,
    )  # fmt: skip


def _describe(before: Tried, after: Tried) -> Iterator[str]:
    """Yield both scores, the verdict on their difference, and what it changes in the study."""
    measure, found = measure_of(before.experiment), compare(before, after)
    old, new = (tried.experiment.compared_score(tried.model).mean for tried in (before, after))
    yield f"Before {measure.short(old, named=True)}, after {measure.short(new, named=True)}."
    interval = f"{format_coverage(significance.ALPHA)} interval"
    yield (
        f"Difference: {measure.difference(found.mean_pp)} ({interval} "
        f"{format_interval(found.interval_pp)}). The change is {found.verdict_words}."
    )
    earlier, later = (
        {(d.first, d.second): d.verdict_words for d in tested_differences(*tried[1:3])}
        for tried in (before, after)
    )
    for (first, second), verdict in later.items():  # those of the study's question come first
        if verdict != (was := earlier.get((first, second), verdict)):
            yield f"In the study {first} against {second} would be {verdict}; it is {was}."
            break


def compare(before: Tried, after: Tried) -> TestedDifference:
    """Return the tests of a model's score after a change minus that before. Raises HeedError."""
    if [[*table] for table in before.by_item] != [[*table] for table in after.by_item]:
        raise HeedError("the change leaves other test items, whose scores cannot be compared")
    scores = [[table.to_numpy() for table in tried.by_item] for tried in (after, before)]
    first, second = scores[:: before.experiment.sign]
    found = significance.assess(first, second, repeats=before.repeats)
    rises = (tried.model.rise_pp(before.experiment.metric) for tried in (after, before))
    judged = dataclasses.replace(found, verdict=results.verdict(found, before.method, *rises))
    return TestedDifference(
        first="after", second="before", method=before.method, measure=measure_of(before.experiment),
        one_seed=len(before.model.best_epochs) == 1, **vars(judged),
    )  # fmt: skip
