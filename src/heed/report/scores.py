"""The lectures' table of score functions, with what was measured of each in this study (docs/attention.md has the code's)."""

import dataclasses

from heed.evaluation.results import Comparison
from heed.report.answer import Tested
from heed.report.tables import Cell, Experiment

# name: (equation, the same in LaTeX, lecture and source)
SCORES = {
    "additive": ("u · tanh(W₁ q + W₂ k)", r"$u^\top\tanh(W_1 q + W_2 k)$", "001; Bahdanau et al. 2015"),
    "concat": ("v · tanh(W [q; k])", r"$v^\top\tanh(W[q;k])$", "000 (“Additive”); Luong et al. 2015"),
    "concat-tanh": ("tanh(W [q; k])", r"$\tanh(W[q;k])$", "004"),
    "location": ("(W q)ᵢ", r"$(Wq)_i$", "000; Luong et al. 2015"),
    "general": ("q W k", r"$q^\top W k$", "000, 001; Luong et al. 2015"),
    "dot": ("q · k", r"$q^\top k$", "000, 001; Luong et al. 2015"),
    "scaled-dot": ("q · k / √d", r"$q^\top k/\sqrt{d}$", "000; Vaswani et al. 2017"),
}


@dataclasses.dataclass(frozen=True)
class Measured:
    """What a model with this score reached; `where` is multi-head, single-head or pooling."""

    experiment: Experiment
    variant: str
    where: str
    accuracy: Cell
    gain: Tested | None  # over the baseline


@dataclasses.dataclass(frozen=True)
class Score:
    """A row of the table."""

    name: str
    equation: str
    tex: str
    source: str
    measured: list[Measured]


def score_table(experiments: list[Experiment], comparison: Comparison) -> list[Score]:
    """Return every score function of the lectures with the models of this study that have it."""
    measured: dict[str, list[Measured]] = {name: [] for name in SCORES}
    for experiment in experiments:
        models = comparison.experiments[experiment.key].models
        for table in (table for table in experiment.tables if table.key in models):
            gains = [each for each in experiment.comparisons if (each.first, each.second) == (table.key, "baseline")]
            accuracy = next(row.cells["f1"] for row in table.rows if row.kind == "average" and row.name == "accuracy")
            for name, where in models[table.key].hyperparameters.score_functions.items():
                gain = gains[0] if gains else None
                measured[name].append(Measured(experiment, table.key, where, accuracy, gain))
    return [Score(name, *about, measured[name]) for name, about in SCORES.items()]
