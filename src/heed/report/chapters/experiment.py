"""What an experiment is: its corpus, the talk's gain, and what degraded hyperparameters change."""

from heed.report.blocks import Block, Items, Paragraph, Span, Texts
from heed.report.experiments import Degradation, Experiment
from heed.report.formats import number, points
from heed.report.language import say
from heed.report.results import Results


def chapter(_: Results, experiment: Experiment) -> list[Block]:
    """Return the experiment's first paragraphs."""
    blocks: list[Block] = [Paragraph((experiment.corpus,))]
    line = experiment.line
    if line.reproduction:
        verdict = say("The talk’s gain: {verdict}.", verdict=line.reproduction)
        blocks.append(Paragraph((verdict,), "" if line.comparable else "note"))
    if experiment.degradations:
        blocks.append(Items(tuple(_change(experiment, each) for each in experiment.degradations)))
    return blocks


def _change(experiment: Experiment, each: Degradation) -> Texts:
    change = say(
        "Change when hyperparameters are degraded (from {experiment}), {variant}:",
        experiment=experiment.degraded_from,
        variant=each.variant,
    )
    unit, deviation = say("p.p."), each.ours.std_pp
    texts: list[str | Span] = [f"{change} ", Span(f"{points(each.ours.mean_pp)} {unit}", "strong")]
    if deviation is not None:
        texts.append(f" ± {number(deviation, 2)}")
    if each.talk is not None:
        texts.append("; " + say("the talk: {value}", value=f"{points(each.talk)} {unit}"))
    return tuple(texts)
