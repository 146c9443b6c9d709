"""The figures of lecture 002's tests of weights, as the tests declare them.

The criticism in their captions is by others; docs/explanation.md has their arguments.
"""

from heed.explanation.adversarial_attention import AdversarialTest
from heed.explanation.test import Axis, Series, WeightsTest
from heed.report.blocks import Figure
from heed.report.explanations import Explanation, say_text
from heed.report.figures import model_rows
from heed.report.figures.model_rows import Line, Panel, Texts, make_figure
from heed.report.language import say
from heed.report.results import Results


def figure(results: Results, test: WeightsTest) -> list[Figure]:
    """Return the figure of a test, nothing where no model has it."""
    panels = [
        Panel(_lines(results, test, axis), say(axis.label), axis.ends, axis.limit)
        for axis in test.axes
    ]
    measures = (*test.printed,) or tuple(axis.measure for axis in test.axes)
    caption = say(test.caption)
    if any(line.paper for line in panels[0].lines):
        hollow = say("Hollow: what Jain & Wallace 2019 print of the same corpus.")
        caption = f"{caption} {hollow} {model_rows.cut_text(results, test.name)}"
    texts = Texts(test.name, test.rows, measures, say(test.title), say(test.claim), caption)
    return make_figure(results, texts, panels)


def _lines(results: Results, test: WeightsTest, axis: Axis) -> list[Line]:
    """Return the rows of a test on one axis."""
    if isinstance(test, AdversarialTest):
        return [
            Line(
                adversary.name,
                model_rows.heading(results, each),
                _said(test.drawn_trained(each, adversary, axis.measure)),
            )
            for each, adversary in model_rows.trained(results)
        ]
    lines = []
    for key in dict.fromkeys(each.experiment.key for each in results.explanations):
        explained = [each for each in results.explanations if each.experiment.key == key]
        for each in explained:
            heading = model_rows.heading(results, each)
            for name, series in test.drawn_rows(each, axis.measure).items():
                title = f"{each.variant}: {name}" if name else each.variant
                lines.append(Line(title, heading, _said(series)))
        lines += _printed_lines(results, explained[0], test)
    return lines


def _said(series: Series) -> dict[str, list[float]]:
    return {say_text(name): values for name, values in series.items()}


def _printed_lines(results: Results, explanation: Explanation, test: WeightsTest) -> list[Line]:
    """Return the rows with what papers print of a test on the corpus of an experiment."""
    names = {measure: say(name) for measure, name in test.printed.items()}
    values: dict[str, dict[str, list[float]]] = {}
    for each in model_rows.printed(results, explanation, test.name) if names else ():
        values.setdefault(each.model, {name: [] for name in names.values()})
        values[each.model][names[each.measure]].append(each.mean)
    heading = model_rows.heading(results, explanation)
    paper = "Jain & Wallace 2019"
    return [Line(f"2019: {model}", heading, known, paper) for model, known in values.items()]
