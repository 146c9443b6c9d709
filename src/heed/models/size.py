"""The size of a network, as torch counts it: its parameters and its multiply-adds."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
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
    """Let tensors made within be of the device `meta`: shapes without values and memory."""
    with torch.device("meta"), _WithoutInitialisation():
        yield


def count_parameters(build: Callable[[], nn.Module]) -> int:
    """Return the number of trainable parameters of the network that `build` returns."""
    with shapes_alone():
        model = build()
    return sum(each.numel() for each in model.parameters() if each.requires_grad)


def match_parameters(build: Callable[[int], nn.Module], parameters: int) -> int:
    """Return the size, at least 1, whose network has about as many parameters.

    Args:
        build: from a size to a network, whose number of parameters grows with the size.
        parameters: the number to come nearest to.

    """

    def count(size: int) -> int:
        return count_parameters(lambda: build(size))

    low, high = 1, 2
    while count(high) < parameters:
        low, high = high, high * 2
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) < parameters else (low, middle)
    return min((low, high), key=lambda size: abs(count(size) - parameters))
