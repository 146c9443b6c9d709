"""A digest ignores comments and layout only; the stage `code` says which code each stage runs."""

import ast
import contextlib
import dataclasses
import functools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import digests as stage_code
import pytest

from heed import digests
from heed.cli import stages
from heed.evaluation.results import write_comparison
from heed.files import HeedError
from tests.conftest import ROOT, cases, contents, run_heed
from tests.fixtures.report import made_up
from tests.pipeline.makers import EXPLAIN, HUNT, LIAR, make_clone

SAME, DIFFERENT = cases(__file__).values()


@pytest.mark.parametrize("edit", [*SAME, *DIFFERENT])
def test_every_edit_but_of_comments_docstrings_and_layout_changes_the_digest(edit):
    one, other = map(digests.digest_source, (SAME | DIFFERENT)[edit])
    assert (one == other) == (edit in SAME)


def interpreter(version: str) -> Path | None:
    """Return a Python of this version on PATH or of pyenv, or None."""
    if (path := shutil.which(f"python{version}")) and "shims" not in path:
        return Path(path)
    if not (pyenv := shutil.which("pyenv")):
        return None
    root = subprocess.check_output([pyenv, "root"], text=True).strip()
    return next(iter(sorted(Path(root, "versions").glob(f"{version}.*/bin/python"))), None)


