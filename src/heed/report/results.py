"""The input of a report: a study's comparison, the results of other stages, and their sources."""

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from heed.evaluation.results import BASELINE, Comparison
from heed.files import reading, verify_checksums
from heed.paths import LONGER
from heed.report.browser import Browser, read_browser
from heed.report.experiments import Experiment, read_experiments
from heed.report.explanations import Explanation, read_explanations
from heed.report.formats import format_coverage
from heed.report.measures import report_of
from heed.report.published import (
    CLASSES,
    EXPLANATION,
    NO_PAPERS,
    RESULTS,
    SENTENCES,
    Papers,
    read_papers,
)
from heed.report.sources import Source, Sources
from heed.search.results import RESULT, Search, read_search
from heed.tables import read_csv
from heed.training import machine
from heed.training.machine import TrainingTime

if TYPE_CHECKING:
    from heed.study import Params

DOCUMENT_FILES = ("documents", "weights", "predictions")


@dataclasses.dataclass(frozen=True, eq=False)
class Results:
    """The results of a study, for the chapters.

    `browsers` are by model; `with_documents`: whether the page has text that may not be published.
    """

    params: "Params"
    comparison: Comparison
    experiments: list[Experiment]
    folder: Path
    sources: Sources
    browsers: dict[str, Browser]
    with_documents: bool = True
    explanations: tuple[Explanation, ...] = ()
    papers: Papers = NO_PAPERS

    @property
    def coverage(self) -> str:
        """The coverage of the intervals, in percent."""
        return format_coverage(self.comparison.significance.alpha)

    @property
    def comparison_sources(self) -> tuple[Source, ...]:
        """The source of all comparisons."""
        return self.sources.add(self.folder / "compare" / "comparison.json")

    def models(self, experiment: Experiment) -> dict[str, str]:
        """Return the models of an experiment by variant."""
        models = self.comparison.experiments[experiment.key].models
        return {variant: result.model for variant, result in models.items()}

    def explanations_of(self, experiment: Experiment) -> list[Explanation]:
        """Return the models of an experiment that `heed explain` has tested."""
        return [each for each in self.explanations if each.experiment.key == experiment.key]

    def is_explained(self, experiment: Experiment) -> bool:
        """Return whether one of them is a network of the study."""
        return not all(each.is_of_encoder for each in self.explanations_of(experiment))

    def evaluation_folder(self, model: str) -> Path:
        """Return the folder of a model's evaluation, in that of its experiment."""
        return self.folder / "evaluate" / self.params.models[model].experiment / model

    def training_times(self, model: str) -> list[TrainingTime]:
        """Return the time of a model's training with each seed.

        Raises HeedError: a file is missing or broken.
        """
        seeds = self.comparison.seeds_of(self.params.models[model].experiment)
        return [read_training_time(self.folder, model, seed) for seed in seeds]

    def longer_time(self, model: str) -> TrainingTime | None:
        """Return the time of a model's longer training; None without one. Raises HeedError."""
        has_any = (training_folder(self.folder) / model / f"{LONGER}.json").exists()
        return read_training_time(self.folder, model, LONGER) if has_any else None

    @property
    def times_source(self) -> Source:
        """The source of the times of all trainings, of whichever experiment."""
        folder = training_folder(self.folder)
        files = (
            folder / model / f"{seed}.json"
            for experiment in self.experiments
            for model in self.models(experiment).values()
            for seed in (*self.comparison.seeds_of(experiment.key), LONGER)
        )
        there = [*filter(Path.exists, files)]
        return self.sources.add_files(folder, there, "results/timing/train", "heed train MODEL")

    @property
    def explanation_source(self) -> Source:
        """The source of the means of all explained models."""
        files = [each.folder / "summary.csv" for each in self.explanations]
        folder = self.folder / "explain"
        return self.sources.add_files(folder, files, "results/explain", "heed explain MODEL")

    def searches(self, experiment: Experiment) -> list[str]:
        """Return the searches of an experiment."""
        return self.params.searches_of(experiment.key)

    def read_search(self, experiment: Experiment, model: str) -> Search | None:
        """Return the search whose winner a model takes; None: none."""
        section = self.params.models.get(model)
        if section is None or section.search not in self.searches(experiment):
            return None
        return self.read_search_folder(experiment, self.params.winner(model))

    def read_search_folder(self, experiment: Experiment, winner: str) -> Search | None:
        """Return the search in a winner's folder, whose file is then a source of the report."""
        folder = self.folder / "search" / experiment.key / winner
        if search := read_search(folder, winner.partition("/")[0]):
            self.sources.add(folder / RESULT)
        return search

    def prediction_folder(self, model: str) -> Path:
        """Return the folder of a model's predictions, in that of its experiment."""
        return self.folder / "predict" / self.params.models[model].experiment / model

    def document_sources(self, model: str) -> tuple[Source, ...]:
        """Return the sources of a model's document browser."""
        folder = self.prediction_folder(model)
        return self.sources.add(*(folder / f"{name}.parquet" for name in DOCUMENT_FILES))

    def browsers_of(self, experiment: Experiment) -> dict[str, str]:
        """Return the models of an experiment with a page of documents, by variant."""
        models = self.models(experiment) if self.with_documents else {}
        return {variant: model for variant, model in models.items() if model in self.browsers}

    def prints_texts(self, experiment: Experiment) -> bool:
        """Return whether the page prints texts of an experiment's corpus."""
        return experiment.publishable or self.with_documents


