"""The figures of lecture 002's recency bias, and of its scaling by the root of d_k."""

import matplotlib.figure
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from heed.evaluation.results import format_significant
from heed.explanation.recency import RecencyTest
from heed.explanation.scaling import (
    CAPTION,
    CLAIM,
    DIMENSIONS,
    KEYS,
    TITLE,
    Scores,
    softmax_gradients,
)
from heed.report.blocks import Figure
from heed.report.explanations import Explanation, range_of
from heed.report.figures import drawing, model_rows
from heed.report.figures.drawing import (
    HEIGHT,
    INK,
    WIDTH,
    LineEnd,
    Style,
    colour,
    label_ends,
    marker,
    short_name,
)
from heed.report.figures.variants import MAX_VARIANTS, Look, drawn_variants, looks
from heed.report.formats import format_count, format_number
from heed.report.language import say
from heed.report.results import Results

NOISE_AXES = 1.2  # inches: the height of the axes of noise
FEWEST = 20  # documents of a mean that is drawn, for each seed
SPREAD = 0.5  # of the distance of two kinds of noise, over which the models are spread


def recency(results: Results) -> list[Figure]:
    """Return the figure of each experiment that has the test `recency`."""
    figures = []
    for experiment in results.experiments:
        explained = [
            each
            for each in results.explanations
            if each.experiment.key == experiment.key and each.recency is not None
        ]
        figures += [_figure(results, explained)] if explained else []
    return figures


def _figure(results: Results, explained: list[Explanation]) -> Figure:
    experiment, claim = explained[0].experiment, say(RecencyTest.claim)
    drawn = _drawn(results, explained)
    caption = _describe(explained) + _ratios(results, explained)
    names = {each.variant for each in drawn}
    if others := [each.variant for each in explained if each.variant not in names]:
        caption += " " + say("Not drawn: {names}.", names=", ".join(others))
    for sentence in model_rows.sentences(results, "recency"):
        caption += f" {model_rows.quote(sentence)}"
    return Figure(
        f"{experiment.key}_recency",
        say(RecencyTest.title),
        caption,
        results.sources.add(*(each.folder / "recency.csv" for each in explained)),
        lambda figure: _draw(figure, drawn, looks(results)),
        (WIDTH, 4.1),
        subject=model_rows.heading(results, explained[0]),
        alt_text=drawing.alt_text(experiment, f"{claim} {caption}"),
        mark=experiment.mark,
        claim=claim,
    )


def _describe(explained: list[Explanation]) -> str:
    """Describe the figure, with its number of documents."""
    known = _knows_rationale(explained)
    caption = say(RecencyTest.by_rationale if known else RecencyTest.by_mean)
    caption += " " + say(RecencyTest.caption, count=FEWEST)
    tables = (_rows(each, "noise") for each in explained)
    counts = [int(rows["documents"].max()) for rows in tables if len(rows)]
    if not counts:  # no document leaves room for noise
        return caption
    return f"{caption} " + say(
        "With noise: {documents} documents, the same in all seeds.",
        documents=range_of(counts, format_count),
    )


def _drawn(results: Results, explained: list[Explanation]) -> list[Explanation]:
    """Return the models that are drawn: those of other figures first, and four at most."""
    if len(explained) <= MAX_VARIANTS:
        return explained
    order = drawn_variants(results, explained[0].experiment)
    names = sorted((each.variant for each in explained), key=lambda name: name not in order)
    return [each for each in explained if each.variant in names[:MAX_VARIANTS]]


def _format_ratio(ratio: float) -> str:
    """Return a ratio of gradients; one of many digits, where a gradient vanishes, with two."""
    return format_number(ratio, 1) if ratio < 10_000 else format_significant(ratio, 2)


def _ratios(results: Results, explained: list[Explanation]) -> str:
    """Return the ratios of gradients at the end and in the middle, and what Maini et al. print."""
    ours = [
        f"{each.variant} {_format_ratio(float(rows['mean'].mean()))}"
        for each in explained
        if len(rows := _rows(each, "vanishing_ratio"))
    ]
    if not ours:
        return ""
    printed = [
        f"{each.model} {_format_ratio(each.mean)}"
        for each in model_rows.printed(results, explained[0], "recency")
        if each.measure == "vanishing_ratio"
    ]
    models = ", ".join(ours)
    text = " " + say("Gradient at the end over that in the middle: {models}.", models=models)
    if printed:
        text += " " + say("Maini et al. 2020 print: {models}.", models=", ".join(printed))
        text += f" {model_rows.cut_text(results, 'recency')}"
    return text


