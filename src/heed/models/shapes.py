"""Build a model for its shapes alone: without memory for its weights, without random numbers."""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

INITIALISERS = {torch.Tensor.normal_, torch.Tensor.uniform_}


class _WithoutInitialisation(TorchFunctionMode):
    """Leaves the random initialisers of torch out.

    On the device `meta` they change nothing, but import torch's compiler, which takes 1.6 s.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        named = kwargs or {}
        if func in INITIALISERS or getattr(func, "__module__", "") == "torch.nn.init":
            return args[0] if args else named["tensor"]
        return func(*args, **named)


@contextlib.contextmanager
def shapes_alone() -> Iterator[None]:
    """Let what is built within be of the device `meta`: tensors with shapes and no values."""
    with torch.device("meta"), _WithoutInitialisation():
        yield
