"""The searches of an experiment: their trials, the best one, and the expected best."""

from heed.report.blocks import Block, Disclosure, Group, Paragraph
from heed.report.experiments import Experiment
from heed.report.figures import searches as figures
from heed.report.language import say
from heed.report.measures import Measure
from heed.report.results import Results
from heed.search.results import Search, read_search


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return a paragraph and the figures of each search that had trials, on demand."""
    blocks: list[Block] = []
    for folder in results.search_folders(experiment):
        if search := read_search(folder):
            drawn = Group(tuple(figures.figures(results, experiment, search, folder)), "plots")
            summary = say(
                "Search {name}: {trials} trials", name=search.search, trials=len(search.trials)
            )
            described = Paragraph((_describe(search, experiment.measure.task),))
            blocks.append(Disclosure(summary, (described, drawn), "others"))
    return blocks


def _describe(search: Search, task: str) -> str:
    measure = Measure(task, search.metric)
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
        metric=measure.name,
        score=measure.figure(search.best.score),
        epoch=search.best.epoch,
    )
    expected = search.expected_best
    if expected.reason is None:
        return text
    reason = say(expected.reason, **(expected.values or {}))
    return f"{text} " + say("No expected best: {reason}.", reason=reason)
