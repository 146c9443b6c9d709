"""The first paragraphs of an experiment: its corpus, collapsed runs, the talk's gain."""

from heed.report.blocks import Block, Items, Paragraph, Span, Texts
from heed.report.collapsed import collapse_sentence, explain_collapse
from heed.report.experiments import Degradation, Experiment
from heed.report.formats import format_number, format_points
from heed.report.language import say
from heed.report.results import Results


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return the first paragraphs of the experiment."""
    blocks: list[Block] = [Paragraph((experiment.corpus,)), *_collapsed(results, experiment)]
    line = experiment.line
    if line.reproduction:
        verdict = say("The talk’s gain: {verdict}.", verdict=line.reproduction)
        blocks.append(Paragraph((verdict,), "" if line.comparable else "note"))
    if experiment.degradations:
        blocks.append(Items(tuple(_change(experiment, each) for each in experiment.degradations)))
    return blocks


def _collapsed(results: Results, experiment: Experiment) -> list[Block]:
    """Return the warning that names collapsed runs and models below the majority class."""
    result = results.comparison.experiments[experiment.key]
    sentence = collapse_sentence(result, results.comparison.seeds)
    if not sentence:
        return []
    return [
        Paragraph((f"{sentence[0].upper()}{sentence[1:]}. {explain_collapse(result)}",), "note")
    ]


def _change(experiment: Experiment, degradation: Degradation) -> Texts:
    change = say(
        "Change when hyperparameters are degraded (from {experiment}), {variant}:",
        experiment=experiment.degraded_from,
        variant=degradation.variant,
    )
    unit, deviation = experiment.measure.unit, degradation.change.std_pp
    texts: list[str | Span] = [
        f"{change} ",
        Span(f"{format_points(degradation.change.mean_pp)} {unit}", "strong"),
    ]
    if deviation is not None:
        texts.append(f" ± {format_number(deviation, 2)}")
    if degradation.talk is not None:
        texts.append(
            "; " + say("the talk: {value}", value=f"{format_points(degradation.talk)} {unit}")
        )
    return tuple(texts)
