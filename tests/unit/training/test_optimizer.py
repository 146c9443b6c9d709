"""The optimizer of trainings: torch's AdamW, without torch's compiler."""

import subprocess
import sys

import pytest
import torch

from heed.training.loop import AdamW

STEPS = """
import sys, torch
from heed.training.loop import AdamW
weights = torch.ones(3, requires_grad=True)
optimizer = AdamW([weights], lr=0.1, fused=True)
for _ in range(2):
    optimizer.zero_grad()
    (weights ** 2).sum().backward()
    optimizer.step()
optimizer.load_state_dict(optimizer.state_dict())
print(int("torch._dynamo" in sys.modules))
"""


def test_its_methods_do_not_import_torchs_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


@pytest.mark.parametrize("fused", [True, False])
def test_it_takes_the_same_steps_as_torchs(fused: bool) -> None:
    torch.manual_seed(0)
    start = torch.randn(5, 4)
    ends = []
    for kind in (AdamW, torch.optim.AdamW):
        weights = start.clone().requires_grad_()
        optimizer = kind([weights], lr=0.05, weight_decay=0.1, fused=fused)
        for step in range(4):
            optimizer.zero_grad()
            (weights.sin() * step).sum().backward()
            optimizer.step()
        ends.append((weights.detach(), optimizer.state_dict()["state"][0]["exp_avg_sq"]))
    assert not torch.equal(ends[0][0], start)
    assert all(map(torch.equal, *ends))
