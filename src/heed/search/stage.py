"""The search stage. With trials 0, the only form yet, it hands on the hyperparameters as given."""

from pathlib import Path

import yaml

from heed.files import write_text, writing_folder


def write_untuned(into: Path) -> None:
    """Write a search without trials: an empty best.yaml changes nothing in a recipe."""
    with writing_folder(into) as out:
        write_text(out / "best.yaml", yaml.safe_dump({}))
        write_text(out / "trials.csv", "trial\n")
