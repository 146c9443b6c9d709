"""The report has the numbers of the comparison, escapes texts of users, and has bad news first."""

import csv
import dataclasses
import io
import re
import shutil
import subprocess
import xml.etree.ElementTree
from pathlib import Path
from typing import get_args, get_type_hints

import pandas as pd
import pytest
from matplotlib.figure import Figure

from heed.evaluation.results import (
    Comparison,
    Gain,
    clip_interval,
    format_rounded,
    paired_gain,
    spread,
)
from heed.files import HeedError, write_json, write_text
from heed.pipeline import folder_md5, md5
from heed.report import blocks
from heed.report.blocks import Cell, Column, Table, make_rows
from heed.report.check import check_report
from heed.report.experiments import read_experiments
from heed.report.figures.drawing import GROUND
from heed.report.figures.gains import draw_gains, gain_bars, scale
from heed.report.formats import (
    POINTS,
    PROBABILITY,
    decimals,
    format_number,
    format_p,
    format_points,
)
from heed.report.provenance import write_provenance
from heed.report.renderers import html, latex
from heed.report.renderers.csv import quote_formulas
from heed.report.renderers.csv import table as csv_table
from heed.report.renderers.escape import cell, escape
from heed.report.renderers.html import script
from heed.report.sources import Source
from heed.study import Params
from heed.tasks.classification import report as classification
from heed.tasks.classification.recipe import Hyperparameters
from tests.conftest import ROOT
from tests.fixtures.report import made_up
from tests.fixtures.report.answers import difference_of
from tests.fixtures.report.pages import (
    HOSTILE,
    Page,
    change_difference,
    change_study,
    render_hostile,
    render_to,
    rows,
    with_classes,
)

pytestmark = pytest.mark.usefixtures("empty_figures")


@pytest.mark.parametrize("name", ["sample", "talk"])
def test_every_figure_in_the_page_is_the_comparisons_and_the_csv_files(rendered, name):
    data = made_up.comparison(name)
    folder = rendered(name)
    page = Page(folder / "index.html")
    for experiment, experiment_result in data.experiments.items():
        for variant, result in (experiment_result.models | experiment_result.opponents).items():
            table = {row[0]: row[1:] for row in page.tables[f"{experiment}--{variant}"][1:]}
            lines = {
                row["row"]: row for row in rows(folder / f"tables/{experiment}--{variant}.csv")
            }
            assert (
                list(table)
                == list(lines)
                == [*experiment_result.groups["classes"], "accuracy", "macro avg", "weighted avg"]
            )
            for row, cells in table.items():
                for figure, printed in zip(
                    ("precision", "recall", "f1", "support"), cells, strict=True
                ):
                    assert printed.split(" ")[0] == lines[row][figure]
                    assert printed.split(" ")[1:2] == (
                        [lines[row][f"published_{figure}"]]
                        if lines[row][f"published_{figure}"]
                        else []
                    )
            for row, figures in result.details["classes"].items():
                means = [figures[figure].mean for figure in ("precision", "recall", "f1")]
                assert [printed.split(" ")[0] for printed in table[row][:3]] == [
                    format_number(mean) for mean in means
                ]
                assert float(table[row][3].split(" ")[0]) == figures["support"].mean
            accuracy, recall = (result.summary[name].mean for name in ("accuracy", "macro_recall"))
            assert table["accuracy"][2].split(" ")[0] == format_number(accuracy)
            assert table["macro avg"][1].split(" ")[0] == format_number(recall)


def test_the_first_table_has_every_accuracy_and_the_gain_with_its_interval_and_corrected_p(
    rendered,
):
    data = made_up.comparison("sample")
    folder = rendered("sample")
    first = Page(folder / "index.html").tables["first"]
    for row, line, experiment_result in zip(
        first[1:], rows(folder / "tables/summary.csv"), data.experiments.values(), strict=True
    ):
        accuracy = {
            k: f"{m.summary['accuracy'].mean:.4f}"
            for k, m in (experiment_result.models | experiment_result.opponents).items()
        }
        difference = experiment_result.comparisons["attention"]["baseline"]
        low, high = difference.interval_pp
        assert row[1:3] == [accuracy["baseline"], accuracy["attention"]]
        assert row[3:6] == [
            format_points(difference.mean_pp),
            f"{format_points(low)} to {format_points(high)}",
            format_p(difference.p_holm),
        ]
        assert [float(line[key]) for key in ("gain_low_pp", "gain_high_pp")] == pytest.approx(
            [low, high], abs=0.005
        )
        assert float(line["p_holm"]) == pytest.approx(difference.p_holm, rel=0.01)
        assert row[6:] == [f"mean {accuracy['mean']}", accuracy["linear"], accuracy["majority"]]
        assert [line[key] for key in ("baseline", "attention", "mean", "linear", "majority")] == [
            accuracy[key] for key in ("baseline", "attention", "mean", "linear", "majority")
        ]
        assert float(line["gain_pp"]) == pytest.approx(difference.mean_pp, abs=0.005)
        assert difference.mean_pp == pytest.approx(
            experiment_result.models["attention"].gain.mean_pp, abs=0.001
        )


