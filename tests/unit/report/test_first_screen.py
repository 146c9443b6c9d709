"""The first screen of a report: sentences, the chart, one text, three lists, and the matrix."""

import csv
import dataclasses
import types
from pathlib import Path

import pytest

from heed.evaluation.results import BETTER, NOT_CONVERGED, SAME, UNDECIDED, WORSE
from heed.report import html, latex
from heed.report.blocks import Items, Span, walk_blocks
from heed.report.chapters import summary as answer_chapter
from heed.report.chapters.documents import first_text
from heed.report.chapters.shared import link_terms
from heed.report.chapters.summary import SIGNS, headline, verdict_matrix
from heed.report.experiments import (
    NOT_COMPARABLE,
    NOT_REPRODUCED,
    REPRODUCED,
    Experiment,
    Reproduction,
)
from heed.report.formats import format_points
from heed.report.html import split_note
from tests.fixtures.report import made_up
from tests.fixtures.report.answers import NOISY, experiment_of, make_experiment
from tests.unit.report.conftest import read_made_up

GAIN, LOSS = {}, {"attention": (0.70, 0.72, 0.71)}
OPEN, LEVEL = {"attention": (0.80, 0.85, 0.79)}, {"attention": (0.8, 0.8201, 0.81)}
VOID = {"longer": {"baseline": 2.5}}
BEATEN, UNBEATEN = {"mean": (0.82, 0.833, 0.811)}, {"mean": NOISY}  # controls, by attention
STRONG = {"linear": 0.95}
POOLING = {"answers": ("pooling", "attention"), "pooling": (0.90, 0.91, 0.89)}
SENTENCE = (
    "Attention beats a BiLSTM’s last state (baseline), 85.0% against 81.0%; it beats a linear "
    "model, 70.0%."
)


def study_of(*cases: dict, corpus: str = "") -> list[Experiment]:
    """Experiments with these accuracies, each on a corpus of its own."""
    return [
        experiment_of(make_experiment(**case), f"experiment {index}", corpus)
        for index, case in enumerate(cases)
    ]


def detecting(detectable_pp: float | None, title: str) -> Experiment:
    """A gain whose primary comparison finds differences of this size."""
    result = make_experiment()
    gain = result.comparisons["attention"]["baseline"]
    changed = dataclasses.replace(gain, detectable_pp=detectable_pp)
    result.comparisons["attention"]["baseline"] = changed
    return experiment_of(result, title)


def test_an_experiment_alone_has_its_sentence_and_several_have_their_titles():
    assert headline(study_of(GAIN)) == [SENTENCE]
    lines = headline([detecting(None, "One"), detecting(None, "Does it help?")])
    assert lines == [f"One: {SENTENCE}", f"Does it help? {SENTENCE}"]


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ((3.0,), ""),
        ((4.12,), "4.1 p.p."),
        ((4.12, 2.0), "4.1 p.p. (0)"),
        ((4.12, None, 11.0), "4.1 p.p. (0), 11.0 p.p. (2)"),
    ],
)
def test_a_study_that_is_likely_to_miss_three_points_says_so(sizes, text):
    lines = headline([detecting(size, str(index)) for index, size in enumerate(sizes)])
    said = f"Differences below these are likely to be missed: {text} (80% power)."
    assert lines[len(sizes) :] == ([said] if text else [])


def cells_of(experiments: list[Experiment]) -> list[dict[str, str]]:
    """The matrix as the page prints it: heading → cell, for each experiment."""
    table = verdict_matrix(experiments)
    indices = table.column_indices("page")
    return [
        {table.columns[index].heading: table.printed(row, index) for index in indices}
        for row in table.rows
    ]


QUESTION, BASELINE = "The question: against its control", "Against the baseline"


def test_the_matrix_is_led_by_the_primary_comparison_and_says_what_each_model_is():
    cells, other = cells_of(study_of(GAIN | UNBEATEN, GAIN))
    assert [*cells] == ["Experiment", QUESTION, BASELINE, "Against the linear model"]
    assert cells[QUESTION] == "?\u00a0undecided +0.33, averaging without learned weights (mean)"
    assert cells[BASELINE] == "▲\u00a0better +4.00, a BiLSTM’s last state (baseline)"
    assert other[QUESTION] == other[BASELINE] == cells[BASELINE]


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        (REPRODUCED, "=\u00a0reproduced +1.15"),
        (NOT_REPRODUCED, "≠\u00a0not reproduced +1.15"),
        (UNDECIDED, "?\u00a0undecided +1.15"),
        (NOT_COMPARABLE, "–\u00a0not comparable +1.15"),
        ("", "–"),
    ],
)
def test_the_talks_gain_is_a_column_where_the_study_has_it(verdict, text):
    (experiment,) = study_of(GAIN)
    line = dataclasses.replace(
        experiment.line, reproduction=Reproduction(verdict, "why"), talk_gain=1.15
    )
    (cells,) = cells_of([dataclasses.replace(experiment, line=line)])
    assert cells["The talk’s gain"] == text


