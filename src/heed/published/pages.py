"""What the index of published studies says of them, between comments in it."""

import dataclasses
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import yaml

from heed.files import HeedError, write_text
from heed.paths import PARAMS
from heed.published.verify import SCORES, VERDICTS
from heed.terminal import escape_markdown

PUBLISHED_STUDIES = Path("docs/studies")
INDEX = PUBLISHED_STUDIES / "index.md"
BEGIN, END = "<!-- heed publish {name}: begin -->", "<!-- heed publish {name}: end -->"
TABLE = re.compile(
    r"(<!-- heed publish (results|ways to read) of ([^:]+): begin -->\n).*?"
    r"(<!-- heed publish \2: end)",
    re.DOTALL,
)
ROLES = ("baseline", "control", "reference_model")
HEAD = ["Texts", "Attention", "Last state", "Control", "Reference model"]
# The ways to read a text, by the variants of the published studies of real corpora.
WAYS = {
    "baseline": "last state", "max": "maximum", "mean": "mean", "pooling": "pooling",
    "uniform": "equal weights", "attention": "self-attention", "transformer": "transformer",
    "bag": "embeddings, mean", "embeddings": "embeddings, pooling", "han-mean": "sentences, mean",
    "han": "sentences, pooling", "linear": "linear model", "pretrained": "pretrained",
}  # fmt: skip
WEIGHTS = {("pooling", "mean"): "Pooling − mean", ("attention", "uniform"): "Self-att. − equal"}


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
    """Return the table of verdicts: attention's score, and each model's with the difference."""
    rows = [HEAD]
    for each in found:
        attention = next(each.roles[role][0] for role in ROLES if role in each.roles)
        cells = [f"{f'`{attention}` ' * (attention != 'attention')}{each.scores[attention]}"]
        for role in ROLES:
            pair = each.roles.get(role, ("", ""))
            named = f"`{pair[1]}` " * (role != "baseline")
            cells.append(f"{named}{each.scores[pair[1]]}: {each.said[pair]}" if pair[1] else "–")
        rows.append([f"[{each.title}]({each.study}/README.md)", *cells])
    return rows


def _ways_to_read(found: Sequence[Published]) -> list[list[str]]:
    """Return the table of ways to read: the score of every way to read, and the gain of weights."""
    ways = [way for way in WAYS if any(way in each.scores for each in found)]
    rows = [["Texts", *(WAYS[way] for way in ways), *WEIGHTS.values()]]
    for each in found:
        cells = [each.scores.get(way, "–") for way in ways]
        cells += [each.said.get(pair, "–") for pair in WEIGHTS]
        rows.append([f"[{each.title}]({each.study}/README.md)", *cells])
    return rows


TABLES: dict[str, Callable[[Sequence[Published]], list[list[str]]]] = {
    "results": _results, "ways to read": _ways_to_read,
}  # fmt: skip


def write_pages(root: Path, name: str, answer: Sequence[str]) -> None:
    """Write a study's first sentences into the index, if it has a place for them, and its tables.

    Raises HeedError: a table names a comparison that no published study has.
    """
    block = "".join(f"{escape_markdown(line)}\n\n" for line in answer).rstrip("\n") + "\n"
    if (path := root / INDEX).exists():
        text = with_block(path.read_text(encoding="utf-8"), name, block)
        write_text(path, with_tables(text, root / PUBLISHED_STUDIES))


def with_block(text: str, name: str, block: str) -> str:
    """Return a page with `block` between the two comments that mark the place `name`, if any."""
    begin, end = BEGIN.format(name=name), END.format(name=name)
    before, has_begin, rest = text.partition(begin)
    _, has_end, after = rest.partition(end)
    if has_begin and not has_end:
        raise HeedError(f"a page has {begin}, and no {end} after it. Write it there")
    return f"{before}{begin}\n{block}{end}{after}" if has_begin and has_end else text


def with_tables(page: str, studies: Path) -> str:
    """Return a page with the tables of the experiments, STUDY/EXPERIMENT, that its places name."""

    def write(place: re.Match[str]) -> str:
        found = [read_published(studies, name) for name in place[3].split()]
        head, *rows = TABLES[place[2]](found)
        lines = [head, ["---"] * len(head), *rows]
        return place[1] + "".join(f"| {' | '.join(line)} |\n" for line in lines) + place[4]

    return TABLE.sub(write, page)
