"""`heed report --check`: whether a report and the present results agree, number by number, and
which numbers do not.
"""

import csv
import difflib
import io
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from heed.evaluation.results import Comparison
from heed.files import HeedError
from heed.pipeline import changed_outputs
from heed.report.render import render

if TYPE_CHECKING:
    from heed.study import Params

NUMBER = re.compile(r"[+−-]?\d[\d.,]*%?")
SAID = 5  # lines a file at most
# what a report is made of
READ = ("results/compare", "results/evaluate/", "results/predict/", "results/search/")


def check(
    params: "Params",
    comparison: Comparison,
    published: Path,
    results: Path,
    reports: Path,
    lock: Path,
) -> str:
    """Write the report anew in a temporary folder and compare both; return a line for people.

    Args:
        params: the study.
        comparison: results/compare/comparison.json.
        published: the folder with the talk's figures.
        results: the folder of the stages before.
        reports: the report to check.
        lock: dvc.lock, which records what DVC's cache has.

    Raises:
        HeedError: they do not agree: every number that differs, with both values.

    """
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        render(params, comparison, published, results, fresh)
        names = sorted(
            path.relative_to(fresh).as_posix() for path in fresh.rglob("*") if path.is_file()
        )
        wrong = [
            *changed_outputs(lock, READ),
            *(line for name in names for line in _few(differences(reports / name, fresh / name))),
        ]
    for part in ("tables", "figures", "plots", "documents"):
        more = sorted(
            path for path in (reports / part).glob("*") if f"{part}/{path.name}" not in names
        )
        wrong += [f"{path}: is no longer of the report" for path in more]
    if wrong:
        raise HeedError(
            "\n  ".join(
                [
                    f"{reports}: does not agree with the present results. Run: dvc repro report",
                    *wrong,
                ]
            )
        )
    return f"{reports}: agrees with the present results, every number in {len(names)} files"


def _few(lines: Iterator[str]) -> list[str]:
    every = list(lines)
    return (
        every
        if len(every) <= SAID
        else [*every[:SAID], f"and {len(every) - SAID} more in this file"]
    )


def differences(here: Path, fresh: Path) -> Iterator[str]:
    """Yield a line for each number (or, where no number differs, each text) of a report's file that
    is not as made anew.
    """
    if not here.exists():
        yield f"{here}: is not there"
        return
    if here.read_bytes() == fresh.read_bytes():
        return
    if here.suffix == ".csv":
        yield from _of_tables(here, fresh)
    elif here.suffix in (".svg", ".pdf"):
        yield f"{here}: drawn of other numbers"
    else:
        yield from _of_lines(here, fresh)


def _of_tables(here: Path, fresh: Path) -> Iterator[str]:
    ours, theirs = (list(csv.reader(io.StringIO(_text(path)))) for path in (here, fresh))
    if len(ours) != len(theirs) or ours[:1] != theirs[:1]:
        yield f"{here}: has other rows or columns"
        return
    for number, (old, new) in enumerate(zip(ours, theirs, strict=True), 1):
        for column, one, two in zip(ours[0], old, new, strict=False):
            if one != two:
                yield (
                    f"{here}: line {number}, {column}: {one or 'nothing'} in the report, "
                    f"{two or 'nothing'} by the results"
                )


def _of_lines(here: Path, fresh: Path) -> Iterator[str]:
    ours, theirs = (
        re.sub(r"data:image/svg[^\"]*", "", _text(path)).split("\n") for path in (here, fresh)
    )
    matcher = difflib.SequenceMatcher(None, ours, theirs, autojunk=False)
    for kind, start, end, begin, stop in matcher.get_opcodes():
        if kind == "equal":
            continue
        old, new = (
            NUMBER.findall(re.sub(r"<[^>]*>", " ", "\n".join(part)))
            for part in (ours[start:end], theirs[begin:stop])
        )
        pairs = [(one, two) for one, two in zip(old, new, strict=False) if one != two]
        if len(old) != len(new) or not pairs:
            yield f"{here}: line {start + 1}: has other text"
        for one, two in pairs if len(old) == len(new) else []:
            yield f"{here}: line {start + 1}: {one} in the report, {two} by the results"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
