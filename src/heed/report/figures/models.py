"""The chart of all models: an experiment below the other, every seed a dot, the mean a stroke."""

from heed.evaluation.results import ExperimentResult
from heed.report.blocks import Axis, Figure, Mark, Panel
from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.captions import described
from heed.report.figures.variants import drawn_variants, looks, ordered_variants
from heed.report.language import say
from heed.report.results import Results

LINE, TITLE, FRAME = 0.165, 1.5, 0.75  # inches of a model; lines of a title; inches around all
TRIVIAL = ("majority", "copy")  # reference models that read nothing
MODEL = 16  # characters of a model's name


def model_charts(results: Results) -> list[Figure]:
    """Return a chart for each metric by which models are compared; `models` is the first."""
    by_metric: dict[str, list[Experiment]] = {}
    for experiment in results.experiments:
        by_metric.setdefault(experiment.measure.metric, []).append(experiment)
    return [_chart(results, metric, own) for metric, own in by_metric.items()]


def _chart(results: Results, metric: str, experiments: list[Experiment]) -> Figure:
    variants = {each.key: ordered_variants(results, each) for each in experiments}
    if FRAME + LINE * sum(TITLE + 1 + len(own) for own in variants.values()) > shapes.MAX_HEIGHT:
        variants = {each.key: drawn_variants(results, each) for each in experiments}
    look, rows, places, told = looks(results), list[Mark](), dict[float, str](), list[str]()
    line = 0.0
    for each in experiments:
        rows.append(shapes.words(0, line, shapes.short_name(each.title, 60), at=(4, 3), size=8.5))
        line += TITLE
        for name, values in _scores(each, variants[each.key]).items():
            own = look.get(name, shapes.Look(shapes.SOFT, "circle"))
            mean = sum(values) / len(values)
            rows += [
                shapes.point(value, line, own, 14, wide=0.4) for value in values[1:] and values
            ]
            rows.append(shapes.rule((mean, line - 0.38), (mean, line + 0.38), own.colour, 1.8))
            places[line] = shapes.short_name(name, MODEL)
            told.append(f"{each.title}, {name}: {each.measure.format(each.result.score_of(name))}")
            line += 1
    low, high = shapes.extent([row for row in rows if row["kind"] != "text"], "x")
    titles = [row | {"x": low} if row["kind"] == "text" else row for row in rows]
    metric_axis = Axis(experiments[0].measure.name, (low, high))
    model_axis = Axis(domain=(line - 0.4, -0.7), places=places, strokes=False)
    return Figure(
        "models" if experiments[0] is results.experiments[0] else f"models_{metric}",
        say("Every model, every seed a dot"),
        described("models"),
        results.comparison_sources,
        [[Panel(titles, metric_axis, model_axis)]],
        (shapes.WIDTH, min(FRAME + LINE * line, shapes.MAX_HEIGHT)),
        alt_text=". ".join(told),
        in_rows=True,
    )


def best_reference_model(result: ExperimentResult) -> str:
    """Return the best reference model of those that read the texts; empty without one."""
    names = (name for name in result.reference_models if name not in TRIVIAL)
    return max(names, key=result.score_of, default="")


def _scores(experiment: Experiment, variants: list[str]) -> dict[str, list[float]]:
    """Return the scores of each model by seed, and that of the best reference model alone."""
    result, scaled = experiment.result, experiment.measure.scaled
    scores = {
        name: [scaled(value) for value in result.compared_score(result.models[name]).values]
        for name in variants
    }
    if best := best_reference_model(result):
        scores[best] = [scaled(result.score_of(best))]
    return scores
