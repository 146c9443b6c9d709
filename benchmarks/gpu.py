"""All benchmarks that need a GPU, in one table: `PYTHONPATH=src python -m benchmarks.gpu`.

Needs torch, numpy, pandas, scikit-learn, pyarrow, safetensors and pyyaml, but neither ruamel.yaml,
DVC, Snakemake, Ray nor spaCy. Takes about five minutes on one GPU.

- which form of the exact BiLSTM is faster: two passes, or packed cuDNN
- documents a second of a training, in float32 and bfloat16, and on this machine's CPU
- the throughput of 2, 4 and 8 trainings on one GPU: whether HEED_RUNS_PER_GPU is worth setting
- whether the GPU gives the CPU's results within tolerance, and the same results twice
"""

import dataclasses
import sys
import time
from typing import Any

import numpy as np
import torch

from benchmarks import workload
from benchmarks.recurrent import packed_row
from heed.models.classifier import Classifier
from heed.training.machine import make_deterministic, seed_everything

DOCUMENTS, VALIDATION = 12_800, 640
# about the sizes of the talk's IMDB models
TALK = dataclasses.replace(workload.SETTINGS, embedding_dim=100, hidden_size=128)


def training(device: str, **changes: Any) -> tuple[float, dict[str, torch.Tensor]]:
    """Return documents a second of the second epoch, and the weights."""
    make_deterministic()
    seed_everything(1)
    h = dataclasses.replace(TALK, **changes)
    documents = DOCUMENTS if device == "cuda" else 640
    task_learner = workload.learner(documents, VALIDATION, h, device)
    seconds = workload.training_seconds(task_learner, h, device)
    return documents / seconds, task_learner.model.state_dict()


def concurrent_rate(processes: int) -> float:
    """Return documents a second of `processes` trainings together, at once on one GPU."""
    running = [workload.launch("benchmarks.gpu", "--one") for _ in range(processes)]
    return sum(workload.numbers(process)[0] for process in running)


def compare_devices() -> workload.Row:
    """Compare the logits of one model on both devices, in float64 and float32."""
    seed_everything(1)
    h = dataclasses.replace(TALK, attention="multi-head")
    texts = workload.encoded(256, h)
    model = Classifier(workload.VOCABULARY, workload.CLASSES, h).eval()
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
    return workload.Row(metric, f"{differences[value]:.1e}", "<= 1e-4", note)


def main() -> None:
    if not torch.cuda.is_available():
        print("benchmarks.gpu: torch finds no GPU; there is nothing to measure", file=sys.stderr)
        sys.exit(1)
    if "--one" in sys.argv:
        print(training("cuda", attention="multi-head")[0])
        return
    started = time.perf_counter()
    rows = [
        workload.Row("GPU", torch.cuda.get_device_name(), "", f"torch {torch.__version__}"),
        compare_devices(),
    ]
    rows += [packed_row(64, 400, 128, hidden, "cuda") for hidden in (64, 128, 256)]
    for attention in ("none", "multi-head"):
        rate, weights = training("cuda", attention=attention)
        _, repeated = training("cuda", attention=attention)
        same = all(torch.equal(weights[key], repeated[key]) for key in weights)
        rows.append(
            workload.Row(f"two trainings, the same bytes, attention {attention}", str(same), "True")
        )
        bfloat16, _ = training("cuda", attention=attention, precision="bfloat16")
        cpu, _ = training("cpu", attention=attention)
        note = f"bfloat16 {bfloat16:.0f}, one CPU core {cpu:.1f}: {rate / cpu:.0f}x"
        rows.append(workload.Row(f"documents/s, attention {attention}", f"{rate:.0f}", "", note))
    single_rate = concurrent_rate(1)
    for processes in (2, 4, 8):
        rate = concurrent_rate(processes)
        metric = f"{processes} trainings on one GPU against one"
        share = f"{rate / single_rate:.2f}x"
        rows.append(workload.Row(metric, share, "> 1.5: set HEED_RUNS_PER_GPU"))
    workload.print_rows(rows)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
