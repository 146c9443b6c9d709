"""The first screen of a report: one sentence and one matrix, from the verdicts alone."""

import csv
import dataclasses
import html as html_module
import re
from pathlib import Path

import pytest

from heed.evaluation.results import BETTER, NOT_CONVERGED, SAME, UNDECIDED, WORSE
from heed.report import html, latex
from heed.report.blocks import PAGE, Span
from heed.report.chapters import summary as answer_chapter
from heed.report.chapters.headline import SIGNS, headline, verdict_matrix
from heed.report.chapters.shared import link_terms
from heed.report.experiments import (
    NOT_COMPARABLE,
    NOT_REPRODUCED,
    REPRODUCED,
    Experiment,
    Reproduction,
)
from heed.report.formats import format_points
from heed.report.html import split_note
from heed.report.language import use_language
from heed.tasks.classification.recipe import Hyperparameters
from tests.fixtures.report import made_up, made_up_translation
from tests.fixtures.report.answers import NOISY, SEEDS, experiment_of, make_experiment
from tests.unit.report.conftest import read_made_up

GAIN, LOSS = {}, {"attention": (0.70, 0.72, 0.71)}
OPEN, LEVEL = {"attention": (0.80, 0.85, 0.79)}, {"attention": (0.8, 0.8201, 0.81)}
VOID = {"longer": {"baseline": 2.5}}
ONE_SEED = {"baseline": (0.8,), "attention": (0.9,)}
BEATEN, UNBEATEN = {"mean": (0.82, 0.833, 0.811)}, {"mean": NOISY}  # controls, by attention
STRONG = {"linear": 0.95}
NO_ATTENTION = {"answers": ("location",)}
POOLING = {"answers": ("pooling", "attention"), "pooling": (0.90, 0.91, 0.89)}


def study_of(*cases: dict, corpus: str = "") -> list[Experiment]:
    """Experiments with these accuracies, each on a corpus of its own."""
    return [
        experiment_of(make_experiment(**case), f"experiment {index}", corpus)
        for index, case in enumerate(cases)
    ]


MIXES = {
    "bad news first, and a linear model that mostly wins": [
        GAIN | UNBEATEN | STRONG,
        LOSS | UNBEATEN | STRONG,
        *[OPEN | UNBEATEN | STRONG] * 2,
        OPEN | UNBEATEN,
    ],
    "one gain without a control": [GAIN],
    "one gain that a control has too": [GAIN | UNBEATEN],
    "one gain, better than one of two controls": [GAIN | BEATEN | {"parameter-matched": NOISY}],
    "a gain that is attention's own": [GAIN | BEATEN],
    "controls in some experiments only": [GAIN | UNBEATEN, GAIN | BEATEN, LOSS],
    "nothing had converged": [VOID | UNBEATEN | STRONG] * 2,
    "all the same": [LEVEL] * 3,
    "one seed": [ONE_SEED],
    "without attention": [NO_ATTENTION],
    "attention in one of two": [NO_ATTENTION, OPEN],
    "another variant comes first": [POOLING] * 2,
    "experiments that judge different variants": [GAIN | BEATEN, POOLING | BEATEN],
}


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_sentence_over_all_experiments_is_true_for_every_mix_of_verdicts(language, snapshot):
    with use_language(language):
        lines = [
            f"{name}: {headline(study_of(*cases), len(cases[0].get('baseline', SEEDS)))}\n"
            for name, cases in MIXES.items()
        ]
    snapshot(f"headlines-{language}", "".join(lines))


def test_the_sentence_names_what_a_study_has():
    """Experiments on one corpus, no reference models, and a baseline that reads more than its
    state.
    """
    text = headline(study_of(GAIN, OPEN, corpus="reviews"), 3)
    assert text.startswith("Two experiments: attention beats the last-state baseline on 1, und")
    result = make_experiment(mean=NOISY)
    for others in result.comparisons.values():
        for reference_model in result.reference_models:
            others.pop(reference_model, None)
    text = headline([experiment_of(result, "a")], 3)
    assert text.endswith("Not shown better than a control.") and "model" not in text
    mean = Hyperparameters(pooling="mean")
    result.models["baseline"] = dataclasses.replace(result.models["baseline"], hyperparameters=mean)
    assert "attention beats the baseline." in headline([experiment_of(result, "a")], 3)


