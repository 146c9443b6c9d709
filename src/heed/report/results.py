"""The input of a report: the study, its comparison, and the results of the other stages."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from heed.evaluation.results import BASELINE, Comparison
from heed.files import reading, verify_checksums
from heed.report.documents import Browser, read_browser
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
from heed.report.timing import (
    TrainingTime,
    read_training_time,
    time_file,
    training_folder,
)

if TYPE_CHECKING:
    from heed.study import Params

DOCUMENT_FILES = ("documents", "weights", "predictions")


@dataclasses.dataclass(frozen=True)
class Results:
    """The results of a study, for the chapters.

    `browsers` are by model; `explanations` are of the models that `heed explain` has tested;
    `with_documents`: whether there is a document browser, and on the page text of corpora that heed
    did not generate.
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

    def is_explained(self, experiment: Experiment) -> bool:
        """Return whether `heed explain` has tested a model of an experiment."""
        return any(each.experiment.key == experiment.key for each in self.explanations)

    def evaluation_folder(self, model: str) -> Path:
        """Return the folder of a model's evaluation."""
        return self.folder / "evaluate" / model

    def training_times(self, model: str) -> list[TrainingTime]:
        """Return the time of a model's training with each seed.

        Raises HeedError: a file is missing or broken.
        """
        return [read_training_time(self.folder, model, seed) for seed in self.comparison.seeds]

    @property
    def times_source(self) -> Source:
        """The source of the times of all trainings, of whichever experiment."""
        files = [
            time_file(self.folder, model, seed)
            for experiment in self.experiments
            for model in self.models(experiment).values()
            for seed in self.comparison.seeds
        ]
        return self.sources.add_files(
            training_folder(self.folder),
            [*filter(Path.exists, files)],
            "results/timing/train",
            "heed train MODEL",
        )

    @property
    def explanation_source(self) -> Source:
        """The source of the means of all explained models."""
        files = [each.folder / "summary.csv" for each in self.explanations]
        folder = self.folder / "explain"
        return self.sources.add_files(folder, files, "results/explain", "heed explain MODEL")

    def search_folders(self, experiment: Experiment) -> list[Path]:
        """Return the folders of an experiment's searches."""
        return [
            self.folder / "search" / experiment.key / key
            for key, search in self.params.searches.items()
            if search.experiment == experiment.key and search.trials
        ]

    def prediction_folder(self, model: str) -> Path:
        """Return the folder of a model's predictions."""
        return self.folder / "predict" / model

    def document_sources(self, model: str) -> tuple[Source, ...]:
        """Return the sources of a model's document browser."""
        folder = self.prediction_folder(model)
        return self.sources.add(*(folder / f"{name}.parquet" for name in DOCUMENT_FILES))

    def prints_texts(self, experiment: Experiment) -> bool:
        """Return whether the page prints texts of an experiment's corpus."""
        return experiment.generated or self.with_documents


def read_results(
    params: "Params", comparison: Comparison, published: Path, folder: Path, with_documents: bool
) -> Results:
    """Return the results of a study.

    Args:
        params: the study: its title, note, experiments and searches.
        comparison: results/compare/comparison.json.
        published: the folder with the talk's figures.
        folder: results/, with the results of the other stages.
        with_documents: whether there is a document browser, and on the page text of corpora that
            heed did not generate.

    Raises:
        HeedError: an experiment names one that the talk does not have; a file is missing or broken.

    """
    experiments, sources = read_experiments(params, comparison, published), Sources()
    results = Results(params, comparison, experiments, folder, sources, {}, with_documents)
    for experiment in experiments:
        for model in results.models(experiment).values():
            verify_checksums(folder / "evaluate" / model, f"heed score {model}")
            verify_checksums(folder / "predict" / model, f"heed score {model}")
        for search in results.search_folders(experiment):
            verify_checksums(search, f"heed search {search.name}")
    files = (folder / "compare" / "comparison.json", published / RESULTS, published / CLASSES)
    sources.add(*(path for path in files if path.exists()))
    explanations = read_explanations(params, comparison, experiments, folder)
    if explanations:
        sources.add(published / EXPLANATION, published / SENTENCES)
    return dataclasses.replace(
        results,
        browsers=_read_browsers(results),
        explanations=explanations,
        papers=read_papers(published) if explanations else NO_PAPERS,
    )


def read_table(path: Path) -> pd.DataFrame:
    """Return a table of `heed score`, its names as text.

    Raises HeedError: the file is missing or broken.
    """
    with reading(path, f"heed score {path.parent.name}"):
        types = {"label": str, "predicted": str}
        return pd.read_csv(path, dtype=types, keep_default_na=False, na_values=[""])


def _read_browsers(results: Results) -> dict[str, Browser]:
    """Return the browser of each model with weights, compared with baseline and attention."""
    folder, browsers = results.folder / "predict", {}
    for experiment in results.experiments:
        if not report_of(experiment.measure.task).HAS_BROWSER:
            continue
        models = results.models(experiment)
        result = results.comparison.experiments[experiment.key]
        for variant, each in result.models.items():
            if each.hyperparameters.chooses_weights:
                compared = {
                    name: folder / model
                    for name, model in models.items()
                    if name in (BASELINE, *result.attention[:1], variant)
                }
                browsers[each.model] = read_browser(folder / each.model, compared)
                # Adds the sources here: a browser is no block, so no chapter adds them.
                results.document_sources(each.model)
    return browsers
