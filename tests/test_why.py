"""`heed why` names the stages that both drivers name, and the edit that was made as their cause."""

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.test_drivers import Toy, finished  # noqa: F401

# --- what differs ---------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def workflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules of workflow/ can be imported."""
    monkeypatch.syspath_prepend(ROOT / "workflow")


def test_each_value_that_differs_is_named_with_its_key() -> None:
    from records import changed_values

    before = {"seeds": [1, 2], "models": {"mean": {"dropout": 0.2, "pooling": "mean"}, "max": {}}}
    now = {"seeds": [1], "models": {"mean": {"dropout": 0.5, "pooling": "mean", "heads": 2}}}
    assert [*changed_values(before, now, "params.yaml")] == [
        "seeds in params.yaml is [1] and was [1, 2]",
        "models.mean.dropout in params.yaml is 0.5 and was 0.2",
        "models.mean.heads in params.yaml is new",
        "models.max in params.yaml is gone",
    ]
    assert [*changed_values(before, json.loads(json.dumps(before)), "params.yaml")] == []
    (long,) = changed_values({"it": "x" * 99 + "a"}, {"it": "x" * 99 + "b" * 99}, "params.yaml")
    shown, hidden = "x" * 30, "b" * 30
    assert long == f'it in params.yaml is …{shown}{hidden}… and was …{shown}a"'


def test_each_module_that_differs_is_named() -> None:
    from records import changed_modules

    before = {"files": {"src/a.py": "1", "src/b.py": "1"}, "versions": {"torch": "2.1"}}
    now = {"files": {"src/a.py": "2", "src/c.py": "1"}, "versions": {"torch": "2.2"}}
    assert changed_modules(json.dumps(before), json.dumps(now)) == [
        "src/a.py changed",
        "src/b.py is missing",
        "src/c.py is new",
        'torch in the environment is "2.2" and was "2.1"',
    ]


class NoRecords:
    """Of a clone whose cache was deleted."""

    def changed_files(self, stage: str, path: str) -> str:
        return ""

    def text(self, stage: str, path: str) -> None:
        return None

    def is_recorded(self, stage: str, path: str, text: str) -> bool:
        return text == "as recorded"


def chains(new_code: dict[str, str] | None, **changes: list[tuple[str, ...]]) -> dict[str, Any]:
    """Return the chains in a study of four stages, of which some changed."""
    from causes import Causes
    from stages import Change, Stage

    def stage(name: str, upstream: list[str], deps: list[str], out: str) -> Stage:
        code = [f"results/code/{name}.json"] * (name != "code")
        own = [Change(*change) for change in changes.get(name, [])]
        return Stage(
            name, ["code", *upstream][name == "code" :], code + deps, [out], 1, 0, False, own
        )

    study = [
        stage("code", [], ["src/heed"], "results/code"),
        stage("train", [], [], "results/train"),
        stage("predict", ["train"], ["results/train"], "results/predict"),
        stage("report", ["predict", "train"], ["results/predict", "results/train"], "reports"),
    ]
    return Causes(study, [], new_code, NoRecords()).chains


def test_an_output_that_is_edited_is_the_cause_in_all_stages_after_it() -> None:
    found = chains(
        {},
        train=[("output", "results/train", "modified")],
        predict=[("input", "results/train", "modified")],
        report=[("input", "results/train", "modified")],
    )
    cause = "results/train, an output of train, changed"
    assert found == {
        "train": {cause: ["train"]},
        "predict": {cause: ["predict", "train"]},
        "report": {cause: ["report", "train"]},
    }


def test_an_output_that_was_made_anew_is_the_cause_where_it_is_read() -> None:
    found = chains({}, predict=[("input", "results/train", "modified")])
    cause = "results/train, which train has made anew, changed"
    assert found == {"predict": {cause: ["predict"]}, "report": {cause: ["report", "predict"]}}


