"""What figures share: models in words, their looks, which of them are drawn, lines and dots."""

import functools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd
import yaml

from heed.evaluation.results import BASELINE
from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.shapes import EVERYWHERE, Figure, Mark, Pair, Panel, Panels
from heed.report.measures import Measure
from heed.report.results import Results, read_table
from heed.report.sources import Source
from heed.report.words import all_words, model_kind
from heed.task import task_module
from heed.task.interface import lower_is_better

MAX_VARIANTS = 4  # in a figure
LEAST = 10  # margins of equivalence that a scale of scores has at least: the same looks the same
MOST_WORDS = 12  # of a figure's title
FEWEST = 5  # points of a panel that is drawn
Tables = dict[str, pd.DataFrame]


@functools.cache
def captions() -> dict[str, str]:
    """Return the texts in English, by key."""
    text = Path(__file__).with_name("captions.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def some(are: Iterable[bool]) -> str:
    """Return how many are, in a word."""
    share = statistics.fmean(are)
    return {0.0: "no", 1.0: "all"}.get(share, "most" if share > 0.5 else "some")


def looks(experiment: Experiment) -> dict[str, shapes.Look]:
    """Return the look of every model: that of its kind; of several of a kind, each another mark."""
    result, found, seen = experiment.result, {}, Counter[str]()
    for name in (*result.models, *result.reference_models):
        model = result.models.get(name)
        kind = model_kind(name, model.hyperparameters if model else None)
        found[name] = look_of(kind, seen[kind])
        seen[kind] += 1
    return found


def look_of(kind: str, number: int = 0) -> shapes.Look:
    """Return the look of a kind of model, of words.yaml: grey for one that is not there."""
    if not kind:
        return shapes.Look(shapes.SOFT, "diamond")
    words, marks = all_words()[kind], shapes.MARKERS
    colour = shapes.SOFT if words.colour < 0 else shapes.SERIES[words.colour]
    mark = marks[(marks.index(words.marker) + 2 * number) % len(marks)]
    return shapes.Look(colour, mark, words.dash)


def drawn_variants(results: Results, experiment: Experiment) -> list[str]:
    """Return the variants that a figure draws, the baseline first: all, or at most four.

    These are the baseline, the first of the study's question, the best control and the best of the
    others, by the validation split; the next best take the place of a role that is missing.
    """
    result, order = experiment.result, ordered_variants(results, experiment)
    if len(order) <= MAX_VARIANTS:
        return order
    column = f"validation_{validation_measure(experiment).metric}"
    tables = read_tables(results, experiment, "history", order)
    best = {name: table.groupby("seed")[column].max().mean() for name, table in tables.items()}
    first = (BASELINE, *result.attention[:1])
    rest = sorted(order, key=lambda name: -best[name])
    controls = [name for name in rest if name in result.controls]
    others = [name for name in rest if name not in {*first, *controls}]
    known = dict.fromkeys([*first, *controls[:1], *others[:1], *rest])
    chosen = [*filter(order.__contains__, known)][:MAX_VARIANTS]
    return [*filter(chosen.__contains__, order)]


def ordered_variants(results: Results, experiment: Experiment) -> list[str]:
    """Return the models in the order of the figures: baseline, those of the question, others."""
    result = experiment.result
    order = [BASELINE, *result.attention, *result.controls, *result.models]
    return [name for name in dict.fromkeys(order) if name in result.models]


def validation_measure(experiment: Experiment) -> Measure:
    """Return the metric that the task validates after each epoch."""
    task = experiment.measure.task
    return Measure(task, task_module(task, "recipe").VALIDATION_METRICS[0])


def name_with_unit(measure: Measure) -> str:
    """Return the name of an axis of scores."""
    return f"{measure.name}, %" if measure.is_accuracy else measure.name


def describe_choice(results: Results, experiment: Experiment, drawn: Sequence[str]) -> str:
    """Return by which rule variants were chosen, to follow a caption; empty where all are drawn."""
    words = experiment.words
    others = [words[name] for name in ordered_variants(results, experiment) if name not in drawn]
    metric, text = validation_measure(experiment).name, f" {captions()['choice']}"
    return text.format(metric=metric, names=", ".join(others)) if others else ""


def read_tables(
    results: Results, experiment: Experiment, name: str, variants: Iterable[str]
) -> Tables:
    """Return a table of `heed score` by variant."""
    paths = files_of(results, experiment, name, variants)
    return {name: read_table(path) for name, path in zip(variants, paths, strict=True)}


def files_of(
    results: Results, experiment: Experiment, name: str, variants: Iterable[str]
) -> list[Path]:
    """Return the files of these tables."""
    models = results.models(experiment)
    return [results.evaluation_folder(models[each]) / f"{name}.csv" for each in variants]


def line_marks(
    tables: Mapping[str, pd.DataFrame], look: Mapping[str, shapes.Look], words: Mapping[str, str]
) -> list[Mark]:
    """Return a line through the means of each table's `value` by `x`, and a faint dot a seed.

    At its end stands its name of `words`, where it has one.
    """
    rows: list[Mark] = []
    for name, table in tables.items():
        own, means = look[name], table.groupby("x")["value"].mean()
        if table["x"].duplicated().any():
            dots = zip(table["x"], table["value"], strict=True)
            rows += [shapes.point(x, y, own, 7, faint=True) for x, y in dots if y == y]
        rows += shapes.line(means.index, means, own, name, end=words.get(name, ""))
    return rows


def enough(panel: Panel) -> bool:
    """Return whether a panel has as many points as a picture needs."""
    return sum(row["kind"] == "point" for row in panel.rows) >= FEWEST


def make_figure(
    kind: str, key: str, sources: tuple[Source, ...], panels: Panels,
    size: Pair = (shapes.WIDTH, shapes.HEIGHT), told: str = "", more: str = "",
    media: tuple[str, ...] = EVERYWHERE, zoom: float = 1, plain: bool = False, subject: str = "",
    **values: object,
) -> Figure:  # fmt: skip
    """Return a figure with the title and the caption of captions.yaml for its kind.

    `told` stands before the caption in its alternative text, and `more` behind it everywhere. The
    plain title has no result, nor names that would make it too long to be a message.
    """
    own = captions()
    title, caption = own[f"{kind}_title"].format(**values), own[kind].format(**values) + more
    if plain or len(title.split()) > MOST_WORDS:
        title = own.get(f"{kind}_plain", title)
    return Figure(
        key, title, caption, sources, panels, (zoom * size[0], zoom * size[1]), subject,
        f"{told} {caption}".strip(), zoom * size[0] > shapes.WIDTH, media=media, zoom=zoom,
    )  # fmt: skip


def least_extent(
    results: Results, metric: str, rows: Iterable[Mark], key: str = "y", scale: float = 1
) -> tuple[float, float]:
    """Return the range of scores, whose best is `scale`: no difference looks larger than it is.

    It has at least LEAST times the study's margin of equivalence.
    """
    least = LEAST * scale * results.comparison.significance.equivalence_margin / 100
    limits = 0.0, math.inf if lower_is_better(metric) else scale
    return shapes.extent(rows, key, least=least, limits=limits)
