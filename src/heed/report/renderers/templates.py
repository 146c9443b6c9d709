"""Where the templates are."""

from pathlib import Path
from typing import Any

TEMPLATES = Path(__file__).parents[1] / "templates"


def kind(block: Any) -> str:
    """Return a block's kind, by which a template chooses its macro: table, figure, paragraph …"""
    return type(block).__name__.lower()
