"""Lecture 002: the figure of recency, and what papers say of its tests."""

from collections.abc import Iterator, Sequence

import pandas as pd

from heed.evaluation.results import format_significant
from heed.report.blocks import Axis, Figure, Mark, Panel
from heed.report.explanations import Explanation, range_of
from heed.report.figures import shapes
from heed.report.figures.captions import described
from heed.report.figures.variants import MAX_VARIANTS, drawn_variants, looks
from heed.report.formats import format_count
from heed.report.published import PaperScore
from heed.report.results import Results

FEWEST = 20  # documents of a mean that is drawn, for each seed
SPREAD = 0.5  # of the distance of two kinds of noise, over which the models are spread


def heading(results: Results, explanation: Explanation) -> str:
    """Return the title of the model's experiment where there are several, with its own mark."""
    if len({each.experiment.key for each in results.explanations}) == 1:
        return ""
    experiment = explanation.experiment
    mark = experiment.printed_mark
    return experiment.title + (f" ({mark})" if mark else "")


def common_mark(results: Results) -> str:
    """Return the mark that all explained models have, or nothing."""
    marks = {each.experiment.mark for each in results.explanations}
    return marks.pop() if len(marks) == 1 else ""


def papers_text(results: Results, explained: Sequence[Explanation], test: str) -> str:
    """Return what papers print of a test on the corpora of these models, and say of it.

    Scores are compared where the study has the whole corpus.
    """
    papers = results.papers
    scores = [each for each in papers.scores if each.test == test]
    texts = [*_compare_papers(scores, [each for each in explained if not each.is_of_encoder])]
    sentences = (each for each in papers.sentences if each.test == test)
    return " ".join([*texts, *(f"“{each.sentence}” ({each.paper})." for each in sentences)])


def _compare_papers(scores: list[PaperScore], explained: list[Explanation]) -> Iterator[str]:
    """Yield the scores of each paper, and the lengths of the texts that our models read."""
    read, lengths, kinds = list[int](), list[int](), set[str]()
    for each in explained:
        result, statistics = each.experiment.result, each.experiment.result.corpus.statistics
        if not statistics.reduced and statistics.kind in {score.corpus for score in scores}:
            kinds.add(statistics.kind)
            read.append(result.models[each.variant].hyperparameters.max_tokens)
            lengths.append(round(statistics.tokens / statistics.documents))
    models: dict[str, dict[str, list[str]]] = {}
    for score in scores:
        if score.corpus in kinds:
            own = models.setdefault(score.paper, {}).setdefault(score.model, [])
            own.append(format_significant(score.mean, 3))
    for paper, found in models.items():
        listed = ", ".join(f"{name} {'/'.join(each)}" for name, each in found.items())
        yield f"{paper} print: {listed}."
    if read:
        yield (
            f"Ours read at most {range_of(read, format_count)} tokens of a text; the mean length "
            f"is {range_of(lengths, format_count)}."
        )


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
    experiment = explained[0].experiment
    claim = described("recency_claim")
    drawn = _drawn(results, explained)
    texts = [_describe(explained), _ratios(explained)]
    names = {each.variant for each in drawn}
    if others := [each.variant for each in explained if each.variant not in names]:
        texts.append(f"Not drawn: {', '.join(others)}.")
    caption = " ".join(filter(None, [*texts, papers_text(results, explained, "recency")]))
    return Figure(
        f"{experiment.key}_recency",
        "Recency: place in the text, and noise",
        caption,
        results.sources.add(*(each.folder / "recency.csv" for each in explained)),
        _panels(drawn, looks(results)),
        (shapes.WIDTH, 4.1),
        subject=heading(results, explained[0]),
        alt_text=f"{claim} {caption}",
        claim=claim,
    )


def _describe(explained: list[Explanation]) -> str:
    """Describe the figure, with its number of documents."""
    key = "importance_by_rationale" if _knows_rationale(explained) else "importance"
    text = f"{described(key)} {described('place_and_noise', count=FEWEST)}"
    tables = (_rows(each, "noise") for each in explained)
    counts = [int(rows["documents"].max()) for rows in tables if len(rows)]
    if not counts:  # no document leaves room for noise
        return text
    return f"{text} With noise: {range_of(counts, format_count)} documents, the same in all seeds."


def _drawn(results: Results, explained: list[Explanation]) -> list[Explanation]:
    """Return the models that are drawn: the ones of other figures first, and four at most."""
    if len(explained) <= MAX_VARIANTS:
        return explained
    order = drawn_variants(results, explained[0].experiment)
    names = sorted((each.variant for each in explained), key=lambda name: name not in order)
    return [each for each in explained if each.variant in names[:MAX_VARIANTS]]


