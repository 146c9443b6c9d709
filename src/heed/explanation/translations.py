"""The tests of one trained translator on some sentence pairs: what needs the model, batch by batch.

The decoder is given the reference. A *step* is the prediction of one unit of the target, from those
before it; DRAWN_TARGETS random ones of each target are tested. Matrices have a row for every unit
of the target but the end of the sentence.
"""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import torch

from heed.explanation.rankings import (
    ADVERSARIAL,
    GROUPS,
    ORDERS,
    PERMUTATIONS,
    POSITIONS,
    by_group,
    drawn_units,
    find_adversarial_weights,
    group_size,
    times_input,
    torch_generator,
)
from heed.explanation.registry import TRANSLATED, measure_weights
from heed.explanation.test import HELD, Prediction, total_variation
from heed.inputs.batches import MAX_PADDED_TOKENS
from heed.inputs.pairs import EncodedPairs, PairBatch
from heed.inputs.vocabulary import UNKNOWN
from heed.models.dependence import TargetSteps, read_target, target_steps
from heed.models.translator import Translator

DRAWN_TARGETS = 2
MAX_PROBABILITIES = 4_000_000  # that are in memory at once: 16 MB
PAIRS_AT_ONCE = 32  # adversarial weights hold some numbers for each start, step and target unit


@dataclasses.dataclass(frozen=True)
class JudgedPair:
    """One sentence pair (a row of the corpus) with the outcome of its tests.

    source, target: vocabulary indices, (units,) each
    matrices: by ranking, `attention` (the mean over heads) and, of the first pairs,
        `leave_one_out`, (target units, source units); NaN for source units that were not drawn
    steps: the drawn units of the target, each with its prediction
    """

    row: int
    source: np.ndarray
    target: np.ndarray
    matrices: dict[str, np.ndarray]
    steps: dict[int, Prediction]


def judge_pairs(
    model: Translator, encoded: EncodedPairs, rows: np.ndarray, scale: float,
    report_progress: Callable[[int, int], None],
) -> Iterator[JudgedPair]:  # fmt: skip
    """Yield the pairs `rows` with the outcome of all tests, the first with most of them.

    The model is in evaluation mode on the CPU, its parameters without gradients. `scale` multiplies
    the sizes of GROUPS.
    """
    done, total = 0, min(len(rows), group_size(GROUPS[-1].end, scale))
    for group, chosen in by_group(rows, scale):
        for batch in encoded.evaluation_batches(chosen):
            for first in range(0, len(batch.rows), PAIRS_AT_ONCE):
                part = batch.rows[first : first + PAIRS_AT_ONCE]
                yield from _judge_batch(model, encoded, part, group.removes)
                done += len(part)
                report_progress(done, total)


def _judge_batch(
    model: Translator, encoded: EncodedPairs, rows: np.ndarray, removes: bool
) -> Iterator[JudgedPair]:
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
        judged = {}
        for k in (pairs == i).nonzero()[:, 0].tolist():
            position = int(positions[k])
            rankings = {name: matrix[position] for name, matrix in matrices.items()}
            judged[position] = dataclasses.replace(
                steps[k], probabilities=probabilities[k], rankings=rankings | steps[k].rankings
            )
        yield JudgedPair(row, source, target, matrices, judged)


def _draw_steps(batch: PairBatch) -> tuple[torch.Tensor, torch.Tensor]:
    steps = []
    for i, row in enumerate(batch.rows.tolist()):
        length = int(batch.target_lengths[i]) - 2
        numbers = np.random.default_rng((row, POSITIONS))
        drawn = numbers.choice(length, min(length, DRAWN_TARGETS), replace=False)
        steps += [(i, position) for position in sorted(drawn.tolist())]
    pairs, positions = torch.tensor(steps).T
    return pairs, positions


