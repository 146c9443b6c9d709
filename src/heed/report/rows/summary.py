"""The rows of the tables over all experiments: scores, verdicts, the talk's gains, who is best."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from heed.evaluation.results import BASELINE
from heed.report.differences import AttentionComparison, TestedDifference
from heed.report.experiments import Experiment
from heed.report.measures import Measure, describe_reference_models
from heed.report.published import RESULTS
from heed.report.results import Results
from heed.report.rows import Rows

MOST_ROWS, MOST_MODELS = 8, 6  # of the first screen's table
LINEAR, PRETRAINED, MEAN = "linear", "pretrained", "mean"


def attention_of(experiment: Experiment) -> str:
    """Return the first variant that answers the study's question; "" without one."""
    return next(iter(experiment.result.attention), "")


def scaled_scores(experiment: Experiment) -> dict[str, float]:
    """Return the score of each model and reference model on the scale that it is printed on."""
    result = experiment.result
    names = (*result.models, *result.reference_models)
    return {name: experiment.measure.scaled(result.score_of(name)) for name in names}


def by_measure(experiments: list[Experiment]) -> dict[Measure, list[Experiment]]:
    """Return the experiments by the metric of their comparisons, in order."""
    groups: dict[Measure, list[Experiment]] = {}
    for each in experiments:
        groups.setdefault(each.measure, []).append(each)
    return groups


# --- every experiment: files ----------------------------------------------------------------------


def summary(results: Results) -> Iterator[Rows]:
    """Yield a table for each metric by which experiments compare: all models, with gains."""
    used: set[str] = set()
    for measure, experiments in by_measure(results.experiments).items():
        name = f"summary_{measure.task}" if used else "summary"
        name = f"{name}_{measure.metric}" if name in used else name
        used.add(name)
        yield Rows([*map(_summary, experiments)], _summary_facts(name, experiments))


def _summary_facts(name: str, experiments: list[Experiment]) -> dict[str, Any]:
    measure, known = experiments[0].measure, (BASELINE, "")
    variants: dict[str, None] = {}
    for each in experiments:
        others = [n for n in each.result.models if n not in (*known, attention_of(each))]
        variants |= dict.fromkeys(sorted(others, key=lambda n: n not in each.result.controls))
    references = [
        name
        for name, model in describe_reference_models([measure.task]).items()
        if model.heading and any(name in each.result.reference_models for each in experiments)
    ]
    digits = "hundreds" if measure.in_hundreds else "share"
    return {"name": name, "scores": [*variants, *references], "digits": digits}


def _summary(experiment: Experiment) -> dict[str, Any]:
    attention, scores, line = attention_of(experiment), scaled_scores(experiment), experiment.line
    gain = experiment.result.models[attention].gain if attention else None
    changes = {each.variant: each.change.mean_pp for each in experiment.degradations}
    return {
        "experiment": experiment,
        "baseline": scores.get(BASELINE),
        "attention": scores.get(attention),
        "mean_gain": gain,
        "gain": experiment.gain,
        "scores": Known(scores),
        "talk": line.talk or ("", ""),
        "line": line,
        "changes": Known(changes),
    }


class Known(dict[str, float]):
    """Scores by name; None for a name that an experiment lacks."""

    def __missing__(self, name: str) -> None:
        return None


def verdicts(results: Results) -> Rows:
    """Return the verdicts on attention: over its control, the baseline, the best reference model.

    There are no columns for what no experiment is compared with.
    """
    experiments = results.experiments
    compared = [each.attention_comparison for each in experiments if each.attention_comparison]
    kinds: dict[str, Callable[[AttentionComparison], TestedDifference | None]] = {
        "control": lambda each: each.primary,
        "baseline": lambda each: each.baseline,
        "reference_model": lambda each: each.strongest_reference_model,
    }
    found = [kind for kind, get in kinds.items() if any(map(get, compared))]
    records = [
        {
            "experiment": each,
            "compared": {
                kind: get(each.attention_comparison) if each.attention_comparison else None
                for kind, get in kinds.items()
            },
        }
        for each in experiments
    ]
    has_talk = any(each.line.reproduction for each in experiments)
    return Rows(records, {"kinds": found, "has_talk": has_talk}, location="experiments")


