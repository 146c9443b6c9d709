"""Searches: what was tried, what won, and what more trials might bring."""

from heed.report.blocks import Block, Group, Heading, Paragraph
from heed.report.experiments import Experiment
from heed.report.figures import searches as figures
from heed.report.formats import number
from heed.report.language import say
from heed.report.results import Results
from heed.search.result import Search, read_search


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return a heading, a paragraph and the figures of each search that had trials."""
    blocks: list[Block] = []
    for folder in results.searches(experiment):
        if about := read_search(folder):
            blocks += [
                Heading(f"{say('Search')} {about.search}", experiment.mark),
                Paragraph((_says(about),)),
                Group(tuple(figures.figures(results, experiment, about, folder)), "plots"),
            ]
    return blocks


def _says(about: Search) -> str:
    text = say(
        "{trials} trials of {model}, sampler {sampler}, scheduler {scheduler}, seed "
        "{seed}; {epochs} "
        "epochs in all. Best: trial {best}, validation {metric} {score} after epoch "
        "{epoch}. Chosen on "
        "the validation part: the test part was not looked at.",
        trials=len(about.trials),
        model=about.model,
        sampler=about.sampler,
        scheduler=about.scheduler,
        seed=about.seed,
        epochs=about.epochs,
        best=about.best.trial,
        metric=about.metric.replace("_", " "),
        score=number(about.best.score),
        epoch=about.best.epoch,
    )
    none = about.expected_best
    if none.reason is None:
        return text
    reason = say(none.reason, **(none.values or {}))
    return f"{text} " + say("No expected best: {reason}.", reason=reason)
