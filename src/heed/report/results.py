"""What a report is made of: the study, its comparison, and the folders of the stages before."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from heed.evaluation.results import Comparison
from heed.files import reading, verify_checksums
from heed.report.answer import PAIR
from heed.report.documents import Browser, browser
from heed.report.experiments import Experiment, experiments
from heed.report.formats import coverage
from heed.report.published import CLASSES, RESULTS
from heed.report.sources import Source, Sources

if TYPE_CHECKING:
    from heed.study import Params

DOCUMENT_FILES = ("documents", "weights", "predictions")


@dataclasses.dataclass(frozen=True)
class Results:
    """The results of a study, as chapters read them; `browsers` are by model."""

    params: "Params"
    comparison: Comparison
    experiments: list[Experiment]
    folder: Path
    sources: Sources
    browsers: dict[str, Browser]

    @property
    def covers(self) -> str:
        """How often an interval covers the truth, in percent."""
        return coverage(self.comparison.significance.alpha)

    @property
    def compared(self) -> tuple[Source, ...]:
        """The source of all comparisons."""
        return self.sources.of(self.folder / "compare" / "comparison.json")

    def models(self, experiment: Experiment) -> dict[str, str]:
        """Return the models of an experiment by variant."""
        return models_of(self.comparison, experiment.key)

    def evaluated(self, model: str) -> Path:
        """Return the folder of a model's evaluation."""
        return self.folder / "evaluate" / model

    def searches(self, experiment: Experiment) -> list[Path]:
        """Return the folders of an experiment's searches."""
        return [
            self.folder / "search" / key
            for key, search in self.params.searches.items()
            if search.experiment == experiment.key and search.trials
        ]

    def document_sources(self, model: str) -> tuple[Source, ...]:
        """Return the sources of a model's document browser."""
        folder = self.folder / "predict" / model
        return self.sources.of(*(folder / f"{name}.parquet" for name in DOCUMENT_FILES))


def read_results(
    params: "Params", comparison: Comparison, published: Path, folder: Path, browsed: bool
) -> Results:
    """Return the results of a study.

    Args:
        params: the study: its title, note, experiments and searches.
        comparison: results/compare/comparison.json.
        published: the folder with the talk's figures.
        folder: results/, which has what the stages before wrote.
        browsed: with the document browsers, which hold text of the corpora.

    Raises:
        HeedError: an experiment names one that the talk does not have; a file is missing or broken.

    """
    declared, sources = experiments(params, comparison, published), Sources()
    results = Results(params, comparison, declared, folder, sources, {})
    for experiment in declared:
        for model in results.models(experiment).values():
            verify_checksums(folder / "evaluate" / model, f"heed evaluate {model}")
            verify_checksums(folder / "predict" / model, f"heed predict {model}")
        for search in results.searches(experiment):
            verify_checksums(search, f"heed search {search.name}")
    compared = folder / "compare" / "comparison.json"
    files = (compared, published / RESULTS, published / CLASSES)
    sources.of(*(path for path in files if path.exists()))
    return dataclasses.replace(results, browsers=_browsers(results) if browsed else {})


def models_of(comparison: Comparison, experiment: str) -> dict[str, str]:
    """Return the models of an experiment by variant."""
    return {
        variant: each.model for variant, each in comparison.experiments[experiment].models.items()
    }


def read_table(path: Path) -> pd.DataFrame:
    """Return a table of `heed evaluate`; names are text. Raises HeedError: missing or broken."""
    with reading(path, f"heed evaluate {path.parent.name}"):
        types = {"label": str, "predicted": str}
        return pd.read_csv(path, dtype=types, keep_default_na=False, na_values=[""])


def _browsers(results: Results) -> dict[str, Browser]:
    """Return the browser of each model that chooses weights, with both models' answers."""
    predicted, browsers = results.folder / "predict", {}
    for experiment in results.experiments:
        models = results.models(experiment)
        for variant, each in results.comparison.experiments[experiment.key].models.items():
            if each.hyperparameters.chooses_weights:
                compared = {
                    name: predicted / model
                    for name, model in models.items()
                    if name in (*PAIR, variant)
                }
                browsers[each.model] = browser(predicted / each.model, compared)
                results.document_sources(each.model)  # named here: a browser is a page, no block
    return browsers
