"""AdamW without torch's compiler, whose import would take 1.6 seconds of every training."""

import inspect
from collections.abc import Callable
from typing import Any

import torch


class AdamW(torch.optim.AdamW):
    """torch's AdamW. Its methods run as they are: they are not prepared for compilation.

    torch wraps them so that they are never compiled, or only in parts, and the wrappers import the
    compiler at their first call. heed compiles nothing. The results are the same bytes.
    """

    _run_step: Callable[..., Any] = staticmethod(inspect.unwrap(torch.optim.AdamW.step))

    def __init__(self, *args: Any, **settings: Any) -> None:
        """Take the arguments of torch's AdamW."""
        for wrapper in vars(torch.optim.Optimizer).values():
            method = getattr(wrapper, "__wrapped__", None)
            if method is not None:  # torch/_compile.py keeps what it calls in this attribute
                vars(method).setdefault("__dynamo_disable", method)
        super().__init__(*args, **settings)

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Change the parameters by one step, as torch's does."""
        return self._run_step(self, closure)
