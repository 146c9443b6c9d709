"""Every undocumented name of DVC and Snakemake that heed uses still exists.

A failure names the engine, its name and heed's function.
"""

import ast
import copy
import hashlib
import importlib
import inspect
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ruamel.yaml import YAML
from snakemake_interface_executor_plugins.settings import CommonSettings

from heed.code.stage import VARIABLE
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "workflow"))
import engine_names as engine
import stages
from lock_file import read_entry_texts

DVC_YAML = """
stages:
  first: {cmd: echo 1 > out, deps: [params.yaml], params: [study], outs: [out], meta: {gpu: 1}}
  second: {cmd: cp out copy, deps: [out], outs: [copy], frozen: true, always_changed: true}
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A DVC repository whose first stage has run."""
    root = tmp_path_factory.mktemp("repository")
    (root / "dvc.yaml").write_text(DVC_YAML)
    (root / "params.yaml").write_text("study: tiny\n")
    for command in (
        ["git", "init", "-q"],
        ["dvc", "init", "-q"],
        ["dvc", *engine.REPRO, "--quiet", "first"],
    ):
        subprocess.run(command, cwd=root, check=True)
    return root


def parameters(function: Callable[..., Any]) -> set[str]:
    return {*inspect.signature(function).parameters}


def has(owner: Any, *names: str) -> bool:
    fields = getattr(owner, "__dataclass_fields__", {})
    return all(
        name in fields or inspect.getattr_static(owner, name, None) is not None for name in names
    )


def assigns(owner: Any, *names: str) -> bool:
    """Whether the constructor of a class sets these attributes."""
    source = inspect.getsource(owner.__init__)
    return all(f"self.{name}" in source for name in names)


def dvc(module: str, name: str) -> Any:
    return getattr(__import__(f"dvc.{module}", fromlist=[name]), name)


def snakemake_source() -> str:
    import snakemake

    return "".join(path.read_text() for path in Path(snakemake.__file__).parent.rglob("*.py"))


def workflow_class() -> Any:
    import snakemake.api  # noqa: F401  (its modules import each other: this one first)
    from snakemake.workflow import Workflow

    return Workflow


def resource_class() -> Any:
    from snakemake.resources import Resource

    return Resource


def settings(name: str) -> Any:
    import snakemake.settings.types

    return getattr(snakemake.settings.types, name)


def is_snakemake_message(message: str) -> bool:
    return message.strip() in snakemake_source()