def test_the_value_of_every_seed_is_in_the_page_and_in_the_csv(rendered):
    data = made_up.comparison("sample")
    folder = rendered("sample")
    page = Page(folder / "index.html")
    values = data.experiments["sample-author"].models["attention"].summary["accuracy"].values
    table = page.tables["sample-author--attention_seeds"]
    assert table[0][4:] == ["seed 1", "seed 2", "seed 3"]
    assert next(row[4:] for row in table if row[0] == "accuracy") == [
        f"{value:.4f}" for value in values
    ]
    lines = [
        row
        for row in rows(folder / "tables/sample-author_seeds.csv")
        if row["row"] == "accuracy" and row["figure"] == "f1"
    ]
    assert [row["value"] for row in lines if row["variant"] == "attention"] == [
        f"{value:.4f}" for value in values
    ]
    assert "sample-author--linear_seeds" not in page.tables


def test_accuracy_by_length_is_in_a_file_with_the_worst_and_the_best_seed(tmp_path):
    folder = render_to(made_up.study("sample"), made_up.comparison("sample"), tmp_path / "reports")
    evaluated = tmp_path / "reports-results/evaluate/sample-author-attention/lengths.csv"
    seeds = [row for row in rows(evaluated) if row["longest"] == "64"]
    accuracies = [int(row["right"]) / int(row["documents"]) for row in seeds]
    path = folder / "tables/sample-author_lengths.csv"
    models = made_up.comparison("sample").experiments["sample-author"].models
    assert len(rows(path)) == 4 * len(models), "four groups of every model"
    (row,) = (row for row in rows(path) if (row["variant"], row["longest"]) == ("attention", "64"))
    assert row["accuracy"] == format_rounded(sum(accuracies) / len(accuracies), 4)
    assert [row["worst_seed"], row["best_seed"]] == [
        format_rounded(value, 4) for value in (min(accuracies), max(accuracies))
    ]
    assert 'href="tables/sample-author_lengths.csv"' in (folder / "index.html").read_text()


TALKS_WORDS = ("Steigerung durch Attention", "Standardabweichung", "the talk")
# groups of hyperparameters, a column of score functions: report.tex has neither
TALKS_HEADINGS = ("Group 1", "Group 2", "Lecture")


def test_only_attentions_gain_is_called_a_gain_by_attention(rendered):
    params = made_up.study("talk")
    folder = rendered("talk")
    for path in ("index.html", "report.tex"):  # variants other than attention have a gain too
        text = (folder / path).read_text()
        assert text.count("Steigerung durch Attention") == len(params.experiments)
        assert text.count("Gain over the baseline") >= len(params.experiments)


def test_the_talks_words_are_only_where_its_figures_are_reproduced(rendered):
    for study, is_talk in (("sample", False), ("talk", True)):
        folder = rendered(study)
        page, paper = ((folder / path).read_text() for path in ("index.html", "report.tex"))
        for word in TALKS_WORDS:
            assert (word in page, word in paper) == (is_talk, is_talk), word
        for word in TALKS_HEADINGS:
            assert (word in page) == is_talk, word


@pytest.mark.slow
def test_every_figure_is_drawn_the_same_bytes_twice_and_opens_anywhere(tmp_path):
    params, data = made_up.study("talk"), made_up.comparison("talk")
    data = dataclasses.replace(
        data, experiments={name: data.experiments[name] for name in ("letters-author", "news")}
    )
    data = with_classes(data, "letters-author", HOSTILE)
    one, two = render_to(params, data, tmp_path / "a"), render_to(params, data, tmp_path / "b")
    drawings = sorted((one / "figures").glob("*.svg"))
    assert {path.stem for path in drawings} == {
        path.stem for path in (one / "figures").glob("*.pdf")
    }
    of_each = {"calibration", "class-gain", "curves", "lengths"}
    assert {path.stem for path in drawings} == {
        "gain", "cost", "glossary-baseline", "glossary-attention",
        "glossary-attention--2",  # with other heads
        *(f"letters-author_{figure}" for figure in {"confusion"} | of_each),
        *(f"news_{figure}" for figure in {"errors"} | of_each),
        "news-baseline_confusion", "news-attention_confusion",  # its classes are many
        "letters-author-attention_heads-1", "news-attention_heads-1",
    }  # fmt: skip
    for path in (one / "figures").iterdir():
        assert path.read_bytes() == (two / "figures" / path.name).read_bytes(), path.name
    for path in drawings:
        root = xml.etree.ElementTree.parse(path).getroot()
        assert root.get("role") == "img" and root.get("aria-label")
        assert not re.search(r"<script|\bNaN\b|/tmp|20\d\d-\d\d-", path.read_text())
    texts = (one / "figures/letters-author_confusion.svg").read_text()
    assert "[U+202E]" in texts and "prefers-color-scheme:dark" in texts


def test_the_page_is_self_contained_its_links_lead_somewhere_and_it_is_the_same_bytes_twice(
    tmp_path,
):
    params, data = made_up.study("talk"), made_up.comparison("talk")
    one, two = render_to(params, data, tmp_path / "a"), render_to(params, data, tmp_path / "b")
    files = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(two) for path in two.rglob("*") if path.is_file())
    assert all((one / file).read_bytes() == (two / file).read_bytes() for file in files)
    page = Page(one / "index.html")
    assert not page.tags & {"link", "iframe", "object", "embed"}
    assert re.findall(r"<script[^>]*>(.*?)</script>", page.source, flags=re.DOTALL) == [
        script("page.js")
    ]
    assert "default-src 'none'" in page.source
    assert not re.search(r"https?:|url\(|@import|//[a-z]", page.source)
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        if not link.startswith("data:image/svg+xml,") and not link.endswith(".pdf"):
            # Those above reports/ are files of the clone.
            file = ROOT / link[3:] if link.startswith("../") else one / link
            assert link[1:] in page.ids if link.startswith("#") else file.is_file(), link


