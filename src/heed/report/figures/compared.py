"""What a study's own figure shows, of its results, or of the CSV files of a published study."""

import dataclasses
import functools
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from heed.corpora.sections import Corpus
from heed.evaluation.results import BETTER, WORSE
from heed.report.figures.variants import factor, kinds
from heed.report.measures import Measure
from heed.report.results import Results
from heed.report.words import all_words, model_kind
from heed.study import load

# The averages that attention is compared with, and what a kind of it is first compared with.
AVERAGES = "mean", "uniform", "decoder-uniform", "bag"
OWN_AVERAGE = {"self-attention": "uniform", "embeddings": "bag"}
OPPOSITE = {BETTER: WORSE, WORSE: BETTER}


@dataclasses.dataclass(frozen=True)
class Compared:
    """An experiment: the test scores of all runs by model; `texts`: of the training split, or 0.

    `asked` is the model that answers the question; `verdicts` are on the first of two models.
    """

    title: str
    corpus: str
    source: str
    texts: int
    generated: bool
    measure: Measure
    margin: float  # within which two scores are practically the same
    asked: str
    scores: Mapping[str, Sequence[float]]
    kind_of: Mapping[str, str]
    verdicts: Mapping[tuple[str, str], str]

    @functools.cached_property
    def models(self) -> dict[str, str]:
        """The model of each kind: `asked`, or the first; a model of no kind is its own."""
        order = sorted(self.scores, key=lambda name: name != self.asked)
        return {self.kind_of.get(name) or name: name for name in reversed(order)}

    @functools.cached_property
    def runs(self) -> dict[str, list[float]]:
        """The scores of all runs by kind of model, as they are printed: an accuracy in percent."""
        scale, models = factor(self.measure), self.models.items()
        return {kind: [scale * score for score in self.scores[name]] for kind, name in models}

    @functools.cached_property
    def roles(self) -> tuple[str, ...]:
        """The kinds that read the last state, average, answer, come from outside; or empty."""
        attention = self.kind_of.get(self.asked, "")
        averages = OWN_AVERAGE.get(attention, ""), *AVERAGES
        every = ("last", "last-state"), averages, (attention,), ("linear", "statistical")
        return tuple(next(filter(self.runs.__contains__, of), "") for of in every)

    @property
    def kinds(self) -> list[str]:
        """The roles that it has."""
        return [*filter(None, self.roles)]

    def __str__(self) -> str:
        scores = (f"{all_words()[kind].words} {self.mean(kind):.1f}" for kind in self.kinds)
        return f"{self.title}: {', '.join(scores)}" + f" ({self.weighing})" * bool(self.weighing)

    @property
    def weighing(self) -> str:
        """The verdict on attention over the average."""
        return self.verdict(self.roles[2], self.roles[1])

    def mean(self, kind: str) -> float:
        """Return the mean of all runs of a kind."""
        return statistics.fmean(self.runs[kind])

    def verdict(self, *kinds: str) -> str:
        """Return the verdict on the first of two kinds; empty where they were not compared."""
        first, second = (self.models.get(kind, "") for kind in kinds)
        turned = self.verdicts.get((second, first), "")
        return self.verdicts.get((first, second)) or OPPOSITE.get(turned, turned)


def _source_of(corpus: Corpus) -> str:
    """Return what the texts of a corpus are drawn from."""
    return f"{corpus.source}, {corpus.kind}"


def compared(results: Results) -> list[Compared]:
    """Return the experiments of a study, but those that only worsen another's hyperparameters."""
    found, margin = [], results.comparison.significance.equivalence_margin
    for experiment in results.experiments:
        if experiment.degraded_from:
            continue
        result, corpus = experiment.result, experiment.result.corpus.statistics
        models = result.models | result.reference_models
        runs = {name: result.compared_score(model).values for name, model in models.items()}
        verdicts = {(pair.first, pair.second): pair.verdict for pair in experiment.comparisons}
        source = _source_of(results.params.corpora[experiment.corpus_name])
        about = experiment.title, experiment.corpus_name, source, corpus.splits["train"]
        own = experiment.attention, runs, kinds(experiment), verdicts
        found.append(Compared(*about, corpus.generated, experiment.measure, margin, *own))
    return found


def published(folder: Path) -> list[Compared]:
    """Return the experiments of a published study, of its params.yaml, results and verdicts."""
    params, found = load(folder / "params.yaml"), []
    scores = pd.read_csv(folder / "results.csv").query("split == 'test'")
    verdicts = pd.read_csv(folder / "verdicts.csv", keep_default_na=False)
    for key, declared in params.experiments.items():
        tested = verdicts[verdicts["experiment"] == key]
        if declared.suboptimal_of or tested.empty:
            continue
        metric, mark = tested[["metric", "mark"]].iloc[0]
        own = scores[(scores["experiment"] == key) & (scores["metric"] == metric)]
        runs = {str(name): [*of] for name, of in own.groupby("model", sort=False)["value"]}
        kind_of = {
            model.variant: model_kind(model.variant, params.hyperparameters(name))
            for name, model in params.models.items()
            if model.experiment == key
        }
        pairs: Any = tested.set_index(["first", "second"])["verdict"].to_dict()
        corpus, measure = params.corpora[declared.corpus], Measure(declared.task, metric)
        texts = corpus.split.train if isinstance(corpus.split.train, int) else 0
        about = declared.title, declared.corpus, _source_of(corpus), texts, "generated" in mark
        asked = next(filter(runs.__contains__, params.study.attention), "")
        margin = params.study.equivalence_margin
        found.append(Compared(*about, measure, margin, asked, runs, kind_of, pairs))
    return found
