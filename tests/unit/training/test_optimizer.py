"""The optimizer of trainings: torch's AdamW, without torch's compiler."""

import pytest
import torch

from heed.training.loop import AdamW


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
    assert not torch.equal(ends[0][0], start) and all(map(torch.equal, *ends))