def _judge_steps(
    model: Translator, batch: PairBatch, pairs: torch.Tensor, positions: torch.Tensor,
    weighted: TargetSteps | None, removes: bool,
) -> list[Prediction]:  # fmt: skip
    keys = list(zip(batch.rows[pairs.numpy()].tolist(), positions.tolist(), strict=True))
    adversarial = None
    if weighted is not None and removes:
        generators = [torch_generator(*key, ADVERSARIAL) for key in keys]
        adversarial = find_adversarial_weights(weighted, generators)
    gradients = step_gradients(model, batch, pairs, positions)
    steps = []
    for k, key in enumerate(keys):
        length = int(batch.source_lengths[pairs[k]])
        numbers = np.random.default_rng((*key, ORDERS))
        rankings = {name: scores[k, :length].numpy() for name, scores in gradients.items()}
        rankings["random"] = numbers.random(length)
        measures: dict[str, float] = {}
        if weighted is not None:
            generator = torch_generator(*key, PERMUTATIONS)
            measures = measure_weights(weighted[k], generator, TRANSLATED)
        weights = None
        if adversarial is not None:
            measures |= adversarial.measures(k)
            weights = adversarial.weights[k, :length].mean(1).numpy()
        steps.append(Prediction(length, np.empty(0), rankings, measures, None, weights, numbers))
    return steps


def _left_out(model: Translator, pair: PairBatch) -> np.ndarray:
    length = int(pair.source_lengths[0])
    units = drawn_units(length, np.random.default_rng((int(pair.rows[0]), POSITIONS, length)))
    matrix = np.full((int(pair.target_lengths[0]) - 2, length), np.nan)
    matrix[:, units] = leave_out_sources(model, pair, units)
    return matrix


@torch.no_grad()
def leave_out_sources(model: Translator, pair: PairBatch, units: np.ndarray) -> np.ndarray:
    """Return how much each unit of a source matters for each unit of its target.

    One of `units` of the source of the only `pair` is removed at a time; a source of one becomes an
    unknown unit. The total variation distances of the next unit are (target units, units).
    """
    source, words = pair.source[0], pair.target[:, :-1]
    whole = next_units(model, pair.source, words)[0]
    is_left_out = torch.arange(len(source))[None] == torch.from_numpy(units)[:, None]
    shortened = source.repeat(len(units), 1)[~is_left_out]
    sources = shortened.view(len(units), -1) if len(source) > 1 else torch.tensor([[UNKNOWN]])
    size = MAX_PADDED_TOKENS // (len(source) + words.shape[1])
    size = max(1, min(size, MAX_PROBABILITIES // whole.numel()))
    changes = [
        total_variation(next_units(model, part, words.expand(len(part), -1)), whole)
        for part in sources.split(size)
    ]
    return torch.cat(changes)[:, :-1].T.numpy()


def next_units(model: Translator, source: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """Return the probabilities after each of `words`, (batch, time, vocabulary)."""
    memory, state = model.encode(source, torch.full((len(source),), source.shape[1]))
    return torch.softmax(model.logits(model.decode(words, memory, state).features), -1)


def step_gradients(
    model: Translator, batch: PairBatch, pairs: torch.Tensor, positions: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Return |sum_d e_id dp/de_id| of each source unit i, p of the unit predicted at each step.

    They are (steps, source time). In `gradient_held_weights`, of a model with attention, the
    weights of all steps are constants (of a transformer those of the last layer over the source).
    """
    words = batch.target[pairs, : int(positions.max()) + 1]
    embedded = model.embed(batch.source[pairs]).detach().requires_grad_()
    memory, state = model.read(embedded, batch.source_lengths[pairs])
    features, weights = read_target(model, words, memory, state)
    of_steps = {"gradient": features}
    if weights is not None:
        of_steps[HELD], _ = read_target(model, words, memory, state, weights.detach())
    return {
        name: times_input(model.logits(states[torch.arange(len(pairs)), positions]), embedded).abs()
        for name, states in of_steps.items()
    }