# function of engine_names: [(engine, the name that it uses, whether that exists)]
USED: dict[str, list[tuple[str, str, Callable[[], bool]]]] = {
    "open_repository": [
        ("dvc", "Repo(root_dir)", lambda: "root_dir" in parameters(dvc("repo", "Repo")))
    ],
    "missing_repository_errors": [
        (
            "dvc",
            "exceptions.NotDvcRepoError",
            lambda: issubclass(dvc("exceptions", "NotDvcRepoError"), Exception),
        ),
        ("dvc", "scm.SCMError", lambda: issubclass(dvc("scm", "SCMError"), Exception)),
    ],
    "dvc_errors": [
        (
            "dvc",
            "exceptions.DvcException",
            lambda: issubclass(dvc("exceptions", "DvcException"), Exception),
        )
    ],
    "pipeline_stages": [
        ("dvc", "Repo.index", lambda: has(dvc("repo", "Repo"), "index")),
        ("dvc", "Index.graph", lambda: has(dvc("repo.index", "Index"), "graph")),
        (
            "dvc",
            "stage.PipelineStage",
            lambda: issubclass(dvc("stage", "PipelineStage"), dvc("stage", "Stage")),
        ),
    ],
    "upstream_names": [("dvc", "Index.graph", lambda: has(dvc("repo.index", "Index"), "graph"))],
    "stage_name": [
        (
            "dvc",
            "PipelineStage.addressing",
            lambda: has(dvc("stage", "PipelineStage"), "addressing"),
        )
    ],
    "stage_meta": [("dvc", "Stage.meta", lambda: assigns(dvc("stage", "Stage"), "meta"))],
    "dependencies": [("dvc", "Stage.deps", lambda: assigns(dvc("stage", "Stage"), "deps"))],
    "outputs": [("dvc", "Stage.outs", lambda: assigns(dvc("stage", "Stage"), "outs"))],
    "command": [("dvc", "Stage.cmd", lambda: assigns(dvc("stage", "Stage"), "cmd"))],
    "command_changed": [
        (
            "dvc",
            "Stage.changed_stage()",
            lambda: parameters(dvc("stage", "Stage").changed_stage) == {"self"},
        ),
        (
            "dvc",
            "Stage.changed_stage() without its lock",
            lambda: not has(dvc("stage", "Stage").changed_stage, "__wrapped__"),
        ),
    ],
    "always_runs": [
        ("dvc", "Stage.always_changed", lambda: assigns(dvc("stage", "Stage"), "always_changed")),
        ("dvc", "Stage.is_callback", lambda: has(dvc("stage", "Stage"), "is_callback")),
    ],
    "is_frozen": [("dvc", "Stage.frozen", lambda: assigns(dvc("stage", "Stage"), "frozen"))],
    "entry_path": [
        ("dvc", "Output.fs_path", lambda: assigns(dvc("output", "Output"), "fs_path")),
        (
            "dvc",
            "Repo.root_dir",
            lambda: (
                "root_dir" in dvc("repo", "Repo").__annotations__
                or assigns(dvc("repo", "Repo"), "root_dir")
            ),
        ),
    ],
    "is_recorded": [
        ("dvc", "Output.hash_info", lambda: assigns(dvc("output", "Output"), "hash_info"))
    ],
    "entry_changes": [
        ("dvc", "Output.status()", lambda: parameters(dvc("output", "Output").status) == {"self"}),
        (
            "dvc",
            "ParamsDependency.status()",
            lambda: parameters(dvc("dependency.param", "ParamsDependency").status) == {"self"},
        ),
    ],
    "recorded_output": [
        (
            "dvc",
            "output.loadd_from(stage, d_list)",
            lambda: parameters(dvc("output", "loadd_from")) == {"stage", "d_list"},
        ),
        (
            "dvc",
            "Index.stages",
            lambda: (
                has(dvc("repo.index", "Index"), "stages")
                or assigns(dvc("repo.index", "Index"), "stages")
            ),
        ),
    ],
    "is_in_cache": [
        ("dvc", "Output.changed_cache()", lambda: has(dvc("output", "Output"), "changed_cache"))
    ],
    "present_files": [
        ("dvc", "Output._build()", lambda: has(dvc("output", "Output"), "_build", "local_cache")),
        ("dvc", "Output.dvcignore", lambda: has(dvc("output", "Output"), "dvcignore")),
    ],
    "cached_file": [
        (
            "dvc",
            "CacheManager.local",
            lambda: "self.local.fs" in inspect.getsource(dvc("cachemgr", "CacheManager")),
        ),
    ],
    "read_yaml": [
        (
            "dvc",
            "utils.serialize.load_yaml(path)",
            lambda: "path" in parameters(dvc("utils.serialize", "load_yaml")),
        ),
        (
            "dvc",
            "utils.serialize.YAMLFileCorruptedError",
            lambda: issubclass(dvc("utils.serialize", "YAMLFileCorruptedError"), Exception),
        ),
    ],
    "check_lock": [
        (
            "dvc",
            "schema.COMPILED_LOCKFILE_SCHEMA",
            lambda: callable(dvc("schema", "COMPILED_LOCKFILE_SCHEMA")),
        )
    ],
    "rwlock_processes": [
        (
            "dvc",
            f"lock file {engine.RWLOCK}",
            lambda: dvc("rwlock", "RWLOCK_FILE") == engine.RWLOCK.name,
        ),
        (
            "dvc",
            "lock of write: {path: process}, read: {path: [processes]}",
            lambda: bool(
                dvc("rwlock", "SCHEMA")(
                    {
                        "write": {"a": {"pid": 1, "cmd": "dvc"}},
                        "read": {"b": [{"pid": 2, "cmd": "dvc"}]},
                    }
                )
            ),
        ),
    ],
    "running_stage": [
        (
            "dvc",
            f"variable {VARIABLE}",
            lambda: dvc("env", "DVC_STAGE") == VARIABLE,
        )
    ],
    "is_main_process": [
        ("snakemake", "Workflow.is_main_process", lambda: has(workflow_class(), "is_main_process"))
    ],
    "is_dry_run": [
        ("snakemake", "Workflow.output_settings", lambda: has(workflow_class(), "output_settings")),
        ("snakemake", "OutputSettings.dryrun", lambda: has(settings("OutputSettings"), "dryrun")),
    ],
    "is_running_jobs": [
        (
            "snakemake",
            "Workflow.executor_plugin, dryrun and touch",
            lambda: has(workflow_class(), "executor_plugin", "dryrun", "touch"),
        ),
    ],
    "cores": [
        (
            "snakemake",
            "Workflow.resource_settings",
            lambda: has(workflow_class(), "resource_settings"),
        ),
        ("snakemake", "ResourceSettings.cores", lambda: has(settings("ResourceSettings"), "cores")),
    ],
    "gpus": [
        (
            "snakemake",
            "ResourceSettings.resources",
            lambda: has(settings("ResourceSettings"), "resources"),
        ),
        ("snakemake", "Resource.value", lambda: has(resource_class(), "value")),
    ],
    "silence_snakemake": [
        (
            "snakemake",
            f"logger {engine.SNAKEMAKE_LOGGER}",
            lambda: (
                __import__(engine.SNAKEMAKE_LOGGER, fromlist=["logger"]).logger.name
                == engine.SNAKEMAKE_LOGGER
            ),
        ),
        *(
            ("snakemake", f"message {text!r}", lambda text=text: is_snakemake_message(text))
            for text in engine.USELESS_MESSAGES
            if "\n" not in text
        ),
        (
            "snakemake",
            "message 'missing provenance'",
            lambda: all(
                part in snakemake_source()
                for part in ('"no_metadata", "missing"', "provenance/metadata so that")
            ),
        ),
    ],
    "share_params": [
        (
            "dvc",
            "Context.clone(context), for each stage with vars",
            lambda: (
                "Context.clone(context)"
                in inspect.getsource(dvc("parsing", "EntryDefinition").resolve_stage)
            ),
        ),
        (
            "dvc",
            "a Context with data, meta, imports, _reserved_keys, and nothing else to copy",
            lambda: all(
                part in inspect.getsource(dvc("parsing.context", "Context").__deepcopy__)
                for part in (
                    "Context(super().__deepcopy__(_))\n        new.meta =",
                    "new.imports = deepcopy(self.imports)\n        new._reserved_keys = ",
                    "deepcopy(self._reserved_keys)\n        return new",
                )
            ),
        ),
        (
            "dvc",
            "dependency.param.load_path(path, fs), of which a part is returned",
            lambda: (
                "config = load_path(path, fs, **load_kwargs)"
                in inspect.getsource(dvc("dependency.param", "read_param_file"))
            ),
        ),
    ],
    "write_lock_entries": [
        (
            "dvc",
            "Repo(_wait_for_lock)",
            lambda: "_wait_for_lock" in parameters(dvc("repo", "Repo")),
        ),
        ("dvc", "repo.lock_repo(repo)", lambda: parameters(dvc("repo", "lock_repo")) == {"repo"}),
    ],
    "changed_inputs": [
        (
            "dvc",
            "repo.stage.StageLoad.load_one(name)",
            lambda: "name" in parameters(dvc("repo.stage", "StageLoad").load_one),
        ),
        (
            "dvc",
            "stage.loader.StageLoader.fill_from_lock(stage, lock_data)",
            lambda: (
                parameters(dvc("stage.loader", "StageLoader").fill_from_lock)
                == {"stage", "lock_data"}
            ),
        ),
    ],
    "run_dvc": [("dvc", "cli.main(argv)", lambda: "argv" in parameters(dvc("cli", "main")))],
    "change_lock_by_stage": [
        (
            "dvc",
            "dvcfile.modify_yaml(path, fs)",
            lambda: parameters(dvc("dvcfile", "modify_yaml")) == {"path", "fs"},
        ),
        (
            "dvc",
            "Lockfile that asks modify_yaml's `stages` for one stage, and updates them",
            lambda: all(
                part in inspect.getsource(dvc("dvcfile", "Lockfile").dump_stages)
                for part in ('data["stages"].get(stage.name', 'data["stages"].update(')
            ),
        ),
        (
            "dvc",
            "utils.serialize._yaml.parse_yaml(text, path), _dump(data, stream)",
            lambda: (
                {"text", "path"} <= parameters(dvc("utils.serialize._yaml", "parse_yaml"))
                and parameters(dvc("utils.serialize._yaml", "_dump")) == {"data", "stream"}
            ),
        ),
    ],
    "run_stage": [
        ("dvc", "cli.main(argv)", lambda: "argv" in parameters(dvc("cli", "main"))),
        (
            "dvc",
            "modules DVC_MODULES",
            lambda: all(importlib.import_module(name) for name in engine.DVC_MODULES),
        ),
    ],
    "runs_jobs_here": [
        (
            "snakemake",
            "setting local_exec of an executor",
            lambda: hasattr(CommonSettings, "local_exec"),
        )
    ],
    "catch_interrupt": [
        (
            "snakemake",
            "an end of its jobs at a KeyboardInterrupt",
            lambda: "except (KeyboardInterrupt, SystemExit):" in snakemake_source(),
        )
    ],
    "was_interrupted": [],
    "drop_snakemake_locks": [
        (
            "snakemake",
            f"folder {engine.SNAKEMAKE_LOCKS}",
            lambda: 'os.path.join(self.path, "locks")' in snakemake_source(),
        )
    ],
}
CASES = [(function, *use) for function, uses in USED.items() for use in uses]


