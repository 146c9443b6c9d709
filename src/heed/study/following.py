"""What follows in params.yaml from the rest: keys that dvc.yaml reads and people may leave out.

A model `imdb-attention: {heads: 4}` has the experiment imdb, its corpus, the variant attention, is
not tuned, and matches itself. `heed format` writes these keys into the file.
"""

from collections.abc import Mapping
from typing import Any

from heed.study.suggestions import unknown_name

Key = tuple[str, ...]
# By section: the keys of each entry that may follow, in the order in which they are written.
FOLLOWING_KEYS: dict[Key, tuple[str, ...]] = {
    ("models",): ("experiment", "corpus", "variant", "tuned_by", "match"),
    ("searches",): ("corpus", "experiment", "after"),
    ("explain", "models"): ("corpus",),
    ("adversaries",): ("corpus",),
}

FORM = "a model is named EXPERIMENT-VARIANT"


class UnclearError(ValueError):
    """A key does not follow; its message says what to write."""


def may_follow(key: Key) -> bool:
    """Whether a key of params.yaml may follow from the rest."""
    return key[-1] in FOLLOWING_KEYS.get(key[:-2], ())


def entries(values: Mapping[str, Any], section: Key) -> dict[str, dict[str, Any]]:
    """Return the entries of a section of params.yaml by name, an empty one for `NAME:`.

    What has another form is left out: the schema reports it.
    """
    content: Any = values
    for part in section:
        content = content.get(part) if isinstance(content, dict) else None
    return {
        name: given or {}
        for name, given in (content.items() if isinstance(content, dict) else ())
        if isinstance(name, str) and (given is None or isinstance(given, dict))
    }


def find_following(
    values: Mapping[str, Any],
) -> tuple[dict[Key, dict[str, str]], list[tuple[Key, str]]]:
    """Return what follows for each entry that lacks it, and where something does not.

    Args:
        values: the content of params.yaml, not checked.

    Returns:
        ("models", NAME) → the missing keys with their values, in the order in which they are
        written; and (key of an entry, message) for each of which something does not follow.

    """
    following: dict[Key, dict[str, str]] = {}
    mistakes: list[tuple[Key, str]] = []
    models: dict[str, dict[str, Any]] = {}  # with what follows
    for section, keys in FOLLOWING_KEYS.items():
        for name, given in entries(values, section).items():
            try:
                if section == ("models",):
                    whole = models[name] = _complete_model(values, name, given)
                else:
                    whole = _complete_from_model(models, name, given, keys)
            except UnclearError as error:
                mistakes.append(((*section, name), str(error)))
                continue
            if missing := {key: whole[key] for key in keys if key in whole and key not in given}:
                following[*section, name] = missing
    return following, mistakes


def complete(values: Mapping[str, Any], following: Mapping[Key, dict[str, str]]) -> Any:
    """Return `values` with what follows in place."""
    whole: Any = _copy(values)
    for key, missing in following.items():
        section = whole
        for part in key[:-1]:
            section = section[part]
        section[key[-1]] = (section[key[-1]] or {}) | missing
    return whole


def _copy(value: Any) -> Any:
    return {key: _copy(each) for key, each in value.items()} if isinstance(value, dict) else value


def _complete_model(values: Mapping[str, Any], name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return a model's entry with what follows. Raises UnclearError."""
    experiments = entries(values, ("experiments",))
    experiment = given.get("experiment") or _find_experiment(name, given, [*experiments])
    if not isinstance(experiment, str) or not name.startswith(f"{experiment}-"):
        raise UnclearError(f"{FORM}, and its experiment is {experiment}")
    whole = {"experiment": experiment, "variant": name.removeprefix(f"{experiment}-")} | given
    if experiment in experiments and "corpus" in experiments[experiment]:
        whole.setdefault("corpus", experiments[experiment]["corpus"])
    if "match" not in given:
        is_wide = whole["variant"] == "wide"
        whole["match"] = _find_match(values, experiment) if is_wide else name
    matched = entries(values, ("models",)).get(str(whole["match"]), {})
    return {"tuned_by": matched.get("tuned_by", "none")} | whole


def _find_experiment(name: str, given: Mapping[str, Any], experiments: list[str]) -> str:
    """Return the experiment of a model by its name and, where it is given, its variant."""
    if "variant" in given:
        experiment = name.removesuffix(f"-{given['variant']}")
        if experiment == name:
            raise UnclearError(f"{FORM}, and its variant is {given['variant']}")
        return experiment
    found = [each for each in experiments if name.startswith(f"{each}-")]
    if not found:
        start = name.rpartition("-")[0] or name
        raise UnclearError(f"{FORM}, and {unknown_name(start, 'experiment', experiments)}")
    if len(found) > 1:
        raise UnclearError(
            f"its name begins with the experiments {' and '.join(found)}: write which one it is, "
            f"as experiment: {max(found, key=len)}"
        )
    return found[0]


def _find_match(values: Mapping[str, Any], experiment: str) -> str:
    """Return the model that the control wide matches: of the first variant in study.attention."""
    study = values.get("study")
    variants = study.get("attention") if isinstance(study, dict) else None
    models = entries(values, ("models",))
    for variant in variants if isinstance(variants, list) else ["attention"]:
        if f"{experiment}-{variant}" in models:
            return f"{experiment}-{variant}"
    raise UnclearError("wide is as large as which model? Write match: MODEL")


def _complete_from_model(
    models: dict[str, dict[str, Any]], name: str, given: dict[str, Any], keys: tuple[str, ...]
) -> dict[str, Any]:
    """Return an entry that names a model, or has its name, with what follows from that model."""
    model = given.get("model", name)
    of_model = models.get(model, {}) if isinstance(model, str) else {}
    follows = {key: of_model[key] for key in keys if key in of_model}
    return follows | ({"after": "none"} if "after" in keys else {}) | given