def read_results(
    params: "Params", comparison: Comparison, published: Path, folder: Path, with_documents: bool
) -> Results:
    """Return the results of a study; `published` has the talk's scores, `folder` is results/.

    Raises HeedError: the talk lacks an experiment that is named; a file is missing or broken.
    """
    experiments, sources = read_experiments(params, comparison, published), Sources(folder)
    results = Results(params, comparison, experiments, folder, sources, {}, with_documents)
    for experiment in experiments:
        for model in results.models(experiment).values():
            for stage in (results.evaluation_folder, results.prediction_folder):
                verify_checksums(stage(model), f"heed score {experiment.key}")
        for search in results.searches(experiment):
            command = f"heed recipe {experiment.key}"
            verify_checksums(folder / "search" / experiment.key / search, command)
    files = (folder / "compare" / "comparison.json", published / RESULTS, published / CLASSES)
    sources.add(*filter(Path.exists, files))
    explanations, papers = read_explanations(params, comparison, experiments, folder), NO_PAPERS
    if explanations:
        sources.add(published / EXPLANATION, published / SENTENCES)
        papers = read_papers(published)
    browsers = dict(itertools.chain(*(_read_browsers(results, each) for each in experiments)))
    return dataclasses.replace(results, browsers=browsers, explanations=explanations, papers=papers)


def _read_browsers(results: Results, experiment: Experiment) -> Iterator[tuple[str, Browser]]:
    """Yield the browsers of an experiment by model; a browser compares it with the first ones."""
    if not report_of(experiment.measure.task).HAS_BROWSER:
        return
    models = results.models(experiment)
    for variant, model in models.items():
        if experiment.result.models[variant].hyperparameters.chooses_weights:
            names = (BASELINE, experiment.attention, variant)
            compared = {
                name: results.prediction_folder(own)
                for name, own in models.items()
                if name in names
            }
            yield model, read_browser(results.prediction_folder(model), compared)
            # Adds the sources here: a browser is no table or figure, which add theirs.
            results.document_sources(model)


def read_table(path: Path) -> pd.DataFrame:
    """Return a table of `heed score`, its names as text.

    Raises HeedError: the file is missing or broken.
    """
    with reading(path, f"heed score {path.parent.parent.name}"):
        return read_csv(path, "label", "predicted")


def training_folder(results: Path) -> Path:
    """Return the folder with the times of all trainings, in results/."""
    return results / "timing" / "train"


def read_training_time(results: Path, model: str, seed: int | str) -> TrainingTime:
    """Return the time of a training, with a seed or the LONGER one.

    Raises HeedError: its file is missing or broken.
    """
    return machine.read_training_time(training_folder(results) / model / f"{seed}.json")