REAL = {"generated": False}
LAST_STATE = "attention over the last state +4.0 p.p. (+1.5 to +6.5)."
USE = {
    "the linear model wins": (
        {"linear": 0.95},
        "Use the linear model: 0.950; the best network has 0.850 (attention: −10.0 p.p., −12.5 to "
        f"−7.5) and {LAST_STATE}",
    ),
    "a network is better by less than the margin": (
        {"linear": 0.845},
        "Use the linear model: 0.845; the best network has 0.850 (attention: +0.5 p.p., −2.0 to "
        f"+3.0) and {LAST_STATE}",
    ),
    "a network is better, without a test": (
        {"linear": 0.7, "pooling": (0.9, 0.91, 0.89)},
        "Use the network pooling: 0.900; the linear model has 0.700 (pooling over it: +20.0 p.p.) "
        f"and {LAST_STATE}",
    ),
    "the best network had not converged": (
        {"linear": 0.95, "longer": {"attention": 2.5}},
        "Use the linear model: 0.950; the best network has 0.850 (attention, not converged: −10.0 "
        f"p.p., −12.5 to −7.5) and {LAST_STATE}",
    ),
    "no variant of the question": (
        {"linear": 0.95, "answers": ("location",)},
        "Use the linear model: 0.950; the best network has 0.850 (attention: −10.0 p.p.).",
    ),
}


@pytest.mark.parametrize("name", USE)
def test_the_first_sentence_says_which_model_to_use(name):
    case, expected = USE[name]
    (experiment,) = study_of(case | REAL)
    assert headline([experiment], 3).startswith(f"{expected} One corpus: ")
    assert experiment.answer.recommended in expected


def test_generated_text_and_several_corpora_have_no_sentence_on_one_model():
    assert headline(study_of(STRONG), 3).startswith("One corpus: ")
    weak = {"linear": 0.7}
    for cases, expected in (
        ([STRONG, STRONG], "Use the linear model on both. Two"),
        ([STRONG, weak, STRONG], "Use the linear model on 2, a network on 1 of 3. Three"),
        ([STRONG, {"generated": True}], "Use the linear model on 1 of 2. Two"),
    ):
        assert headline(study_of(*(REAL | case for case in cases)), 3).startswith(expected)


@pytest.mark.parametrize(
    ("attention", "text"),
    [
        ((0.75, 0.5, 0.56), "A linear model beats it."),
        ((0.75, 0.5, 0.66), "A linear model is ahead of it, −30.33 p.p. (95% interval −61.79"),
        ((0.95, 0.7, 0.78), "A linear model is ahead of it, −13.00 p.p. (95% interval −44.72 to"),
        ((0.95, 0.94, 0.96), "Not shown better than a linear model."),
    ],
)
def test_a_linear_model_that_is_ahead_is_not_only_not_shown_to_be_beaten(attention, text):
    assert text in headline(study_of({"linear": 0.94, "attention": attention}), 3)


def test_translations_and_classifications_have_one_sentence_and_each_difference_its_unit():
    data = made_up_translation.comparison()
    (result,) = data.experiments.values()
    translation = experiment_of(result, "translation")
    assert headline([translation], 3).endswith("It beats statistical translation.")
    mixed = [translation, *study_of(GAIN | STRONG)]
    assert headline(mixed, 3).startswith("Two corpora: attention beats the baseline on both. ")
    assert headline(mixed, 3).endswith("A reference model beats it on 1 of 2.")
    text = html.markdown_table(verdict_matrix(mixed))
    assert "+41.67 BLEU points" in text and "+4.00 p.p." in text
    assert "(statistical)" in text and "(linear)" in text


