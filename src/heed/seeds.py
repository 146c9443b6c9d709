"""The study's seeds, read without pydantic; heed.study checks all of params.yaml."""

import yaml

from heed.files import HeedError
from heed.hyperparameters import MAX_SEED
from heed.paths import PARAMS


def read_seeds() -> list[int]:
    """Return `seeds` of params.yaml.

    Raises HeedError when they are missing or are not whole numbers from 1.
    """
    try:
        values = yaml.safe_load(PARAMS.read_text(encoding="utf-8"))
        seeds = values["seeds"]
    except FileNotFoundError:
        raise HeedError(
            f"{PARAMS}: not there. Run heed in the top folder of a clone, or name --seeds"
        ) from None
    except (OSError, ValueError, yaml.YAMLError, TypeError, KeyError, RecursionError):
        raise HeedError(
            f"{PARAMS}: no seeds can be read. `heed check` says where it is wrong"
        ) from None
    if (
        not isinstance(seeds, list)
        or not seeds
        or not all(type(seed) is int and 1 <= seed <= MAX_SEED for seed in seeds)
    ):
        raise HeedError(
            f"{PARAMS}: seeds: expected whole numbers from 1 to {MAX_SEED}, found {seeds}. `heed "
            "check` says more"
        )
    return seeds
