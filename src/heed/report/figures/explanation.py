"""The figures of lecture 002's tests of weights: what each can show, and what it cannot.

The criticism in their captions is that of others; docs/explanation.md has their arguments.
"""

import dataclasses
import math
from collections.abc import Mapping

from heed.explanation import criteria
from heed.explanation.criteria import adversary_runs, measured, seed_divergence
from heed.report.blocks import Figure
from heed.report.explanations import Adversary, Explanation, ranking_names
from heed.report.figures import model_rows
from heed.report.figures.model_rows import Line, Panel, Texts, make_figure, model_lines
from heed.report.language import say
from heed.report.results import Results

LARGEST_DIVERGENCE = math.log(2)
LIMITS = (-0.03, 1.03)  # of a scale from 0 to 1
MAX_CLASSES = 6  # of which each has a row in the figure of evidence
GUIDED = ("accuracy_one_epoch", "accuracy")
MAJORITIES = ("majority", "majority_with_evidence")
REMOVED = ("attention", "gradient", "random")  # rankings whose words are removed from the text


def figures(results: Results) -> list[Figure]:
    """Return a figure for each test that an explained model has."""
    tests = (
        correlation, permutation, adversarial_weights, erasure, seeds, guided, adversaries, removal,
        evidence, conicity,
    )  # fmt: skip
    return [figure for test in tests for figure in test(results)]


def correlation(results: Results) -> list[Figure]:
    """Return the correlation of weights with other rankings (T1), and its ceiling."""
    names = {
        "tau_gradient": say("with gradients"),
        "tau_leave_one_out": say("with leave-one-out"),
        "tau_ceiling": say("gradients with leave-one-out"),
    }
    texts = Texts(
        "correlation",
        tuple(names),
        say("Correlation with gradients and leave-one-out"),
        say(
            "Shows whether the weights rank words as gradients and leave-one-out do. A low "
            "correlation alone is no fault: those two do not agree with each other either."
        ),
        say("Kendall’s tau-b. The third mark is the ceiling of the others."),
    )
    lines = []
    for experiment in dict.fromkeys(each.experiment.key for each in results.explanations):
        explained = [each for each in results.explanations if each.experiment.key == experiment]
        lines += [
            Line(
                each.variant,
                model_rows.heading(results, each),
                {name: each.means("correlation", measure) for measure, name in names.items()},
            )
            for each in explained
        ]
        lines += _printed_lines(results, explained[0], names)
    if any(line.paper for line in lines):
        hollow = say("Hollow: what Jain & Wallace 2019 print of the same corpus.")
        cut = model_rows.cut_text(results, "correlation")
        texts = dataclasses.replace(texts, caption=f"{texts.caption} {hollow} {cut}")
    return make_figure(results, texts, [Panel(lines, "Kendall’s τ-b")])


def _printed_lines(results: Results, explanation: Explanation, names: dict[str, str]) -> list[Line]:
    """Return what papers print of correlations on the corpus of an experiment."""
    values: dict[str, dict[str, list[float]]] = {}
    for each in model_rows.printed(results, explanation, "correlation"):
        values.setdefault(each.model, {name: [] for name in names.values()})
        values[each.model][names[each.measure]].append(each.mean)
    heading = model_rows.heading(results, explanation)
    paper = "Jain & Wallace 2019"
    return [Line(f"2019: {model}", heading, known, paper) for model, known in values.items()]


def permutation(results: Results) -> list[Figure]:
    """Return the change of predictions when weights are shuffled (T2)."""
    texts = Texts(
        "permutation",
        ("permutation_change",),
        say("Shuffled weights"),
        say(
            "Shows whether the prediction needs the weights to be where they are. It does not show "
            "that they are on the right words."
        ),
        say(
            "Total variation distance of the predictions: the median of 100 shuffles, the mean "
            "over documents by their largest weight. Dotted: the limit of the table."
        ),
    )
    lines = model_lines(
        results, lambda each: model_rows.by_group(each, "documents", "permutation_change")
    )
    panel = Panel(lines, say("change of the prediction"), limit=criteria.MIN_CHANGE)
    return make_figure(results, texts, [panel])


def adversarial_weights(results: Results) -> list[Figure]:
    """Return how different weights with the same prediction may be (T3)."""
    texts = Texts(
        "adversarial_weights",
        ("mean_divergence",),
        say("Other weights, same prediction"),
        say(
            "Shows how different the weights of one document may be while its prediction stays. It "
            "does not show that a trained model would have such weights."
        ),
        say(
            "Jensen-Shannon divergence in nats from the model’s weights, of the most different "
            "weights whose prediction is within 0.01. Dotted: nothing in common. Only what exceeds "
            "the divergence of two seeds counts."
        ),
    )

    def values(each: Explanation) -> dict[str, list[float]]:
        return {
            say("weights searched for"): each.means("adversarial_weights", "mean_divergence"),
            say("another seed"): each.seed_divergences(),
        }

    lines = model_lines(results, values)
    panel = Panel(lines, say("divergence of the weights"), LIMITS, LARGEST_DIVERGENCE)
    return make_figure(results, texts, [_narrow(panel)])


