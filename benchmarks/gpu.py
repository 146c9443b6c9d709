"""All benchmarks that need a GPU, in one table: `PYTHONPATH=src python -m benchmarks.gpu`.

Needs torch, numpy, pandas, scikit-learn, pyarrow, safetensors and pyyaml, but neither ruamel.yaml,
DVC, Snakemake, Ray nor spaCy. Takes about five minutes on one GPU.

- which form of the exact BiLSTM is faster: two passes, or packed cuDNN (the results are compared
  first)
- documents a second of a training, in float32 and bfloat16, and on this machine's CPU
- the throughput of 2, 4 and 8 trainings on one GPU: whether HEED_RUNS_PER_GPU is worth setting
- whether the GPU gives the CPU's results within tolerance, and the same results twice
"""

import dataclasses
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.workload import (
    CLASSES,
    SETTINGS,
    VOCABULARY,
    Row,
    encoded,
    launch,
    learner,
    median_seconds,
    numbers,
    print_rows,
)
from heed.models.classifier import Classifier
from heed.models.recurrent import Bidirectional
from heed.training.loop import train
from heed.training.machine import make_deterministic, seed_everything

DOCUMENTS, VALIDATION = 12_800, 640
# about the sizes of the talk's IMDB models
TALK = dataclasses.replace(SETTINGS, embedding_dim=100, hidden_size=128)


def recurrent(hidden: int) -> Row:
    """Time the exact two passes and packed cuDNN, forward and backward; B 64, T <= 400, E 128."""
    torch.manual_seed(0)
    lengths = torch.randint(150, 401, (64,)).sort(descending=True).values
    inputs = torch.randn(64, int(lengths[0]), 128, device="cuda")
    exact = Bidirectional("lstm", 128, hidden).cuda()
    bidirectional = nn.LSTM(128, hidden, batch_first=True, bidirectional=True).cuda()
    for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"):
        getattr(bidirectional, name).data.copy_(getattr(exact.forward_lstm, name).data)
        reverse = getattr(bidirectional, f"{name}_reverse")
        reverse.data.copy_(getattr(exact.backward_lstm, name).data)
    gpu_lengths = lengths.cuda()

    def packed(x: torch.Tensor) -> torch.Tensor:
        sequence = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(bidirectional(sequence)[0], batch_first=True)[0]

    def seconds(layer: Any) -> float:
        def step() -> None:
            layer(inputs.clone().requires_grad_()).sum().backward()
            torch.cuda.synchronize()

        return median_seconds(step, 10)

    token_mask = torch.arange(inputs.shape[1], device="cuda")[None] < gpu_lengths[:, None]
    with torch.no_grad():
        difference = float((exact(inputs, gpu_lengths) - packed(inputs))[token_mask].abs().max())
    exact_seconds, packed_seconds = seconds(lambda x: exact(x, gpu_lengths)), seconds(packed)
    note = (
        f"two passes {1e3 * exact_seconds:.1f} ms, packed {1e3 * packed_seconds:.1f} ms, largest "
        f"difference {difference:.1e}"
    )
    metric = f"BiLSTM H = {hidden}: packed cuDNN against two passes"
    return Row(metric, f"{exact_seconds / packed_seconds:.2f}x", "> 1: take packed", note)


def training(device: str, **changes: Any) -> tuple[float, dict[str, torch.Tensor]]:
    """Return documents a second of the second epoch, and the weights."""
    make_deterministic()
    seed_everything(1)
    h = dataclasses.replace(TALK, **changes)
    documents = DOCUMENTS if device == "cuda" else 640
    task_learner = learner(documents, VALIDATION, h, device)
    times: list[tuple[int, float]] = []
    with tempfile.TemporaryDirectory() as work:
        train(task_learner, h, 1, device, Path(work), lambda p: times.append((p.epoch, p.seconds)))
    seconds = max(seconds for epoch, seconds in times if epoch == 2)
    return documents / seconds, task_learner.model.state_dict()


def concurrent_rate(processes: int) -> float:
    """Return documents a second of `processes` trainings together, at once on one GPU."""
    running = [launch("benchmarks.gpu", "--one") for _ in range(processes)]
    return sum(numbers(process)[0] for process in running)


def compare_devices() -> Row:
    """Compare the logits of one model on both devices, in float64 and float32."""
    seed_everything(1)
    h = dataclasses.replace(TALK, attention="multi-head")
    texts = encoded(256, h)
    model = Classifier(VOCABULARY, CLASSES, h).eval()
    batch = texts.batch(np.arange(256))
    differences = {}
    with torch.no_grad():
        for dtype in (torch.float32, torch.float64):
            model.to("cpu", dtype)
            expected = model(batch)
            logits = model.to("cuda")(batch.to("cuda")).cpu()
            differences[dtype] = float((logits - expected).abs().max())
    metric, value = "largest difference of logits, GPU against CPU, float32", torch.float32
    note = f"float64: {differences[torch.float64]:.1e}"
    return Row(metric, f"{differences[value]:.1e}", "<= 1e-4", note)


def main() -> None:
    if not torch.cuda.is_available():
        print("benchmarks.gpu: torch finds no GPU; there is nothing to measure", file=sys.stderr)
        sys.exit(1)
    if "--one" in sys.argv:
        print(training("cuda", attention="multi-head")[0])
        return
    started = time.perf_counter()
    rows = [
        Row("GPU", torch.cuda.get_device_name(), "", f"torch {torch.__version__}"),
        compare_devices(),
    ]
    rows += [recurrent(hidden) for hidden in (64, 128, 256)]
    for attention in ("none", "multi-head"):
        rate, weights = training("cuda", attention=attention)
        _, repeated = training("cuda", attention=attention)
        same = all(torch.equal(weights[key], repeated[key]) for key in weights)
        rows.append(Row(f"two trainings, the same bytes, attention {attention}", str(same), "True"))
        bfloat16, _ = training("cuda", attention=attention, precision="bfloat16")
        cpu, _ = training("cpu", attention=attention)
        note = f"bfloat16 {bfloat16:.0f}, one CPU core {cpu:.1f}: {rate / cpu:.0f}x"
        rows.append(Row(f"documents/s, attention {attention}", f"{rate:.0f}", "", note))
    single_rate = concurrent_rate(1)
    for processes in (2, 4, 8):
        rate = concurrent_rate(processes)
        rows.append(
            Row(
                f"{processes} trainings on one GPU against one",
                f"{rate / single_rate:.2f}x",
                "> 1.5: set HEED_RUNS_PER_GPU",
            )
        )
    print_rows(rows)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
