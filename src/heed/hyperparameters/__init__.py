"""The hyperparameters of networks and their training, each declared once.

`training` has those of every network, `classifier` and `translator` those of one architecture each.
The schema of params.yaml is generated from these declarations (heed.study.section), and recipes
are read into them, also where pydantic is not installed. A task combines those that its models have
(tasks/TASK/recipe.py).
"""

import dataclasses
from typing import Any, NamedTuple

Value = bool | int | float | str
Configuration = dict[str, Value]  # some hyperparameters and their values, as a search draws them
# Limits that no study of text reaches: a mistyped size is an error before any memory is taken.
MAX_SIZE = 65_536  # of a layer
MAX_ROWS = 2**27  # of a table of embeddings or features
MAX_LAYERS = 64  # of an encoder or a decoder
MAX_COUNT = 100_000  # of epochs, trials, documents in a step
MAX_THREADS = 4096
MAX_SEED = 2**31 - 1  # for every generator, also where a number of folds is added


class CorpusSizes(NamedTuple):
    """What the shapes of a network depend on, beside its hyperparameters.

    types: different tokens of a corpus, of each language that a network reads or writes.
    outputs: what is predicted, if it is no word: one of how many values, or how many at once.
    """

    types: tuple[int, ...]
    outputs: int = 0


def hyperparameter(default: Any, description: str, **limits: float | str) -> Any:
    """Return a dataclass field for the schema; `limits` are pydantic's: gt, ge, lt, le …"""
    metadata = {"description": description, "limits": limits}
    if isinstance(default, list | dict):
        return dataclasses.field(default_factory=default.copy, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def required(description: str | None = None, **limits: float | str) -> Any:
    """Return a dataclass field for the schema without a default: a key that must be there."""
    return dataclasses.field(metadata={"description": description, "limits": limits})


@dataclasses.dataclass(frozen=True)
class Preset:
    """Hyperparameters under a name. `description` says for which corpora they are."""

    description: str
    values: Configuration
