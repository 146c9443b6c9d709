"""What two reports of the same trainings have in common: all but the trainings' times."""

import csv
import io
import re
from pathlib import Path

# The chapter of costs is all times; so are its figure and its table.
CHAPTER = {
    ".html": re.compile(r'<h2 id="cost".*?</section>', re.DOTALL),
    ".tex": re.compile(
        r"\\section\{\\texorpdfstring\{What it costs\}.*?"
        r"(?=\\section\{|\\clearpage\\appendix|\\end\{document\})",
        re.DOTALL,
    ),
}
OF_TIMES = re.compile(r"(figures|tables)/cost\.\w+")
OUTS_OF_TIMES = ("results/timing/", "results/shown/timing/")
HASH_OF_TIMES = re.compile(r"^.*results/timing/train.*$", re.MULTILINE)
TABLE = {
    ".html": re.compile(r"<table.*?</table>", re.DOTALL),
    ".tex": re.compile(r"\\begin\{longtable\*?\}.*?\\end\{longtable\*?\}", re.DOTALL),
}
LAST_CELL = {
    ".html": re.compile(r"<td>[\d.–]+</td>(?=\s*</tr>)"),
    ".tex": re.compile(r"& [\d.{}–-]+ (?=\\\\)|S\[table-format[^]]*\](?=\}\n)"),
}
# What the page has of a table to copy: the text of its files, which are compared by themselves.
COPY = re.compile(r"<template .*?</template>", re.DOTALL)


def without_times(reports: Path) -> dict[str, str]:
    """Return the files of a report by their paths, without costs and the times' hash."""
    paths = (path for path in sorted(reports.rglob("*")) if path.is_file())
    files = {path.relative_to(reports).as_posix(): path for path in paths}
    times = {name for name in files if OF_TIMES.fullmatch(name)}
    return {name: "" if name in times else _without_times(path) for name, path in files.items()}


def _without_times(path: Path) -> str:
    text = path.read_bytes().decode("latin-1")
    if path.suffix == ".csv":
        return _without_column(text, "core_minutes")
    if path.suffix not in TABLE:
        return text
    text = COPY.sub("", path.read_text(encoding="utf-8"))
    last_cell = LAST_CELL[path.suffix]
    return TABLE[path.suffix].sub(
        lambda table: last_cell.sub("", table[0]) if "minutes" in table[0] else table[0],
        HASH_OF_TIMES.sub("", CHAPTER[path.suffix].sub("", text)),
    )


def _without_column(text: str, name: str) -> str:
    rows = list(csv.reader(io.StringIO(text)))
    if not rows or name not in rows[0]:
        return text
    place = rows[0].index(name)
    return "\n".join(repr(row[:place] + row[place + 1 :]) for row in rows)