def test_without_dvcs_cache_the_changed_code_is_said_not_to_be_known() -> None:
    from causes import NOT_KEPT

    edited = {"code": [("input", "src/heed", "modified")]}
    found = chains({"results/code/predict.json": "another"}, **edited)
    assert found["predict"] == {NOT_KEPT: ["predict"]}
    assert found["report"] == {NOT_KEPT: ["report", "predict"]}
    assert "train" not in found


def test_where_the_stage_code_would_stop_all_stages_come_after_it() -> None:
    found = chains(None, code=[("input", "src/heed", "modified")])
    (cause,) = found["code"]
    assert cause.startswith("src/heed was edited, and the stage code would stop")
    assert found["report"] == {cause: ["report", "code"]}


def test_code_that_is_missing_and_would_be_written_as_it_was_is_the_cause_by_its_stage() -> None:
    found = chains(
        {"results/code/train.json": "as recorded"},
        code=[("output", "results/code", "deleted")],
    )
    cause = "results/code, an output of code, is missing"
    assert found["train"] == {cause: ["train", "code"]}
    assert found["predict"] == {cause: ["predict", "train", "code"]}


def test_a_stage_that_has_never_run_needs_no_other_cause() -> None:
    from causes import NEVER_RUN

    found = chains({}, train=[("output", "results/train", "deleted")], predict=[("never run",)])
    assert found["predict"] == {NEVER_RUN: ["predict"]}
    assert {*found["report"]} == {NEVER_RUN, "results/train, an output of train, is missing"}


def test_an_unknown_name_is_answered_with_similar_ones() -> None:
    import why

    kinds = ["code", "train", "report"]
    message = why._unknown_stage("trian", kinds, kinds)
    assert message.startswith("there is no stage trian; did you mean train?")
    assert "train@mean-1" in why._unknown_stage("train@mean", ["train@mean-1"], kinds)
    assert why._unknown_stage("xyz", kinds, kinds).endswith("the kinds code, train, report")


# --- a study --------------------------------------------------------------------------------------


@pytest.fixture
def clone(finished: Toy, tmp_path: Path) -> Toy:  # noqa: F811
    """A copy of the toy study, which has run."""
    return finished.copy(tmp_path / "a copy")


def why(clone: Toy, *stage: str) -> str:
    source = str(clone.path / "src")  # the toy's `heed` is a stub
    return clone.run(sys.executable, "-m", "heed.cli", "why", *stage, PYTHONPATH=source)


def test_a_stage_is_explained_by_the_chain_to_the_edit(clone: Toy) -> None:
    clone.change("dropout: 0.2", "dropout: 0.4")
    cause = "models.author-baseline.dropout in params.yaml is 0.4 and was 0.2"
    assert why(clone, "train@author-baseline-1") == (
        f"train@author-baseline-1 is stale:\n  because recipe@author-baseline is, because {cause}\n"
    )


def test_a_result_that_is_a_link_to_nowhere_is_named(clone: Toy) -> None:
    import stages

    from heed.files import HeedError

    results = clone.path / "results/predict/author-baseline"
    shutil.rmtree(results)
    results.symlink_to(clone.path / "a disk that is not mounted")
    with pytest.raises(HeedError, match=r"results/predict/author-baseline: No such file.* a link"):
        stages.read_stages(clone.path)


def test_in_no_clone_there_is_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from heed.cli.staleness import why
    from heed.files import HeedError

    monkeypatch.chdir(tmp_path)
    with pytest.raises(HeedError, match=r"no workflow/why\.py here"):
        why("")


def write(path: str, old: str, new: str) -> Callable[[Toy], None]:
    """Return an edit of a file of the clone; `old` is an expression, of which the first match."""

    def edit(clone: Toy) -> None:
        text = (clone.path / path).read_text()
        edited = re.sub(old, new, text, count=1, flags=re.MULTILINE)
        assert edited != text
        (clone.path / path).write_text(edited)

    return edit


def remove(path: str) -> Callable[[Toy], None]:
    return lambda clone: shutil.rmtree(clone.path / path)


