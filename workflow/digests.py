"""The stage `code`: check params.yaml, and write into results/code which code each stage runs.

Each file names the modules that the command of a stage imports, lazily or not, with their digests;
the files of their packages that are not code (templates); and the versions of the libraries that
they compute with. Every other stage depends on the digest of one such file, which DVC compares, and
so runs after this check.

Files have what stages read of params.yaml, and dvc.yaml cannot name: that of a download has the
published files that are needed, that of an experiment's recipes the lines of its models and its
searches, that of trainings whether models are also trained longer, those of models the seeds of
an experiment that has its own, those of a pretrained encoder the digest of the settings in its
package, and that of the comparison how models are tuned and which corpora
have a pretrained reference model.
"""

import ast
import dataclasses
import json
import sys
from pathlib import Path

try:
    import grimp
except ModuleNotFoundError:
    sys.exit(f"heed: {sys.executable} has no grimp: `make setup`, and put .venv/bin first on PATH")

# the code of this clone, whatever is installed
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
from heed.cli import stages
from heed.digests import (
    CODE,
    DISTRIBUTIONS,
    IGNORED,
    SECTIONS,
    code_file,
    digest_file,
    versions,
)
from heed.files import HeedError, digest_as_key, digest_folder, package_folder, write_text
from heed.paths import PARAMS
from heed.pretrained import SETTINGS, WEIGHTS
from heed.study import Params, load
from heed.study.reader import require_looked
from heed.task import STAGE_MODULES, part_modules

SRC = Path("src")
STAGES = tuple(stage.__name__ for stage in stages.STAGES)
# heed.study checks params.yaml by what these modules say of each kind of corpus, and uses nothing
# else of them. The stage `code` runs that check before any other stage, so an edit of how a corpus
# is read repeats none. What heed.study asks of a task it imports by name, as stages do: the code of
# a stage is that of its own task, with the parts in heed.task.STAGE_MODULES.
ONLY_FOR_CHECKS = ("heed.corpora.kinds", "heed.corpora.publication")
OF_REPORT = {"heed.pipeline"}  # what DVC recorded is printed, and changes no other result
Functions = dict[str, ast.FunctionDef]


def read_roots() -> dict[str, set[str]]:
    """Return the modules that the command of each stage imports, by stage, as heed/cli says."""
    tree, program = (
        ast.parse((SRC / "heed/cli" / name).read_text(encoding="utf-8"))
        for name in ("stages.py", "program.py")
    )
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    shared = {
        node.module
        for node in [*tree.body, *program.body]
        if isinstance(node, ast.ImportFrom) and node.module
    }
    return {stage: shared | imported_by(functions[stage], functions) for stage in STAGES}