def test_a_verdict_is_told_by_a_word_a_sign_and_a_style():
    table = verdict_matrix(study_of(GAIN, LOSS, OPEN, LEVEL, VOID))
    index = [column.heading for column in table.columns].index(QUESTION)
    verdicts = [row.cells[index].value.texts[0] for row in table.rows]
    words = ["better", "worse", "undecided", "the same", "not converged"]
    keys = [BETTER, WORSE, UNDECIDED, SAME, NOT_CONVERGED]
    assert [each.text for each in verdicts] == [
        f"{SIGNS[key]}\u00a0{word}" for key, word in zip(keys, words, strict=True)
    ]
    assert len({SIGNS[key] for key in keys}) == len({each.style for each in verdicts}) == 5


def test_the_matrix_names_the_judged_variant_where_a_study_has_several():
    table = verdict_matrix(study_of(GAIN, POOLING))
    index = [column.heading for column in table.columns].index("Experiment")
    assert [row.cells[index].note for row in table.rows] == ["attention", "pooling"]


def test_page_paper_csv_and_readme_have_the_verdicts_of_comparison_json():
    experiments = study_of(GAIN | UNBEATEN | STRONG, LOSS | BEATEN, VOID, LEVEL)
    table = verdict_matrix(experiments)
    rows = list(csv.DictReader(html.csv_table(table).splitlines()))
    paper, readme = latex.table(table).split(r"\\"), html.markdown_table(table).splitlines()
    page = cells_of(experiments)
    for experiment, row, cells in zip(experiments, rows, page, strict=True):
        (tex,) = (line for line in paper if experiment.title in line)
        (line,) = (line for line in readme if experiment.title in line)
        against = experiment.attention_comparison.baseline
        for text in (cells[BASELINE], tex.replace(r"\textminus{}", "−"), line):
            assert format_points(against.mean) in text
        for compared_model, key in (
            ("control", "primary"),
            ("baseline", "baseline"),
            ("reference_model", "strongest_reference_model"),
        ):
            difference = getattr(experiment.attention_comparison, key)
            assert row[compared_model] == difference.second
            assert row[f"{compared_model}_verdict"] == difference.result.verdict
            assert float(row[f"{compared_model}_pp"]) == pytest.approx(difference.mean, abs=0.005)


@pytest.mark.parametrize("generated", [(True, True), (True, False), (False, False)])
def test_of_real_text_a_study_says_nothing_only_where_all_of_its_text_is_generated(
    tmp_path: Path, generated: tuple[bool, ...]
):
    results = read_made_up(made_up.study("sample"), made_up.comparison("sample"), tmp_path)
    pairs = zip(results.experiments, generated, strict=True)
    experiments = [dataclasses.replace(each, generated=is_so) for each, is_so in pairs]
    blocks = [*answer_chapter.lists(dataclasses.replace(results, experiments=experiments))]
    assert ("Anything about real text" in str(blocks)) == all(generated)


def test_the_text_is_that_of_the_median_of_its_class_with_the_shares_of_all(tmp_path: Path):
    results = read_made_up(made_up.study("sample"), made_up.comparison("sample"), tmp_path)
    experiment = results.experiments[0]
    model = results.models(experiment)["attention"]
    browser = results.browsers[model]
    shares = {"a": (0.1, 0.2, 0.3), "b": (0.4, 0.7, 0.8, 0.9, 0.2)}  # of b's last one wrong
    documents = [
        dataclasses.replace(
            browser.documents[0], id=f"{label} {share}", label=label,
            predicted="a" if share == of_class[-1] else label,
            tokens=browser.documents[0].tokens.assign(
                rationale=lambda each: each.index == each.index[0],
                weight=lambda each, share=share: share * (each.index == each.index[0]),
            ),
        )
        for label, of_class in shares.items()
        for share in of_class
    ]  # fmt: skip
    changed = dataclasses.replace(
        results, browsers={model: dataclasses.replace(browser, documents=documents)}
    )
    text, _ = first_text(changed, experiment)
    description = text.description
    assert description == (
        "b, predicted b; 4 of 4 words, with 70% of the weight. Weight on the underlined: 70% in "
        "the whole document; median of 8 documents by class: a 20.0%, b 70.0%"
    )
    unpublished = dataclasses.replace(experiment, generated=False, publishable=False)
    assert first_text(dataclasses.replace(changed, with_documents=False), unpublished) == []


