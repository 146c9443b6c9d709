"""The folder of the templates."""

from pathlib import Path
from typing import Any

TEMPLATES = Path(__file__).parents[1] / "templates"


def kind(block: Any) -> str:
    """Return the kind of a block, the name of its macro: table, figure, paragraph …"""
    return type(block).__name__.lower()
