"""Add a model to params.yaml, and remove one: `heed model add`, `heed model remove`."""

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import Node

from heed.files import HeedError
from heed.hyperparameters import Value
from heed.paths import is_name
from heed.study.editing.formatting import MODELS, entry_nodes, format_entry, format_value
from heed.study.editing.params_file import edit_text
from heed.study.following import complete, find_following
from heed.study.reader import check, mistakes_error, parse
from heed.study.schema import Params
from heed.study.suggestions import unknown_name
from heed.study.syntax import read_yaml

NAMED = ("experiment", "variant", "corpus")  # by the arguments of the command


def add_model(path: Path, experiment: str, variant: str, settings: list[str], like: str) -> str:
    """Write the line of a new model after the models of its experiment.

    Args:
        path: params.yaml.
        experiment: a key of `experiments`.
        variant: the rest of the model's name.
        settings: `key=value`, the value as in YAML: hyperparameters, preset, tuned_by, match,
            threads, gpus.
        like: a variant of the experiment, or a model, whose own keys the new model has too; empty
            for none. `settings` replace them.

    Returns:
        the line, with its place.

    Raises:
        HeedError: an unknown name, a model that is there already, or a mistake in the new one.
            Nothing is written.

    """
    name = f"{experiment}-{variant}"
    if not is_name(name):
        raise HeedError(f"{name!r} is no name: lower-case letters, digits and single '-'")

    def change(text: str) -> tuple[str, Params, str]:
        params = parse(text, path)
        params.section("experiments", experiment)
        if name in params.models:
            raise HeedError(f"{path}: models.{name} is there already: edit its line")
        given: dict[str, Value] = {"experiment": experiment, "variant": variant}
        given |= _copied_keys(params, experiment, like) | dict(map(_read_setting, settings))
        return _insert_model(text, path, params, name, given)

    return edit_text(path, change)


def _insert_model(
    text: str, path: Path, params: Params, name: str, given: dict[str, Value]
) -> tuple[str, Params, str]:
    """Return the text with a new model's line, its params, and the line with its place."""
    tree, values = read_yaml(text, path)
    values = values | {"models": values["models"] | {name: given}}
    following, mistakes = find_following(values)
    if mistakes:
        raise mistakes_error(mistakes, tree, path)
    values = complete(values, following)
    new_params = check(values, tree, path)
    texts = {key: format_value(value) for key, value in values["models"][name].items()}
    entry, nodes = format_entry(name, texts), entry_nodes(tree, MODELS)
    experiment = given["experiment"]
    same = [pair for pair in nodes if params.models[pair[0].value].experiment == experiment]
    above = (same or nodes)[-1]
    _, end = _lines(text, *above, path)
    before = text[:end].removesuffix("\n") + "\n"
    line = f"{' ' * above[0].start_mark.column}{entry}\n"
    number = before.count("\n") + 1
    return before + line + text[end:], new_params, f"{path}:{number}: added {entry}"


def remove_model(path: Path, name: str) -> str:
    """Remove the line of a model from params.yaml.

    Raises HeedError: there is no such model, or another section names it. Nothing is written.
    """

    def change(text: str) -> tuple[str, Params, str]:
        tree, values = read_yaml(text, path)
        check(values, tree, path).section("models", name)
        rest = {key: value for key, value in values["models"].items() if key != name}
        params = check(values | {"models": rest}, tree, path)
        node = next(pair for pair in entry_nodes(tree, MODELS) if pair[0].value == name)
        start, end = _lines(text, *node, path)
        return text[:start] + text[end:], params, f"{path}: removed {text[start:end].strip()}"

    return edit_text(path, change)


def _copied_keys(params: Params, experiment: str, like: str) -> dict[str, Value]:
    """Return the keys that a model like another has from it."""
    if not like:
        return {}
    models = params.models
    name = f"{experiment}-{like}" if f"{experiment}-{like}" in models else like
    if name not in models:
        variants = [each.variant for each in models.values() if each.experiment == experiment]
        raise HeedError(f"--like: {unknown_name(like, 'variant or model', variants)}")
    model = models[name]
    keys = model.model_dump(exclude={*NAMED}, exclude_defaults=True)
    return {key: value for key, value in keys.items() if key != "match" or value != name}


def _read_setting(setting: str) -> tuple[str, Any]:
    """Return key and value of `key=value`. Raises HeedError."""
    key, equals, text = setting.partition("=")
    if not equals or not key.isidentifier():
        raise HeedError(f"{setting!r}: expected key=value, such as heads=4")
    if key in NAMED:
        raise HeedError(f"{setting!r}: {key} follows from EXPERIMENT and VARIANT: leave it out")
    try:
        value = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError):
        value = None
    if not isinstance(value, Value):
        raise HeedError(f"{setting!r}: expected one value, such as 4, 0.5, true or multi-head")
    return key, value


def _lines(text: str, name_node: Node, node: Node, path: Path) -> tuple[int, int]:
    """Return where the lines of an entry begin and end. Raises HeedError if it shares a line."""
    start = text.rfind("\n", 0, name_node.start_mark.index) + 1
    if text[start : name_node.start_mark.index].strip():
        raise HeedError(
            f"{path}:{name_node.start_mark.line + 1}: models.{name_node.value}: begins within a "
            "line. Give each model a line of its own"
        )
    end = max(name_node.end_mark.index, node.end_mark.index)  # an alias is written before it
    lines = text[start:end].splitlines(keepends=True)
    while not lines[-1].strip() or lines[-1].lstrip().startswith("#"):  # of what follows
        lines.pop()
    end = start + sum(map(len, lines)) - lines[-1].endswith("\n")
    newline = text.find("\n", end)
    return start, len(text) if newline < 0 else newline + 1