@pytest.mark.parametrize(
    ("interval", "p", "text"),
    [
        ([0.5, 2.0], 0.01, "reproduced: "),
        ([-0.5, 2.0], 0.4, "undecided: "),
        ([2.0, 4.0], 0.01, "not reproduced: "),
        ([-1.0, 1.0], 0.9, "not reproduced: "),
        (None, None, "undecided: one test document has no interval"),
    ],
)
def test_whether_the_talks_gain_was_reproduced_is_read_from_the_interval(
    tmp_path, interval, p, text
):
    """The talk's gain on letters by author is +1.15 p.p."""
    data = made_up.comparison("talk")
    change_difference(
        data.experiments["letters-author"],
        "attention",
        "baseline",
        interval_pp=interval,
        p=p,
        p_holm=p,
        verdict="better" if p and p < 0.05 else "undecided",
    )
    made = read_experiments(made_up.study("talk"), data, ROOT / "data/published")
    (letters,) = (each for each in made if each.key == "letters-author")
    assert letters.line.reproduction.sentence.startswith(text)
    assert text.startswith(f"{letters.line.reproduction.verdict}: ")


@pytest.mark.parametrize(
    ("verdict", "interval", "words"),
    [
        ("not converged", [0.5, 2.0], "had not converged"),
        ("not converged", [0.1, 0.9], "had not converged"),  # the talk's gain lies outside
        ("practically the same", [0.5, 2.0], "practically none"),
        ("undecided", [-1.0, 2.0], "may be chance"),  # printed as −1.00 to +0.50
    ],
)
def test_why_a_talks_gain_is_undecided_follows_from_the_verdict(tmp_path, verdict, interval, words):
    data = made_up.comparison("talk")
    models = data.experiments["letters-author"].models
    unfinished = [False for _ in models["baseline"].converged]
    summary = models["baseline"].summary | {"accuracy": spread([0.995] * len(unfinished))}
    models["baseline"] = dataclasses.replace(
        models["baseline"], converged=unfinished, summary=summary
    )
    difference = {"interval_pp": interval, "p": 0.001, "p_holm": 0.001, "verdict": verdict}
    change_difference(data.experiments["letters-author"], "attention", "baseline", **difference)
    made = read_experiments(made_up.study("talk"), data, ROOT / "data/published")
    (letters,) = (each for each in made if each.key == "letters-author")
    assert letters.line.reproduction.verdict == "undecided"
    assert words in letters.line.reproduction.sentence


def draw_chart(data: Comparison, study: str) -> tuple[list, Figure]:
    """The bars of the chart of gains, and the chart."""
    bars = gain_bars(read_experiments(made_up.study(study), data, ROOT / "data/published"))
    figure = Figure()
    draw_gains(figure, bars, "title")
    return bars, figure


def test_the_chart_shows_every_gain_its_interval_and_the_talks_on_one_scale():
    data = made_up.comparison("talk")
    bars, figure = draw_chart(data, "talk")
    (axes,) = figure.axes
    marks = {
        (line.get_gid(), line.get_ydata()[0]): line
        for line in axes.lines
        if len(line.get_xdata()) == 1
    }
    ends = {
        kind: sorted(
            (line.get_ydata()[0], line.get_xdata()[0])
            for line in axes.lines
            if line.get_gid() == kind
        )
        for kind in ("end", "cut")
    }
    published = read_experiments(made_up.study("talk"), data, ROOT / "data/published")
    assert len(bars) == len(data.experiments) and not ends["cut"]
    for place, (key, each) in enumerate(zip(data.experiments, published, strict=True)):
        entry = data.experiments[key].comparisons["attention"]["baseline"]
        mean, talk = marks["mean", place], marks["talk", place]
        assert mean.get_xdata()[0] == entry.mean_pp and talk.get_xdata()[0] == each.line.talk_gain
        assert [x for y, x in ends["end"] if y == place] == list(entry.interval_pp)
        assert (mean.get_markerfacecolor() != GROUND) == (entry.p_holm < 0.05)
        texts = {text.get_text() for text in axes.texts}
        assert any(text.startswith(format_points(entry.mean_pp)) for text in texts)
    low, high = axes.get_xlim()
    assert low < min(end for _, end in ends["end"]) and max(end for _, end in ends["end"]) < high


def test_an_interval_much_wider_than_every_gain_ends_in_an_arrow():
    data = made_up.comparison("sample")
    for experiment_result in data.experiments.values():
        change_difference(
            experiment_result, "attention", "baseline", mean_pp=1.0, interval_pp=(-50.0, 52.0)
        )
    _, figure = draw_chart(data, "sample")
    (axes,) = figure.axes
    cut = {
        (line.get_ydata()[0], line.get_xdata()[0]) for line in axes.lines if line.get_gid() == "cut"
    }
    assert cut == {(0, -4), (0, 4), (1, -4), (1, 4)}
    assert [text.get_text() for text in axes.get_xticklabels()] == ["−4", "−2", "0", "+2", "+4"]


def test_ticks_are_round_and_few():
    data = made_up.comparison("sample")
    for size, step in ((1.5, 0.5), (6, 1), (6.1, 2), (0.5, 0.1), (100, 20), (13, 5)):
        for experiment_result in data.experiments.values():
            change_difference(
                experiment_result, "attention", "baseline", mean_pp=float(size), interval_pp=None
            )
        bars, _ = draw_chart(data, "sample")
        ticks = scale(bars)
        assert ticks[1] - ticks[0] == pytest.approx(step) and 0 in ticks and ticks[-1] >= size


