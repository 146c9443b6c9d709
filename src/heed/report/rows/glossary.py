"""The glossary: what each network of the study is, and the words of the report."""

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from heed.evaluation.results import BASELINE
from heed.report.describe import describe_network
from heed.report.experiments import Experiment
from heed.report.measures import describe_reference_models, explain_degenerate
from heed.report.results import Results


@dataclasses.dataclass(frozen=True)
class Entry:
    """A network of a study in those experiments where it is the same."""

    variant: str  # its name in params.yaml
    words: str
    description: str
    role: str  # baseline, control, matched or nothing
    search: str  # of its hyperparameters; nothing without one
    experiments: list[str]  # titles


def networks(results: Results) -> list[Entry]:
    """Return the networks of a study; one that differs between experiments has several entries."""
    entries: dict[tuple[str, ...], Entry] = {}
    for experiment in results.experiments:
        for name, model in experiment.result.models.items():
            declared = results.params.models.get(model.model)
            search = declared.search if declared and declared.search != "none" else ""
            matched = declared and declared.match_parameters_of != model.model
            told = (
                name, experiment.words[name], describe_network(model.hyperparameters),
                _role(experiment, name) or ("matched" if matched else ""), search,
            )  # fmt: skip
            entries.setdefault(told, Entry(*told, [])).experiments.append(experiment.title)
    return sorted(entries.values(), key=lambda each: each.variant != BASELINE)


def _role(experiment: Experiment, name: str) -> str:
    return BASELINE if name == BASELINE else "control" * (name in experiment.result.controls)


@functools.cache
def glossary() -> Mapping[str, tuple[str, str]]:
    """Return the name and the meaning of each word of glossary.yaml."""
    text = Path(__file__).parents[1].joinpath("glossary.yaml").read_text(encoding="utf-8")
    return {key: (each["name"], each["meaning"]) for key, each in yaml.safe_load(text).items()}


def words(results: Results) -> dict[str, tuple[str, str]]:
    """Return the words and the reference models, with what they mean in this study."""
    method = results.comparison.significance
    measures = [each.measure for each in results.experiments]
    values = {
        "level": f"{method.alpha:g}",
        "margin": _alternatives(each.margin(method.equivalence_margin) for each in measures),
        "limit": _alternatives(
            each.of_validation.convergence_margin(method.convergence_pp) for each in measures
        ),
    }
    found = {key: (name, meaning.format(**values)) for key, (name, meaning) in glossary().items()}
    found["degenerate"] = (
        "degenerate run",
        _alternatives((explain_degenerate(each.result) for each in results.experiments), " "),
    )
    references = describe_reference_models(each.measure.task for each in results.experiments)
    for each in results.experiments:
        for name in each.result.reference_models:
            found[name] = (each.words[name], references[name].glossary)
    return found


def _alternatives(texts: Iterable[str], between: str = " or ") -> str:
    return between.join(dict.fromkeys(texts))
