"""The tests of one trained translator on some sentence pairs: what needs the model, batch by batch.

The decoder is given the reference. Tests are of *steps*: the prediction of one unit of the target,
from the units before it, of DRAWN_TARGETS random units of each target. The matrices of attention
and of leave-one-out have a row for every unit of the target, the end of the sentence left out.
"""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import torch

from heed.explanation.adversarial_weights import find_adversarial_weights
from heed.explanation.conicity import conicity
from heed.explanation.judgement import (
    ADVERSARIAL,
    ALL_UNITS,
    DRAWN_UNITS,
    GROUPS,
    ORDERS,
    PERMUTATIONS,
    POSITIONS,
    group_size,
    torch_generator,
)
from heed.explanation.permutation import permute_weights
from heed.explanation.sources import leave_out_sources, step_gradients
from heed.inputs.pairs import EncodedPairs, PairBatch
from heed.models.target_steps import TargetSteps, read_target, target_steps
from heed.models.translator import Translator

DRAWN_TARGETS = 2
PAIRS_AT_ONCE = 32  # adversarial weights hold some numbers for each start, step and target unit


@dataclasses.dataclass(frozen=True)
class JudgedStep:
    """The prediction of one unit of a target, with the outcome of its tests.

    position: of the unit in the target, from 0
    units: those of the source
    rankings, measures, adversarial: as of `judgement.Judged`; units of the source
    probabilities: of all units that could be predicted, (vocabulary,)
    """

    position: int
    units: int
    rankings: dict[str, np.ndarray]
    measures: dict[str, float]
    adversarial: np.ndarray | None
    probabilities: np.ndarray

    @property
    def by_ranking(self) -> dict[str, dict[str, float]]:
        """No measures of rankings."""
        return {}


@dataclasses.dataclass(frozen=True)
class JudgedPair:
    """One sentence pair with the outcome of its tests.

    row: of the corpus
    source, target: vocabulary indices, (units,) each
    matrices: by ranking, `attention` (the mean over heads; not of a model without) and, of the
        first pairs, `leave_one_out`, (target units, source units); NaN for source units that were
        not drawn
    steps: those that were drawn
    """

    row: int
    source: np.ndarray
    target: np.ndarray
    matrices: dict[str, np.ndarray]
    steps: list[JudgedStep]


def judge_pairs(
    model: Translator,
    encoded: EncodedPairs,
    rows: np.ndarray,
    scale: float,
    report_progress: Callable[[int, int], None],
) -> Iterator[JudgedPair]:
    """Yield the pairs `rows` with the outcome of all tests, the first with most of them.

    Args:
        model: in evaluation mode on the CPU, its parameters without gradients.
        encoded: the pairs.
        rows: in the order of their draw.
        scale: multiplies the sizes of the groups of documents.
        report_progress: called with the pairs that are done, and their number.

    """
    total = min(len(rows), group_size(GROUPS[-1].end, scale))
    start = done = 0
    for group in GROUPS:
        end = group_size(group.end, scale)
        for batch in encoded.evaluation_batches(rows[start:end]):
            for first in range(0, len(batch.rows), PAIRS_AT_ONCE):
                part = batch.rows[first : first + PAIRS_AT_ONCE]
                yield from _judge_batch(model, encoded, part, group.removes)
                done += len(part)
                report_progress(done, total)
        start = end


