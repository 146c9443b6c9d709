"""The explanation of a trained translator's predictions: its tables, of one seed."""

import dataclasses
import re
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from heed.explanation.registry import EXPLAINED, document_measures, measure_rankings, summarize
from heed.explanation.test import HELD
from heed.explanation.test import Prediction as Step
from heed.explanation.trained_models import step_agreement
from heed.explanation.translations import JudgedPair, judge_pairs
from heed.files import HeedError
from heed.models.dependence import require_attention
from heed.paths import run_folder, train_command
from heed.tasks.translation import metrics
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
    run: RunInfo, tokens: ParallelTokens, rows: np.ndarray, scale: float,
    report_progress: Callable[[int, int], None], _: ParallelTokens | None = None,
) -> tuple[dict[str, pd.DataFrame], dict[str, str]]:  # fmt: skip
    """Return the tables of one seed, and test → why it is not defined.

    `next_units` has the probabilities of the unit after each drawn step. `rows` are test pairs with
    words on both sides, in the order of their draw. Raises HeedError: a broken run.
    """
    name, reasons = run.recipe.model, dict(REASONS)
    predictor = load_predictor(
        run_folder(name, run.seed), run.recipe, Prediction(), "cpu", train_command(name, run.seed)
    )
    try:
        require_attention(predictor.model)
    except HeedError as error:
        reasons["weights"] = str(error)
    gold = metrics.gold_links(tokens, run.recipe.data, rows)
    if gold is None:
        reasons["rationale"] = NO_GOLD
    scale *= min(1.0, LARGE_VOCABULARY / len(predictor.target))
    # weights are never trained here, and gradients are those of embeddings and weights
    model = predictor.model.requires_grad_(False).float()
    known = dict(zip(rows.tolist(), gold or [None] * len(rows), strict=True))
    encoded = predictor.encode(tokens, rows)
    judged = judge_pairs(model, encoded, rows, scale, report_progress)
    return _tables(predictor, tokens, judged, known), reasons


def _tables(
    predictor: TranslationPredictor, tokens: ParallelTokens, pairs: Iterable[JudgedPair],
    known: dict[int, metrics.Gold | None],
) -> dict[str, pd.DataFrame]:  # fmt: skip
    ids = tokens.documents(["id"])["id"].to_numpy()
    vocabulary = np.asarray(predictor.target.units(np.arange(len(predictor.target))), object)
    documents, rankings, units, next_units = [], [], [], []
    for pair in pairs:
        head, gold = {"id": ids[pair.row]}, known[pair.row]
        of_pair: metrics.Gold = gold or (set(), set())
        words = predictor.source.words_of(pair.source), predictor.target.words_of(pair.target)
        sure, possible = (_linked(words, links) for links in of_pair)
        documents.append(head | _document(pair, sure))
        for ranking, values in _rankings(pair, words, sure, possible & ~sure, gold).items():
            rankings.append(head | {"ranking": ranking} | values)
        spans = _spans(predictor, tokens, pair.row, words[0])
        units.append(pd.DataFrame(head | _units(pair, sure, spans)))
        for position, step in pair.steps.items():
            kept = _largest(step.probabilities)
            columns = {"word": vocabulary[kept], "p": step.probabilities[kept]}
            next_units.append(pd.DataFrame(head | {"target": np.int32(position)} | columns))
    return {
        "documents": pd.DataFrame(documents),
        "rankings": pd.DataFrame(rankings, columns=None if rankings else ["id", "ranking"]),
        "units": pd.concat(units, ignore_index=True),
        "next_units": pd.concat(next_units, ignore_index=True),
    }


