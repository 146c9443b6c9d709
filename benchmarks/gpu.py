"""Everything that needs a GPU, one table: `PYTHONPATH=src python -m benchmarks.gpu` (needs torch,
numpy, pandas, scikit-learn; none of the engines). About five minutes on one card.

- which form of the exact BiLSTM is faster: two passes, or packed cuDNN (the results are compared
  first)
- documents a second of a training, in float32 and bfloat16, and on this machine's CPU
- how much more 2, 4, 8 trainings on one card do together: whether HEED_RUNS_PER_GPU is worth
  setting
- that the card gives the CPU's results within tolerance, and its own results twice
"""

import dataclasses
import subprocess
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
    learner,
    median_seconds,
    show,
)
from heed.models.classifier import Classifier
from heed.models.recurrent import BiLSTM
from heed.training.determinism import make_deterministic, seed_everything
from heed.training.loop import train

DOCUMENTS, VALIDATION = 12_800, 640
# of the order of the talk's IMDB models
TALK = dataclasses.replace(SETTINGS, embedding_dim=100, hidden_size=128)


def recurrent(hidden: int) -> Row:
    """Compare the exact two passes with packed cuDNN, forward and backward; B = 64, T = 150 to 400,
    E = 128.
    """
    torch.manual_seed(0)
    lengths = torch.randint(150, 401, (64,)).sort(descending=True).values
    inputs = torch.randn(64, int(lengths[0]), 128, device="cuda")
    exact = BiLSTM(128, hidden).cuda()
    both = nn.LSTM(128, hidden, batch_first=True, bidirectional=True).cuda()
    for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"):
        getattr(both, name).data.copy_(getattr(exact.forward_lstm, name).data)
        getattr(both, f"{name}_reverse").data.copy_(getattr(exact.backward_lstm, name).data)
    on_card = lengths.cuda()

    def packed(x: torch.Tensor) -> torch.Tensor:
        sequence = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(both(sequence)[0], batch_first=True)[0]

    def seconds(layer: Any) -> float:
        def step() -> None:
            layer(inputs.clone().requires_grad_()).sum().backward()
            torch.cuda.synchronize()

        return median_seconds(step, 10)

    there = torch.arange(inputs.shape[1], device="cuda")[None] < on_card[:, None]
    with torch.no_grad():
        difference = float((exact(inputs, on_card) - packed(inputs))[there].abs().max())
    two, one = seconds(lambda x: exact(x, on_card)), seconds(packed)
    note = (
        f"two passes {1e3 * two:.1f} ms, packed {1e3 * one:.1f} ms, largest difference "
        f"{difference:.1e}"
    )
    return Row(
        f"BiLSTM H = {hidden}: packed cuDNN against two passes",
        f"{two / one:.2f}x",
        "> 1: take packed",
        note,
    )


def training(device: str, **changes: Any) -> tuple[float, dict[str, torch.Tensor]]:
    """Return documents a second of the second epoch, and the weights."""
    make_deterministic(1)
    seed_everything(1)
    h = dataclasses.replace(TALK, **changes)
    documents = DOCUMENTS if device == "cuda" else 640
    learning = learner(documents, VALIDATION, h, device)
    seen: list[tuple[int, float]] = []
    with tempfile.TemporaryDirectory() as work:
        train(learning, h, 1, device, Path(work), lambda p: seen.append((p.epoch, p.seconds)))
    return documents / max(s for epoch, s in seen if epoch == 2), learning.model.state_dict()


def together(processes: int) -> float:
    """Return documents a second of all of `processes` trainings on one card, started together."""
    command = [sys.executable, "-m", "benchmarks.gpu", "--one"]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    return sum(float(process.communicate()[0]) for process in running)


def agreement() -> Row:
    """Compare logits of one model on both devices, in float64 and float32."""
    seed_everything(1)
    h = dataclasses.replace(TALK, attention="multi-head")
    texts = encoded(256, h)
    model = Classifier(VOCABULARY, CLASSES, h).eval()
    batch = texts.batch(np.arange(256))
    found = {}
    with torch.no_grad():
        for dtype in (torch.float32, torch.float64):
            model.to("cpu", dtype)
            expected = model(batch)
            found[dtype] = float((model.to("cuda")(batch.to("cuda")).cpu() - expected).abs().max())
    note = f"float64: {found[torch.float64]:.1e}"
    return Row(
        "largest difference of logits, card against CPU, float32",
        f"{found[torch.float32]:.1e}",
        "<= 1e-4",
        note,
    )


def main() -> None:
    if not torch.cuda.is_available():
        print(
            "benchmarks.gpu: torch sees no GPU here; there is nothing to measure", file=sys.stderr
        )
        sys.exit(1)
    if "--one" in sys.argv:
        print(training("cuda", attention="multi-head")[0])
        return
    started = time.perf_counter()
    rows = [
        Row("card", torch.cuda.get_device_name(), "", f"torch {torch.__version__}"),
        agreement(),
    ]
    rows += [recurrent(hidden) for hidden in (64, 128, 256)]
    for attention in ("none", "multi-head"):
        rate, weights = training("cuda", attention=attention)
        _, again = training("cuda", attention=attention)
        same = all(torch.equal(weights[key], again[key]) for key in weights)
        rows.append(Row(f"two trainings, the same bytes, attention {attention}", str(same), "True"))
        half, _ = training("cuda", attention=attention, precision="bfloat16")
        cpu, _ = training("cpu", attention=attention)
        note = f"bfloat16 {half:.0f}, one CPU core {cpu:.1f}: {rate / cpu:.0f}x"
        rows.append(Row(f"documents/s, attention {attention}", f"{rate:.0f}", "", note))
    one = together(1)
    for processes in (2, 4, 8):
        rate = together(processes)
        rows.append(
            Row(
                f"{processes} trainings on one card against one",
                f"{rate / one:.2f}x",
                "> 1.5: set HEED_RUNS_PER_GPU",
            )
        )
    show(rows)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