def _narrow(panel: Panel) -> Panel:
    """Return the panel with the scale of divergences."""
    return Panel(panel.lines, panel.label, (-0.02, LARGEST_DIVERGENCE + 0.03), panel.limit)


def erasure(results: Results) -> list[Figure]:
    """Return how many weights are removed until the decision changes (T4)."""
    texts = Texts(
        "erasure",
        ("removed_share",),
        say("Weights removed until the decision changes"),
        say(
            "Shows which ranking finds first what the decision rests on: fewer is better. It does "
            "not show that people would choose the same words."
        ),
        say(
            "Share of the words whose weights are removed in the order of a ranking; 1 where the "
            "decision never changes. With its sign the product removes first what speaks for the "
            "decision. What is weighted counts, and not the weight alone (Kobayashi et al. 2020)."
        ),
    )

    def values(each: Explanation) -> dict[str, list[float]]:
        return {
            name: each.means("erasure", "removed_share", ranking)
            for ranking, name in ranking_names(signed=True).items()
        }

    return make_figure(
        results, texts, [Panel(model_lines(results, values), say("share removed"), LIMITS)]
    )


def seeds(results: Results) -> list[Figure]:
    """Return how much the weights of two seeds differ (T6)."""
    texts = Texts(
        "seeds",
        ("divergence",),
        say("Agreement between seeds"),
        say(
            "Shows how much of the weights is chance: the same model, trained again. It does not "
            "show that weights on which seeds agree are right."
        ),
        say(
            "Jensen-Shannon divergence in nats of the weights of two seeds on the same documents, "
            "by the largest weight. Dotted: the limit of the table, half of the largest possible."
        ),
    )
    lines = model_lines(results, lambda each: model_rows.by_group(each, "seeds", "divergence"))
    panel = Panel(lines, say("divergence of the weights"), limit=criteria.MAX_DIVERGENCE)
    return make_figure(results, texts, [_narrow(panel)])


def guided(results: Results) -> list[Figure]:
    """Return the accuracy of networks that read each word alone, with given weights (T7)."""
    names = {
        "uniform": say("equal"),
        "trained": say("its own"),
        "base": say("the model’s"),
        "adversary": say("the adversary’s"),
        "evidence": say("on the evidence"),
        "base_without_evidence": say("model’s, evidence hidden"),
        "adversary_without_evidence": say("adversary’s, evidence hidden"),
        "constant_token": say("model’s, one word"),
        "moved": say("model’s, other document"),
        "majority": say("majority class"),
        "majority_with_evidence": say("majority, with evidence"),
    }
    texts = Texts(
        "guided",
        GUIDED,
        say("A network guided by given weights"),
        say(
            "Shows whether weights help a network that reads each word alone. It does not show "
            "why: weights can carry the label itself (Bai et al. 2021)."
        ),
        say(
            "Test accuracy after one epoch, in which it shows best what weights point at (left), "
            "and after the whole training (right). Where evidence is given or hidden, of documents "
            "that have some, as is the majority with evidence. Weights carry the label where they "
            "are above that with the evidence hidden, or above the majority class with one word "
            "throughout the text. Those of another document must not help."
        ),
    )
    panels = []
    for measure, label in zip(GUIDED, (say("after one epoch"), say("whole training")), strict=True):
        lines = [
            Line(
                adversary.name,
                model_rows.heading(results, each),
                guided_means(adversary, measure, names),
            )
            for each, adversary in model_rows.trained(results)
        ]
        panels.append(Panel(lines, label))
    return make_figure(results, texts, panels)


def guided_means(
    adversary: Adversary, measure: str, names: Mapping[str, str]
) -> dict[str, list[float]]:
    """Return the accuracies of guided networks by the name of their weights.

    A majority class has one accuracy, however long others train.
    """
    means = {}
    for weights, name in names.items():
        rows = measured(
            adversary.summary, "guided", "accuracy" if weights in MAJORITIES else measure
        )
        means[name] = rows[rows["weights"] == weights]["mean"].tolist()
    return means


