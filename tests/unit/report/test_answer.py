"""The sentence on an experiment: a table of situations, each with its exact sentence."""

import dataclasses

import pytest

from heed.report.answer import answer, describe_model
from heed.tasks.classification.recipe import Hyperparameters
from heed.tasks.translation.recipe import Hyperparameters as Translator
from tests.fixtures.report.answers import METHOD, NOISY, make_experiment

LOSS = {"attention": (0.70, 0.72, 0.71)}
LAST, MEAN = "a BiLSTM’s last state (baseline)", "averaging without learned weights (mean)"
LINEAR = "it beats a linear model, 70.0%."
# what differs from a gain over three seeds; the sentences are in snapshots/answers.txt
SITUATIONS = {
    "a gain": {},
    "a loss": LOSS,
    "undecided": {"attention": (0.80, 0.85, 0.79)},
    "the same": {"attention": (0.8, 0.8201, 0.81)},
    "another decimal tells the scores apart": {"attention": (0.8, 0.821, 0.81), "linear": 0.8102},
    "and all scores of the sentence have it": {"generated": False, "linear": 0.8502},
    "rounded up and down, no decimal is wanted": {
        "attention": (0.8105, 0.8106, 0.81041),
        "baseline": (0.8105, 0.8105, 0.8104),
    },
    "the linear model does better": {"linear": 0.9},
    "the control leads, and the baseline follows": {"mean": NOISY},
    "what is beaten stands before what does better": {
        "mean": (0.84, 0.85, 0.83),
        "parameter-matched": (0.9, 0.91, 0.89),
    },
    "one seed": {"baseline": (0.8,), "attention": (0.9,)},
    "not converged": {"longer": {"baseline": 3.5}},
    "twice the epochs did better within the margin": {"longer": {"baseline": 2.0}},
    "another variant with attention does better": LOSS | {"pooling": (0.9, 0.91, 0.89)},
    "real text, one seed: no advice": {"generated": False, "baseline": (0.8,), "attention": (0.9,)},
    "real text: no advice for a network that had not converged": {
        "generated": False,
        "longer": {"attention": 3.5},
    },
    "real text: nor where another network might leave it behind": {
        "generated": False,
        "linear": 0.845,
        "longer": {"attention": 3.5},
    },
    "real text: a network that had not converged, and is too far behind": {
        "generated": False,
        "linear": 0.95,
        "longer": {"attention": 3.5},
    },
    "real text, one seed, nothing is judged: no advice": {
        "generated": False,
        "answers": ("location",),
        "baseline": (0.8,),
        "attention": (0.9,),
    },
    "another variant of the question beats the baseline": {
        "answers": ("attention", "pooling"),
        "attention": (0.70, 0.92, 0.81),
    }
    | {"pooling": (0.85, 0.87, 0.86)},
    "no better than the majority class": {
        "baseline": (0.4, 0.42, 0.41),
        "attention": (0.48, 0.53, 0.49),
        "linear": 0.5,
    },
    "another variant is judged": {"answers": ("pooling",), "pooling": (0.90, 0.91, 0.89)},
    "nothing is judged": {"answers": ("location",)},
    "real text: the model to use": {"generated": False, "linear": 0.95},
    "real text: a network, better by more than the margin": {
        "generated": False,
        "location": (0.8501, 0.8599, 0.84),
        "linear": 0.83,
    },
    "real text: a linear model is enough within the margin, and the best network is named": {
        "generated": False,
        "answers": ("location",),
        "linear": 0.845,
    }
    | {"location": NOISY},
}


def test_each_situation_has_its_sentence(snapshot):
    said = {name: answer(make_experiment(**case), METHOD) for name, case in SITUATIONS.items()}
    snapshot("answers", "".join(f"{name}\n    {each.sentence}\n" for name, each in said.items()))


def test_a_baseline_with_attention_that_does_better_is_told_without_a_double_comma():
    experiment = make_experiment(**LOSS)
    transformer = Hyperparameters(encoder="transformer", attention="none")
    baseline = dataclasses.replace(experiment.models["baseline"], hyperparameters=transformer)
    experiment.models["baseline"] = baseline
    assert answer(experiment, METHOD).sentence.startswith(
        "Attention does worse than a transformer (baseline) with attention of its own, 71.0% "
        "against 81.0%; "
    )


