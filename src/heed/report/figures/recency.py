"""The figure of lecture 002's recency bias: where in the text words count, and what noise does."""

import matplotlib.figure
import pandas as pd
from matplotlib.axes import Axes

from heed.report.blocks import Figure
from heed.report.explanations import Explanation
from heed.report.figures import drawing, model_rows
from heed.report.figures.drawing import INK, WIDTH, Style, colour, legend, marker, short_name
from heed.report.formats import format_number
from heed.report.language import say
from heed.report.results import Results

NOISE = ("none", "left 1", "left 4", "right 1", "right 4", "both 1", "both 4")


def recency(results: Results) -> list[Figure]:
    """Return the figure of each experiment that has the test (T10)."""
    figures = []
    for experiment in results.experiments:
        explained = [
            each
            for each in results.explanations
            if each.experiment.key == experiment.key and each.recency is not None
        ]
        if explained:
            figures.append(_figure(results, explained))
    return figures


def _figure(results: Results, explained: list[Explanation]) -> Figure:
    experiment = explained[0].experiment
    claim = say(
        "Shows where in the text words count, and whether noise moves the prediction. It does not "
        "show that a model forgets: words at the end may be the better ones."
    )
    caption = say(
        "Importance: the change of the log probability when a tenth of the text is unknown, "
        "divided by the tenth’s share of evidence where it is known; 1 is the mean. By place: of "
        "documents whose evidence is there. Noise: words before "
        "the text, after it, or both, in multiples of its length; strokes from the worst seed to "
        "the best."
    )
    caption += _ratios(results, explained)
    for sentence in model_rows.sentences(results, "recency"):
        caption += f" {model_rows.quote(sentence)}"
    return Figure(
        f"{experiment.key}_recency",
        say("Recency: place in the text, and noise"),
        caption,
        results.sources.add(*(each.folder / "recency.csv" for each in explained)),
        lambda figure: _draw(figure, explained),
        (WIDTH, 4.1),
        subject=model_rows.heading(results, explained[0]),
        alt_text=drawing.alt_text(experiment, f"{claim} {caption}"),
        mark=experiment.mark,
        claim=claim,
    )


def _ratios(results: Results, explained: list[Explanation]) -> str:
    """Return the ratios of gradients at the end and in the middle, and what Maini et al. print."""
    ours = [
        f"{each.variant} {format_number(float(rows['mean'].mean()), 1)}"
        for each in explained
        if len(rows := _rows(each, "vanishing_ratio"))
    ]
    if not ours:
        return ""
    corpus = results.comparison.experiments[explained[0].experiment.key].corpus
    printed = [
        f"{each.model} {each.mean:g}"
        for each in results.papers.figures
        if each.measure == "vanishing_ratio"
        and each.corpus == corpus.facts.kind
        and not corpus.facts.reduced
    ]
    text = " " + say(
        "Gradient at the end over that in the middle: {models}.", models=", ".join(ours)
    )
    if printed:
        text += " " + say("Maini et al. 2020 print: {models}.", models=", ".join(printed))
    return text


def _rows(explanation: Explanation, measure: str) -> pd.DataFrame:
    """Return the rows of a measure that have a mean."""
    table = explanation.recency
    assert table is not None  # `recency` chose the models that have one
    return table[table["measure"] == measure].dropna(subset="mean")


def _draw(figure: matplotlib.figure.Figure, explained: list[Explanation]) -> None:
    by_place = any(len(_rows(each, "accuracy_by_place")) for each in explained)
    top = ["importance", "place"] if by_place else ["importance"] * 2
    axes: dict[str, Axes] = figure.subplot_mosaic([[*top], ["noise", "noise"]])
    for number, each in enumerate(explained):
        _draw_importance(axes["importance"], each, number)
        _draw_noise(axes["noise"], each, number)
        if by_place:
            _draw_places(axes["place"], each, number)
    axes["importance"].axhline(1, color=INK, lw=1, linestyle=(0, (1, 2)))
    axes["importance"].set_title(say("importance"))
    axes["importance"].set_ylim(bottom=0)
    for name in {*top}:
        axes[name].set_xticks((1, 5, 10))
        axes[name].set_xlabel(say("tenth of the text"))
    if by_place:
        axes["place"].set_title(say("accuracy by place"))
    axes["noise"].set_title(say("accuracy with noise"))
    sides = {"left": say("before"), "right": say("after"), "both": say("both")}
    labels = [
        say("none") if at == "none" else f"{sides[at.split()[0]]} ×{at.split()[1]}" for at in NOISE
    ]
    axes["noise"].set_xticks(range(len(NOISE)), labels)
    legend(figure, axes["importance"], 3)


def _draw_places(axes: Axes, explanation: Explanation, number: int) -> None:
    """Draw the accuracy for documents whose evidence is in each tenth."""
    rows = _rows(explanation, "accuracy_by_place")
    values = rows.groupby(rows["at"].astype(int))["mean"].mean()
    style: Style = {"color": colour(number), "marker": marker(number)}
    axes.plot(values.index + 1, values, **style)


def _draw_importance(axes: Axes, explanation: Explanation, number: int) -> None:
    """Draw the importance of each tenth, divided by its mean: by evidence where it is known."""
    rows = _rows(explanation, "importance_by_evidence")
    if rows.empty:
        rows = _rows(explanation, "importance")
    values = rows.groupby(rows["at"].astype(int))["mean"].mean()
    style: Style = {"color": colour(number), "marker": marker(number)}
    label = short_name(explanation.variant)
    axes.plot(values.index + 1, values / values.mean(), label=label, **style)


def _draw_noise(axes: Axes, explanation: Explanation, number: int) -> None:
    """Draw the accuracy for each kind of noise; a stroke goes from the worst seed to the best."""
    seeds = _rows(explanation, "noise").groupby("at")["mean"]
    means = seeds.mean()
    known = [(place, at) for place, at in enumerate(NOISE) if at in means.index]
    x = [place for place, _ in known]
    style: Style = {"color": colour(number), "marker": marker(number)}
    axes.plot(x, [means[at] for _, at in known], linestyle="none", **style)
    low, high = ([ends[at] for _, at in known] for ends in (seeds.min(), seeds.max()))
    axes.vlines(x, low, high, color=colour(number), lw=0.9)
