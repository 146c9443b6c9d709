"""`heed publish`: a study's published report in docs/studies/, and its summary in the index.

It has no text of a corpus, unless heed generated it or it is in the public domain, and no path of
this machine.
"""

import dataclasses
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import yaml

from heed import __version__
from heed.evaluation.comparison import RESULTS_TABLE
from heed.evaluation.results import Comparison, ExperimentResult
from heed.evaluation.tested import Tested, read_model, read_reference_models
from heed.files import (
    HeedError,
    read_json,
    reading,
    write_json,
    write_text,
    write_texts,
    writing_folder,
)
from heed.paths import PARAMS
from heed.pipeline import LOCK
from heed.records import as_json, read_record
from heed.report.chapters.summary import headline
from heed.report.experiments import Experiment, may_publish_text, read_experiments
from heed.report.figures.vega import as_svg
from heed.report.front_page import check_names, forest_plot, with_results, with_scores
from heed.report.html import escape_markdown
from heed.report.provenance_page import git_state, run_git, write_provenance
from heed.report.render import Addresses, render
from heed.report.verify import KEYS, STATISTICS, statistics_of
from heed.study.studies import HEED_STUDIES, own_study_file

if TYPE_CHECKING:
    from heed.study import Params


PUBLISHED_REPORTS = Path("docs/studies")
INDEX = PUBLISHED_REPORTS / "index.md"  # of all published studies, with a summary of each
PUBLISHED_REPORT, README = "edition.json", "README.md"
COPIED = ("params.yaml", "dvc.lock", "metrics.json")
BEGIN, END = "<!-- heed publish {name}: begin -->", "<!-- heed publish {name}: end -->"
MADE_BY, LIST = "made by", "list of published reports"  # places in README.md and in the index
FRONT_PAGE, FOREST_PLOT = Path("docs/index.md"), "forest plot"  # and the place there


@dataclasses.dataclass(frozen=True)
class PublishedReport:
    """The code that made a published report."""

    version: str  # of heed
    commit: str
    changed: list[
        str
    ]  # files that differed from the commit, but for those of this published report
    lost: bool = False  # whether the repository does not have the commit

    @property
    def short_commit(self) -> str:
        """The first ten digits of the commit."""
        return self.commit[:10]

    def sentence(self) -> str:
        """Return the sentence on the code for README.md of the published report."""
        changed = " and ".join(f"`{path}`" for path in self.changed)
        return (
            f"This published report was made by heed {self.version} at commit `{self.short_commit}`"
            f"{f', from which {changed} differed' * bool(changed)}."
            f"{' The commit is lost: this repository does not have it.' * self.lost}"
        )


def read_published_report(folder: Path) -> PublishedReport:
    """Return the code that made the published report in a folder. Raises HeedError."""
    with reading(folder / PUBLISHED_REPORT, "heed publish"):
        return read_record(PublishedReport, read_json(folder / PUBLISHED_REPORT, "heed publish"))


def make_published_report(root: Path, study: str) -> PublishedReport:
    """Return the code of the published report that is made now, in the clone `root`.

    The files that `heed publish` itself writes may differ from the commit: they are no code.
    """
    state, folder = git_state(root), f"{PUBLISHED_REPORTS}/{study}/"
    written = (README, str(INDEX))
    changed = [p for p in state.changed if p not in written and not p.startswith(folder)]
    return PublishedReport(__version__, state.commit, changed)


def check_commit(root: Path, study: str) -> None:
    """Raise HeedError unless git can show the code of a published report that is made now.

    A branch must have the present commit, and the files that git tracks, and new ones in src/ and
    workflow/, must be as in the commit, but for the active study and its results.
    """
    commit = run_git(root, "rev-parse", "--verify", "HEAD")
    if not run_git(root, "for-each-ref", "--contains", commit, "refs/heads", "refs/remotes"):
        raise HeedError(
            f"git: no branch has the present commit {commit[:10]}, which the published report "
            "would name: it can get lost. Make a branch of it: git switch --create NAME"
        )
    new = run_git(root, "ls-files", "--others", "--exclude-standard", "-z", "src", "workflow")
    of_study = {*COPIED, str(HEED_STUDIES / f"{study}.yaml"), str(own_study_file(study)), ""}
    changed = [*make_published_report(root, study).changed, *new.split("\0")]
    if others := [path for path in changed if path not in of_study]:
        names = f"{', '.join(others[:3])}{', ...' * (len(others) > 3)}"
        raise HeedError(
            f"git: not as in the present commit, which the published report would name: {names}. "
            f"Only what belongs to the study {study} may differ. Commit the rest, or undo it"
        )


