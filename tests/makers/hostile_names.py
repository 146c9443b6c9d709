"""Names in params.yaml that a shell or a path would obey, in the toy study (tests/toy)."""

from pathlib import Path

from tests.conftest import ROOT
from tests.pipeline.makers import Toy

PARAMS = (ROOT / "tests/toy/params.yaml").read_text()
NEXT = "searches: {}"
OTHER = "experiment: author, variant: other"
LETTERS = "task: classification, corpus: letters, data: {label: author}, title: A"
LIAR = "model: feelings-self-attention, goal: differ, strength: 1, epochs: 1"
SPACE = "{dropout: {choice: [0.1, 0.2]}}"
HUNT = f"experiment: author, model: author-last-state, trials: 2, space: {SPACE}"
# section: (text of the toy's params.yaml, a pattern for the same text with an entry named NAME)
SECTIONS = {
    "sources": ("  one: {kind", "  NAME: {kind"),
    "corpora": ("  feelings: {source", "  NAME: {source"),
    "experiments": (NEXT, f"  NAME: {{{LETTERS}}}\n{NEXT}"),
    "searches": (NEXT, f"searches: {{NAME: {{{HUNT}}}}}"),
    "models": ("  author-last-state: {", f"  NAME: {{{OTHER}}}\n  author-last-state: {{"),
    "explain": (NEXT, f"explain: {{documents: 1, models: {{NAME: {{noise: letters}}}}}}\n{NEXT}"),
    "adversarial_attention": (NEXT, f"adversarial_attention: {{NAME: {{{LIAR}}}}}\n{NEXT}"),
}
NAMES = {
    "a command": "x; touch y",
    "a folder outside the clone": "../../../victim",
    "a folder in the clone": "../../victim",
    "a path that ends where a file exists": "../../../x; touch y; /../docs/params.schema",
}


def with_name(section: str, name: str) -> str:
    old, new = SECTIONS[section]
    assert old in PARAMS
    return PARAMS.replace(old, new.replace("NAME", f'"{name}"'), 1)


def make_victims(toy: Toy) -> list[Path]:
    files = [folder / "victim/file" for folder in (toy.path, toy.path.parent)]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text("precious")
    return files


def harm(toy: Toy, victims: list[Path]) -> str:
    """Return what a name has done; nothing: an empty string."""
    deleted = [str(victim) for victim in victims if not victim.exists()]
    return "executed" if (toy.path / "y").exists() else " ".join(deleted)
