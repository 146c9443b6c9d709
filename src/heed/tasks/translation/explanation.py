"""The explanation of a trained translator's predictions: its tables, of one seed."""

import dataclasses
import re
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from heed.explanation.registry import (
    EXPLAINED,
    document_measures,
    measure_rankings,
    summarize,
)
from heed.explanation.seeds import step_agreement
from heed.explanation.test import HELD
from heed.explanation.test import Prediction as Step
from heed.explanation.translations import JudgedPair, judge_pairs
from heed.files import HeedError
from heed.models.dependence import require_attention
from heed.paths import run_folder, train_command
from heed.tasks.translation.metrics import (
    COUNTS,
    Gold,
    corpus_counts,
    error_rate,
    gold_links,
    links_from_weights,
)
from heed.tasks.translation.prediction import TranslationPredictor, load_predictor
from heed.tasks.translation.recipe import Data, Prediction
from heed.tokens.arrays import ParallelTokens
from heed.training.run import RunInfo

NO_GOLD = "the corpus has no gold alignment, which would say which words translate which"
NOT_OF_TRANSLATIONS = "a test of classifiers: a translation is not one decision"
# what translations do not have: tests and measures
REASONS = dict.fromkeys(
    (test.name for test in EXPLAINED if not test.of_translations), NOT_OF_TRANSLATIONS
) | {
    "tau_replacement": "replacement is computed for classifiers alone",
    "uniform": "`heed compare` has the gain of a translator over one with equal weights, where "
    "the study has one (score: uniform)",
}  # fmt: skip
RANKINGS = ("attention", "gradient", HELD, "leave_one_out", "random")
LARGE_VOCABULARY = 5000  # of a target: with more entries fewer pairs, since each costs as much more
MISSING = 1e-4  # of a distribution's mass at most, that its smallest probabilities may have


def document_offsets(tokens: ParallelTokens, data: Data) -> np.ndarray:
    """Return the sums of the pairs' words, (pairs + 1,); a pair counts as its shorter side."""
    lengths = (np.diff(tokens.sides[language].offsets) for language in (data.source, data.target))
    return np.append(0, np.minimum(*lengths).cumsum())


def explain_run(
    run: RunInfo,
    tokens: ParallelTokens,
    rows: np.ndarray,
    scale: float,
    report_progress: Callable[[int, int], None],
    _: ParallelTokens | None = None,
) -> tuple[dict[str, pd.DataFrame], dict[str, str]]:
    """Return the tables, and test → why it is not defined.

    The tables are `documents`, `rankings`, `units` and, for the agreement of seeds, `next_units`:
    `id, target, word, p`, the probabilities of the unit after each drawn step. `rows` are test
    pairs with words on both sides, in the order of their draw; `scale` multiplies their numbers.
    Raises HeedError: a file of the run is missing or broken.
    """
    name, reasons = run.recipe.model, dict(REASONS)
    predictor = load_predictor(
        run_folder(name, run.seed), run.recipe, Prediction(), "cpu", train_command(name, run.seed)
    )
    try:
        require_attention(predictor.model)
    except HeedError as error:
        reasons["weights"] = str(error)
    gold = gold_links(tokens, run.recipe.data, rows)
    if gold is None:
        reasons["rationale"] = NO_GOLD
    scale *= min(1.0, LARGE_VOCABULARY / len(predictor.target))
    # weights are never trained here, and gradients are those of embeddings and weights
    model = predictor.model.requires_grad_(False).float()
    judged = judge_pairs(model, predictor.encode(tokens, rows), rows, scale, report_progress)
    known = dict(zip(rows.tolist(), gold or [None] * len(rows), strict=True))
    return _Tables(predictor, tokens, known).make(judged), reasons