def imported_by(function: ast.FunctionDef, functions: Functions) -> set[str]:
    """Return the modules that a command and the functions of stages.py that it calls import."""
    imports = [
        node for node in ast.walk(function) if isinstance(node, ast.ImportFrom) and node.module
    ]
    # a command may have the name of the function that it imports and calls
    imported = {alias.asname or alias.name for node in imports for alias in node.names}
    calls = {
        node.func.id
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    called = [functions[name] for name in (calls - imported) & {*functions}]
    modules = {node.module for node in imports if node.module}
    return modules.union(*(imported_by(function, functions) for function in called))


def read_graph() -> grimp.ImportGraph:
    """Return the graph of imports in heed, without imports that only type checkers read.

    A module imports its package too, whose code runs before it.
    """
    graph = grimp.build_graph(
        "heed", include_external_packages=True, exclude_type_checking_imports=True, cache_dir=None
    )
    for module in IGNORED & graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            graph.remove_import(importer=module, imported=imported)
    for imported in ONLY_FOR_CHECKS:
        for importer in graph.find_modules_that_directly_import(imported):
            if importer.startswith("heed.study."):
                graph.remove_import(importer=importer, imported=imported)
    for module in graph.modules - IGNORED:
        if (package := module.rpartition(".")[0]) in graph.modules - IGNORED:
            graph.add_import(importer=module, imported=package)
    return graph


def read_parts(params: Params) -> dict[tuple[str, str], set[str]]:
    """Return the modules of tasks that each command loads: {(stage, key or empty): modules}."""
    task = {name: experiment.task for name, experiment in params.experiments.items()}
    parts: dict[tuple[str, str], set[str]] = {}
    for stage in STAGES:
        section, names = SECTIONS.get(stage), STAGE_MODULES.get(stage, ())
        if section is None:
            parts[stage, ""] = _modules({*task.values()}, names)
            continue
        for key in getattr(params, section):
            tasks = {task[name] for name in _experiments(params, section, key)}
            more = _of_networks(params, key) if stage == "recipe" else ()
            parts[stage, key] = _modules(tasks, (*names, *more))
    return parts


def _of_networks(params: Params, experiment: str) -> tuple[str, ...]:
    """Return the parts of a task that build networks, where the recipes of an experiment need them.

    A search trains one, and a parameter-matched control counts its parameters.
    """
    own = [name for name, model in params.models.items() if model.experiment == experiment]
    is_matched = any(params.models[name].match_parameters_of != name for name in own)
    return STAGE_MODULES["search"] if is_matched or params.searches_of(experiment) else ()


def _experiments(params: Params, section: str, key: str) -> list[str]:
    """Return the experiments that an entry of a section is of."""
    if section == "sources":
        return []
    if section == "experiments":
        return [key]
    if section == "pretrained":
        return [*params.experiments_on(key)]
    entry = getattr(params, section)[key]
    is_of_model = section == "adversarial_attention"
    return [(params.models[entry.model] if is_of_model else entry).experiment]


def _modules(tasks: set[str], names: tuple[str, ...]) -> set[str]:
    return {module for task in tasks for name in names for module in part_modules(task, name)}


def closure(stage: str, parts: set[str], roots: set[str], graph: grimp.ImportGraph) -> set[str]:
    """Return the modules that a stage loads with `splits`, with the packages that they import."""
    modules = (roots | parts) & graph.modules
    return modules.union(*(graph.find_upstream_modules(module) for module in modules))


def describe(modules: set[str], ignored: set[str]) -> str:
    """Return a file as JSON: digests of modules and of their packages' other files, versions."""
    code = {_path(module) for module in modules - ignored if module.startswith("heed.")}
    packages = {path.parent for path in code if path.name == "__init__.py"}
    paths = code | {path for package in packages for path in _other_files(package)}
    digests = {path.as_posix(): digest_file(path) for path in sorted(paths)}
    content = {"files": digests, "versions": versions(modules & {*DISTRIBUTIONS, "ray"})}
    return f"{json.dumps(content, indent=1)}\n"


def _path(module: str) -> Path:
    path = SRC.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _other_files(package: Path) -> list[Path]:
    """Return the files of a package that are not code, without those of its subpackages."""
    found = [path for path in package.rglob("[!.]*.*") if path.suffix not in (".py", ".pyc")]
    return [
        path
        for path in found
        if next(parent for parent in path.parents if (parent / "__init__.py").exists()) == package
    ]


def code_texts() -> dict[Path, str]:
    """Return the files of the stage: {file: text}.

    Raises HeedError: params.yaml is wrong; code that does not parse.
    """
    params = load()
    # grimp would stop at the first that does not parse, with a longer message
    for path in (SRC / "heed").rglob("*.py"):
        digest_file(path)
    roots, graph = read_roots(), read_graph()
    described: dict[tuple[str, frozenset[str]], str] = {}  # most keys of a stage load the same
    texts = {}
    for (stage, key), parts in read_parts(params).items():
        # without a search an experiment's recipes need no Ray
        no_search = stage == "recipe" and not params.searches_of(key)
        own = roots[stage] - {"heed.search.stage"} if no_search else roots[stage]
        if (kind := (stage, frozenset(parts | own))) not in described:
            ignored = IGNORED - OF_REPORT if stage == "report" else IGNORED
            described[kind] = describe(closure(stage, parts, own, graph), ignored)
        texts[code_file(stage, key)] = described[kind]
    for path, more in read_lines(params).items():
        texts[path] = f"{json.dumps({**more, **json.loads(texts[path])}, indent=1)}\n"
    return texts | {
        path.with_suffix(".digest"): digest_as_key(text) for path, text in texts.items()
    }


def read_lines(params: Params) -> dict[Path, dict[str, object]]:
    """Return what stages read of params.yaml that dvc.yaml cannot name, by their files."""
    tuning = {name: how for name in params.models if (how := params.tuning(name))}
    # a corpus that is no longer pretrained leaves a folder that DVC never deletes
    compared: dict[str, object] = {"tuning": tuning, "pretrained": sorted(params.pretrained)}
    lines: dict[Path, dict[str, object]] = {code_file("compare"): compared}
    for name in params.sources:
        lines[code_file("download", name)] = {"published_files": params.files_of(name)}
    for name, experiment in params.experiments.items():
        of_experiment = {
            model: settings.line()
            for model, settings in params.models.items()
            if settings.experiment == name
        }
        searches = {
            search: dataclasses.asdict(params.searches[search])
            for search in params.searches_of(name)
        }
        lines[code_file("recipe", name)] = {"models": of_experiment, "searches": searches}
        own: dict[str, object] = {"seeds": experiment.seeds} if experiment.seeds else {}
        lines[code_file("score", name)] = own
        lines[code_file("train", name)] = {**own, "longer_training": params.study.longer_training}
    for name, model in params.models.items():
        if seeds := params.experiments[model.experiment].seeds:
            others = (
                n for n, settings in params.adversarial_attention.items() if settings.model == name
            )
            adversarial = [code_file("adversarial_attention", adversary) for adversary in others]
            lines |= {path: {"seeds": seeds} for path in (code_file("explain", name), *adversarial)}
    for corpus, settings in params.pretrained.items():
        if package := params.encoders[settings.encoder].package:
            settings = digest_folder(package_folder(package, WEIGHTS), *SETTINGS)
            lines |= {code_file(s, corpus): {"settings": settings} for s in ("embed", "pretrained")}
    return lines


def find_changed(texts: dict[Path, str]) -> dict[Path, str]:
    """Return the files that do not exist or have another text."""
    there = {path: path.read_text("utf-8") for path in texts if path.exists()}
    return {path: text for path, text in texts.items() if there.get(path) != text}


def main() -> None:
    """Check params.yaml, write the files that change, and delete those of keys that are gone."""
    try:
        checked = PARAMS.read_bytes()
        texts = code_texts()
        require_looked(load())
        for path in [path for path in CODE.rglob("*") if path.is_file() and path not in texts]:
            path.unlink()
        for path, text in find_changed(texts).items():
            write_text(path, text)
        if PARAMS.read_bytes() != checked:  # DVC would record it beside the code of another study
            raise HeedError(f"{PARAMS} was edited while it was checked: run the same again")
    except HeedError as error:
        sys.exit(f"heed: {error}")


if __name__ == "__main__":
    main()