# --- the first screen -----------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class BestRow:
    """A model beside attention: `difference` is attention minus this model."""

    experiment: Experiment
    name: str
    difference: TestedDifference | None

    @property
    def words(self) -> str:
        """Its name in words."""
        return self.experiment.words[self.name]

    @property
    def score(self) -> str:
        """Its score, for people."""
        return self.experiment.measure.short(self.experiment.result.score_of(self.name))


def best(results: Results) -> Rows | None:
    """Return the models of a study with one or two experiments, the best first.

    Attention, its control and the linear model are always among them.
    """
    experiments = results.experiments
    if len(experiments) > 2:
        return None
    records = [row for each in experiments for row in _best(each, MOST_MODELS // len(experiments))]
    return Rows(records, {"several": len(experiments) > 1}, location="experiments")


def _best(experiment: Experiment, most: int) -> list[BestRow]:
    result, attention = experiment.result, attention_of(experiment)
    order = sorted(
        [*result.models, *result.learned_reference_models],
        key=lambda name: -result.sign * result.score_of(name),
    )
    needed = [attention, result.control or BASELINE, LINEAR, "statistical"]
    kept = sorted(order, key=lambda name: (name not in needed, order.index(name)))[:most]
    own = {each.second: each for each in experiment.comparisons if each.first == attention}
    return [BestRow(experiment, name, own.get(name)) for name in order if name in kept]


def questions(results: Results) -> Rows | None:
    """Return the primary comparison of each experiment, of a study with three or more."""
    experiments = results.experiments
    if len(experiments) <= 2:
        return None
    found = [each for each in experiments if each.leading][:MOST_ROWS]
    records = [*map(_question, found)]
    names = {"own": "Attention", "without": "Without"}
    for key, shown in (("attention", "own"), ("other", "without")):
        if len(same := {each[key] for each in records}) == 1:  # then the heading says it once
            names[shown] = next(iter(same)).capitalize()
            records = [each | {key: ""} for each in records]
    return Rows(records, names, location="experiments")


def _question(experiment: Experiment) -> dict[str, Any]:
    leading, measure, result = experiment.leading, experiment.measure, experiment.result
    assert leading
    return {
        "experiment": experiment, "link": f"#experiment-{experiment.key}", "difference": leading,
        "attention": experiment.words[leading.first], "other": experiment.words[leading.second],
        "own": measure.brief(result.score_of(leading.first)),
        "score": measure.brief(result.score_of(leading.second)),
    }  # fmt: skip


# --- the talk -------------------------------------------------------------------------------------


def talk(results: Results) -> Rows | None:
    """Return the talk's gains, tested over its documents, beside ours; None without any."""
    tested = [each for each in results.experiments if each.line.talk_test]
    if not tested:
        return None
    published = (each for each in results.sources.all() if each.path.endswith(RESULTS))
    return Rows([*map(_talk, tested)], sources=(*published, *results.comparison_sources))


def _talk(experiment: Experiment) -> dict[str, Any]:
    line, result = experiment.line, experiment.result
    scores = {name: result.score_of(name) for name in (*result.models, *result.reference_models)}
    attention, is_shown = attention_of(experiment), line.talk_test and line.talk_test.shown
    return {
        "experiment": experiment, "link": f"#experiment-{experiment.key}", "line": line,
        "talk": line.talk or ("", ""), "shown": "yes" if is_shown else "no",
        "talk_scores": " → ".join(line.talk or ()),
        "our_scores": " → ".join(f"{scores[n]:.4f}" for n in (BASELINE, attention) if n in scores),
        "gain": experiment.gain, "average": scores.get(MEAN), "linear": scores.get(LINEAR),
        "comparable": "yes" if line.comparable else "no",
    }  # fmt: skip