def _ratios(explained: list[Explanation]) -> str:
    """Return the ratios of gradients at the end and in the middle."""
    ratios = {
        each.variant: float(rows["mean"].mean())
        for each in explained
        if len(rows := _rows(each, "vanishing_ratio"))
    }
    if not ratios:
        return ""
    models = ", ".join(f"{name} {format_significant(each, 3)}" for name, each in ratios.items())
    return f"Gradient at the end over that in the middle: {models}."


def _rows(explanation: Explanation, measure: str) -> pd.DataFrame:
    """Return the rows of a measure that have a mean."""
    table = explanation.recency
    assert table is not None  # `recency` chose the models that have one
    return table[table["measure"] == measure].dropna(subset="mean")


def _panels(explained: list[Explanation], look: dict[str, shapes.Look]) -> list[list[Panel]]:
    """Return importance and accuracy by place side by side, and accuracy with noise below them."""
    tenths = Axis("tenth of the text", (0.6, 10.4), {1: "1", 5: "5", 10: "10"})
    importance = [shapes.rule((0.6, 1), (10.4, 1), dash=shapes.DOTTED)]
    place, noise = list[Mark](), list[Mark]()
    for number, each in enumerate(explained):
        own = look[each.variant]
        importance += shapes.line(range(1, 11), _importance(each, explained), own, each.variant)
        found = by_place_of(each)
        place += shapes.line(found.index + 1, found, own, each.variant)
        shift = SPREAD * ((number + 0.5) / len(explained) - 0.5)
        noise += _noise(each, own, shift)
    above = [
        Panel(
            importance, tenths, Axis(domain=(0, max(2, shapes.extent(importance, low=0)[1]))),
            "importance",
        )
    ]  # fmt: skip
    if place:
        above.append(Panel(place, tenths, Axis(domain=_to_one(place)), "accuracy by place"))
    kinds = {float(n): _noise_name(at) for n, at in enumerate(noises(explained))}
    domain = _to_one(noise)
    below = Panel(
        noise,
        Axis(domain=(-0.5, max(len(kinds), 1) - 0.5), places=kinds),
        Axis(domain=domain),
        "accuracy with noise",
        spans=True,
    )
    return [above, [below]]


def noises(explained: list[Explanation]) -> list[str]:
    """Return the kinds of noise, in the order of the table."""
    return list(dict.fromkeys(at for each in explained for at in _rows(each, "noise")["at"]))


def _noise_name(at: str) -> str:
    """Return the label of a kind of noise, such as `left 4`."""
    sides = {"left": "before", "right": "after", "both": "both"}
    side, *times = at.split()
    return f"{sides[side]}\n×{times[0]}" if times else "none"


def _to_one(rows: list[Mark]) -> tuple[float, float]:
    """Return a range of accuracies up to 1, with so many below that a small difference is small."""
    return min(0.48, shapes.extent(rows, margin=0)[0] - 0.02), 1.02


def by_place_of(explanation: Explanation) -> pd.Series:
    """Return the mean accuracy by tenth (0 to 9), of tenths with FEWEST documents in each seed."""
    rows = _rows(explanation, "accuracy_by_place")
    tenths = rows.groupby(rows["at"].astype(int))
    return tenths["mean"].mean()[tenths["documents"].min() >= FEWEST]


def _knows_rationale(explained: list[Explanation]) -> bool:
    """Return whether importance is compared with the rationale."""
    return any(len(_rows(each, "importance_by_rationale")) for each in explained)


def _importance(explanation: Explanation, explained: list[Explanation]) -> pd.Series:
    """Return the importance of each tenth: by rationale, or divided by its mean."""
    measure = "importance_by_rationale" if _knows_rationale(explained) else "importance"
    rows = _rows(explanation, measure)
    values = rows.groupby(rows["at"].astype(int))["mean"].mean()
    if measure == "importance":
        values /= values.mean()
    return values.reindex(range(10))


def _noise(explanation: Explanation, look: shapes.Look, shift: float) -> list[Mark]:
    """Return the accuracy for each kind of noise; a stroke goes from the worst seed to the best."""
    seeds = _rows(explanation, "noise").groupby("at", sort=False)["mean"]
    x = [place + shift for place in range(seeds.ngroups)]
    strokes = zip(x, seeds.min(), seeds.max(), strict=True)
    rows = [shapes.rule((at, low), (at, high), look.colour, 0.9) for at, low, high in strokes]
    rows += [shapes.point(at, value, look) for at, value in zip(x, seeds.mean(), strict=True)]
    if rows:
        rows[-1]["end"] = explanation.variant
    return rows
