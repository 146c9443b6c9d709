"""`heed publish`: the files of a published study in docs/studies/NAME, and the table of all.

It has no text of a corpus, unless heed generated it or it is in the public domain, and no path of
this machine.
"""

import contextlib
import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import yaml

from heed import __version__
from heed.evaluation.comparison import bound_of, side_of
from heed.evaluation.results import SAME, UNDECIDED, Comparison
from heed.files import HeedError, reading, write_text, writing
from heed.paths import COMPARISON, METRICS, PARAMS
from heed.pipeline import LOCK, changed_files, run_git
from heed.published.verify import EDITION, SCORES, STATISTICS, VERDICTS, packed

if TYPE_CHECKING:
    from heed.study import Params

PUBLISHED_STUDIES = Path("docs/studies")
INDEX = PUBLISHED_STUDIES / "index.md"
TABLE = re.compile(
    r"(<!-- heed publish results of ([^:]+): begin -->\n).*?(<!-- heed publish results: end)",
    re.DOTALL,
)
ROLES = ("baseline", "control", "reference_model")
HEAD = ["Texts", "Attention", "Last state", "Control", "Reference model"]
PDF, PAGE = "report.pdf", "index.html"
PAIR = ["experiment", "first", "second"]
COLUMNS = [  # of verdicts.csv
    "experiment", "corpus", "mark", "metric", "first", "second", "family", "role", "tests",
    "difference_pp", "low_pp", "high_pp", "p", "p_corrected", "equal_within_pp", "verdict",
    "first_rise_pp", "second_rise_pp", "tuned_alike", "seeds_needed", "detectable_pp",
]  # fmt: skip
# The source of reports/report.pdf. It is not named report.tex: LaTeX would read it instead of the
# one in reports/.
PRINTED = Path(".heed/pdf/printed.tex")


@dataclasses.dataclass(frozen=True)
class Edition:
    """What made a published study: the code, the machines, and the command that repeats it."""

    version: str  # of heed
    commit: str
    machine: list[str]  # the kinds of machine that trained
    command: str


def make_edition(root: Path, name: str, comparison: Comparison) -> Edition:
    """Return what made the study that is published now, in the clone `root`."""
    commit = run_git(root, "rev-parse", "--verify", "HEAD")
    results = comparison.experiments.values()
    models = [model for result in results for model in result.models.values()]
    kinds = {kind for model in models for kind in model.machine_kinds}
    return Edition(__version__, commit, sorted(kinds), command(name, commit))


def command(name: str, commit: str) -> str:
    """Return the command that repeats a published study, in a clone that has its folder."""
    copied = f"git show @{{-1}}:{PUBLISHED_STUDIES}/{name}/{PARAMS} > {PARAMS}"
    return f"git checkout {commit} && {copied} && make report"


def check_commit(root: Path, name: str) -> None:
    """Raise HeedError unless git can show the code of a study that is published now.

    A branch must have the present commit, and the files that git tracks, and new ones in src/ and
    workflow/, must be as in the commit, but for the active study, its results, and what `heed
    publish` writes.
    """
    commit = run_git(root, "rev-parse", "--verify", "HEAD")
    if not run_git(root, "for-each-ref", "--contains", commit, "refs/heads", "refs/remotes"):
        raise HeedError(
            f"git: no branch has the present commit {commit[:10]}, which the published report "
            "would name: it can get lost. Make a branch of it: git switch --create NAME"
        )
    new = run_git(root, "ls-files", "--others", "--exclude-standard", "-z", "src", "workflow")
    may_differ = {
        *map(str, (PARAMS, LOCK, METRICS, INDEX)),
        *(f"{folder}/{name}.yaml" for folder in ("workflow/studies", "studies")),
    }
    others = [
        path
        for path in (*changed_files(root), *filter(None, new.split("\0")))
        if path not in may_differ and not path.startswith(f"{PUBLISHED_STUDIES}/{name}/")
    ]
    if others:
        names = f"{', '.join(others[:3])}{', ...' * (len(others) > 3)}"
        raise HeedError(
            f"git: not as in the present commit, which the published report would name: {names}. "
            f"Only what belongs to the study {name} may differ. Commit the rest, or undo it"
        )