def test_a_multi_label_experiment_is_judged_as_any_classification():
    result = dataclasses.replace(make_experiment(mean=NOISY, linear=0.95), task="multilabel")
    assert headline([experiment_of(result, "a")], 3) == (
        "One corpus: attention beats the last-state baseline. Not shown better than a control. A "
        "linear model beats it."
    )


def cells_of(experiments: list[Experiment]) -> list[dict[str, str]]:
    """The matrix as the page prints it: heading → cell, for each experiment."""
    table = verdict_matrix(experiments)
    indices = table.column_indices(PAGE)
    return [
        {table.columns[index].heading: table.printed(row, index) for index in indices}
        for row in table.rows
    ]


def test_of_several_controls_the_cell_has_the_one_that_attention_beats_least():
    (cells,) = cells_of(
        study_of(GAIN | BEATEN | {"parameter-matched": NOISY, "uniform": (0.7, 0.7, 0.71)})
    )
    assert cells["Against the strongest control"] == "?\u00a0undecided +0.33 (parameter-matched)"
    lost = {"mean": (0.86, 0.87, 0.851), "parameter-matched": (0.99, 0.70, 0.95)}
    (cells,) = cells_of(study_of(GAIN | lost))  # the other is further ahead, and it may be chance
    assert cells["Against the strongest control"] == "▼\u00a0worse −1.03 (mean)"


def test_a_column_that_no_experiment_has_is_left_out():
    headings = [list(cells_of(study_of(*cases))[0]) for cases in ([GAIN], [GAIN, UNBEATEN])]
    assert headings[0] == ["Experiment", "Against the baseline", "Against the linear model"]
    assert headings[1] == [*headings[0][:2], "Against the strongest control", headings[0][2]]
    (cells,) = cells_of(study_of(NO_ATTENTION))
    assert cells == {"Experiment": "experiment 0"}


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
    cases = [GAIN, LOSS, OPEN, LEVEL, VOID]
    table = verdict_matrix(study_of(*cases))
    index = [column.heading for column in table.columns].index("Against the baseline")
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
        assert row["baseline_verdict"] == against.result.verdict
        assert float(row["baseline_pp"]) == pytest.approx(against.result.mean_pp, abs=0.005)
        number = format_points(against.mean)
        for text in (cells["Against the baseline"], tex.replace(r"\textminus{}", "−"), line):
            assert number in text
        for compared_model, key in (
            ("control", "strongest_control"),
            ("reference_model", "strongest_reference_model"),
        ):
            difference = getattr(experiment.attention_comparison, key)
            assert row[compared_model] == (difference.second if difference else "")
            assert row[f"{compared_model}_verdict"] == (
                difference.result.verdict if difference else ""
            )


def visible_text(page: str) -> str:
    """The text of a page before its first chart that stands there without a click."""
    body = page[page.index("<body>") : page.index('<figure id="figure-gain"')]
    body = re.sub(r"<(script|style)\b.*?</\1>", "", body, flags=re.DOTALL)
    details = r"<details\b[^>]*>(<summary\b.*?</summary>)?((?!<details\b).)*?</details>"
    while re.search(details, body, flags=re.DOTALL):
        body = re.sub(details, r"\1", body, flags=re.DOTALL)
    return html_module.unescape(re.sub("<[^>]*>", " ", body))


@pytest.mark.parametrize("name", ["sample", "talk"])
def test_at_most_150_words_stand_before_the_chart(tmp_path: Path, name: str):
    params, data = made_up.study(name), made_up.comparison(name)
    results = read_made_up(params, data, tmp_path)
    note = "A note begins with what matters. " + "It may go on for a long time. " * 20
    blocks = answer_chapter.chapter(results)
    page = html.page(blocks, lambda _: "", params.study.title, "GENERATED TEXT.", note)
    text = visible_text(page)
    words = [word for word in text.split() if re.search(r"[^\W\d_]", word)]
    assert 50 < len(words) <= 150, text
    answer = headline(results.experiments, len(data.seeds))
    assert "".join(answer.split()) in "".join(text.split())  # links have spaces around them
    assert "A note begins with what matters." in text and "It may go on" not in text
    assert "It may go on" in page


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
