"""What models reach, by what their training costs: a panel for each corpus."""

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.shapes import Axis, Figure, Mark, Panel
from heed.report.figures.variants import enough, looks, make_figure
from heed.report.results import Results

PANELS, WIDTH, HEIGHT, TITLE_LINE = 3, 2.25, 2.2, 23  # side by side; inches; letters of a title


class Cost(NamedTuple):
    """A model of an experiment: its mean test score, and the core-minutes of a training."""

    experiment: Experiment
    variant: str
    score: float
    minutes: float


def cost_figure(results: Results, costs: Sequence[Cost]) -> list[Figure]:
    """Return the panels of all corpora whose models are enough for a picture; nothing without."""
    groups: dict[tuple[str, str], list[Cost]] = {}
    for cost in costs:
        own = cost.experiment
        groups.setdefault((own.corpus_name, own.measure.metric), []).append(cost)
    panels = [panel for group in groups.values() if enough(panel := _panel(group))]
    columns = min(PANELS, len(panels))
    if not panels:
        return []
    lines = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    size = max(WIDTH * columns, shapes.WIDTH), 0.2 + HEIGHT * len(lines)
    sources = (*results.comparison_sources, results.times_source)
    return [make_figure("cost", "cost", sources, lines, size)]


def _panel(costs: Sequence[Cost]) -> Panel:
    """Return the score of each model by its core time, and the best reference model as a line."""
    experiment, marks = costs[0].experiment, list[Mark]()
    scaled, minutes = experiment.measure.scaled, [cost.minutes for cost in costs]
    for cost in costs:
        look, words = looks(cost.experiment)[cost.variant], cost.experiment.words[cost.variant]
        marks.append(shapes.point(cost.minutes, scaled(cost.score), look, 28) | {"end": words})
    logarithmic = min(minutes) > 0
    domain = (
        (min(minutes) / 1.25, max(minutes) * 1.25) if logarithmic else shapes.extent(marks, "x")
    )
    result = experiment.result
    if best := max(result.learned_reference_models, key=result.score_of, default=""):
        y = scaled(result.score_of(best))
        line = shapes.rule((domain[1], y), (domain[0], y), shapes.SOFT, dash=shapes.DASHED)
        marks.append(line | {"end": experiment.words[best]})
    kind = "log" if logarithmic else "linear"
    x = Axis("core-minutes of a training", domain, scale=kind, format="~g", count=4)
    title = textwrap.fill(shapes.short_name(experiment.title, 60), TITLE_LINE, max_lines=2)
    return Panel(marks, x, Axis(experiment.measure.name, shapes.extent(marks)), title)