def publish(
    root: Path, name: str, edition: Edition, report: Path, statistics: pd.DataFrame
) -> Path:
    """Write the files of docs/studies/NAME/ and the table of the index; return the folder.

    `root` is the top folder of the clone, `report` the one of the report without texts of corpora,
    and `statistics` are those of `published_statistics`. All else in the folder is people's: it
    stays.

    Raises HeedError: a file is missing, or report.pdf is of another report.
    """
    check_files(root)
    params = yaml.safe_load((root / PARAMS).read_text(encoding="utf-8"))
    folder, remove_paths = root / PUBLISHED_STUDIES / name, path_remover(root)
    texts = {EDITION: json.dumps(dataclasses.asdict(edition), indent=2, ensure_ascii=False) + "\n"}
    texts[VERDICTS] = verdicts(report / "tables", params, statistics)
    sources = {str(PARAMS): root / PARAMS, SCORES: root / COMPARISON / SCORES}
    sources[PAGE] = report / PAGE
    for file in linked_figures(root, name):
        if (report / file).exists() or not (folder / file).exists():  # else it is people's
            sources[file] = report / file
    for file, path in sources.items():
        with reading(path, "heed report"):
            texts[file] = remove_paths(path.read_text(encoding="utf-8"))
    files = {file: text.encode() for file, text in texts.items()} | {STATISTICS: packed(statistics)}
    if has_paper(root):
        files[PDF] = (root / "reports" / PDF).read_bytes()
    replace_files(folder, files)
    of_report = {PDF, *(f"figures/{path.name}" for path in (report / "figures").glob("*"))}
    for file in of_report - files.keys():
        (folder / file).unlink(missing_ok=True)
    if (index := root / INDEX).exists():
        write_text(index, with_tables(index.read_text("utf-8"), root / PUBLISHED_STUDIES))
    return folder


