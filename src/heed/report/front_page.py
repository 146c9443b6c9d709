"""The table in README.md of what came out: experiments of published reports, a row each."""

import csv
import re
from collections.abc import Collection, Mapping
from pathlib import Path

import yaml

from heed.files import HeedError, read_json

TABLE = re.compile(
    r"(<!-- heed publish results of ([^:]+): begin -->\n).*?(<!-- heed publish results: end)",
    re.DOTALL,
)
VERDICTS = "tables/verdicts.csv"
HEAD = ("Texts", "Attention", "Last state", "Control", "Linear model, or another from outside")


def with_results(readme: str, reports: Path) -> str:
    """Return README.md with the table of the experiments, REPORT/EXPERIMENT each, that it names.

    `reports` is the folder of the published reports, whose tables have the figures.
    """

    def write(match: re.Match[str]) -> str:
        rows = [HEAD, ("---",) * len(HEAD)]
        rows += [_row(reports, *name.split("/")) for name in match[2].split()]
        return match[1] + "".join(f"| {' | '.join(row)} |\n" for row in rows) + match[3]

    return TABLE.sub(write, readme)


def check_names(readme: str, reports: Path, published: Mapping[str, Collection[str]]) -> None:
    """Raise HeedError where README.md names an experiment that no published report compares.

    `published` has the compared experiments of reports that are not in `reports` yet.
    """
    for name in (name for match in TABLE.finditer(readme) for name in match[2].split()):
        report, _, experiment = name.partition("/")
        path = reports / report / VERDICTS
        rows = _read(path) if path.is_file() and report not in published else []
        if experiment not in published.get(report, [row["experiment"] for row in rows]):
            raise HeedError(
                f"README.md: {name} in the table of results: {reports.name}/{report} has no such "
                "comparison of attention. Correct the name, or run `heed publish` on that study "
                "first"
            )


def _row(reports: Path, report: str, experiment: str) -> tuple[str, ...]:
    """Return the title, attention's score, and each other model's, in hundredths, with the gain."""
    folder = reports / report
    params = yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8"))
    scores = read_json(folder / "metrics.json", "heed publish")[experiment]
    verdicts = _read(folder / VERDICTS)
    verdict = next(row for row in verdicts if row["experiment"] == experiment)
    comparisons = {
        (row["first"], row["second"]): row
        for row in _read(folder / f"tables/{experiment}_comparisons.csv")
    }
    reference_model = "reference_model" if "reference_model" in verdict else "opponent"

    own = scores[verdict["variant"]]
    control = verdict["control"] if verdict["control"] != verdict["baseline"] else ""

    def cell(other: str, name: str) -> str:
        if not other:
            return "–"
        row = comparisons[verdict["variant"], other]
        score = scores.get(other, own - float(row["difference_pp"]) / 100)  # the last has its own
        difference = f"{row['difference_pp']} ({row['low_pp']} to {row['high_pp']})"
        says = row["verdict"].replace("practically ", "")
        return f"{name}{100 * score:.1f}: {says} {difference.replace('-', '−')}"

    title = params["experiments"][experiment]["title"]
    return (
        f"[{title}](docs/studies/{report}/README.md)",
        f"{100 * own:.1f}",
        cell(verdict["baseline"], ""),
        *(cell(other, f"`{other}` ") for other in (control, verdict[reference_model])),
    )


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
