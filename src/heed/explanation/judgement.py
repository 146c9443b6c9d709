"""The tests of one trained model on some documents: what needs the model, batch by batch.

Documents fall into groups by what their tests cost: all have weights and gradients; the first 250
leave-one-out and adversarial weights too; the first 60 of these also what needs dozens of
predictions from changed inputs, and the first 40 integrated gradients.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch

from heed.explanation.adversarial_weights import find_adversarial_weights
from heed.explanation.conicity import conicity
from heed.explanation.documents import Document, read_documents
from heed.explanation.erasure import remove_one, remove_until_flip
from heed.explanation.permutation import permute_weights
from heed.explanation.rankings import gradient_rankings, weight_rankings
from heed.explanation.removal import faithfulness, leave_one_out, replace_one
from heed.files import HeedError
from heed.inputs.batches import Batch, EncodedCorpus
from heed.models.classifier import Classifier
from heed.models.weighted_sum import WeightedSum, weighted_sum


class Group(NamedTuple):
    """Documents that have the same tests, in addition to those of weights and gradients.

    end: the number of documents up to the last of this group
    removes: whether they have leave-one-out and adversarial weights
    changes_inputs: whether they have replacement, comprehensiveness and sufficiency
    integrates: whether they have integrated gradients
    """

    end: int
    removes: bool
    changes_inputs: bool
    integrates: bool


GROUPS = (
    Group(40, True, True, True), Group(60, True, True, False), Group(250, True, False, False),
    Group(500, False, False, False),
)  # fmt: skip
ALL_UNITS = 60  # documents with at most so many units leave out each of them, longer ones ...
DRAWN_UNITS = 16  # ... so many drawn at random: about as many tokens are read
RANDOM_RANKINGS = 5
# A document has a generator for each use, so that its outcomes do not depend on its other tests.
ORDERS, POSITIONS, ADVERSARIAL, PERMUTATIONS = range(4)
# removing units from the input is compared for these: each costs ten predictions a document
INPUT_RANKINGS = ("attention", "gradient", "random")


@dataclasses.dataclass(frozen=True)
class Subject:
    """A trained model whose predictions are explained, in evaluation mode on the CPU."""

    model: Classifier
    encoded: EncodedCorpus


@dataclasses.dataclass(frozen=True)
class Judged:
    """One document with the outcome of its tests.

    row: of the corpus
    document: as the model reads it
    probabilities: (classes,)
    rankings: by name (units,); NaN for units that were not drawn
    measures: of the document, by their names in docs/contracts.md
    by_ranking: measures of each ranking
    adversarial: the most different weights with the same prediction (units,), or None
    """

    row: int
    document: Document
    probabilities: np.ndarray
    rankings: dict[str, np.ndarray]
    measures: dict[str, float]
    by_ranking: dict[str, dict[str, float]]
    adversarial: np.ndarray | None

    @property
    def units(self) -> int:
        """The number of units of the document."""
        return self.document.units


def no_sum_reason(subject: Subject, row: int) -> str:
    """Return why the model has no weights that could be tested, or an empty string."""
    try:
        weighted_sum(subject.model, subject.encoded.batch(np.asarray([row])))
    except HeedError as error:
        return str(error)
    return ""


def judge(
    subject: Subject, rows: np.ndarray, scale: float, report_progress: Callable[[int, int], None]
) -> Iterator[Judged]:
    """Yield the documents `rows` with the outcome of all tests, the first with most of them.

    Args:
        subject: the model.
        rows: documents with at least one token, in the order of their draw.
        scale: multiplies the sizes of GROUPS.
        report_progress: called with the documents that are done, and their number.

    """
    has_sum = not no_sum_reason(subject, int(rows[0]))
    total = min(len(rows), group_size(GROUPS[-1].end, scale))
    start = done = 0
    for group in GROUPS:
        end = group_size(group.end, scale)
        for batch in subject.encoded.evaluation_batches(rows[start:end]):
            yield from _judge_batch(subject.model, batch, has_sum, group)
            done += len(batch.rows)
            report_progress(done, total)
        start = end


def group_size(documents: int, scale: float) -> int:
    """Return the number of documents after scaling, at least one."""
    return max(1, round(documents * scale))


def _judge_batch(model: Classifier, batch: Batch, has_sum: bool, group: Group) -> Iterator[Judged]:
    """Yield the documents of a batch with the outcome of their tests."""
    documents = read_documents(model, batch)
    weighted = adversarial = None
    with torch.no_grad():
        probabilities = torch.softmax(model(batch), -1)
        if has_sum:
            weighted = weighted_sum(model, batch)
    if weighted is not None and group.removes:
        generators = [torch_generator(int(row), ADVERSARIAL) for row in batch.rows]
        adversarial = find_adversarial_weights(weighted, generators)
    gradients = gradient_rankings(model, batch, documents, has_sum, group.integrates)
    for i, (document, by_gradient) in enumerate(zip(documents, gradients, strict=True)):
        row = int(batch.rows[i])
        numbers = np.random.default_rng((row, ORDERS))
        rankings = by_gradient | {"random": numbers.random(document.units)}
        if group.removes:
            drawn = np.random.default_rng((row, POSITIONS))
            rankings["leave_one_out"] = left_out(model, document, drawn)
        if group.changes_inputs:
            rankings["replacement"] = _replaced(model, batch, i, document, rankings)
        measures: dict[str, float] = {}
        by_ranking: dict[str, dict[str, float]] = {}
        if weighted is not None:
            rankings |= weight_rankings(model, weighted[i])
            measures = _test_weights(weighted[i], torch_generator(row, PERMUTATIONS))
            by_ranking = _erase(weighted[i], rankings, numbers)
        if group.changes_inputs and document.units > 1:
            _test_inputs(model, document, rankings, by_ranking)
        found = None
        if adversarial is not None:
            measures |= adversarial.measures(i)
            found = adversarial.weights[i, : document.units].mean(1).numpy()
        yield Judged(
            row, document, probabilities[i].numpy(), rankings, measures, by_ranking,
            found,
        )  # fmt: skip


def torch_generator(*key: int) -> torch.Generator:
    """Return the generator of a key: the row of a document and a use, for example."""
    seed = int(np.random.SeedSequence(key).generate_state(1)[0])
    return torch.Generator().manual_seed(seed)


def left_out(model: Classifier, document: Document, numbers: np.random.Generator) -> np.ndarray:
    """Return the ranking by leave-one-out; of a long document NaN for the units not drawn."""
    units = np.arange(document.units)
    if document.units > ALL_UNITS:
        units = np.sort(numbers.choice(document.units, DRAWN_UNITS, replace=False))
    ranking = np.full(document.units, np.nan)
    ranking[units] = leave_one_out(model, document, units)
    return ranking


def _replaced(
    model: Classifier, batch: Batch, i: int, document: Document, rankings: dict[str, np.ndarray]
) -> np.ndarray:
    """Return the ranking by replacement, of the units that leave-one-out has."""
    units = np.flatnonzero(np.isfinite(rankings["leave_one_out"]))
    ranking = np.full(document.units, np.nan)
    ranking[units] = replace_one(model, batch, i, document, units)
    return ranking


def _test_weights(weighted: WeightedSum, generator: torch.Generator) -> dict[str, float]:
    """Return the measures of one document's weights: permutation, single removal, conicity."""
    permuted = permute_weights(weighted, generator)
    measures = {
        "max_weight": float(weighted.weights.mean(1).max()),
        "permutation_change": permuted.change,
        "permutation_flips": permuted.flips,
        "conicity": conicity(weighted),
    }
    if len(weighted.weights) > 1:
        single = remove_one(weighted, generator)
        measures |= {
            "top_flips": float(single.top_flips),
            "other_flips": float(single.other_flips),
            "removal_difference": single.difference,
        }
    return measures


def _erase(
    weighted: WeightedSum, rankings: dict[str, np.ndarray], numbers: np.random.Generator
) -> dict[str, dict[str, float]]:
    """Return T4 for each ranking of all units; for `random` the mean of several."""
    units = len(weighted.weights)
    if units < 2:
        return {}
    tried = {name: [r] for name, r in rankings.items() if np.isfinite(r).all()}
    tried["random"] = [numbers.random(units) for _ in range(RANDOM_RANKINGS)]
    outcomes = {
        name: np.asarray([remove_until_flip(weighted, ranking) for ranking in each]).mean(0)
        for name, each in tried.items()
    }
    return {
        name: {"removed_share": float(share), "flipped": float(flipped)}
        for name, (share, flipped) in outcomes.items()
    }


def _test_inputs(
    model: Classifier,
    document: Document,
    rankings: dict[str, np.ndarray],
    by_ranking: dict[str, dict[str, float]],
) -> None:
    """Add T9 to the measures of rankings."""
    tested = {name: rankings[name] for name in INPUT_RANKINGS if name in rankings}
    for name, outcome in faithfulness(model, document, tested).items():
        by_ranking.setdefault(name, {}).update(outcome._asdict())
