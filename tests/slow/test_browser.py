"""The report in a browser: offline, without console errors, accessible, with escaped texts."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from heed.report import pages
from tests.conftest import ROOT
from tests.fixtures.report import made_up
from tests.fixtures.report.pages import HOSTILE, render_hostile, render_to

AXE = "4.14.1"  # of axe-core, from the npm registry
FLAGS = [
    "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
OPEN_ALL = "document.querySelectorAll('details').forEach(d => d.open = true)"
SIZE = {"width": 1440, "height": 900}
pytestmark = [pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not (chromium := shutil.which("chromium")):
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        chromium_browser = playwright.chromium.launch(
            executable_path=chromium, args=FLAGS, chromium_sandbox=False
        )
        yield chromium_browser
        chromium_browser.close()


@pytest.fixture(scope="module")
def axe() -> str:
    """axe-core's source; fetched once into .heed/axe."""
    folder = ROOT / ".heed/axe"
    source = folder / "node_modules/axe-core/axe.min.js"
    if not source.exists():
        if not shutil.which("npm"):
            pytest.skip("npm is not installed")
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--prefix", str(folder), f"axe-core@{AXE}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"axe-core cannot be fetched: {done.stderr[-200:]}")
    return source.read_text()


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports with made-up numbers: of the sample, of a translation, of hostile texts, and of the
    talk."""
    folder = tmp_path_factory.mktemp("reports")
    rendered = {
        name: render_to(made_up.study(name), made_up.comparison(name), folder / name)
        for name in ("sample", "talk", "translation")
    }
    return rendered | {"hostile": render_hostile(folder / "hostile")}


def first_documents(report: Path, pattern: str = "*.html") -> Path:
    return sorted((report / "documents").glob(pattern))[0]


def opened(browser: Browser, path: Path, **settings) -> Page:
    """Open a file offline; `page.messages` has its console messages, dialogs and requests."""
    context = browser.new_context(offline=True, **settings)
    page = context.new_page()
    page.messages = []
    note = page.messages.append
    page.on("console", lambda message: note(message.text))
    page.on("pageerror", lambda error: note(str(error)))
    page.on("dialog", lambda dialog: (note(f"dialog {dialog.message}"), dialog.dismiss()))
    inside = ("file:", "data:")
    page.on("request", lambda request: request.url.startswith(inside) or note(request.url))
    page.goto(path.as_uri())
    return page


def column(page: Page, table: str, column_number: int) -> list[str]:
    rows = page.locator(f"{table} tbody tr:visible")
    cells = rows.locator(f":nth-child({column_number})").all_text_contents()
    return [cell.split()[0] for cell in cells if cell.strip()]


def test_the_page_opens_offline_without_a_word_on_the_console(browser, reports):
    for name, folder in reports.items():
        for file in (folder / "index.html", *sorted((folder / "documents").glob("*.html"))[:2]):
            page = opened(browser, file)
            broken = page.evaluate(
                "[...document.images].filter(i => { i.loading = 'eager'; return i.complete && "
                "!i.naturalWidth }).length"
            )
            assert page.messages == [] and not broken, (name, file.name)


def test_tables_sort_and_averages_stay_below(browser, reports):
    page = opened(browser, reports["talk"] / "index.html")
    table = "#table-news_slide table"
    page.evaluate(OPEN_ALL)
    head = page.locator(f"{table} thead tr:last-child th").nth(3)
    before, fixed = column(page, table, 4), page.locator(f"{table} tr.average td:nth-child(4)")
    last = len([text for text in fixed.all_text_contents() if text.strip()])
    head.locator("button").click()
    rising = [float(value) for value in column(page, table, 4)[:-last]]
    assert rising == sorted(rising) and head.get_attribute("aria-sort") == "ascending"
    assert column(page, table, 4)[-last:] == before[-last:]
    page.keyboard.press("Enter")  # the button has the focus
    falling = [float(value) for value in column(page, table, 4)[:-last]]
    assert falling == rising[::-1] and head.get_attribute("aria-sort") == "descending"


@pytest.mark.parametrize("key", ["sample-author_scores", "sample-author_slide", "sources"])
def test_a_table_is_copied_in_one_click_as_its_files_have_it(browser, reports, key):
    page = opened(browser, reports["sample"] / "index.html")
    table = page.locator(f"#table-{key}")
    page.evaluate("key => { location.hash = `table-${key}`; }", key)  # opens what it stands in
    for name, ending in (("CSV", "csv"), ("LaTeX", "tex"), ("Markdown", "")):
        table.get_by_role("button", name=f"Copy {name}").click()
        table.locator(".tools [role=status]", has_text="copied").wait_for(timeout=5000)
        copied, file = pasted(page), reports["sample"] / f"tables/{key}.{ending}"
        if ending and file.exists():
            assert copied == file.read_text()
    assert len(copied.splitlines()) == table.locator("tbody tr").count() + 2  # head and its line
    assert page.messages == []


def pasted(page: Page) -> str:
    """The text of the clipboard, put into a box as a reader does."""
    page.evaluate(
        "() => { const area = document.createElement('textarea'); area.id = 'box'; "
        "document.body.append(area); area.focus(); }"
    )
    page.keyboard.press("Control+V")
    text = page.locator("#box").input_value()
    page.evaluate("document.getElementById('box').remove()")
    return text


def test_documents_are_filtered_by_class_answers_and_certainty(browser, reports):
    page = opened(browser, first_documents(reports["sample"], "*attention.html"))
    every = page.locator("article").count()
    assert page.locator("article:visible").count() == every == 3
    page.locator('select[data-by="right-last-state"]').select_option("never")
    shown = page.locator("article:visible")
    assert shown.count() == page.locator('article[data-right-last-state="never"]').count()
    assert page.locator("#count").text_content() == f"{shown.count()} / 3"
    page.locator('select[data-by="right-last-state"]').select_option("")
    page.locator("#filters input[type=search]").fill("turned words")
    assert page.locator("article:visible h2").all_text_contents() == ["two"]
    assert "last state" in page.locator("article:visible .said").text_content()


@pytest.mark.parametrize("width", [390, 1440])
def test_the_weights_of_words_are_read_by_keys_and_touch(browser, reports, width):
    for file in (reports["sample"] / "index.html", first_documents(reports["sample"])):
        page = opened(browser, file, viewport=SIZE | {"width": width})
        page.evaluate(OPEN_ALL)
        text = page.locator("main div.text:has(i)").first
        words, said = text.locator("i"), text.locator("xpath=following-sibling::p[1]")
        expected = [f"{word.text_content()}: {word.get_attribute('title')}" for word in words.all()]
        text.focus()
        assert said.text_content().startswith(expected[0]) and len(expected) > 1
        page.keyboard.press("ArrowRight")
        assert said.text_content().startswith(expected[1])
        page.keyboard.press("End")
        assert said.text_content().startswith(expected[-1])
        words.first.click()
        assert said.text_content().startswith(expected[0]) and page.messages == []
        assert text.locator("i.at").count() == 1


@pytest.mark.parametrize("width", [390, 1440])
def test_a_head_is_chosen_and_its_weights_are_a_table(browser, reports, width):
    page = opened(browser, reports["sample"] / "index.html", viewport=SIZE | {"width": width})
    page.evaluate("location.hash = 'figure-sample-sentiment-self-attention_heads-1'")
    part = page.locator("#figure-sample-sentiment-self-attention_heads-1 details[data-heads]")
    part.locator("summary").focus()
    page.keyboard.press("Enter")
    cells = part.locator("tbody td")
    diagonal = part.locator("tbody tr:nth-child(2) td:nth-child(3)")
    diagonal.wait_for(timeout=5000)
    assert cells.count() == 16 and diagonal.text_content() == ".63"  # of 1 and .25
    assert part.locator("tbody th b").all_text_contents() == ["fine"]
    assert part.locator("option").first.text_content() == "mean over the heads"
    for name, value in (("head 1 (largest 1.00)", "1.00"), ("head 2 (largest 0.25)", ".25")):
        part.locator("select").select_option(label=name)
        assert diagonal.text_content() == value
    box, shown = part.locator(".scroll").bounding_box(), page.viewport_size["width"]
    assert box["x"] + box["width"] <= shown and page.messages == []


def test_without_javascript_every_table_and_figure_still_reads(browser, reports):
    page = opened(browser, reports["sample"] / "index.html", java_script_enabled=False)
    assert page.locator("#table-sample-author_scores tbody tr:visible").count() >= 4
    assert page.locator("th button, .tools button, details[data-heads]:visible").count() == 0
    for part in page.locator("main details:not([hidden])").all():
        part.locator("> summary").click()
    assert page.locator("table:visible").count() >= 5
    assert page.locator("#table-sample-author_slide tbody tr:visible").count() >= 7
    for metric in page.locator("figure.plot img:visible").all():
        assert metric.bounding_box()["height"] > 100 and metric.get_attribute("alt")
    links = page.locator(".contents a").evaluate_all("all => all.map(a => a.hash.slice(1))")
    assert len(links) >= 5 and all(page.locator(f"[id='{link}']").count() == 1 for link in links)
    page = opened(browser, first_documents(reports["sample"]), java_script_enabled=False)
    assert page.locator("article:visible").count() == 3
    assert not page.locator("#filters").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("what", ["sample", "talk", "translation"])
def test_axe_finds_nothing_serious(browser, reports, axe, what, scheme):
    folder = reports[what]
    documents = sorted((folder / "documents").glob("*.html"))[:1]
    for file in (folder / "index.html", *documents):
        page = opened(browser, file, color_scheme=scheme)
        page.evaluate(OPEN_ALL)
        page.evaluate(axe)
        violations = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
        serious = [rule for rule in violations if rule["impact"] in ("serious", "critical")]
        found = [(rule["id"], rule["help"], str(rule["nodes"][0])[:500]) for rule in serious]
        assert found == [], file.name


@pytest.mark.parametrize("what", ["hostile", "talk", "translation"])
@pytest.mark.parametrize("width", [320, 390, 800, 1400])
def test_the_page_does_not_overflow_its_window(browser, reports, what, width):
    documents = sorted((reports[what] / "documents").glob("*.html"))[:1]
    for file in (reports[what] / "index.html", *documents):
        page = opened(browser, file, viewport=SIZE | {"width": width})
        page.evaluate(OPEN_ALL)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, file.name


def test_what_users_wrote_is_text_and_nothing_is_executed(browser, reports):
    page = opened(browser, reports["hostile"] / "index.html")
    assert page.locator("#table-sample-author_slide tbody th").first.text_content() == HOSTILE[0]
    assert page.evaluate("document.scripts.length") == 1 and page.messages == []
    tall = page.locator("#table-sample-author_slide tbody tr").nth(7).bounding_box()
    assert tall["width"] <= page.viewport_size["width"]
    page = opened(browser, first_documents(reports["hostile"]))
    assert "<b>Bold</b> & [U+202E] turned words" in page.locator("article").nth(1).text_content()


def test_a_large_report_links_its_figures_and_shows_them(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "MAX_INLINE", 0)
    folder = render_to(made_up.study("sample"), made_up.comparison("sample"), tmp_path / "reports")
    page = opened(browser, folder / "index.html")
    sources = page.evaluate("[...document.images].map(i => i.getAttribute('src'))")
    assert sources and all(re.fullmatch(r"figures/[\w-]+\.svg", source) for source in sources)
    image = page.locator("figure.plot img:visible").first
    image.scroll_into_view_if_needed()
    is_shown = "document.querySelector('figure.plot img').naturalWidth > 0"
    page.wait_for_function(is_shown, timeout=5000)
    assert page.messages == []
