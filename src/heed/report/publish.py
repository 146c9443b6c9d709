"""`heed publish`: an edition of a study for docs/studies/, and its summary in the index there.

An edition has no text of a corpus, unless heed generated it.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from heed.evaluation.results import Comparison
from heed.files import HeedError, write_json, write_text, writing_folder
from heed.records import as_json
from heed.report.chapters.verdict_matrix import verdict_matrix
from heed.report.editions import (
    BEGIN,
    COPIED,
    EDITION,
    EDITIONS,
    END,
    INDEX,
    README,
    Edition,
    make_edition,
    with_block,
    with_edition,
    write_list,
)
from heed.report.experiments import Experiment, is_generated, read_experiments
from heed.report.head import Addresses
from heed.report.headline import headline
from heed.report.local_paths import map_texts, path_remover
from heed.report.provenance import write_provenance
from heed.report.render import render
from heed.report.renderers import markdown
from heed.study.studies import own_study_file

if TYPE_CHECKING:
    from heed.study import Params

TEXTS = (".csv", ".html", ".json", ".lock", ".svg", ".tex", ".yaml")  # files of an edition
PDF, PROVENANCE = "report.pdf", "provenance.html"
# The source of reports/report.pdf. It is not named report.tex: LaTeX would read it instead of the
# one in reports/.
PRINTED = Path(".heed/pdf/printed.tex")


def publish(
    params: "Params", comparison: Comparison, published: Path, results: Path, root: Path
) -> Path:
    """Write docs/studies/NAME/ and its summary in docs/studies/index.md; return the folder.

    The summary is in README.md too where that has a place for it. A study of the user's own needs
    no place in either.

    The folder has the page, its figures and tables, its provenance, edition.json, the files of
    COPIED, and reports/report.pdf if there is one. Text of a corpus is not for git: the page has a
    document browser only where heed generated all texts, and sentences of a translation only where
    heed generated them. Nor are the paths of this machine.

    Args:
        params: the study.
        comparison: results/compare/comparison.json.
        published: the folder with the talk's figures.
        results: results/, with the results of the other stages.
        root: the top folder of the clone.

    Raises:
        HeedError: a file is missing; report.pdf is of another report; index.md has no place.

    """
    name = params.study.name
    _check_files(root)
    remove_paths = path_remover(root, [root / "params.yaml", root / "dvc.lock"])
    params = map_texts(params, remove_paths)
    experiments = read_experiments(params, comparison, published)
    pages = _pages_with_summary(root, name, experiments, len(comparison.seeds))
    folder = root / EDITIONS / name
    edition = make_edition(root, name)
    generated = all(is_generated(each.corpus) for each in comparison.experiments.values())
    with writing_folder(folder) as out:
        addresses = _addresses(root, folder, edition)
        render(params, comparison, published, results, out, generated, addresses)
        write_provenance(root, out / PROVENANCE, params.models, with_hosts=False)
        if not generated:
            (out / "documents").rmdir()
        _copy_files(root, out, remove_paths)
        _write_edition(out, edition, folder / README)
    for page, text in pages.items():
        write_text(page, text)
    write_list(root)
    return folder


def _write_edition(out: Path, edition: Edition, readme: Path) -> None:
    """Write which code made an edition: into edition.json, and into its README.md if it has one.

    README.md is written by hand and stays, but for this sentence.
    """
    write_json(out / EDITION, as_json(edition))
    if readme.exists():
        write_text(out / README, with_edition(readme.read_text(encoding="utf-8"), edition))


def _addresses(root: Path, folder: Path, edition: Edition) -> Addresses:
    """Return the addresses of the files that stand next to the page of an edition."""
    return Addresses(
        params="params.yaml",
        method="../../statistics.md",
        paper=PDF if (root / "reports" / PDF).exists() else "",
        reading=README if (folder / README).exists() else "",
        provenance=PROVENANCE,
        made_by=f"heed {edition.version}, {edition.short_commit}",
    )


def _copy_files(root: Path, out: Path, remove_paths: Callable[[str], str]) -> None:
    """Copy the files of a study into its edition, and remove this machine's paths from it."""
    for file in COPIED:
        write_text(out / file, (root / file).read_text(encoding="utf-8"))
    for path in (path for path in out.rglob("*") if path.suffix in TEXTS):
        write_text(path, remove_paths(path.read_text(encoding="utf-8")))
    if (pdf := root / "reports" / PDF).exists():
        shutil.copyfile(pdf, out / PDF)


def _check_files(root: Path) -> None:
    """Raise HeedError where a file to copy is missing, or report.pdf is of another report."""
    for file in COPIED:
        if not (root / file).exists():
            raise HeedError(f"{file}: there is none yet. Run the study first: snakemake --cores 4")
    pdf = root / "reports" / PDF
    if pdf.exists() and not _have_same_bytes(root / PRINTED, pdf.with_suffix(".tex")):
        raise HeedError(f"reports/{PDF}: not of the present reports/report.tex. Run: make pdf")


def _have_same_bytes(path: Path, other: Path) -> bool:
    return path.exists() and other.exists() and path.read_bytes() == other.read_bytes()


def _pages_with_summary(
    root: Path, name: str, experiments: list[Experiment], seeds: int
) -> dict[Path, str]:
    """Return the pages that have a place for the summary of a study, with the present summary.

    Raises HeedError: the index has no place for a study of heed's; a place has no end.
    """
    has_pdf = (root / "reports" / PDF).exists()
    readme, index = (
        summary(folder, experiments, seeds, has_pdf) for folder in (f"{EDITIONS}/{name}", name)
    )
    chart = f"\n![Gain of attention with its interval]({name}/figures/gain.svg)\n"
    blocks = {root / README: readme, root / INDEX: index + chart}
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


def summary(folder: str, experiments: list[Experiment], seeds: int, has_pdf: bool) -> str:
    """Return what a page says of a published study, in Markdown.

    It is the first screen of the report, without its chart: the answer over all experiments, the
    matrix of verdicts, and links to the report.

    Args:
        folder: of the edition, as seen from the page.
        experiments: of its report.
        seeds: how many it has.
        has_pdf: whether its folder has report.pdf.

    """
    matrix = verdict_matrix(experiments)
    title = f"{matrix.title} ({matrix.mark})" if matrix.mark else matrix.title
    links = [f"[index.html]({folder}/index.html)"]
    links += [f"[{PDF}]({folder}/{PDF})"] if has_pdf else []
    return (
        f"**{markdown.escape(headline(experiments, seeds))}**\n\n"
        f"{markdown.escape(title)}:\n\n{markdown.table(matrix)}\n"
        f"The report: {' · '.join(links)}\n"
    )
