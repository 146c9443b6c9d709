"""The report in German: every text has its German, with the same values in it, and none is left over."""

import ast
import re

import pytest
from jinja2 import nodes

from heed.report import documents, experiments
from heed.report.german import GERMAN
from heed.report.language import NAMED, say, speaking, whole
from heed.report.renderers.html import environment
from heed.report.renderers.latex import environment as latex_environment
from heed.report.renderers.templates import TEMPLATES
from heed.search.outcome import CHOSEN, CUT
from tests.conftest import ROOT
from tests.fixtures.report import made_up
from tests.test_report import Page, quick_figures, written  # noqa: F401

RULES = ("right", "wrong", "short", "long", "most certain", "least certain")  # evaluation/explanation.py
OFTEN = ("always", "sometimes", "never")  # documents.py
STOPS = ("finished", "no better epoch", "stopped by asha", "out of time", "failed")  # search/outcome.py


def of_code() -> set[str]:
    found = set()
    for path in (ROOT / "src/heed/report").rglob("*.py"):
        for call in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)):
            if getattr(call.func, "id", "") == "say":
                constants = (node for node in ast.walk(call.args[0]) if isinstance(node, ast.Constant))
                found |= {constant.value for constant in constants if isinstance(constant.value, str)}
    return found


def of_templates() -> set[str]:
    found = set()
    for path in TEMPLATES.glob("*.jinja"):
        made = latex_environment() if ".tex." in path.name else environment()
        for call in made.parse(path.read_text()).find_all(nodes.Call):
            if getattr(call.node, "name", "") == "say":
                found |= {
                    const.value
                    for const in [call.args[0], *call.args[0].find_all(nodes.Const)]
                    if isinstance(const, nodes.Const)
                }
    return found


def of_tables() -> set[str]:
    groups = {text for group, keys in experiments.GROUPS.items() for text in (group, *(name for _, name, _ in keys))}
    return groups | set(experiments.TITLES.values()) | set(documents.POOLINGS.values())


def spoken() -> set[str]:
    return of_code() | of_templates() | of_tables() | {*RULES, *STOPS, *OFTEN, CHOSEN, CUT}


def test_every_text_has_its_german_and_none_is_left_over():
    texts = spoken()
    assert texts - set(GERMAN) == set()
    assert set(GERMAN) - texts == set()


@pytest.mark.parametrize("english", sorted(GERMAN))
def test_the_german_has_the_same_values_in_it_and_the_same_space_around_it(english):
    german = GERMAN[english]
    assert set(NAMED.findall(german)) == set(NAMED.findall(english))
    assert (german[:1].isspace(), german[-1:].isspace()) == (english[:1].isspace(), english[-1:].isspace())
    assert '"' not in german


def test_a_german_report_is_german_with_the_same_numbers(tmp_path):
    params, data = made_up.study("talk"), made_up.comparison("talk")
    german = params.model_copy(update={"study": params.study.model_copy(update={"language": "de"})})
    folders = [written(params, data, tmp_path / "en"), written(german, data, tmp_path / "de")]
    english, page = (Page(folder / "index.html") for folder in folders)
    assert '<html lang="de">' in page.source and "Hilft Attention?" in page.text
    assert "Steigerung durch Attention" in page.text and "nicht reproduziert: " in page.text
    for name, rows in english.tables.items():
        for ours, theirs in zip(rows[1:], page.tables[name][1:], strict=True):
            numbers = [re.findall(r"\d+\.\d+", cell) for cell in ours]
            assert [re.findall(r"\d+\.\d+", cell) for cell in theirs] == numbers
    for text in sorted(spoken(), key=len)[-60:]:  # no English sentence is left
        plain = [part for part in NAMED.split(text)[::2] if len(part) > 40]
        assert not any(part in page.text or part in (folders[1] / "report.tex").read_text() for part in plain), text
    tex = (folders[1] / "report.tex").read_text()
    assert r"\usepackage[ngerman,shorthands=off]{babel}" in tex and "Hilft Attention?" in tex
    assert "Der Vortrag" in (folders[1] / "tables/summary.tex").read_text()


def test_whole_numbers_are_grouped_as_the_language_does():
    assert whole(1234567) == "1,234,567" and say("helps") == "helps"
    with speaking("de"):
        assert whole(1234567) == "1\u202f234\u202f567" and say("helps") == "hilft"