def test_every_comparison_is_in_the_page_and_in_the_csv(rendered):
    data = made_up.comparison("sample")
    folder = rendered("sample")
    page = Page(folder / "index.html")
    for name, experiment_result in data.experiments.items():
        entries = {
            f"{a} − {b}": e
            for a, others in experiment_result.comparisons.items()
            for b, e in others.items()
        }
        printed = {row[0]: row for row in page.tables[f"{name}_comparisons"][1:]}
        lines = {
            f"{row['first']} − {row['second']}": row
            for row in rows(folder / f"tables/{name}_comparisons.csv")
        }
        assert next(iter(printed)) == "attention − baseline" and set(printed) == set(lines) == set(
            entries
        )
        for compared, entry in entries.items():
            second = compared.partition(" − ")[2]
            result = (experiment_result.models | experiment_result.opponents)[second]
            figure = experiment_result.compared_figure(result).mean
            low, high = clip_interval(entry.interval_pp, entry.mean_pp, figure)
            assert printed[compared][1:5] == [
                format_points(entry.mean_pp),
                f"{format_points(low)} to {format_points(high)}",
                format_p(entry.p),
                format_p(entry.p_holm),
            ]
            assert float(lines[compared]["p_holm"]) == pytest.approx(entry.p_holm, rel=0.01)
            assert lines[compared]["seeds_needed"] == str(entry.seeds_needed or "")
    assert data.significance.signature in page.text


def test_p_values_are_printed_with_three_decimals_and_never_as_zero():
    assert [format_p(p) for p in (None, 0.0, 1e-300, 0.00099, 0.0213, 1.0)] == [
        "–", "< 0.001", "< 0.001", "< 0.001", "0.021", "1.000"
    ]  # fmt: skip


@pytest.mark.parametrize("missing", [["attention"], ["baseline"], ["baseline", "attention"]])
def test_without_a_baseline_or_attention_there_is_no_comparison(tmp_path, missing):
    data = made_up.comparison("sample")
    for name in missing:
        del data.experiments["sample-author"].models[name]
        data.experiments["sample-author"].comparisons.clear()
    if "attention" in missing:
        data.experiments["sample-author"].attention.clear()
    if "baseline" in missing:  # then evaluation/comparison.py has nothing to gain over
        models = data.experiments["sample-author"].models
        models |= {name: dataclasses.replace(model, gain=None) for name, model in models.items()}
    folder = render_to(made_up.study("sample"), data, tmp_path)
    page = Page(folder / "index.html")
    names = {"baseline": "baseline", "attention": "variant that answers the study's question"}
    text = " and no ".join(name for key, name in names.items() if key in missing)
    assert f"No comparison, since there is no {text}." in page.text
    assert (
        page.tables["first"][2][3] == "–"
        and rows(folder / "tables/summary.csv")[1]["gain_pp"] == ""
    )
    assert not (folder / "tables/sample-author_pair.tex").exists()


def test_one_seed_prints_a_dash_for_the_deviation_and_why(tmp_path):
    data = made_up.comparison("sample")
    data = dataclasses.replace(data, seeds=[1])
    for experiment_result in data.experiments.values():
        for variant, model in experiment_result.models.items():
            classes = {
                k: {f: spread(v.values[:1]) for f, v in c.items()}
                for k, c in model.details["classes"].items()
            }
            experiment_result.models[variant] = dataclasses.replace(
                model,
                summary={key: spread(value.values[:1]) for key, value in model.summary.items()},
                details={"classes": classes},
                machine_kinds=model.machine_kinds[:1],
                gain=model.gain
                and Gain(mean_pp=model.gain.values_pp[0], std_pp=None, values_pp=[0]),
            )
        for others in experiment_result.comparisons.values():
            for name in others:
                others[name] = difference_of([others[name].mean_pp / 100], others[name].family)
    folder = render_to(made_up.study("sample"), data, tmp_path)
    page = Page(folder / "index.html")
    assert "– (one seed has no deviation)" in page.text and "One seed has neither" in page.text
    assert page.tables["first"][1][4:6] == ["–", "–"] and "over 1 seed." in page.text
    assert "one seed has no interval" in page.text and "undecided." in page.text
    assert not re.search(r"\b(None|nan)\b", page.text)
    paper = (folder / "report.tex").read_text()  # has neither a deviation nor a table by class
    assert "One seed has neither" in paper and "one seed has no interval" in paper


def test_two_seeds_without_an_interval_are_not_called_one_seed(tmp_path):
    """As with one test document."""
    data = made_up.comparison("sample")
    data = dataclasses.replace(data, seeds=[1, 2])
    for result in data.experiments.values():
        for variant, model in result.models.items():
            result.models[variant] = dataclasses.replace(
                model, best_epochs=[1, 2], machine_kinds=model.machine_kinds[:2]
            )
            for figure, value in model.summary.items():
                model.summary[figure] = spread(value.values[:2])
            for figures in model.details["classes"].values():
                figures |= {figure: spread(value.values[:2]) for figure, value in figures.items()}
        change_difference(result, "attention", "baseline", interval_pp=None, p=None, p_holm=None)
    page = Page(render_to(made_up.study("sample"), data, tmp_path) / "index.html")
    assert "over 2 seeds." in page.text and "one seed" not in page.text.casefold()
    assert "one test document has no interval" in page.text
    text = "one test document decides nothing: attention against the baseline was"
    assert text in page.text.casefold()


