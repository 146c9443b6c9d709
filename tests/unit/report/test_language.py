"""The report in German: every text has a translation with the same values, and no other has."""

import os
import re
import subprocess
import sys

import pytest
from babel.messages.pofile import read_po

from heed.report.formats import format_count
from heed.report.language import LOCALE, NAMED, say, say_count, use_language
from tests.conftest import ROOT
from tests.fixtures.report import made_up
from tests.fixtures.report.pages import Page, change_study, render_to
from tests.texts import all_texts

pytestmark = pytest.mark.usefixtures("empty_figures")

CATALOGUE = LOCALE / "de/LC_MESSAGES/heed.po"
with CATALOGUE.open("rb") as file:
    MESSAGES = [message for message in read_po(file, locale="de") if message.id]


def forms(text: str | tuple[str, ...]) -> tuple[str, ...]:
    """The singular and the plural of a text, or the text alone."""
    return (text,) if isinstance(text, str) else text


GERMAN = {
    english: german
    for message in MESSAGES
    for english, german in zip(forms(message.id), forms(message.string), strict=True)
}


def test_every_text_has_its_german_and_none_is_left_over():
    texts = all_texts()
    assert texts - {text for text, german in GERMAN.items() if german} == set()
    assert set(GERMAN) - texts == set()


def test_no_german_is_a_guess():
    """A fuzzy entry would be printed in English."""
    assert [message.id for message in MESSAGES if message.fuzzy] == []


def test_pybabel_finds_the_texts_of_the_catalogue(tmp_path):
    """As in `make locale`: the update then adds new texts, and drops those that are not used."""
    command = [sys.executable, "-m", "babel.messages.frontend", "--quiet", "extract"]
    command += ["-F", "babel.cfg", "-o", tmp_path / "heed.pot", "src/heed"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    with (tmp_path / "heed.pot").open("rb") as file:
        messages = [message for message in read_po(file) if message.id]
    assert {text for message in messages for text in forms(message.id)} == set(GERMAN)
    assert {message.id for message in messages if message.pluralizable} == {
        message.id for message in MESSAGES if message.pluralizable
    }


def test_the_german_has_the_same_values_in_it_and_the_same_space_around_it():
    for english, german in GERMAN.items():
        assert set(NAMED.findall(german)) == set(NAMED.findall(english)), english
        spaces = [(text[:1].isspace(), text[-1:].isspace()) for text in (english, german)]
        assert spaces[0] == spaces[1] and '"' not in german, english


def test_a_german_report_is_german_with_the_same_numbers(tmp_path, rendered):
    german = change_study(made_up.study("talk"), language="de")
    folders = [rendered("talk"), render_to(german, made_up.comparison("talk"), tmp_path / "de")]
    english, page = (Page(folder / "index.html") for folder in folders)
    assert '<html lang="de">' in page.source and "Hilft Attention?" in page.text
    assert "Steigerung gegenüber der Baseline" in page.text and "nicht reproduziert: " in page.text
    for name, rows in english.tables.items():
        for row, german_row in zip(rows[1:], page.tables[name][1:], strict=True):
            numbers = [re.findall(r"\d+\.\d+", cell) for cell in row]
            assert [re.findall(r"\d+\.\d+", cell) for cell in german_row] == numbers
    tex = (folders[1] / "report.tex").read_text()
    for text in sorted(all_texts(), key=len)[-60:]:  # no English sentence is left
        plain = [part for part in NAMED.split(text)[::2] if len(part) > 40]
        assert not any(part in page.text or part in tex for part in plain), text
    assert r"\usepackage[ngerman,shorthands=off]{babel}" in tex and "Hilft Attention?" in tex
    assert "Der Vortrag" in (folders[1] / "tables/summary.tex").read_text()


def test_a_count_chooses_singular_or_plural_in_each_language():
    texts = ("{count} seed ({seeds}).", "{count} seeds ({seeds}).")
    assert say_count(*texts, 1, seeds="7") == "1 seed (7)."
    assert say_count(*texts, 2, seeds="7, 8") == "2 seeds (7, 8)."
    with use_language("de"):
        assert say_count(*texts, 1, seeds="7") == "1 Seed (7)."
        assert say_count(*texts, 2, seeds="7, 8") == "2 Seeds (7, 8)."


def test_whole_numbers_are_grouped_as_the_language_does():
    assert format_count(1234567) == "1,234,567" and say("undecided") == "undecided"
    with use_language("de"):
        assert format_count(1234567) == "1\u202f234\u202f567" and say("") == ""
        assert say("undecided") == "unentschieden"
