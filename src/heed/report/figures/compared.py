"""What a study's own figures show: every run's score by kind of model, and what was tested.

It is of a study's results, or of the CSV files of a published study.
"""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

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
Verdicts = Mapping[tuple[str, str], str]  # on the first of two models


@dataclasses.dataclass(frozen=True)
class Compared:
    """An experiment: the test scores of all runs, by kind of model, as they are printed.

    `texts` of the training split; 0 where the study does not choose it. `source` is their kind.
    `attention` is the kind of model that answers the question.
    """

    title: str
    corpus: str
    source: str
    texts: int
    generated: bool
    measure: Measure
    margin: float  # within which two scores are practically the same
    attention: str
    runs: dict[str, list[float]]
    verdicts: Verdicts

    @property
    def last(self) -> str:
        """The kind that reads the last state alone; empty: none."""
        return self._first("last", "last-state")

    @property
    def average(self) -> str:
        """The kind with equal weights that attention is compared with; empty: none."""
        return self._first(OWN_AVERAGE.get(self.attention, ""), *AVERAGES)

    @property
    def reference(self) -> str:
        """The model from outside; empty: none."""
        return self._first("linear", "statistical")

    def _first(self, *kinds: str) -> str:
        return next(filter(self.runs.__contains__, kinds), "")

    @property
    def kinds(self) -> list[str]:
        """Last state, average, attention and the model from outside, those that it has."""
        order = self.last, self.average, self.attention, self.reference
        return [kind for kind in order if kind in self.runs]

    @property
    def is_whole(self) -> bool:
        """Whether it has the kinds that a figure of several experiments compares."""
        return bool(self.last and self.average and self.attention in self.runs)

    def __str__(self) -> str:
        """Return the scores in words, and the verdict on attention over the average."""
        scores = (f"{all_words()[kind].words} {self.mean(kind):.1f}" for kind in self.kinds)
        return f"{self.title}: {', '.join(scores)}" + f" ({self.weighing})" * bool(self.weighing)

    @property
    def weighing(self) -> str:
        """The verdict on attention over the average."""
        return self.verdict(self.attention, self.average)

    def mean(self, kind: str) -> float:
        """Return the mean of all runs of a kind."""
        return statistics.fmean(self.runs[kind])

    def verdict(self, first: str, second: str) -> str:
        """Return the verdict on the first of two kinds; empty where they were not compared."""
        turned = self.verdicts.get((second, first), "")
        return self.verdicts.get((first, second)) or OPPOSITE.get(turned, turned)


def compared(results: Results) -> list[Compared]:
    """Return the experiments of a study, but those that only worsen another's hyperparameters."""
    found, margin = [], results.comparison.significance.equivalence_margin
    for each in results.experiments:
        if each.degraded_from:
            continue
        result, corpus = each.result, each.result.corpus.statistics
        models = result.models | result.reference_models
        runs = {name: result.compared_score(model).values for name, model in models.items()}
        verdicts = {(one.first, one.second): one.verdict for one in each.comparisons}
        by_kind = _by_kind(kinds(each), runs, verdicts, [*result.attention][:1], each.measure)
        about = each.title, each.corpus_name, corpus.kind, corpus.splits["train"], corpus.generated
        found.append(Compared(*about, each.measure, margin, *by_kind))
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
        metric, mark = (str(tested[name].iloc[0]) for name in ("metric", "mark"))
        own = scores[(scores["experiment"] == key) & (scores["metric"] == metric)]
        runs = {str(name): [*of] for name, of in own.groupby("model", sort=False)["value"]}
        kind_of = {
            each.variant: model_kind(each.variant, params.hyperparameters(name))
            for name, each in params.models.items()
            if each.experiment == key
        }
        first_second = zip(tested["first"], tested["second"], strict=True)
        pairs = dict(zip(first_second, tested["verdict"], strict=True))
        corpus, measure = params.corpora[declared.corpus], Measure(declared.task, metric)
        by_kind = _by_kind(kind_of, runs, pairs, params.study.attention, measure)
        texts = corpus.split.train if isinstance(corpus.split.train, int) else 0
        about = declared.title, declared.corpus, corpus.kind, texts, "generated" in mark, measure
        found.append(Compared(*about, params.study.equivalence_margin, *by_kind))
    return found


def _by_kind(
    kinds: Mapping[str, str], scores: Mapping[str, list[float]], verdicts: Verdicts,
    attention: Sequence[str], measure: Measure,
) -> tuple[str, dict[str, list[float]], Verdicts]:  # fmt: skip
    """Return kind of attention, scores and verdicts by kind: the question's variant, or the first.

    Reference models are their own kind; an accuracy is in percent.
    """
    first = next(filter(scores.__contains__, attention), "")
    kind_of = {name: kinds.get(name) or name for name in scores}
    runs, names = {}, set[str]()
    for name in sorted(scores, key=lambda name: name != first):
        if kind_of[name] not in runs:
            runs[kind_of[name]] = [factor(measure) * each for each in scores[name]]
            names.add(name)
    between = {
        (kind_of[first], kind_of[second]): verdict
        for (first, second), verdict in verdicts.items()
        if {first, second} <= names
    }
    return kinds.get(first, ""), runs, between
