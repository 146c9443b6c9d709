"""`heed publish`: the files of a published study in docs/studies/NAME, and what pages say of it.

It has no text of a corpus, unless heed generated it or it is in the public domain, and no path of
this machine.
"""

import csv
import dataclasses
import re
import shutil
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import yaml

from heed import __version__
from heed.evaluation.comparison import RESULTS_TABLE
from heed.evaluation.results import Comparison, ExperimentResult
from heed.evaluation.tested import Tested, read_model, read_reference_models
from heed.files import HeedError, reading, write_json, write_text, writing_folder
from heed.paths import COMPARISON, METRICS, PARAMS
from heed.pipeline import LOCK, changed_files, run_git
from heed.published.verify import CHECKED, KEYS, SCORES, STATISTICS, VERDICTS, statistics_of
from heed.terminal import escape_markdown

if TYPE_CHECKING:
    from heed.study import Params

PUBLISHED_STUDIES = Path("docs/studies")
EDITION, README, PDF = "edition.json", Path("README.md"), "report.pdf"
# The source of reports/report.pdf. It is not named report.tex: LaTeX would read it instead of the
# one in reports/.
PRINTED = Path(".heed/pdf/printed.tex")
ROLES = ("control", "baseline", "reference_model")  # of what attention is compared with


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
    kinds = {
        kind
        for experiment in comparison.experiments.values()
        for model in experiment.models.values()
        for kind in model.machine_kinds
    }
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
        *map(str, (PARAMS, LOCK, METRICS, README, INDEX)),
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
    """Write docs/studies/NAME/ and what pages say of it; return the folder.

    `root` is the top folder of the clone, `report` the one of the report without texts of corpora,
    and `statistics` are those of `published_statistics`. README.md in the folder is people's, and
    kept.

    Raises HeedError: a file is missing, or report.pdf is of another report.
    """
    pdf, folder = root / "reports" / PDF, root / PUBLISHED_STUDIES / name
    check_files(root)
    params = yaml.safe_load((root / PARAMS).read_text(encoding="utf-8"))
    remove_paths = path_remover(root)
    with writing_folder(folder) as out:
        for path in (pdf, folder / README):
            if path.exists():
                shutil.copyfile(path, out / path.name)
        write_json(out / EDITION, dataclasses.asdict(edition))
        write_statistics(out / STATISTICS, statistics)
        write_text(out / VERDICTS, verdicts(report / "tables", params, statistics))
        for path in (root / PARAMS, root / COMPARISON / RESULTS_TABLE):
            write_text(out / path.name, remove_paths(path.read_text(encoding="utf-8")))
        for key in linked_figures(root, name):
            with reading(figure := report / "figures" / key, "heed report"):
                text = figure.read_text(encoding="utf-8")
            write_text(out / "figures" / key, remove_paths(text))
        page = (report / "index.html").read_text(encoding="utf-8")
        write_text(out / "index.html", remove_paths(page))
    answer = (report / "tables/answer.txt").read_text(encoding="utf-8")
    write_pages(root, name, remove_paths(answer).splitlines())
    return folder


def check_files(root: Path) -> None:
    """Raise HeedError where a clone has no results of its study, or a paper of other results."""
    for file in (PARAMS, LOCK, COMPARISON / RESULTS_TABLE):
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
    pages = [root / README, *(root / "docs").rglob("*.md")]
    own = root / PUBLISHED_STUDIES / name / README
    links = re.compile(rf"\]\((?:[\w./-]*studies/{re.escape(name)}/)?figures/([\w.-]+\.svg)\)")
    own_links = re.compile(r"\]\(figures/([\w.-]+\.svg)\)")
    found = {
        key
        for page in pages
        if page.exists()
        for key in (own_links if page == own else links).findall(page.read_text(encoding="utf-8"))
    }
    return sorted(found)


def published_statistics(comparison: Comparison) -> pd.DataFrame:
    """Return what `heed verify` reads, of all experiments. Raises HeedError: what it needs.

    A row has the experiment, KEYS, the metric that decides, and its statistics.
    """
    parts = [
        _published_statistics(name, each, comparison.seeds_of(name)).assign(experiment=name)
        for name, each in comparison.experiments.items()
    ]
    table = pd.concat(parts, ignore_index=True)
    first = ["experiment", *KEYS, "metric"]
    return table[[*first, *table.columns.difference(first, sort=False)]]


def _published_statistics(name: str, result: ExperimentResult, seeds: list[int]) -> pd.DataFrame:
    """Return the statistics of every run of an experiment.

    Items have the same numbers in all runs, in place of ids, and reference models the seed 0.
    """
    corpus = result.corpus.name if "pretrained" in result.reference_models else ""
    tested: Mapping[str, Tested] = {
        **{key: read_model(each.model, seeds, name) for key, each in result.models.items()},
        **read_reference_models(name, corpus),
    }
    parts = []
    for model, each in tested.items():
        of_runs = seeds if model in result.models else [0] * len(each.folds)
        for seed, fold, table in zip(of_runs, each.folds, each.statistics, strict=True):
            kept = table[statistics_of(result.metric, table.columns.tolist())]
            kept = kept.convert_dtypes().reset_index(names="item")
            parts.append(kept.assign(model=model, seed=seed, fold=fold, metric=result.metric))
    table = pd.concat(parts, ignore_index=True)
    table["item"] = pd.factorize(table["item"], sort=True)[0] + 1
    return table.sort_values(KEYS, ignore_index=True)


