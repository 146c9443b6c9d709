"""The files and modules that dvc.yaml declares are those that the commands use."""

import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from heed import digests
from heed.task import task_names
from tests.conftest import ROOT
from tests.pipeline.makers import EXPLAINED

# Run each command in a fork of a process that has imported others' libraries, nothing of heed's.
WATCH = """
import atexit, json, os, sys
import jinja2, pandas, pyarrow.parquet, ruamel.yaml
import scipy.stats, sklearn.feature_extraction.text, sklearn.linear_model, spacy, torch

def watch(stage):
    opened = set()
    def note(event, arguments):
        if event == "open" and isinstance(arguments[0], (str, os.PathLike)):
            opened.add(os.path.relpath(os.fspath(arguments[0])))
    def write_report():
        modules = [
            m.__file__ for n, m in sys.modules.items()
            if n.split(".")[0] == "heed" and getattr(m, "__file__", None)
        ]
        json.dump([modules, sorted(opened)], open(f"{stage}.watched", "w"))
    sys.addaudithook(note)
    atexit.register(write_report)

assert not any(name.split(".")[0] == "heed" for name in sys.modules)
for stage, command in json.loads(sys.argv[1]).items():
    pid = os.fork()
    if pid == 0:
        sys.argv[1:] = command.split()
        watch(stage)
        from heed.cli import main
        main()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(0)  # the end of an interpreter with all of torch takes a second
    if os.waitpid(pid, 0)[1]:
        sys.exit("heed " + command)
"""
COMMANDS = {
    "download": "download sample", "tokenize": "tokenize letters",
    "recipe": "recipe author", "train": "train author-self-attention",
    "score": "score author", "explain": "explain author-self-attention",
    "adversarial_attention": "adversarial_attention liar",
    "reference_models": "reference_models author",
    "compare": "compare",
    "report": "report",
}  # fmt: skip
KEYS = {"download": "sample", "tokenize": "letters", "recipe": "author", "score": "author",
    "reference_models": "author", "adversarial_attention": "liar"}  # fmt: skip
NAMES = {
    "source": "sample", "corpus": "letters", "noise": "letters", "model": "author-self-attention",
    "experiment": "author",
}  # fmt: skip
each_stage = pytest.mark.parametrize("stage", COMMANDS)
one_worker = pytest.mark.xdist_group("used")  # runs the commands
Used = dict[str, tuple[set[str], set[str]]]


def test_dvc_exp_show_has_few_columns() -> None:
    """Columns are the metrics, the lines of params.yaml, and the files and folders in `deps`.

    A digest is a parameter without a value, and has none. Five say which experiment it is.
    """
    from dvc.dependency import ParamsDependency
    from dvc.utils.flatten import flatten
    from engine_names import open_repository

    index = open_repository(ROOT).index
    read = {str(each) for each in index.deps if not isinstance(each, ParamsDependency)}
    study = YAML(typ="safe").load(ROOT / "params.yaml")
    metrics = [*study["experiments"], *study["models"]]
    if study["study"]["name"] == "sample":  # else another study is active in this clone
        assert {str(each) for each in index.deps if str(each).endswith(".digest")}
        assert 5 + len([*metrics, *flatten(study), *read]) <= 60


@pytest.fixture(scope="session")
def used(tmp_path_factory: pytest.TempPathFactory) -> Used:
    """Run the real commands on a tiny study without a search, which is slow.

    Returns {stage: (modules of heed that it imports and its code does not name, files it opens)}.
    """
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "params.yaml").write_text(EXPLAINED)
    (folder / "src").symlink_to(ROOT / "src")
    subprocess.run([sys.executable, ROOT / "workflow/digests.py"], cwd=folder, check=True)
    (folder / "data").mkdir()
    (folder / "data/published").symlink_to(ROOT / "data/published")
    (folder / "watch.py").write_text(WATCH)
    command = [sys.executable, "watch.py", json.dumps(COMMANDS)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    used = {}
    for stage, command in COMMANDS.items():
        name, key, *_ = [*command.split(), ""]
        modules, opened = json.loads((folder / f"{stage}.watched").read_text())
        of_experiment = digests.SECTIONS.get(name) == "experiments"
        code = digests.code_file(name, NAMES["experiment"] if of_experiment else key)
        named = json.loads((folder / code).read_text())["files"]
        loaded = {str(Path(module).relative_to(ROOT)) for module in modules}
        used[stage] = (loaded - {*named}, set(opened))
    return used


def declared(stage: str) -> tuple[set[str], set[str]]:
    """Return the deps and outs of a stage in dvc.yaml for the tiny study."""
    section = YAML(typ="safe").load(ROOT / "dvc.yaml")["stages"][stage]
    section = section.get("do", section)
    outs = [*section["outs"], *section.get("metrics", [])]
    # a digest is of the file of its name, or of all files of its folder
    whole = [next(iter(each)) for each in section["params"] if isinstance(each, dict)]
    digested = [re.sub("(/all_models|/)?[.]digest$", "", path) for path in whole]
    deps = [*section.get("deps", []), *digested, *(f"{path}.yaml" for path in digested)]
    paths = deps, [next(iter(o)) if isinstance(o, dict) else o for o in outs]
    names = {"${key}": KEYS.get(stage, "author-self-attention")}
    names |= {f"${{item.{name}}}": value for name, value in NAMES.items()}
    deps, outs = ({functools.reduce(lambda p, n: p.replace(*n), names.items(), path)
                   for path in group} for group in paths)  # fmt: skip
    return deps, outs


@one_worker
@each_stage
def test_the_modules_that_a_command_loads_are_named_in_its_code(used: Used, stage: str) -> None:
    allowed = {f"src/{name.replace('.', '/')}" for name in digests.IGNORED}
    # heed.study checks params.yaml by these parts of every task; a stage depends on its own task
    parts = ("__init__", "recipe", "rules", "presets")
    allowed |= {f"src/heed/tasks/{task}/{part}" for task in task_names() for part in parts}
    folders = ["src/heed/hyperparameters/"]
    if stage not in ("download", "tokenize"):
        folders.append("src/heed/corpora/")
        allowed |= {"src/heed/annotations", "src/heed/hub"}  # the corpora read them
    assert not [
        path
        for path in used[stage][0]
        if not {path.removesuffix(".py"), path.removesuffix("/__init__.py")} & allowed
        and not path.startswith(tuple(folders))
    ]


@one_worker
@each_stage
def test_a_stage_reads_no_file_that_it_does_not_declare(used: Used, stage: str) -> None:
    deps, outs = declared(stage)
    allowed = deps | outs
    if stage in ("recipe", "train", "score", "explain", "adversarial_attention"):
        allowed |= {"data/tokens"}  # by their digest, in the recipe
    if stage in ("score", "explain", "adversarial_attention"):
        allowed |= {"results/recipe"}  # which names a model's experiment, and the runs have it
    if stage == "score":
        allowed |= {"results/train"}  # by the digests of its runs
    if stage == "report":  # by the digests in results/shown, which other stages write
        shown = re.findall("results/shown/([a-z_]+)/", (ROOT / "dvc.yaml").read_text())
        allowed |= {f"results/{folder}" for folder in shown}
    opened = {path for path in used[stage][1] if path.startswith(("data/", "results/", "reports/"))}
    complete = {path for path in opened if "/." not in path}  # not those being written
    near = {path for path in complete for each in allowed
            if f"{path}/".startswith(f"{each}/") or f"{each}/".startswith(f"{path}/")}  # fmt: skip
    assert complete - near == set()
