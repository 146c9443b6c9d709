"""Adversaries of translators: there are none."""

from typing import Any

from heed.files import HeedError


def judge_adversary(*_: Any) -> Any:
    """Raise HeedError: adversaries are of classifiers."""
    raise HeedError("heed adversaries: they are of classifications, and this model translates")