def loses_the_digests(clone: Toy) -> None:
    """Edit a module, run the stage `code`, and delete the lists of modules from DVC's cache."""
    write("src/heed/models/scores.py", "^MAX_ELEMENTS = .*", "MAX_ELEMENTS = 2**25")(clone)
    clone.run("dvc", "repro", "--quiet", "--single-item", "code")
    present = {path.read_bytes() for path in (clone.path / "results/code").rglob("*.json")}
    for path in (clone.path / ".dvc/cache/files/md5").glob("*/*"):
        content = path.read_bytes()
        if b'"versions"' in content and content not in present:
            path.unlink()


def runs_the_recipe(clone: Toy) -> None:
    clone.change("dropout: 0.2", "dropout: 0.4")
    clone.run("dvc", "repro", "--quiet", "recipe@author-baseline")


EDITS: dict[str, tuple[Callable[[Toy], None], set[str]]] = {
    "a value in a module": (
        write("src/heed/models/scores.py", "^MAX_ELEMENTS = .*", "MAX_ELEMENTS = 2**25"),
        {"src/heed/models/scores.py changed"},
    ),
    "a comment": (
        write("src/heed/models/scores.py", r"\Z", "# a comment\n"),
        {
            "src/heed was edited, but only in comments, layout or modules of no stage (not "
            "committed: src/heed/models/scores.py)"
        },
    ),
    "a comment in params.yaml": (
        write("params.yaml", r"\Z", "# a comment\n"),
        {"params.yaml was edited, but in no value that a stage reads (not committed: params.yaml)"},
    ),
    "a hyperparameter": (
        write("params.yaml", "dropout: 0.2", "dropout: 0.4"),
        {"models.author-baseline.dropout in params.yaml is 0.4 and was 0.2"},
    ),
    "a hyperparameter whose recipe has run": (
        runs_the_recipe,
        {
            "dropout in results/recipe/author-baseline.yaml, which recipe@author-baseline has made "
            "anew, is 0.4 and was 0.2",
            "models.author-baseline.dropout in params.yaml is 0.4 and was 0.2",  # by `compare`
        },
    ),
    "a default": (
        write("params.yaml", "hidden_size: 8", "hidden_size: 16"),
        {"defaults.classification.hidden_size in params.yaml is 16 and was 8"},
    ),
    "a section": (
        write("params.yaml", "title: Feelings}", "title: Sentiment}"),
        {'experiments.feelings.title in params.yaml is "Sentiment" and was "Feelings"'},
    ),
    "a model that is gone": (
        write("params.yaml", "^  feelings-attention:.*\n", ""),
        {
            "models.feelings-attention in params.yaml is gone",
            "8 results of what the study no longer has will be deleted, such as "
            "results/evaluate/feelings-attention",
        },
    ),
    "a new model": (
        write(
            "params.yaml",
            "^  author-baseline:(.*)variant: baseline(.*)match: author-baseline(.*)",
            r"\g<0>\n  author-more:\1variant: more\2match: author-more\3",
        ),
        {"models.author-more in params.yaml is new", "it has never run"},
    ),
    "a file of the data": (
        write("data/tokens/letters/meta.json", r"\Z", " "),
        {"meta.json changed in data/tokens/letters, an output of tokenize@letters"},
    ),
    "a file of the repository": (
        write("data/published/explanation.csv", r"\Z", "\n"),
        {"data/published changed (not committed: data/published/explanation.csv)"},
    ),
    "an output that is deleted": (
        remove("results/train/author-baseline/2"),
        {"results/train/author-baseline/2, an output of train@author-baseline-2, is missing"},
    ),
    "an output that is edited": (
        write("results/recipe/author-baseline.yaml", r"\Z", "# mine\n"),
        {"results/recipe/author-baseline.yaml, an output of recipe@author-baseline, changed"},
    ),
    "a file that no stage has made": (
        lambda clone: (clone.path / "results/predict/mine.csv").write_text("mine\n"),
        {"results/predict/mine.csv, which no stage has made, is there"},
    ),
    "a module of the report": (
        write("src/heed/report/formats.py", r"\Z", "ANOTHER = 1\n"),
        {"src/heed/report/formats.py changed"},
    ),
    "a command": (
        write("dvc.yaml", "cmd: heed evaluate", "cmd: heed evaluate --x"),
        {"the command of evaluate in dvc.yaml is `heed evaluate --x` and was `heed evaluate`"},
    ),
    "a seed": (
        write("params.yaml", r"seeds: \[1, 2\]", "seeds: [1, 2, 3]"),
        {"seeds in params.yaml is [1, 2, 3] and was [1, 2]", "it has never run"},
    ),
    "a template": (
        write("src/heed/report/templates/blocks.html.jinja", r"\Z", "\n"),
        {"src/heed/report/templates/blocks.html.jinja changed"},
    ),
    "all code files are deleted": (
        remove("results/code"),
        {"results/code, an output of code, is missing"},
    ),
    "DVC's cache is deleted": (
        remove(".dvc/cache"),
        {"DVC's cache lacks outputs of it, which dvc pull fetches where a remote has them"},
    ),
    "code that does not parse": (
        write("src/heed/models/scores.py", r"\Z", "def (\n"),
        {"src/heed was edited, and the stage code would stop with the message above"},
    ),
    "code whose old digests are gone": (
        loses_the_digests,
        {"its code changed, and DVC's cache no longer has the list of its modules of before"},
    ),
}
SAID_OF_SEVERAL = {
    "it has never run": "it, or a stage before it, has never run",
    "its code changed, and DVC's cache no longer has the list of its modules of before": (
        "its code, or that of a stage before it, changed, and DVC's cache no longer has the list "
        "of its modules of before"
    ),
    "DVC's cache lacks outputs of it, which dvc pull fetches where a remote has them": (
        "DVC's cache lacks outputs of it, or of a stage before it: dvc pull fetches them where a "
        "remote has them"
    ),
}
EXPLAIN = """
import json, sys
from pathlib import Path
sys.path.insert(0, "workflow")
import stages, why
planned = stages.read_stages()
causes = why.find_causes(Path(), planned)
own = [stage.name for stage in planned if stage.changes]
print(json.dumps({"own": own, "chains": causes.chains, "stale": causes.reasons}))
"""