def replace_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of an edition, the first of which is away until all others are in place.

    A kill leaves the old edition, or one without its first file, which is none.
    """
    with contextlib.ExitStack() as renamed:  # at its end, the first file last, if all are written
        for name, content in files.items():
            renamed.enter_context(writing(folder / name)).write_bytes(content)
        (folder / next(iter(files))).unlink(missing_ok=True)


def check_files(root: Path) -> None:
    """Raise HeedError where a clone has no results of its study, or a paper of other results."""
    for file in (PARAMS, LOCK, COMPARISON / SCORES):
        if not (root / file).exists():
            raise HeedError(f"{file}: there is none yet. Run the study first: snakemake --cores 4")
    pdf = root / "reports" / PDF
    sources = (root / PRINTED, pdf.with_suffix(".tex"))
    printed, present = (path.read_bytes() if path.exists() else None for path in sources)
    if pdf.exists() and (printed is None or printed != present):
        raise HeedError(f"reports/{PDF}: not of the present reports/report.tex. Run: make pdf")


def has_paper(root: Path) -> bool:
    """Return whether a clone has the report as a PDF."""
    return (root / "reports" / PDF).exists()


def linked_figures(root: Path, name: str) -> list[str]:
    """Return the figures of a published study that its README.md, or a page of the docs, links."""
    found: set[str] = set()
    for page in filter(Path.is_file, (root / "README.md", *(root / "docs").rglob("*.md"))):
        is_own = page.parent == root / PUBLISHED_STUDIES / name
        start = "" if is_own else rf"[\w./-]*studies/{re.escape(name)}/"
        text = page.read_text(encoding="utf-8")
        found.update(re.findall(rf"\]\({start}(figures/[\w.-]+\.svg)\)", text))
    return sorted(found)


def verdicts(tables: Path, params: Any, statistics: pd.DataFrame) -> str:
    """Return verdicts.csv: every comparison of the report's tables, and what decides its verdict.

    `role` is what the second model is to attention, `…_rise_pp` what twice the epochs may raise a
    model by that had not converged, and empty otherwise.
    """
    parts = []
    for name, declared in params["experiments"].items():
        rows = read_table(tables / f"{name}_comparisons.csv")
        rises = _rises(tables / f"{name}_convergence.csv", declared.get("metric"))
        metric = statistics.loc[statistics["experiment"] == name, "metric"].iloc[0]
        both = {f"{place}_rise_pp": rows[place].map(rises) for place in ("first", "second")}
        parts.append(rows.assign(metric=metric, **both))
    roles = read_table(tables / "verdicts.csv").rename(columns={"variant": "first"})
    roles = roles.reindex(columns=[*PAIR[:2], *ROLES], fill_value="")  # some roles nobody has
    roles = roles.melt(PAIR[:2], [*ROLES], "role", "second").drop_duplicates(PAIR)
    table = pd.concat(parts).merge(roles, "left", PAIR)
    return str(table.reindex(columns=COLUMNS).fillna("").to_csv(index=False))


def _rises(path: Path, metric: str | None) -> dict[str, str]:
    """Return by model what longer training may raise it by; inf where another metric says so."""
    if not path.exists():
        return {}
    rows = read_table(path).loc[lambda table: table["convergence"] == "not converged"]
    sums = rows["difference_pp"].astype(float) + rows["margin_pp"].astype(float)
    said = sums.map("{:.2f}".format).where(rows["metric"] == (metric or rows["metric"]), "inf")
    return dict(zip(rows["variant"], said, strict=True))


BEFORE_PATH = r"(?<![\w.~/-])"
WHOLE_NAME = r"(?![\w-]|\.\w)"  # not the beginning of another folder's name
REST_OF_PATH = r"[^\s\"'`<>|,;:()\[\]{}]*"  # within a text, up to what may follow a path


def path_remover(root: Path) -> Callable[[str], str]:
    """Return a function that removes the folders of this machine from a text.

    A path in the clone `root` becomes relative to it. Of a path in the home folder, and of every
    absolute path in params.yaml and dvc.lock, the name stays.
    """
    tokens = (token for file in (PARAMS, LOCK) for token in yaml.scan((root / file).read_bytes()))
    texts: set[str] = {token.value for token in tokens if isinstance(token, yaml.ScalarToken)}
    paths = {text for text in texts if text.startswith(("/", "~/"))}
    known = [re.escape(path) for path in sorted(paths, key=len, reverse=True)]
    if (home := str(Path.home())) != "/":
        known.append(re.escape(home) + WHOLE_NAME + REST_OF_PATH)
    in_root = re.compile(BEFORE_PATH + re.escape(str(root.resolve())) + WHOLE_NAME + "(/?)")
    elsewhere = re.compile(f"{BEFORE_PATH}(?:{'|'.join(known)})") if known else None

    def remove_paths(text: str) -> str:
        text = in_root.sub(lambda match: "" if match[1] else ".", text)
        return elsewhere.sub(lambda match: Path(match[0]).name, text) if elsewhere else text

    return remove_paths


def without_paths(params: "Params", root: Path) -> "Params":
    """Return a study without folders of this machine in its titles and its note.

    Figures may shorten a title, and then have a part of a path, which nothing would find.
    """
    change, replace = path_remover(root), dataclasses.replace
    experiments = {
        key: replace(declared, title=change(declared.title))
        for key, declared in params.experiments.items()
    }
    study = replace(params.study, title=change(params.study.title), note=change(params.study.note))
    return replace(params, study=study, experiments=experiments)


# --- the index of published studies, with a table between comments


def read_table(path: Path) -> pd.DataFrame:
    """Return a CSV file as text."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _row(studies: Path, name: str) -> list[str]:
    """Return attention's score in a published experiment, STUDY/EXPERIMENT, and its differences.

    Scores are means over the runs, on test, times 100. Raises HeedError: no published study has it.
    """
    study, _, experiment = name.partition("/")
    folder = studies / study
    rows = read_table(folder / VERDICTS).loc[lambda table: table["experiment"] == experiment]
    pairs = {row["role"]: row for row in rows.to_dict("records") if row["role"]}
    if not pairs.keys() & {"control", "baseline"}:
        raise HeedError(
            f"{INDEX}: {name} in a table: {folder / VERDICTS} has no such comparison "
            "of attention. Correct the name, or run `heed publish` on that study first"
        )
    scores = read_table(folder / SCORES).astype({"value": float})
    own = scores["experiment"].eq(experiment) & scores["split"].eq("test")
    own &= scores["metric"].eq(rows["metric"].iloc[0])
    means = scores[own].groupby("model")["value"].mean().map(lambda mean: f"{100 * mean:.1f}")
    title = yaml.safe_load((folder / PARAMS).read_text("utf-8"))["experiments"][experiment]["title"]
    attention = next(pairs[role]["first"] for role in ROLES if role in pairs)
    named = f"{attention.replace('-', ' ')} {means[attention]}"
    cells = [f"[{title}]({study}/README.md)", named, *["–"] * len(ROLES)]
    for place, role in enumerate(ROLES, 2):
        if pair := pairs.get(role):
            named = f"{pair['second'].replace('-', ' ')} " * (role != "baseline")
            cells[place] = f"{named}{means[pair['second']]}: {_said(pair)}"
    return cells


def _said(pair: Mapping[Any, str]) -> str:
    """Return the verdict, as the report says it, with difference and interval."""
    verdict, ends = pair["verdict"], (float(pair["low_pp"]), float(pair["high_pp"]))
    if verdict == SAME:
        verdict = side_of(ends).removeprefix("practically ")
    elif verdict == UNDECIDED and not pair["seeds_needed"]:
        verdict = f"within {bound_of(ends):.4g} points,"
    interval = f"{pair['difference_pp']} ({pair['low_pp']} to {pair['high_pp']})"
    return f"{verdict} {interval.replace('-', '−')}"


def with_tables(page: str, studies: Path) -> str:
    """Return a page with the table of the experiments, STUDY/EXPERIMENT, that its place names.

    Raises HeedError: it names a comparison that no published study has.
    """

    def write(place: re.Match[str]) -> str:
        lines = [HEAD, ["---"] * len(HEAD), *(_row(studies, name) for name in place[2].split())]
        return place[1] + "".join(f"| {' | '.join(line)} |\n" for line in lines) + place[3]

    return TABLE.sub(write, page)
