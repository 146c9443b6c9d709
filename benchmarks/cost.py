"""The estimates of `heed cost` for the active study, beside the times of its stages.

`python -m benchmarks.cost` in a clone in which `snakemake` has run the study, or a part of it.
Seconds of processor time: of a training by results/timing (the mean over its seeds), of other
stages by logs/. The first estimate is that of `heed cost`, which measures the speeds of models,
the second that of `heed study`, by hyperparameters alone. Models with `patience` are left out: they
may have stopped early.
"""

import re
import statistics
from collections.abc import Iterator
from pathlib import Path

from heed.paths import RESULTS
from heed.report.results import read_training_time, training_folder
from heed.speed import measure_all
from heed.study import Params, load
from heed.study.cost import Cost, estimate_cost, study_workloads

LOGS = Path("logs")
# what a study has once → the stages that it is estimated for
ONCE = {"tokenizing": "tokenize", "reference_models": "reference_models"}
ELSEWHERE = ("searches", "snakemake")  # in processes that no log has
HEADER = "| {} | measured | `heed cost` | ratio | `heed study` | ratio |\n|---|---|---|---|---|---|"


def line(metric: str, real: float, estimates: list[float]) -> str:
    """Return a row of the table: seconds, and each estimate with its ratio to them."""
    parts = [f"{each:.1f} s | {each / real:.2f}" for each in estimates]
    return f"| {metric} | {real:.1f} s | {' | '.join(parts)} |"


def trainings(params: Params, costs: list[Cost]) -> Iterator[str]:
    """Yield a row for each model of which a training has ended here, and one for all together."""
    totals = [0.0] * (1 + len(costs))
    for models in zip(*(cost.models for cost in costs), strict=True):
        name = models[0].name
        seeds = [int(path.stem) for path in (training_folder(RESULTS) / name).glob("*.json")]
        if seeds and not params.resolved(name, {}).patience:
            times = [read_training_time(RESULTS, name, seed).cpu_seconds for seed in seeds]
            values = [statistics.fmean(times), *(model.training for model in models)]
            totals = [total + value for total, value in zip(totals, values, strict=True)]
            yield line(name, values[0], values[1:])
    if totals[0]:
        yield line("all of these", totals[0], totals[1:])


def stage_seconds() -> dict[str, float]:
    """Return the processor time of each stage that has run here, by its name."""
    seconds = {}
    for path in LOGS.glob("*.times"):
        # what the shell and its children took, as its `times` prints it: 0m1.25s
        times = re.findall(r"(\d+)m([\d.]+)s", path.read_text(encoding="utf-8"))
        seconds[path.stem] = sum(60 * int(minutes) + float(rest) for minutes, rest in times)
    return seconds


def stages(costs: list[Cost]) -> Iterator[str]:
    """Yield a row for each kind of stage that a study has once, and one for the whole."""
    seconds = stage_seconds()
    for what, stage in ONCE.items():
        real = sum(each for name, each in seconds.items() if name.startswith(f"{stage}@"))
        estimates = [cost.once[what] for cost in costs]
        if real and all(estimates):
            yield line(what, real, estimates)
    if len(seconds) >= costs[0].stages:
        estimates = [
            cost.core_hours * 3600 - sum(cost.once[what] for what in ELSEWHERE) for cost in costs
        ]
        real = sum(each for name, each in seconds.items() if not name.startswith("search@"))
        yield line("all stages but searches", real, estimates)


def main() -> None:
    params = load()
    speeds = measure_all(study_workloads(params))
    costs = [estimate_cost(params, speeds), estimate_cost(params)]
    print(HEADER.format("a training"), *trainings(params, costs), sep="\n")
    print("", HEADER.format("stages"), *stages(costs), sep="\n")


if __name__ == "__main__":
    main()