def test_a_collapsed_run_and_a_model_below_the_majority_class_are_named_near_the_tables(tmp_path):
    data = made_up.comparison("sample")
    result = data.experiments["sample-author"]
    majority = result.opponents["majority"].summary["accuracy"].mean
    model = result.models["mean"]
    values = [0.8, majority, 0.81]
    summary = model.summary | {"accuracy": spread(values)}
    result.models["mean"] = dataclasses.replace(model, summary=summary)
    folder = render_to(made_up.study("sample"), data, tmp_path)
    page, paper = Page(folder / "index.html"), (folder / "report.tex").read_text()
    named, meaning = (
        f"Mean collapsed with seed 2 ({majority:.4f}).",
        "A run has collapsed if its accuracy is no",
    )
    assert page.text.count(named) == 2 and named in paper  # among the reasons, and at the tables
    assert page.text.count(meaning) == 1 and meaning in paper  # in the glossary
    tables = page.text.index("Corpus sample-letters")
    assert page.text.index(named) < tables < page.text.rindex(named)


def test_a_difference_that_is_rounded_to_zero_is_neither_up_nor_down(tmp_path):
    columns = (
        Column("name", "Name"),
        Column("figure", "Figure", value=lambda change: Cell("0.5", "0.5", change)),
    )
    table = Table("made-up", "", columns, make_rows(columns, ["+0.1", "−0.1", "0.0"]))
    page = html.page([table], lambda figure: "", "title", "", "")
    assert re.findall(r'<span class="(\w*)">\(', page) == ["up", "down", ""]


def test_the_talks_figures_are_printed_with_ours(rendered):
    folder = rendered("talk")
    page = Page(folder / "index.html")
    first = {row[0]: row for row in page.tables["first"]}
    assert first["Letters: author"][9] == "0.8859 → 0.8974 (+1.15)"
    assert first["Letters: author"][10].startswith("not reproduced: ")
    assert first["News Big: headlines and descriptions"][9] == "0.6602 → 0.6725 (+1.23)"
    talk_figures = {
        row[0]: [cell.split(" ")[1] for cell in row[1:]]
        for row in page.tables["news--attention"][1:]
        if row[1]
    }
    assert talk_figures["WEIRD NEWS"] == ["0.4660", "0.0564", "0.1004", "408"]
    assert talk_figures["macro avg"] == ["0.5163", "0.5064", "0.4895", "12824"]
    mean = (
        made_up.comparison("talk")
        .experiments["news"]
        .models["attention"]
        .details["classes"]["WEIRD NEWS"]["recall"]
        .mean
    )
    drawings = re.findall(r'<img [^>]*?alt="([^"]+)"', (folder / "index.html").read_text())
    assert drawings, "each says its title once"
    assert all(alt.count(alt.partition(". ")[0].partition(": ")[0]) == 1 for alt in drawings)
    assert "; the talk’s gain, not comparable with ours: +" in drawings[0]
    printed = next(row[2] for row in page.tables["news--attention"] if row[0] == "WEIRD NEWS")
    assert printed == f"{mean:.4f} 0.0564 ({100 * (mean - 0.0564):+.1f})".replace("(-", "(−")
    assert (
        "the talk, which does not define its own: 2.172%" in page.text
        and "the talk: +0.31 p.p." in page.text
        and "the talk: 7.6 million" in page.text
    )
    assert r"\scriptsize 0.4660" in (folder / "tables/news_pair.tex").read_text()


def test_the_change_by_degraded_hyperparameters_is_printed_with_the_talks(rendered):
    data = made_up.comparison("talk")
    folder = rendered("talk")
    page = Page(folder / "index.html")
    bad, good = (
        data.experiments[name].models["baseline"].summary["accuracy"].mean
        for name in ("imdb-suboptimal", "imdb")
    )
    assert f"baseline: {format_points(100 * (bad - good))} p.p." in page.text
    assert "the talk: −11.33 p.p." in page.text and "the talk: −1.20 p.p." in page.text
    summary = {row["experiment"]: row for row in rows(folder / "tables/summary.csv")}
    change = summary["imdb-suboptimal"]["baseline_change_pp"]
    assert change == format_points(100 * (bad - good)).replace("−", "-")
    assert not [name for name in summary["imdb"] if "loss" in name], "a loss of +0.83 is a gain"


def test_classes_are_matched_whatever_their_case_and_those_only_the_talk_has_are_named(tmp_path):
    data = with_classes(made_up.comparison("talk"), "imdb", ["NEGATIVE", "other"])
    page = Page(render_to(made_up.study("talk"), data, tmp_path) / "index.html")
    table = {row[0]: row for row in page.tables["imdb--baseline"]}
    assert table["NEGATIVE"][1].split(" ")[1] == "0.9077" and " " not in table["other"][1]
    assert "The talk has these classes too: positive." in page.text


def test_a_class_called_accuracy_is_a_class(tmp_path):
    data = with_classes(made_up.comparison("talk"), "imdb", ["accuracy", "macro avg"])
    folder = render_to(made_up.study("talk"), data, tmp_path)
    table = Page(folder / "index.html").tables["imdb--baseline"]
    assert [row[0] for row in table[1:]] == [
        "accuracy",
        "macro avg",
        "accuracy",
        "macro avg",
        "weighted avg",
    ]
    assert " " not in table[1][3] and "0.8539" in table[3][3]


