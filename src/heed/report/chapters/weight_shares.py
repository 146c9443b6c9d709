"""Learned against equal weights (lecture 003): the accuracy of both, and where the weight lies."""

import dataclasses
from collections.abc import Callable
from typing import Any

from heed.evaluation.results import ExperimentResult
from heed.report.blocks import Block, Column, Table, make_rows
from heed.report.cautions import equal_weights_control, lacks_layer, layer_note
from heed.report.chapters.shared import join_columns
from heed.report.documents import HEAVIEST, Browser, WeightShare, describe_evidence
from heed.report.experiments import Experiment
from heed.report.formats import COUNT, INTERVAL, POINTS, TEXT, decimals
from heed.report.language import say
from heed.report.results import Results


@dataclasses.dataclass(frozen=True)
class Weighing:
    """A model with learned weights, and the control that has equal ones, where there is one."""

    variant: str
    browser: Browser
    value: float
    control: str
    control_value: float | None
    gain: float | None  # of the model over the control, in percentage points
    interval: tuple[float, float] | None


def tables(results: Results, experiment: Experiment) -> list[Block]:
    """Return the table of all models that choose weights; nothing where no model does."""
    result = results.comparison.experiments[experiment.key]
    records = [
        _weighing(experiment, result, variant, results.browsers[model.model])
        for variant, model in result.models.items()
        if model.model in results.browsers and model.hyperparameters.learns_weights
    ]
    if not records:
        return []
    facts = result.corpus.facts
    columns = _columns(results, experiment)
    models = [result.models[each.variant].model for each in records]
    paths = [results.prediction_folder(model) / "weights.parquet" for model in models]
    caption = say(
        "What learned weights gain over equal ones, and what they do: the share of weight on the "
        "{count} heaviest words of a document, beside what equal weights would put there. Mean "
        "over the documents of each model’s browser, first seed.",
        count=HEAVIEST,
    )
    if any(lacks_layer(result, each.variant) for each in records):
        caption += f" {layer_note()}"
    if facts.evidence is not None:
        caption += " " + say("Evidence: {description}.", description=describe_evidence(facts))
    return [
        Table(
            f"{experiment.key}_weights",
            say("Learned against equal weights"),
            columns,
            make_rows(columns, records),
            caption=caption,
            sources=(*results.comparison_sources, *results.sources.add(*paths)),
            mark=experiment.mark,
            style="worth",
        )
    ]


def _weighing(
    experiment: Experiment, result: ExperimentResult, variant: str, browser: Browser
) -> Weighing:
    value, control = result.figure_of(variant), equal_weights_control(result, variant)
    pair = (variant, control)
    tested = next((e for e in experiment.comparisons if (e.first, e.second) == pair), None)
    other = result.figure_of(control) if control else None
    return Weighing(
        variant,
        browser,
        value,
        control,
        other,
        None if other is None else 100 * (value - other),
        tested.ends if tested else None,
    )


def _columns(results: Results, experiment: Experiment) -> tuple[Column, ...]:
    measure, share = experiment.measure, decimals(1)
    covers = say("{covers} interval", covers=results.coverage)
    columns = (
        *join_columns(lambda _: experiment),
        Column("variant", say("Model"), TEXT, lambda each: each.variant),
        Column(measure.metric, measure.name, decimals(4), lambda each: each.value),
        Column("control", say("Equal weights"), TEXT, lambda each: each.control or "–"),
        Column("control_value", "", decimals(4), lambda each: each.control_value),
        Column("gain_pp", say("Learned minus equal"), POINTS, lambda each: each.gain,
               unit=measure.unit),
        Column("", covers, INTERVAL, lambda each: each.interval),
        Column("low_pp", "", POINTS, lambda each: each.interval and each.interval[0]),
        Column("high_pp", "", POINTS, lambda each: each.interval and each.interval[1]),
        Column("documents", "", COUNT, lambda each: each.browser.heaviest.documents),
        Column("heaviest_percent", say("Weight on the {count} heaviest words", count=HEAVIEST),
               share, _percent(lambda each: each.browser.heaviest, "weight"), unit="%",
               short=say("on heaviest, %")),
        Column("heaviest_equal_percent", say("with equal weights"), share,
               _percent(lambda each: each.browser.heaviest, "words"), unit="%",
               short=say("if equal, %")),
    )  # fmt: skip
    if results.comparison.experiments[experiment.key].corpus.facts.evidence is None:
        return columns
    return (
        *columns,
        Column("evidence_percent", say("Weight on evidence"), share,
               _percent(lambda each: each.browser.evidence, "weight"), unit="%",
               short=say("on evidence, %")),
        Column("evidence_equal_percent", say("on evidence with equal weights"), share,
               _percent(lambda each: each.browser.evidence, "words"), unit="%",
               short=say("if equal, %")),
    )  # fmt: skip


def _percent(share: Callable[[Weighing], WeightShare | None], part: str) -> Callable[[Any], Any]:
    """Return a function from a model to a part of its share, in percent; None without one."""

    def value(record: Weighing) -> float | None:
        found = share(record)
        return None if found is None else 100 * float(getattr(found, part))

    return value
