"""Extracts the report's texts for `pybabel extract` (babel.cfg) and for tests/test_language.py."""

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
TEXT_ARGUMENTS = {"say": (0,)}  # function: indices of the arguments that are texts
KEYS = ("gain", "runs")  # constants that choose a text within an argument, but are not texts
# evaluation/explanation.py
RULES = ("right", "wrong", "short", "long", "most certain", "least certain")
OFTEN = ("always", "sometimes", "never")  # documents.py
# search/outcome.py
STOPS = ("finished", "no better epoch", "stopped by asha", "out of time", "failed")

Text = tuple[int, str]  # line and text


def code_texts(source: str) -> Iterator[Text]:
    """Yield the texts of calls in Python; of a conditional expression, both."""
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        for index in TEXT_ARGUMENTS.get(getattr(call.func, "id", ""), ()):
            for node in ast.walk(call.args[index]):
                if (
                    isinstance(node, ast.Constant)
                    and isinstance(node.value, str)
                    and node.value not in KEYS
                ):
                    yield node.lineno, node.value


def template_texts(source: str, latex: bool) -> Iterator[Text]:
    """Yield the texts of calls in a template; of a conditional expression, both."""
    templates = latex_environment() if latex else environment()
    for call in templates.parse(source).find_all(nodes.Call):
        for index in TEXT_ARGUMENTS.get(getattr(call.node, "name", ""), ()):
            for const in [call.args[index], *call.args[index].find_all(nodes.Const)]:
                if isinstance(const, nodes.Const):
                    yield const.lineno, const.value


def table_texts() -> Iterator[Text]:
    """Yield the texts in tables of constants."""
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
    texts = [
        text
        for path in sorted(REPORT.rglob("*.py"))
        for text in code_texts(path.read_text(encoding="utf-8"))
    ]
    for path in sorted(TEMPLATES.glob("*.jinja")):
        texts += template_texts(path.read_text(encoding="utf-8"), ".tex." in path.name)
    return {text for _, text in [*texts, *table_texts()]}


Extracted = Iterator[tuple[int, None, str, list[str]]]


def extract_code(file: BinaryIO, keywords: Any, comment_tags: Any, options: Any) -> Extracted:
    """Yield the texts of a Python file in pybabel's format."""
    return ((line, None, text, []) for line, text in sorted(code_texts(file.read().decode())))


def extract_template(file: BinaryIO, keywords: Any, comment_tags: Any, options: Any) -> Extracted:
    """Yield the texts of a template in pybabel's format."""
    texts = template_texts(file.read().decode(), ".tex." in Path(file.name).name)
    return ((line, None, text, []) for line, text in sorted(texts))


def extract_tables(file: BinaryIO, keywords: Any, comment_tags: Any, options: Any) -> Extracted:
    """Yield the texts in tables of constants in pybabel's format; the file is not read."""
    return ((line, None, text, []) for line, text in table_texts())
