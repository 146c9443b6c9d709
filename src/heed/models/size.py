"""The parameters of a network, counted without its values, and a size that has as many."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

Hyperparameters = TypeVar("Hyperparameters")
INITIALISERS = {torch.Tensor.normal_, torch.Tensor.uniform_}


class _WithoutInitialisation(TorchFunctionMode):
    """Leaves torch's random initialisers out: on `meta` they import its compiler, for 1.6 s."""

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
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def match_parameters(
    by_size: Callable[[int], Hyperparameters], build: Callable[[Hyperparameters], nn.Module],
    matched: Hyperparameters,
) -> Hyperparameters:  # fmt: skip
    """Return the hyperparameters whose network has about as many parameters as a matched one.

    `by_size` maps a size, at least 1, to hyperparameters of which only that size differs.
    """

    def count(h: Hyperparameters) -> int:
        return count_parameters(lambda: build(h))

    parameters, low, high = count(matched), 1, 2
    while count(by_size(high)) < parameters:
        low, high = high, high * 2
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(by_size(middle)) < parameters else (low, middle)
    return by_size(min((low, high), key=lambda size: abs(count(by_size(size)) - parameters)))