@pytest.mark.parametrize(("control", "lacks"), [("mean", True), ("uniform", False)])
def test_a_control_without_the_layer_of_attention_is_named(tmp_path: Path, control, lacks):
    data = made_up.comparison("sample")
    models = data.experiments["sample-sentiment"].models
    h = dataclasses.replace(models["attention"].hyperparameters, attention="uniform")
    if control == "uniform":
        models[control] = dataclasses.replace(models["mean"], hyperparameters=h)
    results = types.SimpleNamespace(comparison=data)
    experiment = experiment_of(data.experiments["sample-sentiment"], "sentiment")
    said = [*answer_chapter._not_said(results, experiment)]
    text = (
        "whether a difference from mean comes from the weights alone: mean lacks the whole layer "
        "of attention"
    )
    assert (text in said) == lacks


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        (
            {"attention": (0.85, 0.5, 0.84)},
            ["how well a model does when all its runs succeed: attention is degenerate with seed "
             "2 (0.5000)"],
        ),
    ],
)  # fmt: skip
def test_degenerate_runs_leave_it_open_how_well_a_model_does(changes, said):
    experiment = experiment_of(make_experiment(mean=NOISY, **changes), "made-up")
    results = types.SimpleNamespace(comparison=types.SimpleNamespace(seeds=[1, 2, 3]))
    found = [*answer_chapter._not_said(results, experiment)]
    assert [each for each in found if "runs succeed" in each] == said


@pytest.mark.parametrize(
    ("longer", "models"),
    [({"baseline": 90.0}, {"attention", "baseline"}), ({"location": 90.0}, set())],
)
def test_longer_trainings_settle_only_comparisons_that_they_leave_open(monkeypatch, longer, models):
    asked = []
    monkeypatch.setattr(
        answer_chapter.convergence, "settings", lambda _, __, names: asked.append(names) or []
    )
    made = make_experiment(attention=(0.9, 0.91, 0.89), location=(0.97, 0.98, 0.96), longer=longer)
    assert [*answer_chapter._settling(None, experiment_of(made, "made-up"))] == []
    assert asked == [models]


def test_what_would_settle_it_has_commands_to_type(tmp_path: Path):
    results = read_made_up(made_up.study("sample"), made_up.comparison("sample"), tmp_path)
    open_ones = study_of(OPEN | {"needed": 71}, OPEN)
    data = dataclasses.replace(
        results.comparison, experiments={each.key: each.result for each in open_ones}
    )
    changed = dataclasses.replace(results, experiments=open_ones, comparison=data)
    (section,) = answer_chapter.chapter(changed)
    blocks = [*walk_blocks(section.blocks)]
    at = next(
        i for i, each in enumerate(blocks) if getattr(each, "title", "").startswith("What wo")
    )
    assert isinstance(blocks[at + 1], Items)
    items = ["".join(getattr(text, "text", text) for text in item) for item in blocks[at + 1].items]
    assert items == [
        "experiment 0: attention and baseline: about 71 seeds: heed study --seeds 71.",
        "experiment 1: attention and baseline: more test texts, or over 1,000 seeds.",
    ]


def test_a_long_note_shows_its_first_sentence():
    rest = "The pieces, e.g. those of letters, are short. " + "And so on. " * 9
    assert split_note(f"Sizes are for a CPU. {rest}") == ("Sizes are for a CPU.", rest)
    assert split_note("Short. All of it.") == ("Short. All of it.", "")
    endless = "no sentence ends here " * 9
    assert split_note(endless) == (endless, "")


def test_the_first_use_of_a_term_leads_to_the_glossary():
    terms = {"control": "control", "baseline": "baseline"}
    text = "Beats the baseline; a control beats the baseline."
    assert link_terms(text, terms) == (
        "Beats the ", Span("baseline", link="#glossary-baseline"), "; a ",
        Span("control", link="#glossary-control"), " beats the baseline.",
    )  # fmt: skip
