"""A name in params.yaml that a shell or a path would obey stops the first stage, before any other.

The real dvc.yaml and DVC, and a stub of `heed` (toy/stub.py). All sections are in
slow/test_names.py. A command that skips the first stage, such as `dvc repro --single-item`, does
what such a name says, as every command of a project does."""

from pathlib import Path

import pytest
import stages

from heed.paths import is_name
from tests.makers.hostile_names import SECTIONS, harm, make_victims, with_name
from tests.pipeline.makers import SNAKEMAKE, Toy


@pytest.fixture
def clone(tmp_path: Path) -> Toy:
    """A clone of the toy study in which nothing has run."""
    toy = Toy.of_stub(tmp_path / "a")
    toy.log.write_text("")
    return toy


def test_every_stage_depends_on_the_check_of_params_yaml(clone, monkeypatch):
    first = "author-baseline: {noise: letters}"
    second = "feelings-attention: {noise: letters}"
    explained = f"explain: {{documents: 1, models: {{{first}, {second}}}}}\n"
    adversarial_model = (
        SECTIONS["adversarial_attention"][1].replace("NAME", "liar").partition("\n")[0]
    )
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