def test_generated_and_reduced_corpora_are_named_so_and_never_comparable(tmp_path):
    folder = render_to(
        change_study(made_up.study("sample"), note=""),
        made_up.comparison("sample"),
        tmp_path / "sample",
    )
    assert "GENERATED TEXT, NOT A RESULT" in Page(folder / "index.html").text
    assert "GENERATED TEXT, NOT A RESULT" in (folder / "report.tex").read_text()
    assert {row["mark"] for path in (folder / "tables").glob("*.csv") for row in rows(path)} == {
        "generated text"
    }
    folder = render_to(made_up.study("talk"), made_up.comparison("talk"), tmp_path / "talk")
    page = Page(folder / "index.html")
    assert page.tables["first"][3][0] == "IMDB: sentiment reduced corpus"
    assert page.tables["first"][3][10] == "not comparable: reduced corpus"
    assert (
        "Without attention reduced corpus" in " ".join(page.text.split())
        and "GENERATED" not in page.text
    )


def test_an_experiment_the_talk_does_not_have_is_a_clear_error(tmp_path):
    params = made_up.study("talk")
    published = dataclasses.replace(params.experiments["imdb"].published, experiment="imbd")
    wrong = dataclasses.replace(params.experiments["imdb"], published=published)
    params = params.model_copy(update={"experiments": params.experiments | {"imdb": wrong}})
    with pytest.raises(
        HeedError,
        match=r"experiments\.imdb\.published\.experiment: the talk has no experiment imbd",
    ):
        render_to(params, made_up.comparison("talk"), tmp_path)


def test_texts_of_users_are_escaped_in_html_latex_and_csv(tmp_path):
    folder = render_hostile(tmp_path)
    page = Page(folder / "index.html")
    assert (
        page.source.count("<script") == 1
        and page.source.count("</style>") == 1
        and "<!--" not in page.source
    )
    names = [row[0] for row in page.tables["sample-author--baseline"][1:-3]]
    assert names[0] == HOSTILE[0] and "turned [U+202E] round, NUL [U+0000], [U+001B]" in names[4]
    assert not re.search("[\x00\x1b\u202e]", page.source)
    text = (folder / "report.tex").read_text()
    assert (
        r"50\%\_\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}" in text
        and r"\write" not in text
    )
    assert [row["row"] for row in rows(folder / "tables/sample-author--baseline.csv")][
        : len(HOSTILE)
    ] == [text.replace("\r", "[U+000D]") for text in HOSTILE]


FORMULAS = [
    "=1+1",
    '=HYPERLINK("http://x")',
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "\n=1",
    "＝1+1",
    "-",
]


@pytest.mark.drill("CSV: cells that a spreadsheet would execute", faults=len(FORMULAS))
def test_a_spreadsheet_gets_texts_and_numbers_but_no_formula():
    numbers = ["-1.25", "+2", "−0.5", "-3e-05", "+12.5%", "1", "a=b", "", "a[U+000D]b"]
    columns = (Column("name", "Name"), Column("gain_pp", "Gain", POINTS, lambda each: -1.25))
    made = Table("made-up", "", columns, make_rows(columns, [*FORMULAS, *numbers[:-1], "a\rb"]))
    table = list(csv.reader(io.StringIO(csv_table(made), newline="")))
    assert [row[0] for row in table[1:]] == [f"'{text}" for text in FORMULAS] + numbers
    assert {row[1] for row in table[1:]} == {"-1.25"}
    frame = pd.DataFrame({"model": FORMULAS, "value": -1.5, "count": range(len(FORMULAS))})
    quoted = quote_formulas(frame)
    assert (quoted["model"] == "'" + frame["model"]).all()
    pd.testing.assert_frame_equal(quoted[["value", "count"]], frame[["value", "count"]])


def test_latex_keeps_brackets_stars_and_ligatures_and_breaks_long_words():
    assert escape("[a]*") == "{[}a{]}{*}" and escape("語") == r"\allowbreak{}{[}U+8A9E{]}"
    assert escape("a--b ''") == "a-{}-b '{}'" and escape("one\r\ntwo") == "one two"
    assert escape("W" * 100).count(r"\allowbreak{}") == 19 and "allowbreak" not in escape("W" * 20)
    assert (
        cell("−1.50") == "-1.50"
        and cell("+1.50") == "+1.50"
        and cell("–") == "{--}"
        and cell("1_0") == r"{1\_0}"
    )


def test_numbers_are_printed_with_a_real_minus_and_a_dash_for_none():
    assert (
        format_points(-1.234) == "−1.23"
        and format_points(0.5) == "+0.50"
        and format_points(None) == "–"
    )
    assert format_number(0.5) == "0.5000" and format_number(None) == "–"


def test_deviation_and_gain_are_the_sample_deviation_in_percentage_points():
    assert spread([0.8, 0.9]).std_pp == pytest.approx(7.0710678)
    paired = paired_gain([0.9, 0.8], [0.8, 0.8])
    assert paired.mean_pp == pytest.approx(5) and paired.std_pp == pytest.approx(7.0710678)
    assert spread([0.8]).std_pp is None