def _judge_batch(
    model: Translator, encoded: EncodedPairs, rows: np.ndarray, removes: bool
) -> Iterator[JudgedPair]:
    """Yield the pairs of a batch with the outcome of their tests."""
    batch = encoded.batch(rows)
    pairs, positions = _draw_steps(batch)
    with torch.no_grad():
        memory, state = model.encode(batch.source, batch.source_lengths)
        features, weights = read_target(model, batch.target[:, :-1], memory, state)
        probabilities = torch.softmax(model.logits(features[pairs, positions]), -1).numpy()
    weighted = None if weights is None else target_steps(model, batch, pairs, positions)
    steps = _judge_steps(model, batch, pairs, positions, weighted, removes)
    for i, row in enumerate(rows.tolist()):
        (source,), (target,) = encoded.sources(rows[i : i + 1]), encoded.targets(rows[i : i + 1])
        matrices = {}
        if weights is not None:
            matrices["attention"] = weights[i, : len(target), : len(source)].mean(-1).numpy()
        if removes:
            matrices["leave_one_out"] = _left_out(model, encoded.batch(rows[i : i + 1]))
        judged = []
        for k in (pairs == i).nonzero()[:, 0].tolist():
            position, (rankings, measures, adversarial) = int(positions[k]), steps[k]
            by_matrix = {name: matrix[position] for name, matrix in matrices.items()}
            judged.append(
                JudgedStep(
                    position, len(source), by_matrix | rankings, measures, adversarial,
                    probabilities[k],
                )
            )  # fmt: skip
        yield JudgedPair(row, source, target, matrices, judged)


def _draw_steps(batch: PairBatch) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the pair and the position of each step that is drawn, (steps,) each."""
    pairs, positions = [], []
    for i, (row, length) in enumerate(
        zip(batch.rows.tolist(), (batch.target_lengths - 2).tolist(), strict=True)
    ):
        numbers = np.random.default_rng((row, POSITIONS))
        drawn = numbers.choice(length, min(length, DRAWN_TARGETS), replace=False)
        positions += sorted(drawn.tolist())
        pairs += [i] * len(drawn)
    return torch.tensor(pairs), torch.tensor(positions)


_Outcome = tuple[dict[str, np.ndarray], dict[str, float], np.ndarray | None]


def _judge_steps(
    model: Translator,
    batch: PairBatch,
    pairs: torch.Tensor,
    positions: torch.Tensor,
    weighted: TargetSteps | None,
    removes: bool,
) -> list[_Outcome]:
    """Return rankings, measures and adversarial weights of each step."""
    keys = [
        (int(batch.rows[i]), position)
        for i, position in zip(pairs.tolist(), positions.tolist(), strict=True)
    ]
    adversarial = None
    if weighted is not None and removes:
        generators = [torch_generator(*key, ADVERSARIAL) for key in keys]
        adversarial = find_adversarial_weights(weighted, generators)
    gradients = step_gradients(model, batch, pairs, positions)
    outcomes: list[_Outcome] = []
    for k, key in enumerate(keys):
        length = int(batch.source_lengths[pairs[k]])
        rankings = {name: scores[k, :length].numpy() for name, scores in gradients.items()}
        rankings["random"] = np.random.default_rng((*key, ORDERS)).random(length)
        measures: dict[str, float] = {}
        if weighted is not None:
            measures = _test_weights(weighted[k], torch_generator(*key, PERMUTATIONS))
        weights = None
        if adversarial is not None:
            measures |= adversarial.measures(k)
            weights = adversarial.weights[k, :length].mean(1).numpy()
        outcomes.append((rankings, measures, weights))
    return outcomes


def _test_weights(weighted: TargetSteps, generator: torch.Generator) -> dict[str, float]:
    """Return the measures of one step's weights."""
    permuted = permute_weights(weighted, generator)
    return {
        "max_weight": float(weighted.weights.mean(1).max()),
        "permutation_change": permuted.change,
        "permutation_flips": permuted.flips,
        "conicity": conicity(weighted),
    }


def _left_out(model: Translator, pair: PairBatch) -> np.ndarray:
    """Return the matrix of leave-one-out; of a long source NaN for the units not drawn."""
    length = int(pair.source_lengths[0])
    units = np.arange(length)
    if length > ALL_UNITS:
        numbers = np.random.default_rng((int(pair.rows[0]), POSITIONS, length))
        units = np.sort(numbers.choice(length, DRAWN_UNITS, replace=False))
    matrix = np.full((int(pair.target_lengths[0]) - 2, length), np.nan)
    matrix[:, units] = leave_out_sources(model, pair, units)
    return matrix
