"""A stage that is stopped, and the training of small models whose expected result is known."""

from collections.abc import Callable

import pytest
import torch

from heed.explanation import stage


@pytest.fixture
def stop(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[int]]:
    """Interrupt a function of a stage at its second run; give the seeds that it is called with."""

    def stop(name: str) -> list[int]:
        seeds, function = [], getattr(stage, name)

        def stop_at_the_second(run, *arguments):
            seeds.append(run.seed)
            if seeds == [1, 2]:
                raise KeyboardInterrupt
            function(run, *arguments)

        monkeypatch.setattr(stage, name, stop_at_the_second)
        return seeds

    return stop


@pytest.fixture(scope="session")
def fit() -> Callable[..., torch.nn.Module]:
    """Train a model with `loss`, a function without arguments; give it ready for use."""

    def fit(model: torch.nn.Module, loss: Callable[[], torch.Tensor], steps: int = 60):
        optimizer = torch.optim.Adam(model.train().requires_grad_(True).parameters(), lr=0.02)
        for _ in range(steps):
            value = loss()
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
        return model.eval().requires_grad_(False)

    return fit