@pytest.mark.slow
@pytest.mark.parametrize("what", ["hostile", "sample", "talk", "German"])
def test_make_pdf_compiles_the_report_without_warnings_that_matter(tmp_path, what):
    if not shutil.which("latexmk"):
        pytest.skip("latexmk is not installed")
    into = tmp_path / "reports"
    name = "talk" if what == "German" else what
    if what == "hostile":
        folder = render_hostile(into)
    else:
        params = change_study(made_up.study(name), language="de" if what == "German" else "en")
        folder = render_to(params, made_up.comparison(name), into)
    shutil.copy(ROOT / "Makefile", tmp_path)
    done = subprocess.run(["make", "pdf"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    first = (folder / "report.pdf").read_bytes()
    assert first.startswith(b"%PDF")
    log = (tmp_path / ".heed/pdf/report.log").read_text(errors="replace")
    assert not re.findall(
        r"LaTeX Warning: .*|Package \w+ Warning: .*|Missing character.*|Overfull .*", log
    )
    source = (folder / "report.tex").read_text(encoding="utf-8")
    changed = source.replace("\\maketitle\n", "\\maketitle Another report.\n", 1)
    (folder / "report.tex").write_text(changed, encoding="utf-8")
    # as an older heed left it
    shutil.copy(tmp_path / ".heed/pdf/printed.tex", tmp_path / ".heed/pdf/report.tex")
    subprocess.run(["make", "pdf"], cwd=tmp_path, capture_output=True, check=True)
    assert (folder / "report.pdf").read_bytes() != first, "the PDF is that of the report before"
    (folder / "report.tex").write_text(source, encoding="utf-8")
    shutil.rmtree(tmp_path / ".heed")
    subprocess.run(["make", "pdf"], cwd=tmp_path, capture_output=True, check=True)
    assert (folder / "report.pdf").read_bytes() == first


def check_rendered(params: Params, data: Comparison, folder: Path, lock: Path) -> str:
    results = folder.with_name(f"{folder.name}-results")
    return check_report(params, data, ROOT / "data/published", results, folder, lock)


def test_the_check_names_every_number_of_a_report_that_is_not_the_results(tmp_path):
    params, data = made_up.study("sample"), made_up.comparison("sample")
    folder, lock = render_to(params, data, tmp_path / "reports"), tmp_path / "dvc.lock"
    assert "every number in" in check_rendered(params, data, folder, lock)
    old = f"{data.experiments['sample-author'].models['attention'].summary['accuracy'].mean:.4f}"
    for name in ("index.html", "tables/summary.csv"):
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, "0.9999"))
    (folder / "tables/left-over.csv").write_text("")
    (folder / "figures/gain.svg").write_text("<svg></svg>")
    with pytest.raises(HeedError) as error:
        check_rendered(params, data, folder, lock)
    message = str(error.value)
    assert (
        "Run: dvc repro report" in message
        and "left-over.csv: is no longer of the report" in message
    )
    assert f"summary.csv: line 3, attention: 0.9999 in the report, {old} by the results" in message
    assert re.search(
        rf"index\.html: line \d+: 0\.9999 in the report, {old} by the results", message
    )
    assert "gain.svg: drawn of other numbers" in message


def test_the_check_says_which_result_is_not_what_dvc_has(tmp_path):
    params, data = made_up.study("sample"), made_up.comparison("sample")
    folder, lock = render_to(params, data, tmp_path / "reports"), tmp_path / "dvc.lock"
    (tmp_path / "results").symlink_to(tmp_path / "reports-results")
    evaluation = tmp_path / "results/evaluate/sample-author-mean"
    out = {"path": "results/evaluate/sample-author-mean", "md5": folder_md5(evaluation)}
    write_json(lock, {"stages": {"score@sample-author-mean": {"outs": [out]}}})
    assert "every number in" in check_rendered(params, data, folder, lock)
    (evaluation / "more.csv").write_text("")
    with pytest.raises(HeedError, match="is not what the stage score@sample-author-mean wrote"):
        check_rendered(params, data, folder, lock)


def test_every_table_and_figure_links_its_file_hash_stage_and_command(tmp_path):
    data = made_up.comparison("sample")
    folder = render_to(made_up.study("sample"), data, tmp_path / "reports")
    page = Page(folder / "index.html")
    rows_ = {row[0]: row[1:] for row in page.tables["sources"][1:]}
    assert rows_["results/compare/comparison.json"] == [
        "compare", "heed compare", md5(tmp_path / "reports-results/compare/comparison.json")
    ]  # fmt: skip
    assert rows_["results/evaluate/sample-author-mean/confusion.csv"][:2] == [
        "score@sample-author-mean", "heed score sample-author-mean"
    ]  # fmt: skip
    figures = re.findall(r"<figure .*?</figure>", page.source, flags=re.DOTALL)
    assert len(figures) > 20
    for figure in figures:
        assert 'href="#from-' in figure or 'id="table-sources"' in figure
    for table in re.findall(r"<table [^>]*>", page.source):
        assert "comparison.json · md5" in table or 'class="from"' in table


def test_provenance_names_commit_versions_and_core_hours(tmp_path):
    write_json(
        tmp_path / "results/timing/train/it/1.json",
        {
            "seconds": 9999,
            "cpu_seconds": 3600,
            "code": "c0de",
            "device": "cpu",
            "host": "here",
            "torch": "2",
            "ended": "2026-01-02T03:04:05+0000",
        },
    )
    write_json(
        tmp_path / "results/timing/train/no-longer-there/1.json", {"seconds": 5}
    )  # an old one
    write_provenance(tmp_path, tmp_path / "reports/provenance.html", ["it"])
    text = (tmp_path / "reports/provenance.html").read_text()
    assert f'http-equiv="Content-Security-Policy" content="{html.policy()}"' in text
    assert html.policy().endswith("script-src 'none'") and "<script" not in text
    assert "1.00 core-hours" in text and "No git commit is known" in text and "2026-01-02" in text
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    for _ in range(2):  # the first changes the page that git has
        write_provenance(tmp_path, tmp_path / "reports/provenance.html", ["it"])
    text = (tmp_path / "reports/provenance.html").read_text()
    assert "1 tracked file differed" in text and "<code>reports/provenance.html</code>" in text
    subprocess.run(["git", "checkout", "-q", "."], cwd=tmp_path, check=True)
    write_provenance(tmp_path, tmp_path / "provenance.html", [])
    text = (tmp_path / "provenance.html").read_text()
    assert "The tree was clean" in text and "not of the present study" in text


