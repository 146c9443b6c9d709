"""A corpus without its rationale, and the training of models whose expected result is known."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
import torch


@pytest.fixture
def without_rationale() -> Iterator[None]:
    path = Path("data/tokens/tiny/evidence.parquet")
    rationale = pd.read_parquet(path)
    rationale.iloc[:0].to_parquet(path, index=False)
    yield
    rationale.to_parquet(path, index=False)


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
