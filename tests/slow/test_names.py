"""Commands of DVC on a study with a hostile name in any section: those that run its first stage."""

import pytest

from tests.makers.hostile_names import NAMES, SECTIONS, harm, make_victims, with_name
from tests.pipeline.makers import Toy

COMMANDS = (["repro"], ["repro", "STAGE"])
STAGE_OF = {
    "sources": "download", "corpora": "tokenize", "experiments": "reference_models",
    "searches": "recipe",
    "models": "train", "explain": "explain", "adversarial_attention": "adversarial_attention",
}  # fmt: skip


@pytest.mark.parametrize("section", SECTIONS)
def test_no_command_of_dvc_obeys_a_name(toy: Toy, section: str) -> None:
    """In a study that has run, so that every file that a stage needs exists."""
    obeyed = []
    for what, name in NAMES.items():
        for command in COMMANDS:
            victims = make_victims(toy)
            (toy.path / "y").unlink(missing_ok=True)
            toy.params.write_text(with_name(section, name))
            arguments = [STAGE_OF[section] if part == "STAGE" else part for part in command]
            toy.try_("dvc", *arguments)
            if result := harm(toy, victims):
                obeyed.append(f"{what}, dvc {' '.join(arguments)}: {result}")
            toy.run("git", "checkout", "--quiet", ".")
    assert not obeyed, f"{len(obeyed)} obeyed:\n" + "\n".join(obeyed)