@pytest.mark.parametrize(
    ("function", "package", "name", "exists"), CASES, ids=[f"{c[0]}-{c[2]}" for c in CASES]
)
def test_the_engines_have_every_name_that_is_used(function, package, name, exists):
    message = (
        f"{package} {version(package)} has no {name}: see {function}() in workflow/engine_names.py"
    )
    try:
        result = exists()
    except (AttributeError, ImportError, TypeError, ValueError) as error:
        pytest.fail(f"{message} ({error})")
    assert result, message


def test_every_function_is_tested_here():
    functions = {
        name for name, value in vars(engine).items() if inspect.isfunction(value) and name[0] != "_"
    }
    assert {*USED} == functions


def test_the_drivers_use_dvc_and_snakemake_through_these_functions_alone():
    tree = ast.parse((ROOT / "workflow/stages.py").read_text())
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not {
        name
        for name in imported
        if name.split(".")[0] in ("dvc", "snakemake", "networkx", "voluptuous")
    }
    snakefile = (ROOT / "workflow/Snakefile").read_text()
    assert snakefile.count("workflow.") == snakefile.count("workflow.basedir")  # documented


def test_a_repository_is_read_as_dvc_reads_it(root, monkeypatch):
    monkeypatch.chdir(root)
    repository = engine.open_repository(root)
    first, second = engine.pipeline_stages(repository)
    assert [engine.stage_name(stage) for stage in (first, second)] == ["first", "second"]
    assert (
        engine.upstream_names(repository, second) == ["first"]
        and engine.upstream_names(repository, first) == []
    )
    assert engine.command(first) == "echo 1 > out"
    assert engine.stage_meta(first) == {"gpu": 1} and engine.stage_meta(second) == {}
    (out,) = engine.outputs(first)
    assert engine.entry_path(repository, out) == "out"
    assert all(map(engine.is_recorded, [out, *engine.dependencies(first)]))
    assert not any(map(engine.is_recorded, engine.outputs(second)))
    assert (
        not engine.command_changed(first)
        and not engine.always_runs(first)
        and not engine.is_frozen(first)
    )
    assert engine.always_runs(second) and engine.is_frozen(second)
    assert [engine.entry_changes(entry) for entry in [out, *engine.dependencies(first)]] == [
        {},
        {},
        {},
    ]