DIGEST_ALL = """
import json, sys, types
from pathlib import Path
files = types.ModuleType("heed.files")  # the real one needs yaml, which a bare Python has not
files.HeedError, files.sha256, files.write_json = Exception, None, None
package = types.ModuleType("heed")
package.__path__ = [sys.argv[1]]
sys.modules |= {"heed": package, "heed.files": files}
from heed.digests import digest_file
paths = sorted(Path(sys.argv[1]).rglob("*.py"))
print(json.dumps({str(path): digest_file(path) for path in paths}))
"""


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_digests_are_the_same_under_every_python(version):
    if (python := interpreter(version)) is None:
        pytest.skip(f"there is no Python {version} on this machine")
    command = [python, "-c", DIGEST_ALL, ROOT / "src/heed"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    paths = (ROOT / "src/heed").rglob("*.py")
    assert json.loads(done.stdout) == {str(p): digests.digest_file(p) for p in paths}


def test_versions_do_not_name_a_build(monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda name: "2.13.0+cpu")
    assert digests.versions({"torch", "json"}) == {"torch": "2.13.0"}


def test_ignored_modules_compute_nothing():
    """heed.task loads modules by name: it must define the functions for that and no other."""
    defined = ast.parse((ROOT / "src/heed/task/__init__.py").read_text()).body
    names = "task_names part_modules Part task_module import_stage_modules"
    found = [node.name for node in defined if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert found == names.split()


@pytest.fixture(scope="module", autouse=True)
def parsed_once() -> Iterator[None]:
    """Let a source be parsed once, which clones share: all of heed's take a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digests, "digest_source", functools.cache(digests.digest_source))
        yield


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("code") / "clone"
    make_clone(path, ROOT / "tests/toy/params.yaml")
    params = path / "params.yaml"
    explain = EXPLAIN.format("feelings-self-attention").replace("letters", "feelings")
    params.write_text(params.read_text().replace("searches: {}", f"{HUNT}\n{explain}\n{LIAR}"))
    run(path)
    return path


@pytest.fixture
def edited(clone: Path, tmp_path: Path) -> Path:
    shutil.copytree(clone, tmp_path / "clone", symlinks=True)
    return tmp_path / "clone"


def run(path: Path) -> None:
    """Do what the stage `code` does, in this process."""
    digests.digest_file.cache_clear()  # by the paths in another clone
    with contextlib.chdir(path):
        stage_code.main()


def changed(clone: Path, old: str, new: str, path: str = "params.yaml") -> set[str]:
    """Return the files below results/code that an edit of a file changes."""
    folder, file = clone / "results/code", clone / path
    before, text = contents(folder, "*.json"), file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    run(clone)
    return {name for name, content in before.items() if (folder / name).read_bytes() != content}


def code(path: Path, stage: str, key: str = "") -> dict[str, dict[str, str]]:
    return json.loads((path / digests.code_file(stage, key)).read_text())


def test_a_stage_knows_its_modules_templates_and_versions(clone):
    train = code(clone, "train", "author")
    assert "src/heed/training/loop.py" in train["files"]
    assert "src/heed/models/attention.py" in train["files"]
    assert {"torch", "numpy"} <= {*train["versions"]} and "spacy" not in train["versions"]
    report = code(clone, "report")["files"]
    assert "src/heed/report/page/index.html.jinja" in report
    ignored = {f"src/{name.replace('.', '/')}.py" for name in digests.IGNORED}
    ignored |= {"src/heed/__init__.py"}
    for path in (clone / "results/code").rglob("*.json"):
        files = {*json.loads(path.read_text())["files"]}
        of_report = {"src/heed/pipeline.py"} if path.stem == "report" else set()
        assert files & ignored == of_report
        assert not [name for name in files if "/page/" in name] or path.stem == "report"


def test_a_search_of_each_model_has_their_lines_and_dvc_reads_its_stage(edited):
    lines = code(edited, "recipe", "feelings")
    assert [*lines["searches"]] == ["hunt"] and "torch" in lines["versions"]
    assert code(edited, "recipe", "author")["searches"] == {}
    assert code(edited, "compare")["tuning"] == {}
    params = edited / "params.yaml"
    text = params.read_text().replace("model: feelings-self-attention, trials", "trials", 1)
    named = r"(\n  feelings-[\w-]+: {experiment: feelings)"
    text = re.sub(named, r"\1, search: hunt", text)
    params.write_text(text)
    run(edited)
    lines = code(edited, "recipe", "feelings")["models"]
    assert len(lines) > 1 and all(line["search"] == "hunt" for line in lines.values())
    assert {*code(edited, "compare")["tuning"]} == {*lines}
    subprocess.run(["git", "init", "--quiet"], cwd=edited, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "dvc", "stage", "list", "--name-only"], cwd=edited,
        capture_output=True, text=True,
    )  # fmt: skip
    assert "recipe@feelings" in done.stdout.split(), done.stderr


def test_every_stage_of_the_command_line_has_its_code(clone):
    names = {function.__name__ for function in stages.STAGES}
    of_encoders = {name for name, section in digests.SECTIONS.items() if section == "pretrained"}
    for name in names:  # this study has no pretrained encoder
        assert bool([*(clone / "results/code").glob(f"{name}*")]) == (name not in of_encoders)
    files = code(clone, "adversarial_attention", "liar")["files"]
    assert "src/heed/explanation/adversarial_attention.py" in files


def test_an_experiments_own_seeds_are_of_its_models_alone(edited):
    found = changed(edited, "title: Feelings", "title: F, seeds: [3, 4, 5]")
    expected = (
        "train/feelings", "score/feelings", "explain/feelings-last-state",
        "explain/feelings-self-attention", "adversarial_attention/liar",
    )  # fmt: skip
    assert found == {f"{name}.json" for name in expected}
    for name in found:
        assert json.loads((edited / "results/code" / name).read_text())["seeds"] == [3, 4, 5]


def test_a_download_names_the_files_that_its_corpora_need(edited):
    params = edited / "params.yaml"
    source = "sources:\n  letters: {kind: letters}\n"
    corpus = "corpora:\n  pieces: {source: letters, kind: KIND, split: {kind: SPLIT}}\n"
    text = params.read_text().replace("sources:\n", source).replace("corpora:\n", corpus)
    params.write_text(text.replace("KIND", "letters-pieces").replace("SPLIT", "random, test: 0.2"))
    run(edited)
    needed = "published_files"
    assert code(edited, "download", "letters")[needed] == ["classifier_data_eval.json"]
    assert code(edited, "download", "one")[needed] is None, "all"
    params.write_text(text.replace("KIND", "letters").replace("SPLIT", "given"))
    run(edited)
    assert code(edited, "download", "letters")[needed] is None, "train and test"


ENCODER = f"""
encoders: {{tiny: {{folder: encoder, sha256: {"a" * 64}}}}}
pretrained: {{letters: {{encoder: tiny}}}}
"""


def test_a_pretrained_encoder_is_named_where_a_stage_depends_on_it(edited):
    pytest.importorskip("transformers", reason="make pretrained installs it")
    assert changed(edited, "searches:", f"{ENCODER}searches:") == {"compare.json"}
    embed, fit = (code(edited, stage, "letters") for stage in ("embed", "pretrained"))
    assert {"torch", "transformers"} <= {*embed["versions"]}
    assert "scikit-learn" not in embed["versions"]  # a new one repeats no vectors
    assert "transformers" in fit["versions"]  # which tunes and explains the encoder
    assert "src/heed/tasks/classification/reference_models.py" in fit["files"]
    assert code(edited, "compare")["pretrained"] == ["letters"]


def test_an_encoders_stages_know_the_settings_in_its_package(edited, tmp_path, monkeypatch):
    pytest.importorskip("transformers", reason="make pretrained installs it")
    encoder = ENCODER.replace("folder: encoder", "package: an-encoder")
    params = edited / "params.yaml"
    params.write_text(params.read_text().replace("searches:", f"{encoder}searches:"))
    with pytest.raises(SystemExit, match="the package an-encoder is not installed"):
        run(edited)
    names = ("model.safetensors", "tokenizer.json", "1_Pooling/config.json")
    files = [f"an_encoder/{name}" for name in names]
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    about = tmp_path / "an_encoder-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: an-encoder\nVersion: 1\n")
    (about / "RECORD").write_text("".join(f"{name},,\n" for name in files))
    monkeypatch.syspath_prepend(tmp_path)
    run(edited)
    for name in files[1:]:
        before = [code(edited, stage, "letters")["settings"] for stage in ("embed", "pretrained")]
        (tmp_path / name).write_text('{"changed": true}')
        run(edited)
        after = [code(edited, stage, "letters")["settings"] for stage in ("embed", "pretrained")]
        assert not {*before} & {*after}


@pytest.mark.parametrize(("package", "extra"), [("transformers", "pretrained"), ("ray", "search")])
def test_a_study_that_needs_an_extra_says_so(package, extra, monkeypatch):
    monkeypatch.setattr(digests, "find_spec", lambda name: None)
    with pytest.raises(HeedError, match=f"needs {package}, .* make {extra}, or pip install"):
        digests.versions({package, "torch"})


def test_seeds_that_are_raised_after_a_comparison_stop_the_study_until_they_are_noted(edited):
    made = made_up.comparison("sample")
    result = next(iter(made.experiments.values()))
    experiments = {name: dataclasses.replace(result, seeds=None) for name in ("feelings", "author")}
    folder = edited / "results/compare"
    folder.mkdir(parents=True)
    written = dataclasses.replace(made, seeds=[1, 2], experiments=experiments)
    write_comparison(folder / "comparison.json", written)
    run(edited)
    with pytest.raises(SystemExit, match=r"heed: params\.yaml: seeds: .* compared with 2 before"):
        changed(edited, "seeds: [1, 2]", "seeds: [1, 2, 3]")
    found = changed(edited, "study: {", "study: {looked: [2], ")
    assert found == set()


def test_the_files_of_keys_that_are_gone_go(edited):
    params = edited / "params.yaml"
    lines = params.read_text().splitlines(keepends=True)
    kept = [line for line in lines if "feelings-self-attention" not in line]  # in all sections
    params.write_text("".join([*kept, "searches: {}\n"]))
    run(edited)
    assert not (edited / "results/code/explain/feelings-self-attention.json").exists()
    assert not (edited / "results/code/adversarial_attention/liar.json").exists()
    assert (edited / "results/code/explain/feelings-last-state.json").exists()


def test_other_presets_change_the_code_of_recipes_alone(edited):
    """A training changes with its recipe, and downloads and tokens never."""
    rules = "src/heed/tasks/classification/rules.py"
    found = changed(edited, "PRESETS: ", "ADDED = 1\nPRESETS: ", rules)
    assert found == {f"recipe/{name}.json" for name in ("feelings", "author")}


def test_whether_models_are_trained_longer_is_known_to_trainings_alone(edited):
    found = changed(edited, "study: {", "study: {longer_training: false, ")
    assert found == {f"train/{name}.json" for name in ("feelings", "author")}
    assert code(edited, "train", "author")["longer_training"] is False


def test_a_clone_runs_its_own_code(edited, tmp_path):
    command = edited / "src/heed/cli/commands.py"
    command.write_text(command.read_text().replace("no mistake", "nothing wrong here"))
    assert "params.yaml: nothing wrong here: study toy" in run_heed("study", cwd=edited).stdout
    (edited / ".git").mkdir()
    for folder in (edited / "below", tmp_path / "other"):
        shutil.copytree(edited / "workflow/studies", folder / "workflow/studies")
        shutil.copy(edited / "params.yaml", folder)
    # in a folder of the clone
    assert "nothing wrong here" in run_heed("study", cwd=edited / "below").stdout
    # in no clone: what is installed
    assert "no mistake" in run_heed("study", cwd=tmp_path / "other").stdout
    stuck = run_heed("study", cwd=edited, HEED_OWN_CODE=str(edited / "src"))
    assert stuck.returncode == 1 and "the code of this clone cannot be run" in stuck.stderr


LOADS = """
from heed import digests
from heed.training import checkpoint
from heed.training.run import train_runs
named = {}
loaded_modules = digests.loaded_modules
def note():
    named.update(loaded_modules())
    return loaded_modules()
checkpoint.loaded_modules = note
list(train_runs("tiny-self-attention", [1], 1))
print("not named:", *({*loaded_modules()} - {*named}))
assert "heed.training.loop" in named
"""


def test_a_run_depends_on_every_module_that_it_loads(workplace):
    done = subprocess.run([sys.executable, "-c", LOADS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "not named:"