def with_published_report(readme: str, published_report: PublishedReport) -> str:
    """Return README.md of a published report with the code that made it, below the title."""
    if BEGIN.format(name=MADE_BY) not in readme:
        title, _, rest = readme.partition("\n")
        readme = f"{title}\n\n{BEGIN}{END}\n{rest}".format(name=MADE_BY)
    return with_block(readme, MADE_BY, f"{published_report.sentence()}\n")


def write_lists(root: Path) -> None:
    """Write what pages say of all published reports: the index, README.md's table, a picture."""
    write_list(root)
    reports = root / PUBLISHED_REPORTS
    for path, with_tables in ((root / INDEX, with_scores), (root / README, with_results)):
        if path.exists():
            write_text(path, with_tables(path.read_text(encoding="utf-8"), reports))
    page = root / FRONT_PAGE
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    if BEGIN.format(name=FOREST_PLOT) in text:
        figure = forest_plot(reports)
        image = f"![{escape_markdown(figure.title)}]({figure.key}.svg)\n"
        write_text(page.with_name(f"{figure.key}.svg"), as_svg(figure))
        write_text(page, with_block(text, FOREST_PLOT, image))


def write_list(root: Path) -> None:
    """Write into the index which of its published reports are of older or of lost code."""
    index = root / INDEX
    text = index.read_text(encoding="utf-8") if index.exists() else ""
    if BEGIN.format(name=LIST) not in text:
        return
    reports = {
        path.parent.name: read_published_report(path.parent)
        for path in sorted((root / PUBLISHED_REPORTS).glob(f"*/{PUBLISHED_REPORT}"))
        if BEGIN.format(name=path.parent.name) in text
    }
    older = [name for name, each in reports.items() if each.version != __version__]
    lost = [name for name, each in reports.items() if each.lost]
    block = (
        f"The present version is heed {__version__}. Of an older version: "
        f"{', '.join(older) or 'none'}. Of a commit that this repository does not have: "
        f"{', '.join(lost) or 'none'}.\n"
    )
    write_text(index, with_block(text, LIST, block))


def with_block(text: str, name: str, block: str) -> str:
    """Return a page with `block` between the two comments that mark the place `name`."""
    begin, end = BEGIN.format(name=name), END.format(name=name)
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{block}{end}{rest.partition(end)[2]}"


TEXTS = (".csv", ".html", ".json", ".lock", ".svg", ".tex", ".yaml")  # files of a published report
CHART = re.compile(r"models(?:-(\d+))?\.svg")  # a part of the first chart
PDF, PROVENANCE = "report.pdf", "provenance.html"
# The source of reports/report.pdf. It is not named report.tex: LaTeX would read it instead of the
# one in reports/.
PRINTED = Path(".heed/pdf/printed.tex")


