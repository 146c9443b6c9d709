"""The U of recency: how much each tenth of a text counts, and one text coloured by gradient."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from heed.evaluation.results import format_significant
from heed.report.browser import full_colour
from heed.report.explanations import Explanation
from heed.report.figures import shapes
from heed.report.figures.shapes import SERIES, Axis, Figure, Mark, Panel, mark
from heed.report.figures.variants import CAPTIONS, MAX_VARIANTS, Drawn, drawn_variants, kinds
from heed.report.formats import read_yaml
from heed.report.results import Results
from heed.report.words import all_words

BY_RATIONALE, PLAIN = "importance_by_rationale", "importance"
ENDS, MIDDLE, MANY = [1, 10], [5, 6], 100  # tenths; times: more are not told apart
TEXTS, MOST_WORDS = 2, 60  # models whose gradient colours a text; of more words it is a strip
HEIGHT, LINE, LETTERS = 2.8, 0.17, 58  # inches: the curve, a line of text; letters in a line


def recency(results: Results) -> Iterator[Figure]:
    """Yield the figure of each experiment that has the test `recency`."""
    for experiment in results.experiments:
        tested = [e for e in results.explanations_of(experiment) if e.recency is not None]
        order = drawn_variants(results, experiment) if tested else []
        explained = sorted(tested, key=lambda model: model.variant not in order)[:MAX_VARIANTS]
        if tables := importance(explained):
            yield _figure(results, explained, tables)


def importance(explained: Sequence[Explanation]) -> dict[str, pd.DataFrame]:
    """Return by variant the importance of each tenth `x`, 1 to 10, and seed: `value`, 1 if even."""
    known = {model.variant: model.recency for model in explained if model.recency is not None}
    measure, found = _measure(explained), {}
    for variant, table in known.items():
        rows = table[table["measure"] == measure].dropna(subset="mean")
        value = rows["mean"] / (rows["mean"].mean() if measure == PLAIN else 1)
        tenths = pd.DataFrame({"x": rows["at"].astype(int) + 1, "value": value})
        if {*ENDS, *MIDDLE} <= {*tenths["x"]}:  # else its title would compare what is not there
            found[variant] = tenths
    return found


def _measure(explained: Sequence[Explanation]) -> str:
    known = [model.recency["measure"] for model in explained if model.recency is not None]
    return BY_RATIONALE if BY_RATIONALE in {*itertools.chain(*known)} else PLAIN


def _figure(
    results: Results, explained: Sequence[Explanation], tables: Mapping[str, pd.DataFrame]
) -> Figure:
    experiment = explained[0].experiment
    drawn, kind_of = Drawn(results, experiment, [*tables]), kinds(experiment)
    shown = min(tables, key=lambda name: kind_of[name] != "last")
    words = all_words()[kind_of[shown]].sentence
    marks = [shapes.mark("rule", (0.6, 10.4), 1, dash=shapes.DOTTED), *drawn.lines(tables)]
    y = Axis("importance, 1 = even", (0, max(2, shapes.extent(marks, low=0)[1])))
    x, height = Axis("tenth of the text", (0.6, 10.4), count=10), HEIGHT - 0.5
    curve = Panel(marks, x, y, height=height, spans=True)
    told = (shown, *experiment.result.attention[:1])
    both = sorted(explained, key=lambda model: model.variant not in told)[:TEXTS]
    texts = _texts(both) if experiment.publishable else []
    files = "recency.csv", *["documents.parquet", "units.parquet"][: 2 * len(texts)]
    drawn.files += [model.folder / file for model in explained for file in files]
    means = tables[shown].groupby("x")["value"].mean()
    ends, middle = means[ENDS].mean(), means[MIDDLE].mean()
    ratio = ends / middle if middle > 0 else np.inf
    return drawn.figure(
        "recency" if _measure(explained) == PLAIN else "recency_rationale", [curve, *texts],
        (shapes.STUDY, HEIGHT + sum(text.height + 0.25 for text in texts)),
        more=read_yaml(CAPTIONS)["recency_text"] if texts else "",
        model=words[:1].upper() + words[1:],
        times=f"over {MANY}" if ratio > MANY else format_significant(ratio, 2),
    )  # fmt: skip


def _texts(explained: Sequence[Explanation]) -> list[Panel]:
    """Return the shortest text that two models have, coloured by the gradient of each."""
    words, known = explained[0].experiment.words, dict[str, pd.DataFrame]()
    for model in explained:
        documents, units = model.read("documents"), model.read("units")
        if "text" in documents:
            kept = documents.dropna(subset="text")[["seed", "id", "text", "units"]]
            kept = kept[kept["seed"] == documents["seed"].min()]
            own = units[["seed", "id", "unit", "start", "end", "gradient"]]
            known[words[model.variant]] = kept.merge(own, on=["seed", "id"])
    ids = [set(table["id"]) for table in known.values()]
    if len(known) < TEXTS or not (shared := set.intersection(*ids)):
        return []
    first, panels = next(iter(known.values())), []
    shortest = first[first["id"].isin(shared)].set_index("id")["units"].idxmin()
    for name, table in known.items():
        own = table[table["id"] == shortest].sort_values("unit")
        words_of: Any = own.itertuples()
        said = [word.text[word.start : word.end] for word in words_of]
        shades = own["gradient"].fillna(0).to_numpy(float)
        panels.append(coloured(said, shades / full_colour(shades), name))
    return panels


def coloured(
    said: Sequence[str], shades: np.ndarray, title: str, marked: Sequence[bool] = (),
    letters: int = LETTERS,
) -> Panel:  # fmt: skip
    """Return a text on these shades, from 0 to 1; a long one is a strip without its words."""
    marks: list[Mark] = []
    x = line = 0.0
    if len(said) > MOST_WORDS:
        at = np.linspace(0, letters, len(said) + 1)
        for start, end, shade in zip(at[:-1], at[1:], shades, strict=True):
            marks.append(mark("square", (start, end), (-0.45, 0.45), fill=SERIES[0], shade=shade))
        said = []
    for place, (word, shade) in enumerate(zip(said, shades, strict=False)):
        wide = shapes.width_of(word)
        if x and x + wide > letters:
            x, line = 0.0, line + 1
        ends = (x - 0.4, x + wide + 0.4), (line - 0.45, line + 0.45)
        marks.append(mark("square", *ends, fill=SERIES[0], shade=round(0.75 * float(shade), 2)))
        ink = shapes.REVERSED if shade > 0.7 else shapes.INK
        outline = shapes.BOLD * (bool(marked) and marked[place])
        marks.append(mark("text", x, line, text=word, colour=ink, wide=outline))
        x += wide + 1
    ends = (-0.5, letters), (line + 0.5, -0.5)
    return shapes.bare_panel(marks, *ends, title, height=LINE * (line + 1), spans=True)
