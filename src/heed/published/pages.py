"""What README.md and docs/studies/index.md say of published studies, between two comments."""

import csv
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import yaml

from heed.files import HeedError, write_text
from heed.published.verify import PARAMS, SCORES, VERDICTS
from heed.terminal import visible

README, INDEX = Path("README.md"), Path("docs/studies/index.md")
BEGIN, END = "<!-- heed publish {name}: begin -->", "<!-- heed publish {name}: end -->"
RESULTS, WAYS_TO_READ = (
    re.compile(
        rf"(<!-- heed publish {name} of ([^:]+): begin -->\n).*?(<!-- heed publish {name}: end)",
        re.DOTALL,
    )
    for name in ("results", "ways to read")
)
HEAD = ("Texts", "Attention", "Last state", "Control", "Linear model, or another from outside")
# The ways to read a text, by the variants of the published studies of real corpora.
WAYS = {
    "baseline": "last state", "max": "maximum", "mean": "mean", "pooling": "pooling",
    "uniform": "equal weights", "attention": "self-attention", "transformer": "transformer",
    "bag": "embeddings, mean", "embeddings": "embeddings, pooling", "han-mean": "sentences, mean",
    "han": "sentences, pooling", "linear": "linear model", "pretrained": "pretrained",
}  # fmt: skip
WEIGHTS = {("pooling", "mean"): "Pooling − mean", ("attention", "uniform"): "Self-att. − equal"}
# All that starts emphasis, code, a link, an image, HTML, an entity or another cell of a table.
SPECIAL = re.compile(r"[\\`*_\[\]<>&|~!#@]|(?<=http)s?:|(?<=www)\.", re.IGNORECASE)
Table = Callable[[Sequence[tuple[str, str]]], Sequence[Sequence[str]]]


def write_pages(root: Path, name: str, answer: Sequence[str]) -> None:
    """Write a study's first sentences into the pages that have a place for them, and all tables.

    Raises HeedError: a table names a comparison that no published study has.
    """
    studies = root / INDEX.parent
    for path, table in ((README, results_table(studies)), (INDEX, ways_to_read(studies))):
        if (root / path).exists():
            text = (root / path).read_text(encoding="utf-8")
            block = "".join(f"{escape(line)}\n\n" for line in answer).rstrip("\n") + "\n"
            write_text(root / path, with_tables(with_block(text, name, block), table))


def with_block(text: str, name: str, block: str) -> str:
    """Return a page with `block` between the two comments that mark the place `name`, if any."""
    begin, end = BEGIN.format(name=name), END.format(name=name)
    before, has_begin, rest = text.partition(begin)
    _, has_end, after = rest.partition(end)
    if has_begin and not has_end:
        raise HeedError(f"a page has {begin}, and no {end} after it. Write it there")
    return f"{before}{begin}\n{block}{end}{after}" if has_begin and has_end else text


def escape(text: str) -> str:
    """Return Markdown that prints the text, in one line."""
    line = visible(" ".join(text.split()))
    return SPECIAL.sub(lambda match: f"{match[0][:-1]}\\{match[0][-1]}", line)


def with_tables(page: str, table: tuple[re.Pattern[str], Table]) -> str:
    """Return a page with a table of the experiments, STUDY/EXPERIMENT each, that a place names."""
    place, make = table

    def write(match: re.Match[str]) -> str:
        head, *rows = make([name.partition("/")[::2] for name in match[2].split()])
        lines = [head, ["---"] * len(head), *rows]
        return match[1] + "".join(f"| {' | '.join(line)} |\n" for line in lines) + match[3]

    return place.sub(write, page)


def results_table(studies: Path) -> tuple[re.Pattern[str], Table]:
    """Return the place of README.md's table, and its function: attention against each model."""
    return RESULTS, lambda names: [HEAD, *(_row(studies, *name) for name in names)]


def ways_to_read(studies: Path) -> tuple[re.Pattern[str], Table]:
    """Return the place of the index's table, and its function: every way to read, and the gain."""

    def table(names: Sequence[tuple[str, str]]) -> list[list[str]]:
        of_rows = [_scores(studies / study, name) for study, name in names]
        ways = [way for way in WAYS if any(way in row for row in of_rows)]
        rows = [["Texts", *(WAYS[way] for way in ways), *WEIGHTS.values()]]
        for (study, name), row in zip(names, of_rows, strict=True):
            cells = [f"{100 * row[way]:.1f}" if way in row else "–" for way in ways]
            found = {(each["first"], each["second"]): each for each in _of(studies / study, name)}
            gains = [_says(found[pair]) if pair in found else "–" for pair in WEIGHTS]
            rows.append([f"[{_title(studies / study, name)}]({study}/README.md)", *cells, *gains])
        return rows

    return WAYS_TO_READ, table


def _row(studies: Path, study: str, experiment: str) -> tuple[str, ...]:
    """Return the title, attention's score, and each other model's, in hundredths, with the gain."""
    folder = studies / study
    scores, rows = _scores(folder, experiment), _of(folder, experiment)
    roles = {row["role"]: row for row in rows if row["role"]}
    if not roles.keys() & {"control", "baseline"}:
        raise HeedError(
            f"README.md: {study}/{experiment} in the table of results: {folder / VERDICTS} has no "
            "such comparison of attention. Correct the name, or run `heed publish` on that study "
            "first"
        )
    attention = next(iter(roles.values()))["first"]

    def cell(role: str) -> str:
        if role not in roles:
            return "–"
        other = roles[role]["second"]
        named = f"`{other}` " * (role != "baseline")
        return f"{named}{100 * scores[other]:.1f}: {_says(roles[role])}"

    return (
        f"[{_title(folder, experiment)}](docs/studies/{study}/README.md)",
        f"{f'`{attention}` ' * (attention != 'attention')}{100 * scores[attention]:.1f}",
        *(cell(role) for role in ("baseline", "control", "reference_model")),
    )


def _scores(folder: Path, experiment: str) -> dict[str, float]:
    """Return each model's score on the test in a published study, the mean of its seeds."""
    metric = next((row["metric"] for row in _of(folder, experiment)), "")
    values: dict[str, list[float]] = {}
    for row in _read(folder / SCORES):
        if (row["experiment"], row["split"], row["metric"]) == (experiment, "test", metric):
            values.setdefault(row["model"], []).append(float(row["value"]))
    return {model: statistics.fmean(each) for model, each in values.items()}


def _of(folder: Path, experiment: str) -> list[dict[str, str]]:
    """Return the comparisons of an experiment; none where it is not published."""
    return [row for row in _read(folder / VERDICTS) if row["experiment"] == experiment]


def _says(row: Mapping[str, str]) -> str:
    difference = f"{row['difference_pp']} ({row['low_pp']} to {row['high_pp']})"
    return f"{row['verdict'].replace('practically ', '')} {difference.replace('-', '−')}"


def _title(folder: Path, experiment: str) -> str:
    params = yaml.safe_load((folder / PARAMS).read_text(encoding="utf-8"))
    return str(params["experiments"][experiment]["title"])


def _read(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