def test_every_score_function_of_the_lectures_has_a_row_with_its_accuracy(tmp_path):
    data = made_up.comparison("sample")
    models = data.experiments["sample-author"].models
    hyperparameters = dataclasses.replace(
        models["mean"].hyperparameters, pooling="attention", score="general"
    )
    models["mean"] = dataclasses.replace(models["mean"], hyperparameters=hyperparameters)
    folder = render_to(made_up.study("sample"), data, tmp_path)
    table = Page(folder / "index.html").tables["scores"]
    assert {row[0] for row in table[1:]} == set(get_args(get_type_hints(Hyperparameters)["score"]))
    general = next(row for row in table if row[0] == "general")
    accuracy = models["mean"].summary["accuracy"]
    assert general[3].startswith("Sample letters by author (generated): mean (pooling)")
    assert general[4:7] == [
        f"{accuracy.mean:.4f}",
        f"{accuracy.std_pp:.2f}",
        format_points(models["mean"].gain.mean_pp),
    ]
    assert next(row for row in table if row[0] == "dot")[3] == "no model of this study"
    lines = {row["score"]: row for row in rows(folder / "tables/scores.csv")}
    assert lines["general"]["variant"] == "mean" and "dot" not in lines
    text = (folder / "tables/scores.tex").read_text()
    assert "multi-head" in text and text.count("Luong et al. 2015") == 4, (
        "only within a score a source is left out"
    )


def block(title: str = "Some [table] & more", mark: str = "") -> Table:
    """A table of every kind of column: text, numbers, percentage points, p values, notes, and
    columns of one form only.
    """
    columns = (
        Column("corpus", "", value=lambda _: "news"),
        Column("name", "Name", value=lambda record: record[0]),
        Column(
            "size",
            "Size",
            decimals(2, 3),
            lambda record: Cell(record[1], "0.40", "+1.2"),
            meaning="how large",
        ),
        Column("gain_pp", "Gain", POINTS, lambda record: record[2], unit="p.p."),
        Column("", "p", PROBABILITY, lambda record: record[3]),
    )
    records = [("a_b & <c>", 0.5, -1.25, 0.0001), ("plain", None, 2.0, None)]
    source = Source("results/compare/comparison.json", "0" * 32, "compare", "heed compare")
    return Table(
        "made-up", title, columns, make_rows(columns, records), sources=(source,), mark=mark
    )


def test_a_table_declared_once_has_the_same_cells_in_html_latex_and_csv(tmp_path):
    made = block()
    write_text(tmp_path / "page.html", html.page([made], lambda figure: "", "title", "", ""))
    page = Page(tmp_path / "page.html")
    assert page.tables["made-up"] == [
        ["Name", "Size", "Gain (p.p.)", "p"],
        ["a_b & <c>", "0.50 0.40 (+1.2)", "−1.25", "< 0.001"],
        ["plain", "– 0.40 (+1.2)", "+2.00", "–"],
    ]
    assert "Size: how large." in page.text
    text = latex.table(made)
    assert r"a\_b \& \textless{}c\textgreater{} & 0.50 & -1.25 & \textless{} 0.001 \\" in text
    assert r"plain & {--} & +2.00 & -- \\" in text and r"\scriptsize 0.40\,(+1.2)" in text
    assert (
        "S[table-format=+1.2,retain-explicit-plus" in text
        and r"{\shortstack[r]{Gain\\(p.p.)}}" in text
    )
    assert "\n\n" not in text, "an empty line within a table is a paragraph, where none may be"
    assert (
        csv_table(made)
        == "corpus,name,size,gain_pp\nnews,a_b & <c>,0.500,-1.25\nnews,plain,,+2.00\n"
    )


def test_a_chapter_is_one_function_and_appears_in_page_paper_and_tables(tmp_path, monkeypatch):
    def draw(figure):
        figure.subplots().plot([0, 1], [0, 1])

    def chapter(results, experiment):
        figure = blocks.Figure(
            "made-up-figure", "A figure", "Drawn.", results.comparison_sources, draw, (3, 2)
        )
        table = dataclasses.replace(block(mark=experiment.mark), key=f"{experiment.key}_made-up")
        words = blocks.Paragraph(("Only on the page.",), media=(blocks.PAGE,))
        return [table, words, *([figure] if experiment.key == "sample-author" else [])]

    monkeypatch.setattr(classification, "CHAPTERS", [*classification.CHAPTERS, chapter])
    folder = render_to(made_up.study("sample"), made_up.comparison("sample"), tmp_path)
    page, paper = Page(folder / "index.html"), (folder / "report.tex").read_text()
    for name in ("sample-author", "sample-sentiment"):
        assert page.tables[f"{name}_made-up"][1][0] == "a_b & <c>"
        assert (
            paper.count(r"\textbf{Some {[}table{]} \& more") == 2
            and (folder / f"tables/{name}_made-up.tex").exists()
        )
        assert rows(folder / f"tables/{name}_made-up.csv")[1]["gain_pp"] == "+2.00"
    assert "figure-made-up-figure" in page.ids and (folder / "figures/made-up-figure.svg").exists()
    assert "figures/made-up-figure.pdf" in paper
    assert page.text.count("Only on the page.") == 2 and "Only on the page." not in paper
