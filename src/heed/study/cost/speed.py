"""How long a model takes to train on a document: by its hyperparameters, and as measured.

The figures are of one core of 2.4 GHz with AVX2 or AVX-512 (docs/performance.md). `machine_factor`
says how much slower another machine is.
"""

import dataclasses
import statistics
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from heed.study.cost.sizes import UNKNOWN_CLASSES, CorpusSize
from heed.study.schema import Params
from heed.task import task_module

# Seconds of a training step = 6 x multiply-adds / CORE_FLOPS + STEP_SECONDS + Adam's for each
# parameter; chosen by hand for the models of two studies of classifiers, measured by heed cost.
CORE_FLOPS = 75e9
STEP_SECONDS = 0.003
PARAMETER_SECONDS = 1.5e-9
FORWARD_SHARE = 0.4  # of a training step's matrix products: a third, and less overlap
PIECES = 1.25  # of a word, where a translator reads these
MATRIX, MATRIX_SECONDS, REPEATS = 512, 0.0023, 8  # a product of two matrices, on that core
# hyperparameters that do not change how long a step takes; those that a model has are set to these
WITHOUT_EFFECT = {
    "epochs": 1, "patience": 0, "learning_rate": 0.001, "warmup": 0.0, "decay": "none",
    "label_smoothing": 0.0, "embedding_std": 0.1, "branch_rate": 1.0, "device": "cpu",
    "precision": "float32", "select": "loss", "min_count": 1, "lowercase": True,
    "training_share": 1.0, "layer_devices": 1, "vectors": "none", "class_weights": "none",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Workload:
    """What the time of a training step depends on: equal workloads take equally long.

    lengths: tokens that are read of some documents, spread as those of the corpus.
    vocabulary: entries of the vocabulary, of a translator of each side.
    """

    task: str
    hyperparameters: Any
    lengths: tuple[int, ...]
    vocabulary: int
    outputs: int
    parameters: int


@dataclasses.dataclass(frozen=True)
class Speed:
    """Seconds of one core: to train on a document, to predict one, and between two epochs."""

    training: float
    prediction: float
    epoch: float = 0.0


def workload_of(params: Params, model: str, size: CorpusSize) -> Workload:
    """Return the workload of a model of a study, on a corpus of this size."""
    section = params.models[model]
    task, h = params.task(section), params.resolved(model, {})
    names = {field.name for field in dataclasses.fields(h)}
    h = dataclasses.replace(h, **{k: v for k, v in WITHOUT_EFFECT.items() if k in names})
    longest = getattr(h, "max_tokens", 0) or h.max_source_tokens
    pieces = PIECES if getattr(h, "segmentation", "words") != "words" else 1
    lengths = tuple(min(round(pieces * length), longest) for length in size.lengths)
    label = getattr(params.experiments[section.experiment].data, "label", "")
    outputs = size.values.get(label, UNKNOWN_CLASSES)
    capacity, types = task_module(task, "capacity"), size.types / size.texts
    sizes = (types, types), outputs  # of source and target; a classifier has the first alone
    if section.match != model:
        h = capacity.widen(h, params.resolved(section.match, {}), *sizes)
    parameters = capacity.count(h, *sizes)
    vocabulary = round(min(getattr(h, "vocabulary_size", size.types), types)) + 4
    return Workload(task, h, lengths, vocabulary, outputs, parameters)


def expected_speed(workload: Workload) -> Speed:
    """Return the speed of a workload by its hyperparameters alone, without measuring."""
    h = workload.hyperparameters
    multiply_adds = task_module(workload.task, "cost").multiply_adds
    products = 2 * statistics.fmean(multiply_adds(h, length) for length in workload.lengths)
    updates = PARAMETER_SECONDS * workload.parameters * (2 if h.averaging else 1)
    training = 3 * products / CORE_FLOPS + (STEP_SECONDS + updates) / h.batch_size
    return Speed(training, FORWARD_SHARE * 3 * products / CORE_FLOPS, 4 * updates)


def machine_factor() -> float:
    """Return how many times as long a product of matrices takes here as on the machine above.

    By one thread: on a busy machine several would wait for each other, and waiting takes processor
    time too.
    """
    from threadpoolctl import threadpool_limits

    matrix = np.ones((MATRIX, MATRIX), np.float32)
    seconds = []
    with threadpool_limits(1):
        for _ in range(REPEATS):
            started = time.process_time()
            matrix @ matrix
            seconds.append(time.process_time() - started)
    return min(seconds) / MATRIX_SECONDS


def speed_of(workload: Workload, measured: Mapping[Workload, Speed], factor: float) -> Speed:
    """Return the measured speed of a workload, or the expected one, scaled as the measured are.

    Args:
        workload: a model's.
        measured: workloads that were measured. Of those with the same lengths, else of all, and of
            these of the same task where there are any, the ratio to what was expected is taken.
        factor: the machine's, where nothing was measured.

    """
    if workload in measured:
        return measured[workload]
    alike = [each for each in measured if each.lengths == workload.lengths] or list(measured)
    alike = [each for each in alike if each.task == workload.task] or alike
    if alike:
        ratios = (measured[each].training / expected_speed(each).training for each in alike)
        factor = statistics.geometric_mean(ratios)
    expected = dataclasses.astuple(expected_speed(workload))
    return Speed(*(factor * seconds for seconds in expected))
