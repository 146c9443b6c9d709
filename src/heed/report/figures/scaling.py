"""The figure of lecture 002's scaling: why dot products are divided by the root of d_k."""

import matplotlib.figure
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from heed.explanation.scaling import DIMENSIONS, KEYS, Scores, softmax_gradients
from heed.report.blocks import Figure
from heed.report.figures.drawing import HEIGHT, WIDTH, LineEnd, Style, colour, label_ends, marker
from heed.report.language import say


def scaling() -> Figure:
    """Return the gradient of the softmax and its largest weight, by the dimension of keys."""
    claim = say(
        "Shows why scores are divided by the root of the dimension: without it the softmax takes "
        "one word, and hardly a gradient goes through it. It is computed from random numbers, and "
        "not from these models."
    )
    caption = say(
        "Dot products of a standard normal query with {keys} such keys. Left: the norm of the "
        "softmax’s gradient; right: its largest weight. Lines: medians; bands: the middle half.",
        keys=KEYS,
    )
    return Figure(
        "explanation_scaling",
        say("Gradient of the softmax by the dimension of keys"),
        caption,
        (),
        _draw,
        (WIDTH, HEIGHT),
        alt_text=f"{claim} {caption}",
        claim=claim,
    )


def _draw(figure: matplotlib.figure.Figure) -> None:
    left, right = figure.subplots(1, 2)
    scores, ends = softmax_gradients(), []
    for number, (scaled, name) in enumerate(
        ((True, say("divided by √dₖ")), (False, say("not divided")))
    ):
        chosen = [each for each in scores if each.scaled == scaled]
        _draw_quartiles(left, chosen, "gradient", number)
        ends.append(_draw_quartiles(right, chosen, "largest", number, name))
    left.set_yscale("log")
    left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    left.set_title(say("gradient"))
    right.set_title(say("largest weight"))
    right.set_ylim(0, 1.02)
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.set_xticks(DIMENSIONS[::2], [str(dimension) for dimension in DIMENSIONS[::2]])
        axes.minorticks_off()
        axes.set_xlabel(say("dimension dₖ"))
    label_ends(right, ends, 1.7)


def _draw_quartiles(
    axes: Axes, scores: list[Scores], measure: str, number: int, name: str = ""
) -> LineEnd:
    """Draw the median as a line and the other quartiles as a band; return the line's end."""
    x = [each.dimension for each in scores]
    low, middle, high = zip(*(getattr(each, measure) for each in scores), strict=True)
    style: Style = {"color": colour(number), "marker": marker(number)}
    axes.fill_between(x, low, high, color=colour(number), alpha=0.15, lw=0)
    axes.plot(x, middle, **style)
    return LineEnd(x[-1], middle[-1], name, colour(number), marker(number))
