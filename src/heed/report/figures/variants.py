"""What figures share: models in words, their looks, which of them are drawn, lines and dots."""

import dataclasses
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from heed.evaluation.results import BASELINE
from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.shapes import EVERYWHERE, Figure, Mark, Pair, Panel
from heed.report.formats import read_yaml
from heed.report.measures import Measure
from heed.report.results import Results, Source, read_table
from heed.report.words import all_words, model_kind
from heed.task.interface import lower_is_better

MAX_VARIANTS = 4  # in a figure
LEAST = 10  # margins of equivalence that a scale of scores has at least: the same looks the same
MOST_WORDS = 12  # of a figure's title
FEWEST = 5  # points of a panel that is drawn
CAPTIONS = "figures/captions"
OF_FIGURE = {"columns", "subject", "wide", "heads", "media"}  # what a maker may say of a figure
Tables = dict[str, pd.DataFrame]


@dataclasses.dataclass
class Drawn:
    """An experiment, and the variants that a figure of it draws; `files` are those that it read."""

    results: Results
    experiment: Experiment
    variants: Sequence[str]
    files: list[Path] = dataclasses.field(default_factory=list)

    def read(self, name: str) -> Tables:
        """Return a table of `heed score` by variant."""
        models, folder = self.results.models(self.experiment), self.results.evaluation_folder
        paths = [folder(models[variant]) / f"{name}.csv" for variant in self.variants]
        self.files += paths
        return dict(zip(self.variants, map(read_table, paths), strict=True))

    def lines(self, tables: Mapping[str, pd.DataFrame], named: bool = True) -> list[Mark]:
        """Return the lines of tables by variant, as `line_marks` has them."""
        return line_marks(tables, looks(self.experiment), self.experiment.words if named else {})

    def figure(
        self, kind: str, panels: Sequence[Panel], size: Pair = shapes.SIZE, **values: Any
    ) -> Figure:
        """Return a figure of all that was read; the first word of its kind names its files."""
        key = f"{self.experiment.key}_{kind.partition('_')[0]}"
        sources = self.results.sources.add(*self.files)
        own: dict[str, Any] = {"sources": sources, "told": self.experiment.title}
        return make_figure(kind, key, panels, size, **own | values)

    @property
    def choice(self) -> str:
        """By which rule variants were chosen, to follow a caption; empty where all are drawn."""
        order, words = ordered_variants(self.results, self.experiment), self.experiment.words
        names = ", ".join(words[name] for name in order if name not in self.variants)
        metric = self.experiment.measure.first_validated.name
        text = read_yaml(CAPTIONS)["choice"].format(metric=metric, names=names)
        return f" {text}" if names else ""


def some(are: Iterable[bool]) -> str:
    """Return how many are, in a word."""
    share = statistics.fmean(are)
    return {0.0: "no", 1.0: "all"}.get(share, "most" if share > 0.5 else "some")


def kinds(experiment: Experiment) -> dict[str, str]:
    """Return the kind of every model and reference model, as words.yaml has them."""
    return {name: model_kind(name, h) for name, h in experiment.hyperparameters.items()}


def looks(experiment: Experiment) -> dict[str, shapes.Look]:
    """Return the look of every model: that of its kind; of several of a kind, each another mark."""
    seen, found = Counter[str](), {}
    for name, kind in kinds(experiment).items():
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
    column = f"validation_{experiment.measure.first_validated.metric}"
    tables = Drawn(results, experiment, order).read("history")
    best = {name: table.groupby("seed")[column].max().mean() for name, table in tables.items()}
    first, rest = (BASELINE, *result.attention[:1]), sorted(order, key=lambda name: -best[name])
    controls = [name for name in rest if name in result.controls]
    others = [name for name in rest if name not in {*first, *controls}]
    known = dict.fromkeys([*first, *controls[:1], *others[:1], *rest])
    return sorted([*filter(order.__contains__, known)][:MAX_VARIANTS], key=order.index)


def ordered_variants(results: Results, experiment: Experiment) -> list[str]:
    """Return the models in the order of the figures: baseline, those of the question, others."""
    result = experiment.result
    order = [BASELINE, *result.attention, *result.controls, *result.models]
    return [name for name in dict.fromkeys(order) if name in result.models]


def factor(measure: Measure) -> int:
    """Return by what figures multiply a score: most are shown from 0 to 100."""
    return 100 if measure.is_accuracy or measure.in_hundreds else 1


def name_with_unit(measure: Measure) -> str:
    """Return the name of an axis of scores."""
    return f"{measure.name}, %" if measure.is_accuracy else measure.name


def line_marks(
    tables: Mapping[str, pd.DataFrame], look: Mapping[str, shapes.Look], words: Mapping[str, str]
) -> list[Mark]:
    """Return a line through the means of each `value` by `x`, with its name, and a dot a seed."""
    rows: list[Mark] = []
    for name, table in tables.items():
        own, means = look[name], table.groupby("x")["value"].mean()
        if table["x"].duplicated().any():
            dots = table[["x", "value"]].dropna().itertuples(index=False)
            rows += [shapes.point(x, y, own, 7, faint=True) for x, y in dots]
        rows += shapes.line(means.index, means, own, name, words.get(name, ""), True, 1.4)
    return rows


def enough(panel: Panel) -> bool:
    """Return whether a panel has as many points as a picture needs."""
    return sum(row["kind"] == "point" for row in panel.rows) >= FEWEST


def make_figure(
    kind: str, key: str, panels: Sequence[Panel], size: Pair, told: str = "", more: str = "",
    sources: tuple[Source, ...] = (), plain: bool = False, **values: Any,
) -> Figure:  # fmt: skip
    """Return a figure with the title and the caption of captions.yaml for its kind.

    `told` stands before the caption in its alternative text, and `more` behind it everywhere. The
    plain title has no result. What is as wide as a study's own figure is enlarged.
    """
    own = read_yaml(CAPTIONS)[kind]
    title, caption = own["title"].format(**values), own["caption"].format(**values) + more
    if plain or len(title.split()) > MOST_WORDS:
        title = own.get("plain", title)
    zoom = shapes.ZOOM if size[0] == shapes.STUDY else 1
    width, height = (zoom * side for side in size)
    media = tuple(own.get("media", EVERYWHERE))
    about: dict[str, Any] = {"wide": width > shapes.WIDTH, "media": media}
    about |= {name: values[name] for name in OF_FIGURE & values.keys()}
    alt_text = f"{told} {caption}".strip()
    return Figure(key, title, caption, sources, panels, (width, height), alt_text, zoom, **about)


def least_extent(
    results: Results, metric: str, rows: Iterable[Mark], key: str = "y", scale: float = 1
) -> Pair:
    """Return a range of scores, up to `scale`, of at least LEAST margins of equivalence."""
    low, high = shapes.extent(rows, key, margin=0)
    top = math.inf if lower_is_better(metric) else scale
    margin = results.comparison.significance.equivalence_margin
    least = min(LEAST * scale * margin / 100, top)
    if (lacks := least - (high - low)) > 0:
        low = min(max(low - lacks / 2, 0.0), top - (high - low) - lacks)
        high = max(high, low + least)
    return shapes.extent([{key: low}, {key: high}], key)
