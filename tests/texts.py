"""Finds the texts of the report in code, templates and tables.

Used by `pybabel extract` (babel.cfg) and by tests/unit/report/test_language.py.
"""

import ast
import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from jinja2 import nodes

from heed import hyperparameters
from heed.evaluation.results import VERDICTS
from heed.explanation.registry import TESTS
from heed.explanation.test import FAIL, PASS, UNDEFINED
from heed.report import browser, sentences
from heed.report.chapters.convergence import CONVERGED, DIVERGED, NOT_TRIED
from heed.report.chapters.glossary import glossary
from heed.report.chapters.hyperparameters import TALK_GROUPS, TUNING
from heed.report.chapters.paper import all_references
from heed.report.escape import TEMPLATES
from heed.report.experiments import NOT_COMPARABLE, NOT_REPRODUCED, REPRODUCED
from heed.report.figures.captions import captions
from heed.report.html import environment
from heed.report.latex import environment as latex_environment
from heed.report.measures import DEGENERATE
from heed.search.results import DEPENDENT_DRAWS, STOPPED_EARLY
from heed.task import task_module, task_names
from heed.tasks.classification import report as classification
from heed.tasks.classification import tables
from heed.tasks.multilabel import report as multilabel

REPORT = TEMPLATES.parent
TASKS = REPORT.parent / "tasks"
# Constants within an argument of `say` that choose a text and are none.
KEYS = ("gain", "runs")
# tasks/classification/prediction.py
RULES = ("right", "wrong", "short", "long", "most certain", "least certain")
OFTEN = ("always", "sometimes", "never")  # browser.py
# search/results.py
STOPS = ("finished", "no better epoch", "stopped by asha", "out of time", "failed", "not started")

# Line and text; a text with a plural is a pair, (singular, plural).
Text = tuple[int, str | tuple[str, str]]


def code_texts(source: str) -> Iterator[Text]:
    """Yield the texts of `say` and `say_count` in Python, both of a conditional expression."""
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        function = getattr(call.func, "id", "")
        if function == "say":
            constants = (each for each in ast.walk(call.args[0]) if isinstance(each, ast.Constant))
            for each in constants:
                if isinstance(each.value, str) and each.value not in KEYS:
                    yield each.lineno, each.value
        elif function == "say_count" and isinstance(call.args[0], ast.Constant):
            singular, plural = (ast.literal_eval(argument) for argument in call.args[:2])
            yield call.lineno, (singular, plural)


def template_texts(source: str, latex: bool) -> Iterator[Text]:
    """Yield the texts of `say` in a template, both of a conditional expression."""
    jinja = latex_environment() if latex else environment()
    for call in jinja.parse(source).find_all(nodes.Call):
        if getattr(call.node, "name", "") == "say":
            for const in [call.args[0], *call.args[0].find_all(nodes.Const)]:
                if isinstance(const, nodes.Const):
                    yield const.lineno, const.value


def table_texts() -> Iterator[Text]:
    """Yield the texts in tables of the report, and those of other packages."""
    others = (
        TALK_GROUPS,
        (DEGENERATE,),
        TUNING.values(),
        *(_descriptions(task_module(task, "recipe").Hyperparameters) for task in task_names()),
        tables.TITLES.values(),
        (classification.LAYOUT.majority, multilabel.LAYOUT.majority),
        *(task_words(task_module(task, "report")) for task in task_names()),
        browser.POOLINGS.values(),
        browser.RATIONALE.values(),
        *(part_texts(parts.values()) for parts in hyperparameters.PARTS),
        captions().values(),
        RULES,
        STOPS,
        OFTEN,
        *(table.values() for table in sentences.TABLES),
        (sentences.AHEAD,),
        (DEPENDENT_DRAWS, STOPPED_EARLY),
        (PASS, FAIL, UNDEFINED),
        (*VERDICTS, CONVERGED, DIVERGED, NOT_TRIED, REPRODUCED, NOT_REPRODUCED, NOT_COMPARABLE),
        (each["topic"] for each in all_references()),
        (text for word in glossary().values() for text in word),
        *((test.title, test.claim, test.criterion, test.rule, *test.reasons) for test in TESTS),
        (column.title for test in TESTS for column in test.columns),
    )
    yield from ((1, text) for texts in others for text in texts if text)


def part_texts(parts: Iterable[hyperparameters.Part]) -> Iterator[str | tuple[str, str]]:
    """Yield the sentences on parts of networks, and their labels in drawings."""
    for part in parts:
        if part.sentence:
            yield (part.sentence, part.plural) if part.plural else part.sentence
        if part.label:
            yield part.label


def task_words(report: Any) -> Iterator[str]:
    """Yield the texts of a task's report: those of its names, and on its reference models."""
    names = ("VALUES", "UNTESTED_WEIGHTS", "BELOW_MAJORITY", "DEGENERATE")
    yield from (getattr(report, name, "") for name in names)
    for model in report.REFERENCE_MODELS.values():
        yield from dataclasses.astuple(model)


def _descriptions(hyperparameters: type) -> Iterator[str]:
    return (each.metadata["description"] for each in dataclasses.fields(hyperparameters))


def all_texts() -> set[str]:
    """Return every text of the report, singular and plural."""
    texts = [
        text
        for path in sorted([*REPORT.rglob("*.py"), *TASKS.rglob("*.py")])
        for _, text in code_texts(path.read_text(encoding="utf-8"))
    ]
    for path in sorted(TEMPLATES.glob("*.jinja")):
        source = path.read_text(encoding="utf-8")
        texts += [text for _, text in template_texts(source, ".tex." in path.name)]
    texts += [text for _, text in table_texts()]
    return {form for text in texts for form in ([text] if isinstance(text, str) else text)}


# Line, function, text or texts, comments: what pybabel expects.
Extracted = Iterator[tuple[int, str | None, str | tuple[str, str], list[str]]]


def _messages(texts: Iterable[Text]) -> Extracted:
    for line, text in texts:
        yield line, None if isinstance(text, str) else "ngettext", text, []


def extract_code(file: BinaryIO, keywords: Any, comment_tags: Any, options: Any) -> Extracted:
    """Yield the texts of a Python file for pybabel."""
    return _messages(sorted(code_texts(file.read().decode()), key=lambda text: text[0]))


def extract_template(file: BinaryIO, keywords: Any, comment_tags: Any, options: Any) -> Extracted:
    """Yield the texts of a template for pybabel."""
    texts = template_texts(file.read().decode(), ".tex." in Path(file.name).name)
    return _messages(sorted(texts, key=lambda text: text[0]))


def extract_tables(file: BinaryIO, keywords: Any, comment_tags: Any, options: Any) -> Extracted:
    """Yield the texts of tables for pybabel, whatever the file."""
    return _messages(table_texts())
