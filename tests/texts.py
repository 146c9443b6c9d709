"""Finds the report's texts for `pybabel extract` (babel.cfg) and for tests/test_language.py,
whether a call has them or a table.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from jinja2 import nodes

from heed.report import documents, experiments
from heed.report.renderers.html import environment
from heed.report.renderers.latex import environment as latex_environment
from heed.report.renderers.templates import TEMPLATES
from heed.search.outcome import DEPENDENT_DRAWS, STOPPED_EARLY

REPORT = TEMPLATES.parent
TEXT_ARGUMENTS = {"say": (0,)}  # function: which are texts
KEYS = ("gain", "runs")  # constants within a text argument that choose a text and are none
# evaluation/explanation.py
RULES = ("right", "wrong", "short", "long", "most certain", "least certain")
OFTEN = ("always", "sometimes", "never")  # documents.py
# search/outcome.py
STOPS = ("finished", "no better epoch", "stopped by asha", "out of time", "failed")

Text = tuple[int, str]  # line and text


def of_code(source: str) -> Iterator[Text]:
    """Yield the texts of calls in Python, both of a condition."""
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        for index in TEXT_ARGUMENTS.get(getattr(call.func, "id", ""), ()):
            for node in ast.walk(call.args[index]):
                if (
                    isinstance(node, ast.Constant)
                    and isinstance(node.value, str)
                    and node.value not in KEYS
                ):
                    yield node.lineno, node.value


def of_template(source: str, latex: bool) -> Iterator[Text]:
    """Yield the texts of calls in a template, both of a condition."""
    made = latex_environment() if latex else environment()
    for call in made.parse(source).find_all(nodes.Call):
        for index in TEXT_ARGUMENTS.get(getattr(call.node, "name", ""), ()):
            for const in [call.args[index], *call.args[index].find_all(nodes.Const)]:
                if isinstance(const, nodes.Const):
                    yield const.lineno, const.value


def of_tables() -> Iterator[Text]:
    """Yield the texts that stand in tables, or that other modules name."""
    for group, keys in experiments.GROUPS.items():
        yield from ((1, text) for text in (group, *(name for _, name, _ in keys)))
    others = (
        experiments.TITLES.values(),
        documents.POOLINGS.values(),
        RULES,
        STOPS,
        OFTEN,
        (DEPENDENT_DRAWS, STOPPED_EARLY),
    )
    yield from ((1, text) for texts in others for text in texts)


def all_texts() -> set[str]:
    """Return every text of the report."""
    found = [
        text
        for path in sorted(REPORT.rglob("*.py"))
        for text in of_code(path.read_text(encoding="utf-8"))
    ]
    for path in sorted(TEMPLATES.glob("*.jinja")):
        found += of_template(path.read_text(encoding="utf-8"), ".tex." in path.name)
    return {text for _, text in [*found, *of_tables()]}


Extracted = Iterator[tuple[int, None, str, list[str]]]


def extract_code(file: BinaryIO, keywords: Any, comment_tags: Any, options: Any) -> Extracted:
    """Yield the texts of a Python file, as pybabel wants them."""
    return ((line, None, text, []) for line, text in sorted(of_code(file.read().decode())))


def extract_template(file: BinaryIO, keywords: Any, comment_tags: Any, options: Any) -> Extracted:
    """Yield the texts of a template, as pybabel wants them."""
    texts = of_template(file.read().decode(), ".tex." in Path(file.name).name)
    return ((line, None, text, []) for line, text in sorted(texts))


def extract_tables(file: BinaryIO, keywords: Any, comment_tags: Any, options: Any) -> Extracted:
    """Yield the texts of tables, whatever the file."""
    return ((line, None, text, []) for line, text in of_tables())
