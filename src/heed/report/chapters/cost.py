"""The cost of each result: core time of its trainings, and what attention costs for its gain."""

import dataclasses

from heed.evaluation.results import BASELINE, ExperimentResult
from heed.report.answer import verdict_text
from heed.report.blocks import (
    PAGE,
    Block,
    Cell,
    Column,
    Disclosure,
    Group,
    Items,
    Paragraph,
    Section,
    Span,
    Table,
    Texts,
    make_rows,
)
from heed.report.chapters.shared import join_columns
from heed.report.costs import Cost, read_costs, time_unit
from heed.report.experiments import Experiment
from heed.report.figures.cost import cost_figure
from heed.report.formats import (
    COUNT,
    DASH,
    RIGHT,
    TEXT,
    Format,
    decimals,
    format_count,
    format_number,
)
from heed.report.language import say, say_count
from heed.report.results import Results
from heed.report.timing import describe_core_minutes
from heed.search.results import read_search

PARAMETERS = Format(format_count, COUNT.plain, "right")
SEARCH = Format(lambda value: value or DASH, str, "left")


@dataclasses.dataclass(frozen=True)
class Line:
    """A row of the table: a model of an experiment, its cost, and its baseline's."""

    experiment: Experiment
    result: ExperimentResult
    cost: Cost
    baseline: Cost | None
    search: str  # of its hyperparameters; empty without one

    @property
    def ratio(self) -> float | None:
        """The core time of a training over that of the baseline."""
        return None if self.baseline is None else self.cost.over(self.baseline)


def chapter(results: Results) -> list[Block]:
    """Return the section: what attention costs, a figure and a table of all models."""
    lines = [line for each in results.experiments for line in _lines(results, each)]
    if not lines:
        return []
    figure = cost_figure(results, {each.key: _costs(each, lines) for each in results.experiments})
    sentences = tuple(filter(None, (_sentence(each, lines) for each in results.experiments)))
    blocks = (
        Paragraph((_total(lines),)),
        Group((*([Items(sentences)] if sentences else []), figure), "beside"),
        Disclosure(
            say("Core time of every model"), (_table(results, lines),), "others", media=(PAGE,)
        ),
    )
    return [Section("cost", say("What it costs"), blocks)]


def _lines(results: Results, experiment: Experiment) -> list[Line]:
    result = results.comparison.experiments[experiment.key]
    costs = read_costs(results, experiment)
    searches = {folder.name: folder for folder in results.search_folders(experiment)}
    lines = []
    for variant, cost in costs.items():
        tuned_by = results.params.models[result.models[variant].model].tuned_by
        search = read_search(searches[tuned_by]) if tuned_by in searches else None
        text = ""
        if search:
            trials = say_count("{count} trial", "{count} trials", len(search.trials))
            text = say("{trials}, {epochs} epochs", trials=trials, epochs=f"{search.epochs:g}")
        lines.append(Line(experiment, result, cost, costs.get(BASELINE), text))
    return lines


def _costs(experiment: Experiment, lines: list[Line]) -> list[Cost]:
    return [line.cost for line in lines if line.experiment is experiment]


def _total(lines: list[Line]) -> str:
    """Return how much all trainings of the study took."""
    minutes = sum(line.cost.total for line in lines)
    trainings = sum(len(line.cost.times) for line in lines)
    unit = time_unit(minutes)
    time = f"{format_number(unit.of(minutes), 1)} {unit.name}"
    return say_count(
        "The study’s {count} training took {time}.",
        "The study’s {count} trainings took {time}.",
        trainings,
        time=time,
    )


def _sentence(experiment: Experiment, lines: list[Line]) -> Texts:
    """Return what attention costs for which gain; empty without attention and a baseline."""
    gain = experiment.gain
    line = next(
        (
            each
            for each in lines
            if gain and each.experiment is experiment and each.cost.variant == gain.first
        ),
        None,
    )
    if gain is None or line is None or line.ratio is None:
        return ()
    sentence = say(
        "{variant} costs {ratio} times the baseline’s core time for {size}: {verdict}.",
        variant=gain.first,
        ratio=format_number(line.ratio, 1),
        size=experiment.measure.difference(gain.mean),
        verdict=verdict_text(gain.verdict),
    )
    mark = (" ", Span(experiment.mark, "mark")) if experiment.mark else ()
    title = Span(experiment.title, link=f"#experiment-{experiment.key}")
    return (title, *mark, ": ", sentence)


def _table(results: Results, lines: list[Line]) -> Table:
    columns = (
        *join_columns(lambda line: line.experiment),
        Column("", say("Experiment"), TEXT, _title, merge=True, width=38),
        Column("variant", say("Model"), value=lambda line: line.cost.variant),
        Column("figure", "", value=lambda line: line.experiment.measure.metric),
        Column("value", "", decimals(4), lambda line: line.cost.figure),
        Column("", say("Test figure"), RIGHT, _figure),
        Column("parameters", say("Parameters"), PARAMETERS, lambda line: line.cost.parameters),
        *_time_columns(lines),
        Column(
            "ratio",
            say("Compared with the baseline"),
            decimals(2),
            lambda line: line.ratio,
            unit="×",
            meaning=say("the core time of a training over that of the baseline"),
        ),
        Column(
            "search",
            say("Search") if any(line.search for line in lines) else "",
            SEARCH,
            lambda line: line.search,
            meaning=say(
                "of its hyperparameters, whose time is not in this table; heed provenance writes it"
            ),
        ),
    )
    return Table(
        "cost",
        say("Core time of every model"),
        columns,
        make_rows(columns, lines),
        sources=(*results.comparison_sources, results.times_source),
        style="scores",
    )


def _time_columns(lines: list[Line]) -> tuple[Column, ...]:
    """Return the columns of core time: of a training, and of the trainings with all seeds."""
    meaning = describe_core_minutes(time for line in lines for time in line.cost.times)
    unit = time_unit(max(line.cost.mean for line in lines))
    return (
        Column("core_minutes", "", decimals(4), lambda line: line.cost.mean),
        Column("core_minutes_of_all_seeds", "", decimals(4), lambda line: line.cost.total),
        Column(
            "",
            say("A training"),
            decimals(1),
            lambda line: unit.of(line.cost.mean),
            unit=unit.name,
            meaning=meaning,
        ),
        Column(
            "", say("All seeds"), decimals(1), lambda line: unit.of(line.cost.total), unit=unit.name
        ),
    )


def _title(line: Line) -> Cell:
    experiment = line.experiment
    return Cell(experiment.title, mark=experiment.mark, link=f"#experiment-{experiment.key}")


def _figure(line: Line) -> str:
    return line.experiment.measure.figure(line.cost.figure)