def test_an_output_is_compared_with_the_lock_and_the_cache(root):
    lock = YAML(typ="safe").load(root / "dvc.lock")
    engine.check_lock(lock)
    with pytest.raises(ValueError):
        engine.check_lock(lock | {"stages": 1})
    (recorded,) = lock["stages"]["first"]["outs"]
    repository = engine.open_repository(root)
    out = engine.recorded_output(repository, recorded)
    assert engine.is_in_cache(out) and not engine.entry_changes(out)
    lost = engine.recorded_output(repository, recorded | {"md5": "0" * 32})
    assert not engine.is_in_cache(lost)
    assert engine.cached_file(repository, recorded["md5"]).read_text() == (root / "out").read_text()


def test_the_files_of_a_folder_are_read_with_their_digests(root):
    folder = root / "folder/below"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    entry = engine.recorded_output(engine.open_repository(root), {"path": "folder"})
    digest = hashlib.md5(b"a").hexdigest()
    assert engine.present_files(entry) == {"below/a.txt": digest}
    (folder / "a.txt").write_text("another")
    assert engine.present_files(entry) != {"below/a.txt": digest}
    assert not (root / ".dvc/cache/files/md5" / digest[:2]).exists()


def test_a_stage_of_another_clone_is_recorded_as_dvc_writes_it(root, tmp_path, monkeypatch):
    other = shutil.copytree(root, tmp_path / "other")
    monkeypatch.chdir(other)
    dvcfile = importlib.import_module("dvc.dvcfile")
    monkeypatch.setattr(dvcfile, "modify_yaml", dvcfile.modify_yaml)  # undone after this test
    lock = (root / "dvc.lock").read_text()
    entry = read_entry_texts(root / "dvc.lock", ["first"])["first"]
    (other / "dvc.lock").unlink()
    engine.write_lock_entries({"first": entry})
    assert (other / "dvc.lock").read_text() == lock
    assert engine.changed_inputs("first", entry) == []
    assert engine.changed_inputs("first", entry.replace("echo", "printf")) == [
        "its command in dvc.yaml"
    ]
    (other / "params.yaml").write_text("study: other\n")
    assert engine.changed_inputs("first", entry) == ["params.yaml"]