def publish(
    params: "Params", comparison: Comparison, published: Path, results: Path, root: Path,
    statistics: Mapping[str, pd.DataFrame],
) -> Path:  # fmt: skip
    """Write docs/studies/NAME/ and its summary in docs/studies/index.md; return the folder.

    `root` is the top folder of the clone, `statistics` are those of `published_statistics`; the
    other arguments are as in `render` (docs/report.md).

    Raises HeedError: a file is missing; report.pdf is of another report; index.md has no place.
    """
    _check_files(root)
    name, remove_paths = params.study.name, path_remover(root, [root / PARAMS, root / LOCK])
    params = without_paths(params, remove_paths)
    experiments = read_experiments(params, comparison, published)
    _check_pages(root, name, experiments)
    folder, published_report = root / PUBLISHED_REPORTS / name, make_published_report(root, name)
    with_texts = all(may_publish_text(each.corpus) for each in comparison.experiments.values())
    readme, pdf = folder / README, root / "reports" / PDF
    addresses = Addresses(
        params="params.yaml",
        method="../../statistics.md",
        paper=PDF if pdf.exists() else "",
        reading=README if readme.exists() else "",
        provenance=PROVENANCE,
        made_by=f"heed {published_report.version}, {published_report.short_commit}",
    )
    with writing_folder(folder) as out:
        render(params, comparison, published, results, out, with_texts, addresses)
        write_provenance(root, out / PROVENANCE, params, with_hosts=False)
        if not with_texts:
            (out / "documents").rmdir()
        copied = *(root / file for file in COPIED), results / "compare" / RESULTS_TABLE, pdf
        for file in copied if pdf.exists() else copied[:-1]:
            shutil.copyfile(file, out / file.name)
        for path in (path for path in out.rglob("*") if path.suffix in TEXTS):
            write_text(path, remove_paths(path.read_text(encoding="utf-8")))
        write_json(out / PUBLISHED_REPORT, as_json(published_report))
        write_statistics(out, statistics)
        if readme.exists():  # written by hand, but for the sentence on the code
            text = with_published_report(readme.read_text(encoding="utf-8"), published_report)
            write_text(out / README, text)
    write_texts(_pages_with_summary(root, name, experiments))
    write_lists(root)
    return folder


def published_statistics(comparison: Comparison) -> dict[str, pd.DataFrame]:
    """Return for each experiment what `heed verify` reads. Raises HeedError: what it needs."""
    return {
        name: _published_statistics(name, experiment, comparison.seeds_of(name))
        for name, experiment in comparison.experiments.items()
    }


def _published_statistics(name: str, result: ExperimentResult, seeds: list[int]) -> pd.DataFrame:
    """Return KEYS, the metric that decides, and its statistics, of every run.

    Items have the same numbers in all runs, in place of ids, and reference models the seed 0.
    """
    corpus = result.corpus.name if "pretrained" in result.reference_models else ""
    tested: Mapping[str, Tested] = {
        **{variant: read_model(each.model, seeds) for variant, each in result.models.items()},
        **read_reference_models(name, corpus),
    }
    parts = []
    for model, each in tested.items():
        of_runs = seeds if model in result.models else [0] * len(each.folds)
        for seed, fold, table in zip(of_runs, each.folds, each.statistics, strict=True):
            kept = table[statistics_of(result.metric, table.columns.tolist())].reset_index(
                names="item"
            )
            parts.append(kept.assign(model=model, seed=seed, fold=fold, metric=result.metric))
    table = pd.concat(parts, ignore_index=True)
    table["item"] = pd.factorize(table["item"], sort=True)[0] + 1
    first = [*KEYS, "metric"]
    columns = [*first, *table.columns.difference(first, sort=False)]
    return table[columns].sort_values(KEYS, ignore_index=True)


def write_statistics(edition: Path, statistics: Mapping[str, pd.DataFrame]) -> None:
    """Write the statistics of all runs into an edition, a file for each experiment.

    Items, which each run has in the same order, are written as steps: a tenth of the bytes.
    """
    with writing_folder(edition / STATISTICS, checksums=True) as out:
        for name, table in statistics.items():
            table.to_parquet(
                out / f"{name}.parquet", index=False, compression="zstd",
                use_dictionary=[each for each in table if each != "item"],
                column_encoding={"item": "DELTA_BINARY_PACKED"},
            )  # fmt: skip


def _check_pages(root: Path, name: str, experiments: list[Experiment]) -> None:
    """Raise HeedError where a page has no place for a study, or README names one that is not."""
    _pages_with_summary(root, name, experiments)
    if (front := root / README).exists():
        compared = [each.key for each in experiments if each.attention_comparison]
        check_names(front.read_text(encoding="utf-8"), root / PUBLISHED_REPORTS, {name: compared})