@pytest.fixture(params=EDITS)
def edited(request: pytest.FixtureRequest, clone: Toy) -> Iterator[tuple[Toy, set[str]]]:
    """A toy study with an edit, and the causes that it is."""
    edit, causes = EDITS[request.param]
    edit(clone)
    yield clone, causes


@pytest.mark.slow
def test_the_stale_stages_are_those_of_both_drivers_and_their_cause_is_the_edit(
    edited: tuple[Toy, set[str]],
) -> None:
    clone, causes = edited
    before = {path: path.stat().st_mtime_ns for path in clone.path.rglob("*") if path.is_file()}
    found = json.loads(clone.run(sys.executable, "-c", EXPLAIN).splitlines()[-1])
    assert {cause for chain in found["chains"].values() for cause in chain} == causes
    assert found["chains"].keys() == found["stale"].keys()
    lines = clone.run("snakemake", "-n").splitlines()
    jobs = [line.split()[2] for line in lines if line.startswith("Job ") and "  (" in line]
    assert sorted(found["stale"]) == sorted(jobs)
    assert {*found["own"]} == {*json.loads(clone.run("dvc", "status", "--json").splitlines()[-1])}
    lines = why(clone).splitlines()
    listed = [line for line in lines if line.startswith("  because ")]
    assert len(listed) == len(causes)
    for cause in causes:
        number = sum(cause in chain for chain in found["chains"].values())
        said = SAID_OF_SEVERAL.get(cause, cause)
        assert any(line.startswith(f"  because {said}: {number} stage") for line in listed), listed
    caches = (".dvc/tmp", ".dvc/cache", ".snakemake", ".heed", "__pycache__", ".git/")
    after = {path: path.stat().st_mtime_ns for path in clone.path.rglob("*") if path.is_file()}
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert not [path for path in changed if not any(part in str(path) for part in caches)]