def seed_agreement(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the agreement of seeds from the tables of all of them."""
    next_units = tables["next_units"]
    known = next_units[next_units["id"].isin(tables["documents"]["id"])]
    return step_agreement(tables["units"], known)


def summarize_tables(
    tables: dict[str, pd.DataFrame], seeds: pd.DataFrame, reasons: dict[str, str]
) -> pd.DataFrame:
    """Return the summary, with the alignment error of rankings: a ratio of sums over sentences."""
    rankings = tables["rankings"]
    summary = summarize(tables["documents"], rankings, seeds, reasons, pd.DataFrame())
    summary = summary[summary["ranking"].isna() | summary["ranking"].isin(RANKINGS)]
    counted = rankings.dropna(subset=COUNTS) if "links" in rankings else rankings.iloc[:0]
    rows = [
        {
            "test": "rationale",
            "measure": "aer",
            "ranking": ranking,
            "seed": seed,
            "documents": len(group),
            "mean": float(error_rate(group[list(COUNTS)].sum().to_numpy())),
        }
        for (seed, ranking), group in counted.groupby(["seed", "ranking"])
    ]
    return pd.concat([summary, pd.DataFrame(rows)]) if rows else summary


class _Tables:
    """The tables of some pairs."""

    def __init__(
        self, predictor: TranslationPredictor, tokens: ParallelTokens, gold: dict[int, Gold | None]
    ) -> None:
        """Store the arguments; `gold` has the links of each row, None where none are known."""
        self.predictor, self.gold = predictor, gold
        self.source = tokens.sides[predictor.recipe.data.source]
        self.ids = tokens.documents(["id"])["id"].to_numpy()
        units = predictor.target.units(np.arange(len(predictor.target)))
        self.vocabulary = np.asarray(units, dtype=object)

    def make(self, pairs: Iterable[JudgedPair]) -> dict[str, pd.DataFrame]:
        """Return `documents`, `rankings`, `units` and `next_units`."""
        documents, rankings, units, next_units = [], [], [], []
        for pair in pairs:
            head = {"id": self.ids[pair.row]}
            rationale, possible = self._rationale(pair)
            documents.append(head | _document(pair, rationale))
            for ranking, values in self._rankings(pair, rationale, possible).items():
                rankings.append(head | {"ranking": ranking} | values)
            units.append(pd.DataFrame(head | self._units(pair, rationale)))
            for position, step in pair.steps.items():
                next_units.append(pd.DataFrame(head | self._next_units(step, position)))
        return {
            "documents": pd.DataFrame(documents),
            "rankings": pd.DataFrame(rankings, columns=None if rankings else ["id", "ranking"]),
            "units": pd.concat(units, ignore_index=True),
            "next_units": pd.concat(next_units, ignore_index=True),
        }

    def _words(self, pair: JudgedPair) -> tuple[np.ndarray, np.ndarray]:
        """Return the index of the word of each unit of the source and of the target."""
        source, target = self.predictor.source, self.predictor.target
        return source.words_of(pair.source), target.words_of(pair.target)

    def _rationale(self, pair: JudgedPair) -> tuple[np.ndarray, np.ndarray]:
        """Find the units that are linked: by a sure link, and by one that is only possible.

        Both are (target units, source units); a unit is linked as its word is.
        """
        source, target = (words.tolist() for words in self._words(pair))
        sure, possible = self.gold[pair.row] or (set(), set())
        is_sure, is_possible = (
            np.asarray([[(i, j) in links for i in source] for j in target])
            for links in (sure, possible - sure)
        )
        return is_sure, is_possible

    def _rankings(
        self, pair: JudgedPair, rationale: np.ndarray, possible: np.ndarray
    ) -> dict[str, dict[str, float]]:
        """Return the measures of rankings: means over the steps, and the counts of links.

        Words that are only possibly linked count as neither right nor wrong.
        """
        linked = rationale.any(1)
        share = float(rationale[linked].mean()) if linked.any() else 0.0
        by_step = [
            measure_rankings(_without(step, possible[position]), rationale[position], share)
            for position, step in pair.steps.items()
        ]
        means = {
            ranking: _means([measures.get(ranking, {}) for measures in by_step])
            for ranking in next(iter(pair.steps.values())).rankings
        }
        gold = self.gold[pair.row]
        if gold is not None and "leave_one_out" in pair.matrices:
            for ranking, matrix in pair.matrices.items():
                if np.isfinite(matrix).all():
                    links = links_from_weights(matrix, *self._words(pair))
                    counts = corpus_counts([links], [gold])[0]
                    means[ranking] |= dict(zip(COUNTS, counts, strict=True))
        return {ranking: values for ranking, values in means.items() if values}

    def _units(self, pair: JudgedPair, rationale: np.ndarray) -> dict[str, np.ndarray]:
        """Return the columns of a row for each unit of the target and each of the source."""
        shape = rationale.shape
        target, unit = (index.ravel() for index in np.indices(shape, dtype=np.int32))
        starts, ends = (np.tile(each, shape[0]) for each in self._positions(pair))
        columns: dict[str, np.ndarray] = {
            "target": target,
            "unit": unit,
            "start": starts,
            "end": ends,
        }
        columns["rationale"] = rationale.ravel()
        for ranking in (*RANKINGS, "adversarial"):
            matrix = np.full(shape, np.nan, np.float32)
            if ranking in pair.matrices:
                matrix[:] = pair.matrices[ranking]
            for position, step in pair.steps.items():
                values = step.rankings | {"adversarial": step.adversarial}
                if values.get(ranking) is not None:
                    matrix[position] = values[ranking]
            columns[ranking] = matrix.ravel()
        return columns

    def _positions(self, pair: JudgedPair) -> tuple[np.ndarray, np.ndarray]:
        """Return the first character of each source unit, or of its word, and the one after it."""
        first, last = self.source.offsets[pair.row : pair.row + 2]
        if self.predictor.recipe.hyperparameters.segmentation == "words":
            return self.source.starts[first:last], self.source.ends[first:last]
        words = [*re.finditer(r"\S+", self.source.texts(np.asarray([pair.row]))[0])]
        # a text may have the pieces' mark of a blank, U+2581, which makes more words of it
        indices = np.minimum(self._words(pair)[0], len(words) - 1)
        spans = np.asarray([word.span() for word in words], np.int32)[indices]
        return spans[:, 0], spans[:, 1]

    def _next_units(self, step: Step, position: int) -> dict[str, object]:
        """Return the probabilities of a step, without the smallest ones: together at most MISSING.

        So the distance of two seeds is exact to MISSING.
        """
        order = np.argsort(-step.probabilities, kind="stable")
        p = step.probabilities[order].astype(np.float64)
        kept = order[: int(np.searchsorted(p.cumsum(), 1 - MISSING)) + 1]
        p = step.probabilities[kept]
        return {"target": np.int32(position), "word": self.vocabulary[kept], "p": p}


def _document(pair: JudgedPair, rationale: np.ndarray) -> dict[str, float]:
    """Return the measures of a pair: means over its steps."""
    by_step = []
    for position, step in pair.steps.items():
        right, p = pair.target[position], step.probabilities
        decision = {"right": float(p.argmax() == right), "probability": float(p[right])}
        by_step.append(decision | document_measures(step, rationale[position]))
    sizes = {"units": len(pair.source), "target_units": len(pair.target), "steps": len(pair.steps)}
    return sizes | {name: value for name, value in _means(by_step).items() if name != "units"}


def _without(step: Step, units: np.ndarray) -> Step:
    """Return the step with rankings that do not have these units (NaN), (units,)."""
    rankings = {name: np.where(units, np.nan, scores) for name, scores in step.rankings.items()}
    return dataclasses.replace(step, rankings=rankings)


def _means(by_step: list[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each measure over the steps that have it."""
    return {
        name: float(np.mean(values))
        for name in {name: None for measures in by_step for name in measures}
        if (values := [each[name] for each in by_step if np.isfinite(each.get(name, np.nan))])
    }
