"""The table of verdicts in the index of published studies, between comments in it."""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import yaml

from heed.files import HeedError
from heed.paths import PARAMS
from heed.published.verify import SCORES, VERDICTS

PUBLISHED_STUDIES = Path("docs/studies")
INDEX = PUBLISHED_STUDIES / "index.md"
TABLE = re.compile(
    r"(<!-- heed publish results of ([^:]+): begin -->\n).*?(<!-- heed publish results: end)",
    re.DOTALL,
)
ROLES = ("baseline", "control", "reference_model")
HEAD = ["Texts", "Attention", "Last state", "Control", "Reference model"]


@dataclasses.dataclass(frozen=True)
class Published:
    """A published experiment, STUDY/EXPERIMENT, with each model's mean score on the test × 100.

    `said` is by pair of models: a verdict, and the difference with its interval.
    """

    title: str
    study: str
    scores: dict[str, str]
    said: dict[tuple[str, str], str]
    roles: dict[str, tuple[str, str]]  # the pairs that have a role


def read_published(studies: Path, name: str) -> Published:
    """Return a published experiment. Raises HeedError: no published study has it."""
    study, _, experiment = name.partition("/")
    folder = studies / study
    rows = read_table(folder / VERDICTS).query("experiment == @experiment")
    if not {*rows["role"]} & {"control", "baseline"}:
        raise HeedError(
            f"{INDEX}: {name} in a table: {folder / VERDICTS} has no such comparison "
            "of attention. Correct the name, or run `heed publish` on that study first"
        )
    scores = read_table(folder / SCORES).query("experiment == @experiment and split == 'test'")
    values = scores[scores["metric"] == rows["metric"].iloc[0]].astype({"value": float})
    params = yaml.safe_load((folder / PARAMS).read_text(encoding="utf-8"))
    pairs = [*zip(rows["first"], rows["second"], strict=True)]
    said = rows["verdict"].str.removeprefix("practically ") + (
        " " + rows["difference_pp"] + " (" + rows["low_pp"] + " to " + rows["high_pp"] + ")"
    ).str.replace("-", "−")
    return Published(
        str(params["experiments"][experiment]["title"]),
        study,
        values.groupby("model")["value"].mean().map(lambda mean: f"{100 * mean:.1f}").to_dict(),
        dict(zip(pairs, said, strict=True)),
        dict(zip(rows["role"], pairs, strict=True)),
    )


def read_table(path: Path) -> pd.DataFrame:
    """Return a CSV file as text."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _results(found: Sequence[Published]) -> list[list[str]]:
    """Return the rows of the table: attention's score, and each model's with the difference."""
    rows = []
    for each in found:
        attention = next(each.roles[role][0] for role in ROLES if role in each.roles)
        cells = [f"{f'`{attention}` ' * (attention != 'attention')}{each.scores[attention]}"]
        for role in ROLES:
            pair = each.roles.get(role, ("", ""))
            named = f"`{pair[1]}` " * (role != "baseline")
            cells.append(f"{named}{each.scores[pair[1]]}: {each.said[pair]}" if pair[1] else "–")
        rows.append([f"[{each.title}]({each.study}/README.md)", *cells])
    return rows


def with_tables(page: str, studies: Path) -> str:
    """Return a page with the table of the experiments, STUDY/EXPERIMENT, that its place names.

    Raises HeedError: it names a comparison that no published study has.
    """

    def write(place: re.Match[str]) -> str:
        found = [read_published(studies, name) for name in place[2].split()]
        lines = [HEAD, ["---"] * len(HEAD), *_results(found)]
        return place[1] + "".join(f"| {' | '.join(line)} |\n" for line in lines) + place[3]

    return TABLE.sub(write, page)