def _rows(explanation: Explanation, measure: str) -> pd.DataFrame:
    """Return the rows of a measure that have a mean."""
    table = explanation.recency
    assert table is not None  # `recency` chose the models that have one
    return table[table["measure"] == measure].dropna(subset="mean")


def _draw(
    figure: matplotlib.figure.Figure, explained: list[Explanation], look: dict[str, Look]
) -> None:
    by_place = any(len(by_place_of(each)) for each in explained)
    top = ["importance", "place"] if by_place else ["importance"] * 2
    axes: dict[str, Axes] = figure.subplot_mosaic([[*top], ["noise", "noise"]])
    measure = "importance_by_rationale" if _knows_rationale(explained) else "importance"
    ends = []
    for number, each in enumerate(explained):
        style = look[each.variant].style
        _draw_importance(axes["importance"], each, style, measure)
        shift = SPREAD * ((number + 0.5) / len(explained) - 0.5)
        ends += _draw_noise(axes["noise"], each, look[each.variant], shift)
        if by_place:
            axes["place"].plot(range(1, 11), by_place_of(each).reindex(range(10)), **style)
    axes["importance"].axhline(1, color=INK, lw=1, linestyle=(0, (1, 2)))
    axes["importance"].set_title(say("importance"))
    axes["importance"].set_ylim(0, max(2, 1.05 * axes["importance"].dataLim.y1))
    for name in {*top}:
        axes[name].set_xticks((1, 5, 10))
        axes[name].set_xlabel(say("tenth of the text"))
    if by_place:
        axes["place"].set_title(say("accuracy by place"))
        _show_to_one(axes["place"])
    axes["noise"].set_title(say("accuracy with noise"))
    _show_to_one(axes["noise"])
    kinds = noises(explained)
    axes["noise"].set_xticks(range(len(kinds)), [_noise_name(at) for at in kinds])
    label_ends(axes["noise"], ends, NOISE_AXES)


def noises(explained: list[Explanation]) -> list[str]:
    """Return the kinds of noise, in the order of the table."""
    return list(dict.fromkeys(at for each in explained for at in _rows(each, "noise")["at"]))


def _noise_name(at: str) -> str:
    """Return the label of a kind of noise, such as `left 4`."""
    sides = {"left": say("before"), "right": say("after"), "both": say("both")}
    side, *times = at.split()
    return f"{sides[side]}\n×{times[0]}" if times else say("none")


def _show_to_one(axes: Axes) -> None:
    """Show accuracies up to 1, and so many below that a small difference looks small."""
    axes.set_ylim(min(0.48, axes.dataLim.y0 - 0.02), 1.02)


def by_place_of(explanation: Explanation) -> pd.Series:
    """Return the mean accuracy by tenth (0 to 9), of tenths with FEWEST documents in each seed."""
    rows = _rows(explanation, "accuracy_by_place")
    tenths = rows.groupby(rows["at"].astype(int))
    return tenths["mean"].mean()[tenths["documents"].min() >= FEWEST]


def _knows_rationale(explained: list[Explanation]) -> bool:
    """Return whether importance is compared with the rationale."""
    return any(len(_rows(each, "importance_by_rationale")) for each in explained)


def _draw_importance(axes: Axes, explanation: Explanation, style: Style, measure: str) -> None:
    """Draw the importance of each tenth: by rationale, or divided by its mean."""
    rows = _rows(explanation, measure)
    values = rows.groupby(rows["at"].astype(int))["mean"].mean()
    if measure == "importance":
        values /= values.mean()
    name = short_name(explanation.variant)
    axes.plot(range(1, 11), values.reindex(range(10)), label=name, **style)


def _draw_noise(axes: Axes, explanation: Explanation, look: Look, shift: float) -> list[LineEnd]:
    """Draw the accuracy for each kind of noise; a stroke goes from the worst seed to the best.

    Returns the last mark, for its label; nothing where there is none.
    """
    seeds = _rows(explanation, "noise").groupby("at", sort=False)["mean"]
    x, mean = [place + shift for place in range(seeds.ngroups)], seeds.mean()
    axes.plot(x, mean, **look.style | {"linestyle": "none"})
    axes.vlines(x, seeds.min(), seeds.max(), color=look.colour, lw=0.9)
    return [look.end(explanation.variant, x, mean)] if x else []


def scaling() -> Figure:
    """Return the gradient of the softmax and its largest weight, by the dimension of keys."""
    claim, caption = say(CLAIM), say(CAPTION, keys=KEYS)
    return Figure(
        "explanation_scaling",
        say(TITLE),
        caption,
        (),
        _draw_scaling,
        (WIDTH, HEIGHT),
        alt_text=f"{claim} {caption}",
        claim=claim,
    )


def _draw_scaling(figure: matplotlib.figure.Figure) -> None:
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
