"""`heed report --check`: whether a report agrees with the present results, number by number."""

import csv
import dataclasses
import difflib
import io
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from heed.evaluation.results import Comparison
from heed.files import HeedError
from heed.pipeline import changed_outputs
from heed.report.render import render

if TYPE_CHECKING:
    from heed.study import Params


WHOLE_NAME = r"(?![\w-]|\.\w)"  # not the beginning of another folder's name
PATH_KEYS = ("path", "paths", "vectors")  # of the user's files; `paths` has several
END = r"[^\s\"'`<>|,;:()\[\]{}]*"  # the rest of a path within a text, up to what may follow one


def path_remover(root: Path, files: list[Path]) -> Callable[[str], str]:
    """Return a function that removes the folders of this machine from a text.

    A path in `root` becomes relative to it. Of a path in the home folder, and of every absolute
    path under a key of PATH_KEYS in the YAML `files`, the name stays.
    """
    home = str(Path.home())
    patterns = [(re.escape(str(root.resolve())) + WHOLE_NAME + "/?", _relative)]
    values = {value for file in files for value in _absolute_paths(_load(file))}
    patterns += [(re.escape(value), _name) for value in sorted(values, key=len, reverse=True)]
    if home != "/":
        patterns.append((re.escape(home) + WHOLE_NAME + END, _name))
    compiled = [(re.compile(rf"(?<![\w.~/-]){pattern}"), name) for pattern, name in patterns]

    def remove_paths(text: str) -> str:
        for pattern, replace in compiled:
            text = pattern.sub(replace, text)
        return text

    return remove_paths


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a section of params.yaml with `change` applied to all texts in it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: map_texts(each, change) for key, each in value.items()}
    if isinstance(value, list):
        return [map_texts(each, change) for each in value]
    if fields := getattr(type(value), "model_fields", None):
        texts = {name: map_texts(getattr(value, name), change) for name in fields}
        return value.model_copy(update=texts)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        changed = {name: map_texts(getattr(value, name), change) for name in names}
        return dataclasses.replace(value, **changed)
    return value


def _load(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def _relative(match: re.Match[str]) -> str:
    return "" if match[0].endswith("/") else "."


def _name(match: re.Match[str]) -> str:
    return Path(match[0]).name


def _absolute_paths(value: Any) -> Iterator[str]:
    """Yield every absolute path under a key of PATH_KEYS, at any depth."""
    if isinstance(value, dict):
        for key, each in value.items():
            texts = each.values() if key == "paths" and isinstance(each, dict) else [each]
            for text in texts if key in PATH_KEYS else ():
                if isinstance(text, str) and text.startswith(("/", "~")):
                    yield text
            yield from _absolute_paths(each)
    elif isinstance(value, list):
        for each in value:
            yield from _absolute_paths(each)


NUMBER = re.compile(r"[+−-]?\d[\d.,]*%?")
MAX_LINES = 5  # of differences for each file
# The folders of results that the report reads.
RESULTS = (
    "results/compare",
    "results/evaluate/",
    "results/explain/",
    "results/adversaries/",
    "results/predict/",
    "results/search/",
    "results/timing/train/",
)
FOLDERS = ("tables", "figures", "plots", "documents")  # of a report


def check_report(
    params: "Params",
    comparison: Comparison,
    published: Path,
    results: Path,
    reports: Path,
    lock: Path,
) -> str:
    """Render the report into a temporary folder and compare both; return a message of success.

    Args:
        params: the study.
        comparison: results/compare/comparison.json.
        published: the folder with the talk's figures.
        results: results/, with the results of the other stages.
        reports: the report to check.
        lock: dvc.lock, which records what DVC's cache has.

    Raises:
        HeedError: they do not agree; the message has every number that differs, with both values.

    """
    with tempfile.TemporaryDirectory() as folder:
        rendered = Path(folder)
        render(params, comparison, published, results, rendered)
        names = sorted(
            path.relative_to(rendered).as_posix() for path in rendered.rglob("*") if path.is_file()
        )
        problems = list(changed_outputs(lock, RESULTS))
        for name in names:
            problems += _first_lines(file_differences(reports / name, rendered / name))
    problems += [
        f"{path}: is no longer of the report"
        for part in FOLDERS
        for path in sorted((reports / part).glob("*"))
        if f"{part}/{path.name}" not in names
    ]
    if problems:
        head = f"{reports}: does not agree with the present results. Run: dvc repro report"
        raise HeedError("\n  ".join([head, *problems]))
    return f"{reports}: agrees with the present results, every number in {len(names)} files"


def _first_lines(lines: Iterator[str]) -> list[str]:
    """Return the first of the differences of a file, and the number of the others."""
    first = list(lines)
    if len(first) <= MAX_LINES:
        return first
    return [*first[:MAX_LINES], f"and {len(first) - MAX_LINES} more in this file"]


def file_differences(path: Path, rendered: Path) -> Iterator[str]:
    """Yield a message for each number of a report's file that differs from the rendered file.

    Where the numbers are the same and the text is not, the message names the line.
    """
    if not path.exists():
        yield f"{path}: is not there"
        return
    if path.read_bytes() == rendered.read_bytes():
        return
    if path.suffix == ".csv":
        yield from _table_differences(path, rendered)
    elif path.suffix in (".svg", ".pdf"):
        yield f"{path}: drawn of other numbers"
    else:
        yield from _text_differences(path, rendered)


def _table_differences(path: Path, rendered: Path) -> Iterator[str]:
    old_rows, new_rows = (
        list(csv.reader(io.StringIO(each.read_text(encoding="utf-8")))) for each in (path, rendered)
    )
    if len(old_rows) != len(new_rows) or old_rows[:1] != new_rows[:1]:
        yield f"{path}: has other rows or columns"
        return
    for number, (old_row, new_row) in enumerate(zip(old_rows, new_rows, strict=True), 1):
        for column, old, new in zip(old_rows[0], old_row, new_row, strict=False):
            if old != new:
                yield (
                    f"{path}: line {number}, {column}: {old or 'nothing'} in the report, "
                    f"{new or 'nothing'} by the results"
                )


def _text_differences(path: Path, rendered: Path) -> Iterator[str]:
    old_lines, new_lines = (
        re.sub(r"data:image/svg[^\"]*", "", each.read_text(encoding="utf-8")).split("\n")
        for each in (path, rendered)
    )
    matcher = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            continue
        old_numbers, new_numbers = (
            NUMBER.findall(re.sub(r"<[^>]*>", " ", "\n".join(lines)))
            for lines in (old_lines[old_start:old_end], new_lines[new_start:new_end])
        )
        same_count = len(old_numbers) == len(new_numbers)
        pairs = [
            (old, new) for old, new in zip(old_numbers, new_numbers, strict=False) if old != new
        ]
        if not same_count or not pairs:
            yield f"{path}: line {old_start + 1}: has other text"
        for old, new in pairs if same_count else []:
            yield f"{path}: line {old_start + 1}: {old} in the report, {new} by the results"
