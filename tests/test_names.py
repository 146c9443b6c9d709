"""A name in params.yaml that a shell or a path would obey stops the first stage, before any other.

The real dvc.yaml and DVC, and a stub of `heed` (toy/stub.py). All sections are in
drills/test_names.py. A command that skips the first stage, such as `dvc repro --single-item`, does
what such a name says, as every command of a project does.
"""

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from heed.files import HeedError
from heed.paths import is_name
from heed.study.studies import activate_study
from tests.conftest import ROOT
from tests.makers.hostile_names import NAMES, PARAMS, SECTIONS, harm, make_victims, with_name
from tests.pipeline.makers import SNAKEMAKE, Toy, make_clone, write_stub

sys.path.insert(0, str(ROOT / "workflow"))
import stages


@pytest.fixture
def clone(tmp_path: Path) -> Toy:
    """A clone of the toy study in which nothing has run."""
    make_clone(tmp_path / "a/clone", ROOT / "tests/toy/params.yaml")
    write_stub(tmp_path / "a/bin")
    toy = Toy(tmp_path / "a/clone")
    toy.run("git", "init", "--quiet")
    toy.log.write_text("")
    return toy


def test_every_stage_depends_on_the_check_of_params_yaml(
    clone: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = "author-baseline: {noise: letters}"
    second = "feelings-attention: {noise: letters}"
    explained = f"explain: {{documents: 1, models: {{{first}, {second}}}}}\n"
    adversarial_model = (
        SECTIONS["adversarial_attention"][1].replace("NAME", "liar").partition("\n")[0]
    )
    clone.params.write_text(with_name("searches", "hunt") + explained + adversarial_model)
    monkeypatch.chdir(clone.path)
    found = {stage.name: stage for stage in stages.read_stages()}
    assert len(found) == 24
    for name, stage in found.items():
        if name != "code":
            assert stage.deps[0].startswith("results/code/"), name
            assert "code" in stage.upstream, name


@pytest.mark.parametrize("driver", [["dvc", "repro"], SNAKEMAKE], ids=["dvc", "snakemake"])
@pytest.mark.parametrize("name", ["x; touch y", "../../../victim", "a/b"])
def test_a_corpus_with_such_a_name_stops_a_run(clone: Toy, driver: list[str], name: str) -> None:
    victims = make_victims(clone)
    clone.params.write_text(with_name("corpora", name))
    code, output = clone.try_(*driver)
    assert code
    assert clone.logged() in ([], ["code"])
    assert not harm(clone, victims)
    assert f"corpora.{name}: names have" in output


def test_the_longest_name_is_one_that_files_can_have() -> None:
    assert is_name("a" * 100)
    assert not is_name("a" * 101)


# --- a study from elsewhere -----------------------------------------------------------------------


@pytest.fixture
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with the studies, the sample study active, and the toy study as a file elsewhere."""
    root = tmp_path / "clone"
    shutil.copytree(ROOT / "workflow/studies", root / "workflow/studies")
    shutil.copy(root / "workflow/studies/sample.yaml", root / "params.yaml")
    (tmp_path / "elsewhere.yaml").write_text(PARAMS)
    monkeypatch.chdir(root)
    return root


MALICIOUS: dict[str, Callable[[str], str]] = {
    **{what: lambda _, name=name: with_name("corpora", name) for what, name in NAMES.items()},
    "a size that takes all memory": lambda text: text.replace(
        "hidden_size: 8", "hidden_size: 1000000000"
    ),
    "aliases that expand": lambda text: (
        text
        + "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n"
            for a, b in zip("abcdefg", "bcdefgh", strict=True)
        )
    ),
    "a host of Ray": lambda _: with_name("searches", "hunt").replace(
        "baseline}}", "baseline, address: '10.0.0.1:6379'}}"
    ),
}


@pytest.mark.drill("a study from elsewhere: heed study FILE leaves params.yaml as it is")
@pytest.mark.parametrize("what", MALICIOUS)
def test_a_malicious_study_leaves_params_yaml_untouched(studies: Path, what: str) -> None:
    before = (studies / "params.yaml").read_bytes()
    Path("../elsewhere.yaml").write_text(MALICIOUS[what](PARAMS))
    with pytest.raises(HeedError, match=r"^\.\./elsewhere.yaml:\d+: "):
        activate_study("../elsewhere.yaml", force=True)
    assert (studies / "params.yaml").read_bytes() == before
    left = {path.name for path in studies.iterdir()}
    assert left == {"params.yaml", "workflow", ".heed"}  # the last has the lock of params.yaml


def test_a_study_from_elsewhere_becomes_active_once_it_is_checked(studies: Path) -> None:
    assert activate_study("../elsewhere.yaml", force=False).startswith("toy is active now")
    assert PARAMS in (studies / "params.yaml").read_text()
    with pytest.raises(HeedError, match=r"from elsewhere.*heed study sample --force"):
        activate_study("sample", force=False)
    with pytest.raises(HeedError, match="there is no such file"):
        activate_study("nowhere.yaml", force=False)
    assert re.match("toy is active already", activate_study("../elsewhere.yaml", force=False))