@pytest.mark.parametrize("control", [(0.8, 0.81, 0.82), (0.9, 0.91, 0.92)])
def test_attention_does_not_lose_where_a_transformer_does_better(control):
    """The sentence and the list say that it has attention, before models without it."""
    matched = {"parameter-matched": (0.95, 0.96, 0.94)}
    experiment = make_experiment(**LOSS, mean=control, transformer=(0.9, 0.91, 0.89), **matched)
    transformer = experiment.models["transformer"]
    h = Hyperparameters(encoder="transformer", attention="none")
    experiment.models["transformer"] = dataclasses.replace(transformer, hyperparameters=h)
    found = answer(experiment, METHOD)
    assert found.sentence.startswith("Attention does worse than averaging without learned weights")
    assert "; a transformer with attention of its own does better, 90.0%; " in found.sentence
    assert "as many parameters" not in found.sentence
    worse = [text for text in found.shown if " is worse than " in text]
    assert len(worse) == 4 and [text for text in worse if "attention of its own" in text] == [
        "attention is worse than transformer with attention of its own: −19.00 p.p. (−21.48 to "
        "−16.52)"
    ]


@pytest.mark.parametrize(
    ("control", "sentence"),
    [
        ("mean", f"Whether attention beats {MEAN} is undecided, 85.0% against 84.7%; {LINEAR}"),
        ("baseline", "No comparison: no baseline."),
    ],
)
def test_without_a_baseline_the_comparison_with_the_control_is_told(control, sentence):
    experiment = make_experiment(mean=NOISY)
    experiment.models.pop("baseline")
    for others in experiment.comparisons.values():
        others.pop("baseline", None)
    changed = dataclasses.replace(experiment, control=control)
    assert answer(changed, METHOD).sentence == sentence


def test_models_that_were_not_tuned_alike_are_named_so_in_sentence_and_list():
    experiment = make_experiment()
    gain = experiment.comparisons["attention"]["baseline"]
    experiment.comparisons["attention"]["baseline"] = dataclasses.replace(gain, tuned_alike=False)
    found = answer(experiment, METHOD)
    assert "85.0% against 81.0% (not tuned alike); it beats" in found.sentence
    assert found.shown[0] == (
        "attention is better than baseline: +4.00 p.p. (+1.52 to +6.48), not tuned alike"
    )


def test_the_lists_have_what_is_decided_and_what_is_open():
    found = answer(make_experiment(mean=NOISY, longer={"baseline": 3.5}), METHOD)
    assert found.shown == ("attention is better than linear: +15.00 p.p. (+12.52 to +17.48)",)
    assert found.open == (
        "whether attention is better than mean: +0.33 p.p. (−2.54 to +3.20)",
        "whether attention is better than baseline, +4.00 p.p. (+1.52 to +6.48): with twice the "
        "epochs baseline did better",
    )
    (same, _) = answer(make_experiment(attention=(0.8, 0.8201, 0.81)), METHOD).shown
    assert same.startswith(
        "attention does about as well as baseline (differs by less than 0.01 p.p.): 0.00 p.p. ("
    )


@pytest.mark.parametrize(
    ("name", "h", "words"),
    [
        ("baseline", Hyperparameters(pooling="last"), "a BiLSTM’s last state (baseline)"),
        ("baseline", Hyperparameters(encoder="gru"), "a BiGRU’s last state (baseline)"),
        ("baseline", Hyperparameters(pooling="mean"), MEAN.replace("mean", "baseline")),
        ("baseline", Hyperparameters(pooling="max"), "the maximum of the states (baseline)"),
        ("baseline", Hyperparameters(encoder="embeddings"), "the baseline"),
        ("uniform", Hyperparameters(attention="uniform"), "a network with equal weights (uniform)"),
        ("transformer", Hyperparameters(encoder="transformer"), "a transformer"),
        ("deep", Hyperparameters(encoder="transformer"), "a transformer (deep)"),
        ("pooling", Hyperparameters(pooling="attention"), "the variant pooling"),
        (
            "baseline",
            Translator(decoder="last-state"),
            "translation from the last state (baseline)",
        ),
    ],
)
def test_a_model_is_described_by_how_it_reads(name, h, words):
    experiment = make_experiment(**({} if name == "baseline" else {name: NOISY}))
    model = dataclasses.replace(experiment.models[name], hyperparameters=h)
    experiment.models[name] = model
    assert describe_model(name, experiment) == words
