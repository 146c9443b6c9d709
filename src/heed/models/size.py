"""The size of a network, as torch counts it: its parameters and its multiply-adds."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

Hyperparameters = TypeVar("Hyperparameters")
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


def match_parameters(
    by_size: Callable[[int], Hyperparameters],
    build: Callable[[Hyperparameters], nn.Module],
    matched: Hyperparameters,
) -> Hyperparameters:
    """Return the hyperparameters whose network has about as many parameters as a matched one.

    Args:
        by_size: from a size, at least 1, to hyperparameters of which only that size differs.
        build: from hyperparameters to their network.
        matched: the hyperparameters of the network to be matched.

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
