"""The input of a report: a study's comparison, the results of other stages, and their sources."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from heed.evaluation.results import BASELINE, Comparison
from heed.files import HeedError, reading, verify_checksums
from heed.paths import LONGER, PARAMS
from heed.pipeline import folder_md5, md5, stage_name
from heed.report import published as printed
from heed.report.browser import Browser, read_browser
from heed.report.experiments import Experiment, read_experiments
from heed.report.explanations import Explanation, range_of, read_explanations
from heed.report.measures import report_of
from heed.search.results import RESULT, Search, read_search
from heed.study import Params
from heed.tables import read_csv
from heed.training.machine import TrainingTime, read_training_time

DOCUMENT_FILES = ("documents", "weights", "predictions")
STAGE_OF_FOLDER = {"predict": "score", "evaluate": "score", "search": "recipe"}  # else its name


class Source(NamedTuple):
    """A file or folder that the report reads, DVC's hash of it, and the command that makes it."""

    path: str
    md5: str
    stage: str  # DVC's name of it; empty for a file in git
    command: str

    @property
    def key(self) -> str:
        """The id of its row in the page."""
        return "from-" + "-".join(Path(self.path).with_suffix("").parts[1:])

    @property
    def label(self) -> str:
        """The folder's name, where several folders are sources."""
        path = Path(self.path)
        return path.parent.name if path.suffix else path.name


class Sources:
    """The sources of a report; a file is hashed once, when it is first added."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sources: dict[Path, Source] = {}

    def add(self, *paths: Path) -> tuple[Source, ...]:
        """Add these files, unless they are there; return their sources."""
        for path in paths:
            if path not in self._sources:
                self._sources[path] = read_source(path, self._folder)
        return tuple(self._sources[path] for path in paths)

    def add_files(self, folder: Path, files: list[Path], command: str) -> Source:
        """Add files of one stage in `folder` as one source; its hash is DVC’s of their folder."""
        if folder not in self._sources:
            path = f"results/{folder.relative_to(self._folder).as_posix()}"
            digest, stage = folder_md5(folder, files), command.split()[1]
            self._sources[folder] = Source(path, digest, stage, command)
        return self._sources[folder]

    def all(self) -> list[Source]:
        """Return every source that was added, by path."""
        return sorted(self._sources.values())


def read_source(path: Path, results: Path) -> Source:
    """Return the source of a file in `results`, which is results/, or in data/published/."""
    if "published" in path.parts:
        return Source(f"data/published/{path.name}", md5(path), "", "")
    below = path.relative_to(results)
    folder, *keys = below.parts[:-1][:2]
    stage, name = STAGE_OF_FOLDER.get(folder, folder), f"results/{below.as_posix()}"
    return Source(name, md5(path), stage_name(stage, *keys), " ".join(["heed", stage, *keys]))


@dataclasses.dataclass(frozen=True, eq=False)
class Results:
    """The results of a study, browsers by model; `with_documents`: with text not to publish."""

    params: Params
    comparison: Comparison
    experiments: list[Experiment]
    folder: Path
    sources: Sources
    browsers: dict[str, Browser]
    with_documents: bool = True
    explanations: tuple[Explanation, ...] = ()
    papers: Sequence[pd.DataFrame] = ()

    @property
    def comparison_sources(self) -> tuple[Source, ...]:
        """The source of all comparisons."""
        return self.sources.add(self.folder / "compare" / "comparison.json")

    @property
    def seed_counts(self) -> str:
        """How many seeds the experiments have: one number, or the fewest and the most."""
        counts = [len(self.comparison.seeds_of(own.key)) for own in self.experiments]
        return range_of(counts, str, " to ")

    def models(self, experiment: Experiment) -> dict[str, str]:
        """Return the models of an experiment by variant."""
        return {variant: model.model for variant, model in experiment.result.models.items()}

    def explanations_of(self, experiment: Experiment) -> list[Explanation]:
        """Return the models of an experiment that `heed explain` has tested."""
        return [model for model in self.explanations if model.experiment.key == experiment.key]

    def evaluation_folder(self, model: str) -> Path:
        """Return the folder of a model's evaluation, in that of its experiment."""
        return self.folder / "evaluate" / self.params.models[model].experiment / model

    def training_files(self, model: str) -> dict[int | str, Path]:
        """Return the file of the time of a model's trainings by seed, and of the LONGER one."""
        seeds = self.comparison.seeds_of(self.params.models[model].experiment)
        folder = training_folder(self.folder) / model
        files: dict[int | str, Path] = {seed: folder / f"{seed}.json" for seed in seeds}
        longer = folder / f"{LONGER}.json"
        return files | ({LONGER: longer} if longer.exists() else {})

    def training_times(self, model: str) -> dict[int | str, TrainingTime]:
        """Return the times of these trainings. Raises HeedError: the time of a seed is missing."""
        return {seed: read_training_time(file) for seed, file in self.training_files(model).items()}

    @property
    def times_source(self) -> Source:
        """The source of the times of all trainings, of whichever experiment."""
        models = itertools.chain(*(own.values() for own in map(self.models, self.experiments)))
        files = [path for model in models for path in self.training_files(model).values()]
        return self.sources.add_files(training_folder(self.folder), files, "heed train MODEL")

    def read_search(self, experiment: Experiment, model: str) -> Search | None:
        """Return the search whose winner a model takes; None: none."""
        if self.params.models[model].search not in self.params.searches_of(experiment.key):
            return None
        return self.read_search_folder(experiment, self.params.winner(model))

    def read_search_folder(self, experiment: Experiment, winner: str) -> Search | None:
        """Return the search in a winner's folder, whose file is then a source of the report."""
        folder = self.folder / "search" / experiment.key / winner
        if search := read_search(folder, experiment.key):
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
    params: Params, comparison: Comparison, published: Path, folder: Path, with_documents: bool
) -> Results:
    """Return the results in `folder`, beside the `published`. Raises HeedError, of a file."""
    _require_same_models(params, comparison, folder)
    experiments, sources = read_experiments(params, comparison, published), Sources(folder)
    results = Results(params, comparison, experiments, folder, sources, {}, with_documents)
    for experiment in experiments:
        for model in results.models(experiment).values():
            for stage in (results.evaluation_folder, results.prediction_folder):
                verify_checksums(stage(model), f"heed score {experiment.key}")
        for search in params.searches_of(experiment.key):
            command = f"heed recipe {experiment.key}"
            verify_checksums(folder / "search" / experiment.key / search, command)
    talk = (published / name for name in (printed.RESULTS, printed.CLASSES))
    sources.add(*filter(Path.exists, [folder / "compare" / "comparison.json", *talk]))
    explanations = tuple(read_explanations(params, comparison, experiments, folder))
    papers = printed.read_papers(published) if explanations else ()
    if explanations:
        sources.add(published / printed.EXPLANATION, published / printed.SENTENCES)
    found = (_read_browsers(results, experiment) for experiment in experiments)
    browsers = dict(itertools.chain.from_iterable(found))
    return dataclasses.replace(results, browsers=browsers, explanations=explanations, papers=papers)


