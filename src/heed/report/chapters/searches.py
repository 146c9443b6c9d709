"""The searches of an experiment: their trials, the best one, and the expected best."""

from heed.report.blocks import Block, Group, Heading, Paragraph
from heed.report.experiments import Experiment
from heed.report.figures import searches as figures
from heed.report.formats import format_number
from heed.report.language import say
from heed.report.results import Results
from heed.search.result import Search, read_search


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return a heading, a paragraph and the figures of each search that had trials."""
    blocks: list[Block] = []
    for folder in results.search_folders(experiment):
        if search := read_search(folder):
            blocks += [
                Heading(f"{say('Search')} {search.search}", experiment.mark),
                Paragraph((_describe(search),)),
                Group(tuple(figures.figures(results, experiment, search, folder)), "plots"),
            ]
    return blocks


def _describe(search: Search) -> str:
    text = say(
        "{trials} trials of {model}, sampler {sampler}, scheduler {scheduler}, seed {seed}; "
        "{epochs} epochs in all. Best: trial {best}, validation {metric} {score} after epoch "
        "{epoch}. Chosen by the validation part; the test part was not used.",
        trials=len(search.trials),
        model=search.model,
        sampler=search.sampler,
        scheduler=search.scheduler,
        seed=search.seed,
        epochs=search.epochs,
        best=search.best.trial,
        metric=search.metric.replace("_", " "),
        score=format_number(search.best.score),
        epoch=search.best.epoch,
    )
    expected = search.expected_best
    if expected.reason is None:
        return text
    reason = say(expected.reason, **(expected.values or {}))
    return f"{text} " + say("No expected best: {reason}.", reason=reason)
