"""The table in README.md of what came out: experiments of published reports, a row each."""

import csv
import re
from pathlib import Path

import yaml

from heed.files import read_json

TABLE = re.compile(
    r"(<!-- heed publish results of ([^:]+): begin -->\n).*?(<!-- heed publish results: end)",
    re.DOTALL,
)
HEAD = ("Texts", "Attention", "Last state", "Strongest control", "Linear model, or statistical")


def with_results(readme: str, reports: Path) -> str:
    """Return README.md with the table of the experiments, REPORT/EXPERIMENT each, that it names.

    `reports` is the folder of the published reports, whose tables have the figures.
    """

    def write(match: re.Match[str]) -> str:
        rows = [HEAD, ("---",) * len(HEAD)]
        rows += [_row(reports, *name.split("/")) for name in match[2].split()]
        return match[1] + "".join(f"| {' | '.join(row)} |\n" for row in rows) + match[3]

    return TABLE.sub(write, readme)


def _row(reports: Path, report: str, experiment: str) -> tuple[str, ...]:
    """Return the title, attention's score, and that of each other model, with attention's gain."""
    folder = reports / report
    params = yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8"))
    scores = read_json(folder / "metrics.json", "heed publish")[experiment]
    verdicts = _read(folder / "tables/verdicts.csv")
    (verdict,) = [row for row in verdicts if row["experiment"] == experiment]
    comparisons = {
        (row["first"], row["second"]): row
        for row in _read(folder / f"tables/{experiment}_comparisons.csv")
    }
    reference_model = "reference_model" if "reference_model" in verdict else "opponent"

    def cell(other: str) -> str:
        if not other:
            return "–"
        row = comparisons[verdict["variant"], other]
        difference = f"{row['difference_pp']} ({row['low_pp']} to {row['high_pp']})"
        says = row["verdict"].replace("practically ", "")
        return f"{scores[other]:.3f}: {says} {difference}".replace("-", "−")

    title = params["experiments"][experiment]["title"]
    return (
        f"[{title}](docs/studies/{report}/README.md)",
        f"{scores[verdict['variant']]:.3f}",
        *(cell(verdict[kind]) for kind in ("baseline", "control", reference_model)),
    )


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
