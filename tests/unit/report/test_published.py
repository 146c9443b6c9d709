"""The talk's own gains, tested over its documents, in the report and on the lecture's page."""

import pytest

from heed.files import write_text
from heed.report.published import Talk, read_published, talk_test
from tests.conftest import ROOT

PAGE = ROOT / "docs/lectures/000.md"
BEGIN, END = (f"<!-- the talk's gains: {end} (make snapshots) -->\n" for end in ("begin", "end"))
PUBLISHED = read_published(ROOT / "data/published")


def talk(baseline: str, attention: str, documents: int) -> dict[str, Talk]:
    accuracies = {"last-state": baseline, "self-attention": attention}
    return {
        variant: Talk({"accuracy": accuracy, "test_items": str(documents)}, {})
        for variant, accuracy in accuracies.items()
    }


GAINS = {
    "letters-language": (0.45, False), "letters-author": (1.83, False), "news": (0.50, False),
    "imdb": (5.20, True), "news-big": (2.61, True), "imdb-suboptimal": (22.78, True),
}  # fmt: skip


def test_the_supports_of_the_talk_add_up_where_its_text_is_garbled():
    misprints = {
        (name, variant, row["class"]): (row["support"], row["support_as_printed"])
        for name, experiment in PUBLISHED.items()
        for variant, printed in experiment.items()
        for row in printed.classes.values()
        if row["support_as_printed"]
    }
    assert misprints == {
        ("news", "self-attention", "GOOD NEWS"): ("305", "385"),
        ("news-big", "last-state", "STYLE & BEAUTY"): ("1017", "1817"),
        ("news-big", "self-attention", "STYLE & BEAUTY"): ("1017", "1917"),
    }
    for printed in (
        printed for experiment in PUBLISHED.values() for printed in experiment.values()
    ):
        if printed.classes:
            total = sum(int(row["support"]) for row in printed.classes.values())
            assert total == int(printed.summary["test_items"])


@pytest.mark.parametrize("experiment", GAINS)
def test_three_of_the_talks_six_gains_are_shown_by_its_documents(experiment):
    tested = talk_test(PUBLISHED[experiment])
    assert tested and (round(tested.z, 2), tested.shown) == GAINS[experiment]


def test_the_test_is_the_one_of_two_proportions():
    tested = talk_test(talk("0.5", "0.6", 100))
    assert tested and tested.gain_pp == pytest.approx(10)
    assert tested.z == pytest.approx(0.1 / (0.25 / 100 + 0.24 / 100) ** 0.5)
    assert tested.p == pytest.approx(0.1531, abs=5e-5) and not tested.shown
    assert talk_test({}) is None and talk_test(talk("0.5", "", 100)) is None


def test_the_lectures_page_has_the_tests_of_the_talks_gains(request):
    rows = [["experiment", "documents", "gain, points", "z", "p", "shown"], ["---"] * 6]
    for name, experiment in PUBLISHED.items():
        tested = talk_test(experiment)
        assert tested
        p = "< .001" if tested.p < 0.001 else f"{tested.p:.3f}"
        numbers = f"{tested.documents:,}", f"{tested.gain_pp:+.2f}", f"{tested.z:.2f}", p
        rows.append([name, *numbers, "yes" if tested.shown else "no"])
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    stored, after = rest.split(END)
    if request.config.getoption("update_snapshots"):
        write_text(PAGE, "".join((before, BEGIN, table, END, after)))
        stored = table
    assert stored == table, "make snapshots"