def write_statistics(path: Path, statistics: pd.DataFrame) -> None:
    """Write the statistics of all runs.

    Items, which each run has in the same order, are written as steps: a tenth of the bytes.
    """
    statistics.to_parquet(
        path, index=False, compression="zstd", column_encoding={"item": "DELTA_BINARY_PACKED"},
        use_dictionary=[each for each in statistics if each != "item"],
    )  # fmt: skip


def verdicts(tables: Path, params: Any, statistics: pd.DataFrame) -> str:
    """Return verdicts.csv: every comparison of the report's tables, and what decides its verdict.

    `role` is what the second model is to attention, `…_rise_pp` what twice the epochs may raise a
    model by that had not converged, and empty otherwise.
    """
    roles = {
        (row["experiment"], row["variant"], row[role]): role
        for row in _read(tables / "verdicts.csv")
        for role in ROLES
        if row.get(role)
    }
    metrics = dict(zip(statistics["experiment"], statistics["metric"], strict=True))
    found = []
    for name, declared in params["experiments"].items():
        rises = _rises(tables / f"{name}_convergence.csv", declared.get("metric"))
        for row in _read(tables / f"{name}_comparisons.csv"):
            pair = row["first"], row["second"]
            own = {"metric": metrics[name], "role": roles.get((name, *pair), "")}
            both = zip(("first", "second"), pair, strict=True)
            own |= {f"{place}_rise_pp": rises.get(model, "") for place, model in both}
            found.append(row | own)
    first = ["experiment", "corpus", "mark", "metric", "first", "second", "family", "role"]
    first += [*CHECKED, "verdict", "first_rise_pp", "second_rise_pp"]
    table = pd.DataFrame(found, columns=None if found else first).fillna("")
    return str(table[[*first, *table.columns.difference(first, sort=False)]].to_csv(index=False))


def _rises(path: Path, metric: str | None) -> dict[str, str]:
    """Return by model what longer training may raise it by; inf where another metric says so."""
    return {
        row["variant"]: f"{float(row['difference_pp']) + float(row['margin_pp']):.2f}"
        if row["metric"] == (metric or row["metric"])
        else "inf"
        for row in _read(path)
        if row["convergence"] == "not converged"
    }


BEFORE_PATH = r"(?<![\w.~/-])"
WHOLE_NAME = r"(?![\w-]|\.\w)"  # not the beginning of another folder's name
REST_OF_PATH = r"[^\s\"'`<>|,;:()\[\]{}]*"  # within a text, up to what may follow a path


def path_remover(root: Path) -> Callable[[str], str]:
    """Return a function that removes the folders of this machine from a text.

    A path in the clone `root` becomes relative to it. Of a path in the home folder, and of every
    absolute path in params.yaml and dvc.lock, the name stays.
    """
    files = root / PARAMS, root / LOCK
    contents = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]
    paths = {text for text in _texts(contents) if text.startswith(("/", "~/"))}
    known = [re.escape(path) for path in sorted(paths, key=len, reverse=True)]
    if (home := str(Path.home())) != "/":
        known.append(re.escape(home) + WHOLE_NAME + REST_OF_PATH)
    in_root = re.compile(BEFORE_PATH + re.escape(str(root.resolve())) + WHOLE_NAME + "(/?)")
    elsewhere = re.compile(f"{BEFORE_PATH}(?:{'|'.join(known)})") if known else None

    def remove_paths(text: str) -> str:
        text = in_root.sub(lambda match: "" if match[1] else ".", text)
        return elsewhere.sub(lambda match: Path(match[0]).name, text) if elsewhere else text

    return remove_paths


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def without_paths(params: "Params", root: Path) -> "Params":
    """Return a study without folders of this machine in its titles and its note.

    Figures may shorten a title, and then have a part of a path, which nothing would find.
    """
    change = path_remover(root)
    title, note = change(params.study.title), change(params.study.note)
    experiments = {
        key: dataclasses.replace(each, title=change(each.title))
        for key, each in params.experiments.items()
    }
    study = dataclasses.replace(params.study, title=title, note=note)
    return dataclasses.replace(params, study=study, experiments=experiments)


INDEX = PUBLISHED_STUDIES / "index.md"
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
Table = Callable[[Sequence[tuple[str, str]]], Sequence[Sequence[str]]]


def write_pages(root: Path, name: str, answer: Sequence[str]) -> None:
    """Write a study's first sentences into the pages that have a place for them, and all tables.

    Raises HeedError: a table names a comparison that no published study has.
    """
    studies = root / INDEX.parent
    for path, table in ((README, results_table(studies)), (INDEX, ways_to_read(studies))):
        if (root / path).exists():
            text = (root / path).read_text(encoding="utf-8")
            block = "".join(f"{escape_markdown(line)}\n\n" for line in answer).rstrip("\n") + "\n"
            write_text(root / path, with_tables(with_block(text, name, block), table))


def with_block(text: str, name: str, block: str) -> str:
    """Return a page with `block` between the two comments that mark the place `name`, if any."""
    begin, end = BEGIN.format(name=name), END.format(name=name)
    before, has_begin, rest = text.partition(begin)
    _, has_end, after = rest.partition(end)
    if has_begin and not has_end:
        raise HeedError(f"a page has {begin}, and no {end} after it. Write it there")
    return f"{before}{begin}\n{block}{end}{after}" if has_begin and has_end else text


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
            gains = _gains(studies / study, name)
            rows.append([f"[{_title(studies / study, name)}]({study}/README.md)", *cells, *gains])
        return rows

    return WAYS_TO_READ, table


def _gains(folder: Path, experiment: str) -> list[str]:
    found = {(row["first"], row["second"]): _says(row) for row in _of(folder, experiment)}
    return [found.get(pair, "–") for pair in WEIGHTS]


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