def test_an_error_of_dvc_is_one_line(root, monkeypatch):
    monkeypatch.chdir(root)
    assert engine.run_dvc("status") == ""
    error = engine.run_dvc("pull")  # the output of `second`, which has not run
    assert error == (
        "failed to pull data from the cloud: Checkout failed for following targets: copy"
    )


def test_a_folder_without_dvc_raises_a_missing_repository_error(tmp_path):
    with pytest.raises(engine.missing_repository_errors()) as caught:
        engine.open_repository(tmp_path)
    assert issubclass(caught.type, Exception) and issubclass(
        engine.missing_repository_errors()[0], engine.dvc_errors()
    )


def test_the_processes_of_the_rwlock_are_read_and_a_torn_one_has_none(tmp_path):
    assert engine.rwlock_processes(tmp_path) == set()
    path = tmp_path / engine.RWLOCK
    path.parent.mkdir(parents=True)
    process = {"pid": 7, "cmd": "dvc repro"}
    path.write_text(json.dumps({"write": {"a": process}, "read": {"b": [process | {"pid": 8}]}}))
    assert engine.rwlock_processes(tmp_path) == {7, 8}
    path.write_text('{"write": {"a"')
    assert engine.rwlock_processes(tmp_path) == set()


def test_a_command_knows_its_stage():
    assert (
        engine.running_stage({"DVC_STAGE": "train@a-1"}) == "train@a-1"
        and engine.running_stage({"DVC_STAGE": "../dvc.yaml:train@a-1"}) == "train@a-1"
        and engine.running_stage({}) == ""
    )