def adversaries(results: Results) -> list[Figure]:
    """Return how far the weights and predictions of trained adversaries are from the model (T8)."""
    texts = Texts(
        "adversaries",
        ("prediction_change", "mean_divergence"),
        say("Trained adversaries"),
        say(
            "Shows whether a model can be trained to the same predictions with other weights. "
            "Where none was found, there may be one."
        ),
        say(
            "Seeds that keep the predictions, with an accuracy within 1 p.p. and a change within "
            "0.05 (dotted), apart from those that do not. What fails is a seed that keeps them "
            "while its weights (right) differ by more than those of two seeds of the model."
        ),
    )
    panels = []
    for measure, label in (
        ("prediction_change", say("change of the prediction")),
        ("mean_divergence", say("divergence of the weights")),
    ):
        lines = [
            Line(
                adversary.name,
                model_rows.heading(results, each),
                adversary_values(each, adversary, measure),
            )
            for each, adversary in model_rows.trained(results)
        ]
        panels.append(Panel(lines, label))
    if not panels[0].lines:
        return []
    change = dataclasses.replace(panels[0], limit=criteria.MAX_PREDICTION_CHANGE)
    return make_figure(results, texts, [change, _narrow(panels[1])])


def adversary_values(
    explanation: Explanation, adversary: Adversary, measure: str
) -> dict[str, list[float]]:
    """Return a measure of the seeds of an adversary, and what it is beside its model's seeds."""
    runs = adversary_runs(adversary.summary)
    seeds = seed_divergence(explanation.summary) if measure == "mean_divergence" else None
    return {
        say("predictions kept"): runs[runs["kept"]][measure].tolist(),
        say("not kept"): runs[~runs["kept"]][measure].tolist(),
        say("two seeds of the model"): [] if seeds is None else [seeds],
    }


def removal(results: Results) -> list[Figure]:
    """Return comprehensiveness and sufficiency (T9)."""
    names = {name: label for name, label in ranking_names().items() if name in REMOVED}
    texts = Texts(
        "input_removal",
        ("comprehensiveness", "sufficiency"),
        say("Words removed from the text"),
        say(
            "Shows whether the prediction needs the highest words (left: more is better) and "
            "whether they suffice (right: less is better). A text of such words is unlike any "
            "text that the model was trained on."
        ),
        say(
            "Fall of the predicted class’s probability, the mean over 1, 5, 10, 20 and 50% of the "
            "words (ERASER, DeYoung et al. 2020)."
        ),
    )
    panels = []
    for measure, label in (
        ("comprehensiveness", say("comprehensiveness")),
        ("sufficiency", say("sufficiency")),
    ):
        lines = [
            Line(
                each.variant,
                model_rows.heading(results, each),
                {name: each.means("input_removal", measure, key) for key, name in names.items()},
            )
            for each in results.explanations
        ]
        panels.append(Panel(lines, label))
    return make_figure(results, texts, panels)


def evidence(results: Results) -> list[Figure]:
    """Return how well rankings find the evidence, by class (T11)."""
    texts = Texts(
        "evidence",
        ("auc",),
        say("Evidence found"),
        say(
            "Shows whether a ranking finds the words that are marked as evidence for the label. It "
            "does not show that the model uses no others."
        ),
        say(
            "Area under the ROC curve by class (where these are few), since attention may be on "
            "the words of one class alone; 0.5 is chance. Dotted: the limit of the table, for "
            "planted evidence. Weights have no sign (Liu et al. 2022)."
        ),
    )
    lines = [line for each in results.explanations for line in class_lines(results, each)]
    panel = Panel(lines, say("area under the ROC curve"), limit=criteria.MIN_AUC)
    return make_figure(results, texts, [panel])


def class_lines(results: Results, explanation: Explanation) -> list[Line]:
    """Return a row for each class; one for a model whose predictions have none, or too many."""
    names, heading = ranking_names(), model_rows.heading(results, explanation)
    areas = {name: explanation.class_means("auc", ranking) for ranking, name in names.items()}
    classes = sorted({label for by_class in areas.values() for label in by_class})
    if not 0 < len(classes) <= MAX_CLASSES:
        values = {name: explanation.means("evidence", "auc", key) for key, name in names.items()}
        return [Line(explanation.variant, heading, values)]
    return [
        Line(
            f"{explanation.variant}: {label}",
            heading,
            {name: by_class.get(label, []) for name, by_class in areas.items()},
        )
        for label in classes
    ]


def conicity(results: Results) -> list[Figure]:
    """Return how alike the weighted vectors are (T12)."""
    texts = Texts(
        "conicity",
        ("conicity",),
        say("Conicity"),
        say(
            "Shows how alike the vectors are that are weighted: the nearer to 1, the less can any "
            "weights matter. It explains the figure of shuffled weights, and judges no weights."
        ),
        say("The mean cosine of a document’s vectors to their mean."),
    )
    lines = model_lines(
        results, lambda each: {say("mean cosine"): each.means("conicity", "conicity")}
    )
    return make_figure(results, texts, [Panel(lines, say("conicity"), LIMITS)])
