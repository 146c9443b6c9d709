"""A name in params.yaml that a shell or a path would obey stops the first stage, before any other.

The real dvc.yaml and DVC, and a stub of `heed` (toy/stub.py).
A command that skips the first stage, such as `dvc repro --single-item`, does what it says."""

from pathlib import Path

import pytest
import stages

from heed.paths import is_name
from tests.makers.hostile_names import NAMES, SECTIONS, harm, make_victims, with_name
from tests.pipeline.makers import SNAKEMAKE, Toy


@pytest.fixture
def clone(tmp_path: Path) -> Toy:
    toy = Toy.of_stub(tmp_path / "a")
    toy.log.write_text("")
    return toy


def test_every_stage_depends_on_the_check_of_params_yaml(clone, monkeypatch):
    first = "author-last-state: {noise: letters}"
    second = "feelings-self-attention: {noise: letters}"
    explained = f"explain: {{documents: 1, models: {{{first}, {second}}}}}\n"
    adversarial_model = SECTIONS["adversarial_attention"][1].replace("NAME", "liar")
    adversarial_model = adversarial_model.partition("\n")[0]
    clone.params.write_text(with_name("searches", "hunt") + explained + adversarial_model)
    monkeypatch.chdir(clone.path)
    found = {stage.name: stage for stage in stages.read_stages()}
    assert len(found) == 19
    for name, stage in found.items():
        if name != "code":
            assert any(dep.startswith("results/code/") for dep in stage.deps), name
            assert "code" in stage.upstream, name


@pytest.mark.parametrize(
    ("driver", "name"), [(["dvc", "repro"], "x; touch y"), (SNAKEMAKE, "../../../victim")]
)
def test_a_corpus_with_such_a_name_stops_a_run(clone, driver, name):
    victims = make_victims(clone)
    clone.params.write_text(with_name("corpora", name))
    code, output = clone.try_(*driver)
    assert code and clone.logged() in ([], ["code"])
    assert not harm(clone, victims) and f"corpora.{name}: expected a name: " in output


def test_the_longest_name_is_one_that_files_can_have():
    assert is_name("a" * 100) and not is_name("a" * 101)


COMMANDS = (["repro"], ["repro", "STAGE"])
STAGE_OF = {
    "sources": "download", "corpora": "tokenize", "experiments": "reference_models",
    "searches": "recipe",
    "models": "train", "explain": "explain", "adversarial_attention": "adversarial_attention",
}  # fmt: skip


@pytest.mark.slow
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
