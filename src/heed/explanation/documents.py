"""The predictions of a classifier with all that the tests ask of them, batch by batch."""

import functools
from collections.abc import Callable, Iterator

import numpy as np
import torch

from heed.explanation.adversarial_weights import find_adversarial_weights
from heed.explanation.rankings import (
    ADVERSARIAL,
    GROUPS,
    ORDERS,
    PERMUTATIONS,
    Document,
    Group,
    Subject,
    by_group,
    gradient_rankings,
    group_size,
    left_out,
    no_sum_reason,
    predict_kept,
    read_documents,
    replace_one,
    torch_generator,
    weight_rankings,
)
from heed.explanation.registry import measure_weights
from heed.explanation.test import Prediction
from heed.inputs.batches import Batch
from heed.models.classifier import Classifier, weighted_sum


def judge_documents(
    subject: Subject, rows: np.ndarray, scale: float, report_progress: Callable[[int, int], None]
) -> Iterator[tuple[int, Document, Prediction]]:
    """Yield the row, the document and the prediction of each of `rows`, the first with most tests.

    The documents have at least one token, and are in the order of their draw; `scale` multiplies
    the sizes of GROUPS. `report_progress` is called with those that are done, and their number.
    """
    has_sum = not no_sum_reason(subject, int(rows[0]))
    done, total = 0, min(len(rows), group_size(GROUPS[-1].end, scale))
    for group, chosen in by_group(rows, scale):
        for batch in subject.encoded.evaluation_batches(chosen):
            yield from _judge_batch(subject.model, batch, has_sum, group)
            done += len(batch.rows)
            report_progress(done, total)


def _judge_batch(
    model: Classifier, batch: Batch, has_sum: bool, group: Group
) -> Iterator[tuple[int, Document, Prediction]]:
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
    for i, (document, rankings) in enumerate(zip(documents, gradients, strict=True)):
        row, units = int(batch.rows[i]), document.units
        numbers = np.random.default_rng((row, ORDERS))
        rankings["random"] = numbers.random(units)
        if group.removes:
            rankings["leave_one_out"] = left_out(model, document, row)
        if group.changes_inputs:
            known = np.flatnonzero(np.isfinite(rankings["leave_one_out"]))
            rankings["replacement"] = np.full(units, np.nan)
            rankings["replacement"][known] = replace_one(model, document, known)
        measures: dict[str, float] = {}
        if weighted is not None:
            rankings |= weight_rankings(model, weighted[i])
            measures = measure_weights(weighted[i], torch_generator(row, PERMUTATIONS))
        found = None
        if adversarial is not None:
            measures |= adversarial.measures(i)
            found = adversarial.weights[i, :units].mean(1).numpy()
        prediction = Prediction(
            units, probabilities[i].numpy(), rankings, measures,
            None if weighted is None else weighted[i], found, numbers,
            functools.partial(predict_kept, model, document) if group.changes_inputs else None,
        )  # fmt: skip
        yield row, document, prediction
