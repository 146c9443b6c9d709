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
# The section that a key or a value stands in, a * for any name → its name in 0.2.0 → today's. An
# experiment's `truths` may have today's name already.
KEYS = {
    "": {"adversaries": "adversarial_attention"},
    "study": {"margin_pp": "equivalence_margin"},
    "corpora.*": {"evidence_column": "rationale_column"},
    "experiments.*": {"truths": "expected_results", "opponent_features": "linear_features"},
    "experiments.*.*.*": {"figure": "metric", "adversary": "adversarial_model"},
    "defaults.*": HYPERPARAMETERS,
    "defaults.presets.*": HYPERPARAMETERS,
    "searches.*.space": HYPERPARAMETERS,
    "later_searches.*.space": HYPERPARAMETERS,
    "models.*": HYPERPARAMETERS | {"tuned_by": "search", "match": "match_parameters_of"},
    "adversar*.*": {"guided_networks": "diagnostic_mlps"},
}
WIDE, PARAMETER_MATCHED = "wide", "parameter-matched"
VALUES = {
    "experiments.*.*.*.figure": {"evidence_weight": "rationale_weight"},
    "experiments.*.*.*.metric": {"evidence_weight": "rationale_weight"},
    "experiments.*.*.*.criterion": {
        "adversaries": "adversarial_attention",
        "evidence": "rationale",
    },
    "experiments.*.*.*.variant": {WIDE: PARAMETER_MATCHED},
    "experiments.*.*.*.against": {WIDE: PARAMETER_MATCHED},
    "models.*.variant": {WIDE: PARAMETER_MATCHED},
}


def rename(text: str, tree: Node) -> tuple[str, dict[str, str], int]:
    """Write a study of heed 0.2.0 with the names of today.

    Args:
        text: the study, in YAML.
        tree: its nodes, with their places in the text.

    Returns:
        The study with today's names, all else as it was; its names of 0.2.0 → today's; the line of
        the first of them, or 0.

    """
    found = dict(_renamed(tree, ()))
    models = {node.value: new for node, new in found.items() if node.value.endswith(f"-{WIDE}")}
    found |= {node: models[node.value] for node in _scalars(tree) if node.value in models}
    nodes = sorted(found, key=lambda node: node.start_mark.index)
    for node in reversed(nodes):
        text = text[: node.start_mark.index] + found[node] + text[node.end_mark.index :]
    line = nodes[0].start_mark.line + 1 if nodes else 0
    return text, {node.value: found[node] for node in nodes}, line


def _renamed(node: Node, path: tuple[str, ...]) -> Iterator[tuple[ScalarNode, str]]:
    """Yield the names of 0.2.0 below a node, which is at this path, with today's names."""
    if isinstance(node, SequenceNode):
        for each in node.value:
            yield from _renamed(each, (*path, "*"))
    elif isinstance(node, ScalarNode):
        if new := _lookup(VALUES, path).get(node.value):
            yield node, new
    elif isinstance(node, MappingNode):
        names = _lookup(KEYS, path)
        for key, value in node.value:
            if not isinstance(key, ScalarNode):  # the schema refuses it
                continue
            if new := names.get(key.value):
                yield key, new
            elif path == ("models",) and key.value.endswith(f"-{WIDE}"):
                yield key, key.value.removesuffix(WIDE) + PARAMETER_MATCHED
            yield from _renamed(value, (*path, key.value))


def _scalars(node: Node) -> Iterator[ScalarNode]:
    """Yield all keys and values below a node."""
    if isinstance(node, ScalarNode):
        yield node
    elif isinstance(node, MappingNode):
        for pair in node.value:
            for each in pair:
                yield from _scalars(each)
    elif isinstance(node, SequenceNode):
        for each in node.value:
            yield from _scalars(each)


def _lookup(table: dict[str, dict[str, str]], path: tuple[str, ...]) -> dict[str, str]:
    """Return the names of the section that a path is in."""
    place = ".".join(path)
    return next(
        (
            names
            for section, names in table.items()
            if section.count(".") == place.count(".") and fnmatchcase(place, section)
        ),
        {},
    )