def test_dvc_reads_the_same_yaml_as_heed(tmp_path):
    """YAML 1.2, with or without ruamel.yaml's C parser (ruamel.yaml.clib), which only DVC uses."""
    path = tmp_path / "params.yaml"
    path.write_text(
        "{a: yes, b: no, c: on, d: 010, e: 0o10, f: '1:30', g: 1e-3, h: 1_000, i: ~, j: y, k: .5, "
        "l: 2001-01-01}"
    )
    content = YAML(typ="safe", pure=True).load(path)
    assert engine.read_yaml(path) == content and content["a"] == "yes" and content["d"] == 10
    stages.check_params(path)


def test_a_text_that_dvc_alone_cannot_read_is_named_with_its_line(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("study:\n  {title: letters:authors}\n")
    if YAML(typ="safe").Parser is YAML(typ="safe", pure=True).Parser:
        pytest.skip("ruamel.yaml has no C parser here: DVC reads what heed reads")
    with pytest.raises(stages.HeedError, match=r"params\.yaml:2: .*: put the text in quotes"):
        stages.check_params(path)
    path.write_text("study: {title: letters, &name: b}\n")
    with pytest.raises(stages.HeedError, match="DVC reads other values than heed"):
        stages.check_params(path)


def test_stages_are_resolved_as_dvc_does_with_values_that_it_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dvc.parsing.context import Context
    from dvc.repo import Repo

    monkeypatch.setattr(Context, "clone", staticmethod(copy.deepcopy))  # as DVC does it
    Repo.init(str(tmp_path), no_scm=True)
    (tmp_path / "more.yaml").write_text("extra: {deep: 3}\n")
    (tmp_path / "params.yaml").write_text("runs: {a: {n: 1}, b: {n: 2}}\ncommon: {n: 5}\n")
    (tmp_path / "dvc.yaml").write_text(
        "stages:\n  run:\n    foreach: ${runs}\n    do:\n      vars: [more.yaml, {own: 4}]\n"
        "      cmd: echo ${key} ${item.n} ${common.n} ${own} ${extra.deep} > ${key}\n"
        "      outs: ['${key}']\n"
        "  one:\n    vars: [{own: 7}]\n    cmd: echo ${own} ${common.n}\n"
    )

    def resolved(repository: Any) -> list[Any]:
        return [
            (stage.addressing, stage.cmd, [getattr(dep, "params", None) for dep in stage.deps])
            for stage in engine.pipeline_stages(repository)
        ]

    by_dvc = resolved(Repo(str(tmp_path)))
    assert resolved(engine.open_repository(tmp_path)) == by_dvc
    assert Context.clone is not copy.deepcopy and len(by_dvc) == 3


def test_params_are_read_again_when_they_were_edited(tmp_path: Path) -> None:
    from dvc.dependency.param import read_param_file
    from dvc.fs import LocalFileSystem

    engine.share_params()
    path = tmp_path / "params.yaml"
    for text, expected in (("a: {b: 1}\n", 1), ("a: {b: 2}\n", 2), ("a: {b: 30}\n", 30)):
        path.write_text(text)
        for _ in range(2):
            assert read_param_file(LocalFileSystem(), str(path), ["a.b"], True) == {"a.b": expected}


def test_gpus_are_limited_by_a_value_and_not_by_the_name_that_a_job_of_a_cluster_knows() -> None:
    resource = importlib.import_module("snakemake.resources").Resource
    cases = (({}, None), ({"gpu": None}, None), ({"gpu": 2}, 2))
    for values, limit in cases:
        found = {name: resource(name, value) for name, value in values.items()}
        workflow = SimpleNamespace(resource_settings=SimpleNamespace(resources=found))
        assert engine.gpus(workflow) == limit