def _check_files(root: Path) -> None:
    for file in COPIED:
        if not (root / file).exists():
            raise HeedError(f"{file}: there is none yet. Run the study first: snakemake --cores 4")
    pdf = root / "reports" / PDF
    sources = (root / PRINTED, pdf.with_suffix(".tex"))
    printed, present = (path.read_bytes() if path.exists() else None for path in sources)
    if pdf.exists() and (printed is None or printed != present):
        raise HeedError(f"reports/{PDF}: not of the present reports/report.tex. Run: make pdf")


def _pages_with_summary(root: Path, name: str, experiments: list[Experiment]) -> dict[Path, str]:
    """Return the pages that have a place for the summary of a study, with the present summary.

    Raises HeedError: the index has no place for a study of heed's; a place has no end.
    """
    has_pdf = (root / "reports" / PDF).exists()
    readme, index = (
        summary(folder, experiments, has_pdf) for folder in (f"{PUBLISHED_REPORTS}/{name}", name)
    )
    found = (root / PUBLISHED_REPORTS / name / "figures").glob("models*.svg")
    parts = {each[0]: int(each[1] or 1) for path in found if (each := CHART.fullmatch(path.name))}
    links = "\n".join(
        f"![Every model, every seed a dot]({name}/figures/{each})"
        for each in sorted(parts, key=parts.__getitem__)
    )
    blocks = {root / README: readme, root / INDEX: f"{index}\n{links}\n"}
    texts = {path: path.read_text(encoding="utf-8") for path in blocks if path.exists()}
    begin, end = BEGIN.format(name=name), END.format(name=name)
    is_own = (root / own_study_file(name)).exists()
    if not is_own and begin not in texts.get(root / INDEX, ""):
        raise HeedError(
            f"{INDEX}: no place for the study {name}. Put this where its summary belongs: "
            f"{begin}{end}"
        )
    pages = {path: text for path, text in texts.items() if begin in text}
    for path, text in pages.items():
        if end not in text.partition(begin)[2]:
            raise HeedError(f"{path.relative_to(root)}: {begin} has no {end} after it")
    return {path: with_block(text, name, blocks[path]) for path, text in pages.items()}


def summary(folder: str, experiments: list[Experiment], has_pdf: bool) -> str:
    """Return what a page says of a published study, in Markdown: the report's first sentences.

    `folder` is that of the report, as seen from the page.
    """
    lines = "".join(f"**{escape_markdown(line)}**\n\n" for line in headline(experiments))
    files = ["index.html", *([PDF] if has_pdf else [])]
    links = [f"[{file}]({folder}/{file})" for file in files]
    marks = [each.mark for each in experiments]
    if len({*marks}) > 1:
        marks = [f"{each.title}: {each.mark}" for each in experiments if each.mark]
    mark = escape_markdown("; ".join(dict.fromkeys(filter(None, marks))))
    return f"{lines}The report{f' ({mark})' * bool(mark)}: {' · '.join(links)}\n"


BEFORE_PATH = r"(?<![\w.~/-])"
WHOLE_NAME = r"(?![\w-]|\.\w)"  # not the beginning of another folder's name
REST_OF_PATH = r"[^\s\"'`<>|,;:()\[\]{}]*"  # within a text, up to what may follow a path


def path_remover(root: Path, files: list[Path]) -> Callable[[str], str]:
    """Return a function that removes the folders of this machine from a text.

    A path in `root` becomes relative to it. Of a path in the home folder, and of every absolute
    path in the YAML `files`, the name stays.
    """
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


def without_paths(params: "Params", change: Callable[[str], str]) -> "Params":
    """Return a study with `change` applied to all of its titles and to its note."""
    study = dataclasses.replace(
        params.study, title=change(params.study.title), note=change(params.study.note)
    )
    experiments = {
        key: dataclasses.replace(each, title=change(each.title))
        for key, each in params.experiments.items()
    }
    return dataclasses.replace(params, study=study, experiments=experiments)