def seed_agreement(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the agreement of seeds from the tables of all of them."""
    next_units = tables["next_units"]
    known = next_units[next_units["id"].isin(tables["documents"]["id"])]
    return step_agreement(tables["units"], known)


def summarize_tables(tables: dict[str, pd.DataFrame], reasons: dict[str, str]) -> pd.DataFrame:
    """Return the summary, with the alignment error of rankings: a ratio of sums over sentences."""
    rankings, summary = tables["rankings"], summarize(tables, reasons)
    summary = summary[summary["ranking"].isna() | summary["ranking"].isin(RANKINGS)]
    counted = rankings.dropna(subset=metrics.COUNTS) if "links" in rankings else rankings.iloc[:0]
    rows = [
        {
            "test": "rationale",
            "measure": "aer",
            "ranking": ranking,
            "seed": seed,
            "documents": len(group),
            "mean": float(metrics.error_rate(group[list(metrics.COUNTS)].sum().to_numpy())),
        }
        for (seed, ranking), group in counted.groupby(["seed", "ranking"])
    ]
    return pd.concat([summary, pd.DataFrame(rows)]) if rows else summary


def _linked(words: tuple[np.ndarray, np.ndarray], links: metrics.Links) -> np.ndarray:
    """Return which units, given by their words, are linked: (target units, source units)."""
    source, target = (indices.tolist() for indices in words)
    return np.asarray([[(i, j) in links for i in source] for j in target])


def _rankings(
    pair: JudgedPair, words: tuple[np.ndarray, np.ndarray], sure: np.ndarray, possible: np.ndarray,
    gold: metrics.Gold | None,
) -> dict[str, dict[str, float]]:  # fmt: skip
    """Return means of measures, and counts; possible links are neither right nor wrong."""
    linked = sure.any(1)
    share = float(sure[linked].mean()) if linked.any() else 0.0
    by_step = [
        measure_rankings(_without(step, possible[position]), sure[position], share)
        for position, step in pair.steps.items()
    ]
    means = {
        ranking: _means([measures.get(ranking, {}) for measures in by_step])
        for ranking in next(iter(pair.steps.values())).rankings
    }
    if gold is not None and "leave_one_out" in pair.matrices:
        for ranking, matrix in pair.matrices.items():
            if np.isfinite(matrix).all():
                links = metrics.links_from_weights(metrics.weights_of_words(matrix, *words))
                means[ranking] |= dict(
                    zip(metrics.COUNTS, metrics.corpus_counts([links], [gold])[0], strict=True)
                )
    return {ranking: values for ranking, values in means.items() if values}


def _without(step: Step, units: np.ndarray) -> Step:
    rankings = {name: np.where(units, np.nan, scores) for name, scores in step.rankings.items()}
    return dataclasses.replace(step, rankings=rankings)


def _units(
    pair: JudgedPair, sure: np.ndarray, spans: tuple[np.ndarray, np.ndarray]
) -> dict[str, np.ndarray]:
    target, unit = (index.ravel() for index in np.indices(sure.shape, dtype=np.int32))
    columns: dict[str, np.ndarray] = {"target": target, "unit": unit}
    columns |= {"start": spans[0][unit], "end": spans[1][unit], "rationale": sure.ravel()}
    for ranking in (*RANKINGS, "adversarial"):
        matrix = np.full(sure.shape, np.nan, np.float32)
        if ranking in pair.matrices:
            matrix[:] = pair.matrices[ranking]
        for position, step in pair.steps.items():
            values = (step.rankings | {"adversarial": step.adversarial}).get(ranking)
            if values is not None:
                matrix[position] = values
        columns[ranking] = matrix.ravel()
    return columns


def _spans(
    predictor: TranslationPredictor, tokens: ParallelTokens, row: int, words: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    side = tokens.sides[predictor.recipe.data.source]
    first, last = side.offsets[row : row + 2]
    if predictor.recipe.hyperparameters.segmentation == "words":
        return side.starts[first:last], side.ends[first:last]
    found = [*re.finditer(r"\S+", side.texts(np.asarray([row]))[0])]
    # a text may have the pieces' mark of a blank, U+2581, which makes more words of it
    indices = np.minimum(words, len(found) - 1)
    spans = np.asarray([word.span() for word in found], np.int32)[indices]
    return spans[:, 0], spans[:, 1]


def _largest(probabilities: np.ndarray) -> np.ndarray:
    """Return the most probable outcomes; the mass of the others is at most MISSING."""
    order = np.argsort(-probabilities, kind="stable")
    mass = probabilities[order].astype(np.float64).cumsum()
    return order[: int(np.searchsorted(mass, 1 - MISSING)) + 1]


def _document(pair: JudgedPair, sure: np.ndarray) -> dict[str, float]:
    by_step = []
    for position, step in pair.steps.items():
        right, p = pair.target[position], step.probabilities
        decision = {"right": float(p.argmax() == right), "probability": float(p[right])}
        by_step.append(decision | document_measures(step, sure[position]))
    sizes = {"units": len(pair.source), "target_units": len(pair.target), "steps": len(pair.steps)}
    return sizes | {name: value for name, value in _means(by_step).items() if name != "units"}


def _means(by_step: list[dict[str, float]]) -> dict[str, float]:
    return {
        name: float(np.mean(values))
        for name in {name: None for measures in by_step for name in measures}
        if (values := [step[name] for step in by_step if np.isfinite(step.get(name, np.nan))])
    }
