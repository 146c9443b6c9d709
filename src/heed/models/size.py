"""The size of a network, as torch counts it: its parameters, and the multiply-adds of its work."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, register_flop_formula, sdpa_flop_count

Hyperparameters = TypeVar("Hyperparameters")
INITIALISERS = {torch.Tensor.normal_, torch.Tensor.uniform_}


@register_flop_formula(torch.ops.aten.mkldnn_rnn_layer)  # CPU kernels without a formula of torch
def _count_lstm(
    inputs: torch.Size, of_inputs: torch.Size, of_states: torch.Size, *_: Any, **__: Any
) -> int:
    return 2 * inputs[0] * inputs[1] * (of_inputs.numel() + of_states.numel())


@register_flop_formula(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu)
def _count_attention(
    query: torch.Size, keys: torch.Size, values: torch.Size, *_: Any, **__: Any
) -> int:
    return sdpa_flop_count(query, keys, values)


class _Counter(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.operations = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False: torch need not import its compiler for this mode, which takes 3 s."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if formula := flop_registry.get(func._overloadpacket):
            self.operations += formula(*args, **(kwargs or {}), out_val=result)
        return result


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
    return sum(each.numel() for each in model.parameters() if each.requires_grad)


def count_multiply_adds(build: Callable[[], nn.Module], run: Callable[[nn.Module], Any]) -> int:
    """Return the multiply-adds of all matrix products when `run` is called with a network."""
    with _WithoutInitialisation():
        model = build().eval()
    with torch.no_grad(), _Counter() as counter:
        run(model)
    return counter.operations // 2


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
