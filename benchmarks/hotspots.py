"""The operations that take the time of a training step, by torch's profiler.

For docs/performance.md, but not part of `make benchmark`: `python -m benchmarks.hotspots`, and
`python -m benchmarks.hotspots multi-head` for the model with attention.
"""

import dataclasses
import sys

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.workload import BATCH, CLASSES, SETTINGS, VOCABULARY, encoded, useful_flops
from heed.inputs.batches import MAX_PADDED_TOKENS
from heed.models.classifier import Classifier
from heed.training.machine import keep_memory, make_deterministic, seed_everything

STEPS, WARMUP_STEPS, PRINTED = 8, 4, 14


def main() -> None:
    h = dataclasses.replace(SETTINGS, attention=sys.argv[1] if len(sys.argv) > 1 else "none")
    make_deterministic()
    keep_memory()
    seed_everything(1)
    model, texts = (
        Classifier(VOCABULARY, CLASSES, h).train(),
        encoded(BATCH * (STEPS + WARMUP_STEPS), h),
    )
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    steps = list(
        texts.training_steps(
            np.arange(BATCH * (STEPS + WARMUP_STEPS)), BATCH, 1, 1, MAX_PADDED_TOKENS
        )
    )

    def train(steps: list) -> None:
        for parts in steps:
            optimizer.zero_grad()
            for part in parts:
                labels = torch.from_numpy(part.rows % CLASSES)
                torch.nn.functional.cross_entropy(model(part), labels).backward()
            optimizer.step()

    train(steps[:WARMUP_STEPS])
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        train(steps[WARMUP_STEPS:])
    events = sorted(profiler.key_averages(), key=lambda event: -event.self_cpu_time_total)
    total = sum(event.self_cpu_time_total for event in events)
    lengths = np.concatenate(
        [part.lengths.numpy() for parts in steps[WARMUP_STEPS:] for part in parts]
    )
    print(
        f"attention {h.attention}: {useful_flops(lengths, h) / total / 1e3:.0f} useful GFLOP/s "
        f"over {STEPS} steps"
    )
    for event in events[:PRINTED]:
        print(f"{event.self_cpu_time_total / total:6.1%}  {event.key}")


if __name__ == "__main__":
    main()
