"""Names of params.yaml in heed 0.2.0 that are others today: refused, or written anew."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

HYPERPARAMETERS = {
    "select": "monitor",
    "clip": "max_grad_norm",
    "averaging": "ema_decay",
    "decay": "lr_schedule",
    "linear_branch": "tfidf_branch",
    "branch_buckets": "tfidf_buckets",
    "branch_loss": "tfidf_loss",
    "branch_rate": "tfidf_rate",
    "branch_dropout": "tfidf_dropout",
}
WIDE, PARAMETER_MATCHED = "wide", "parameter-matched"
# The place of a key (with a dot at its end: the section it is in) or of a value, a * for any name →
# its name in 0.2.0 → today's. An experiment's `truths` may have today's name already.
NAMES = {
    ".": {"adversaries": "adversarial_attention"},
    "study.": {"margin_pp": "equivalence_margin"},
    "corpora.*.": {"evidence_column": "rationale_column"},
    "experiments.*.": {"truths": "expected_results", "opponent_features": "linear_features"},
    "experiments.*.*.*.": {"figure": "metric", "adversary": "adversarial_model"},
    "defaults.*.": HYPERPARAMETERS,
    "defaults.presets.*.": HYPERPARAMETERS,
    "searches.*.space.": HYPERPARAMETERS,
    "later_searches.*.space.": HYPERPARAMETERS,
    "models.*.": HYPERPARAMETERS | {"tuned_by": "search", "match": "match_parameters_of"},
    "adversar*.*.": {"guided_networks": "diagnostic_mlps"},
    "experiments.*.*.*.figure": {"evidence_weight": "rationale_weight"},
    "experiments.*.*.*.metric": {"evidence_weight": "rationale_weight"},
    "experiments.*.*.*.criterion": {
        "adversaries": "adversarial_attention", "evidence": "rationale",
    },
    "experiments.*.*.*.variant": {WIDE: PARAMETER_MATCHED},
    "experiments.*.*.*.against": {WIDE: PARAMETER_MATCHED},
    "models.*.variant": {WIDE: PARAMETER_MATCHED},
}  # fmt: skip


def rename(text: str, tree: Node) -> tuple[str, str, int]:
    """Return a study with today's names, those of 0.2.0 in words or "", the first's line or 0."""
    scalars = [*_scalars(tree, "")]
    models = {
        node.value: node.value.removesuffix(WIDE) + PARAMETER_MATCHED
        for place, node in scalars
        if place == "models." and node.value.endswith(f"-{WIDE}")
    }
    found = {
        node: new
        for place, node in scalars
        if (new := models.get(node.value) or _names_at(place).get(node.value))
    }
    nodes = sorted(found, key=lambda node: node.start_mark.index)
    for node in reversed(nodes):
        text = text[: node.start_mark.index] + found[node] + text[node.end_mark.index :]
    names = dict.fromkeys(f"{found[node]} (was {node.value})" for node in nodes)
    return text, ", ".join(names), nodes[0].start_mark.line + 1 if nodes else 0


def _scalars(node: Node, place: str) -> Iterator[tuple[str, ScalarNode]]:
    if isinstance(node, ScalarNode):
        yield place, node
    elif isinstance(node, SequenceNode):
        for each in node.value:
            yield from _scalars(each, f"{place}.*")
    elif isinstance(node, MappingNode):
        for key, value in node.value:
            if isinstance(key, ScalarNode):  # the schema refuses others
                yield f"{place}.", key
                yield from _scalars(value, f"{place}.{key.value}".removeprefix("."))


def _names_at(place: str) -> dict[str, str]:
    for pattern, names in NAMES.items():
        if pattern.count(".") == place.count(".") and fnmatchcase(place, pattern):
            return names
    return {}
