"""The staircase of a translation: what each part of attention adds to the last state."""

import itertools
import textwrap
from collections.abc import Sequence

from heed.report.figures import shapes
from heed.report.figures.compared import Compared
from heed.report.figures.shapes import Axis, Figure, Mark, Panel
from heed.report.figures.variants import captions, look_of, make_figure
from heed.report.sources import Source
from heed.report.words import all_words

STEPS = "last-state", "repeated", "decoder-uniform", "diagonal", "decoder-attention"
FEWEST, LABEL, HEIGHT = 3, 14, 3.2  # steps; characters of a name's line; inches
HALF, SEEDS = 0.5, 0.36  # of a step: half of it, and where its seeds are spread


def staircase(
    found: Sequence[Compared], key: str = "study", sources: tuple[Source, ...] = ()
) -> Figure | None:
    """Return the staircase of the first experiment that has one, of real text if there is any."""
    for each in sorted(found, key=lambda each: each.generated):
        steps = [kind for kind in STEPS if kind in each.runs]
        if len(steps) >= FEWEST and {STEPS[0], STEPS[-1]} <= {*steps}:
            break
    else:
        return None
    means = [each.mean(kind) for kind in steps]
    gains = [after - before for before, after in itertools.pairwise(means)]
    most = max(range(len(gains)), key=gains.__getitem__)
    scores = zip(steps, means, strict=True)
    return make_figure(
        "staircase", key, sources, [[_panel(each, steps, means)]], (shapes.STUDY, HEIGHT),
        ", ".join(f"{all_words()[kind].words} {mean:.1f}" for kind, mean in scores),
        zoom=shapes.ZOOM, step=captions()[f"adds_{steps[most + 1]}"], gain=f"{gains[most]:.1f}",
        total=f"{means[-1] - means[0]:.1f}", metric=each.measure.name, experiment=each.title,
        margin=f"{each.margin:g}",
    )  # fmt: skip


def _panel(found: Compared, steps: Sequence[str], means: Sequence[float]) -> Panel:
    marks: list[Mark] = []
    if found.reference:
        y = found.mean(found.reference)
        line = shapes.rule((len(steps) - HALF, y), (-HALF, y), shapes.SOFT, dash=shapes.DASHED)
        marks.append(line | {"end": all_words()[found.reference].words})
    for place, (kind, mean) in enumerate(zip(steps, means, strict=True)):
        look, ends = look_of(kind), (place - HALF, place + HALF)
        if place:
            before = means[place - 1]
            gain = f"{mean - before:+.1f}".replace("-", "−")
            marks += [
                shapes.area(ends, (before - found.margin, before + found.margin)),
                shapes.rule((ends[0], before), (ends[0], mean), shapes.SOFT),
                shapes.words(ends[0], (before + mean) / 2, gain, size=9, at=(4, 0), bold=True),
            ]
        marks.append(shapes.rule((ends[0], mean), (ends[1], mean), look.colour, 2.6))
        runs = found.runs[kind]
        for number, value in enumerate(runs):
            aside = SEEDS * ((number + 0.5) / len(runs) - 0.5)
            marks.append(shapes.point(place + aside, value, look, 9, faint=True))
    labels = {
        float(place): f"{textwrap.fill(all_words()[kind].words, LABEL)}\n{mean:.1f}"
        for place, (kind, mean) in enumerate(zip(steps, means, strict=True))
    }
    low, high = shapes.extent(marks, margin=0.08)
    x = Axis(domain=(-HALF, len(steps) - HALF), places=labels)
    return Panel(marks, x, Axis(f"{found.measure.name}, 0 to 100", (max(low, 0), high)))