def _require_same_models(params: Params, comparison: Comparison, folder: Path) -> None:
    compared = {m.model for e in comparison.experiments.values() for m in e.models.values()}
    if other := sorted(compared - params.models.keys()):
        missing = f"{folder / 'compare'}: has models that are not in {PARAMS}: {', '.join(other)}"
        raise HeedError(f"{missing}. Run: make report")


def _read_browsers(results: Results, experiment: Experiment) -> Iterator[tuple[str, Browser]]:
    """Yield the browsers of an experiment by model; a browser compares it with the first ones."""
    models = results.models(experiment)
    for variant, model in models.items() if report_of(experiment.measure.task).HAS_BROWSER else ():
        if experiment.result.models[variant].hyperparameters.chooses_weights:
            names = (BASELINE, experiment.attention, variant)
            others = {n: results.prediction_folder(m) for n, m in models.items() if n in names}
            yield model, read_browser(results.prediction_folder(model), others)
            # A browser is written apart from tables and figures, which add their own sources.
            results.document_sources(model)


def read_table(path: Path) -> pd.DataFrame:
    """Return a table of `heed score`, its names as text. Raises HeedError: missing or broken."""
    with reading(path, f"heed score {path.parent.parent.name}"):
        return read_csv(path, "label", "predicted")


def training_folder(results: Path) -> Path:
    """Return the folder with the times of all trainings, in results/."""
    return results / "timing" / "train"
