"""`heed publish`: a study's edition for docs/studies/, without any text but what heed made itself,
and its summary in the README.
"""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from heed.evaluation.results import Comparison
from heed.files import HeedError, read_json, write_text, writing_folder
from heed.report.experiments import is_generated
from heed.report.formats import number, points
from heed.report.render import render

if TYPE_CHECKING:
    from heed.study import Params

TAKEN = ("params.yaml", "dvc.lock", "metrics.json")
READING, PDF = "README.md", "report.pdf"
# The source of reports/report.pdf. Not called report.tex: LaTeX would read that before the one in
# reports/.
PRINTED = Path(".heed/pdf/printed.tex")
BEGIN, END = "<!-- heed publish {name}: begin -->", "<!-- heed publish {name}: end -->"


def publish(
    params: "Params", comparison: Comparison, published: Path, results: Path, root: Path
) -> Path:
    """Write docs/studies/NAME/: the page, its figures and tables, and what they were made with;
    return the folder.

    No text of a corpus goes into git: the page has a document browser only where heed made all
    texts itself. What is written by hand there, the reading in README.md, stays. reports/report.pdf
    goes along, if there is one.

    Args:
        params: the study.
        comparison: results/compare/comparison.json.
        published: the folder with the talk's figures.
        results: the folder of the stages before.
        root: the top folder of the clone.

    Raises:
        HeedError: a file is missing; report.pdf is of another report; README.md has no place for
            the summary.

    """
    name = params.study.name
    into = root / "docs" / "studies" / name
    for file in TAKEN:
        if not (root / file).exists():
            raise HeedError(f"{file}: there is none yet. Run the study first: snakemake --cores 4")
    pdf = root / "reports" / PDF
    if pdf.exists() and not _same(root / PRINTED, pdf.with_suffix(".tex")):
        raise HeedError(f"reports/{PDF}: not of the present reports/report.tex. Run: make pdf")
    readme = root / READING
    text = readme.read_text(encoding="utf-8")
    block = summary(
        name,
        read_json(root / "metrics.json", "heed compare"),
        {e: x.title for e, x in params.experiments.items()},
    )
    replaced = with_block(text, name, block)
    browsed = all(is_generated(experiment.corpus) for experiment in comparison.experiments.values())
    with writing_folder(into) as out:
        render(params, comparison, published, results, out, browsed)
        if not browsed:
            (out / "documents").rmdir()
        for file in TAKEN:
            shutil.copyfile(root / file, out / file)
        for path in (pdf, into / READING):
            if path.exists():
                shutil.copyfile(path, out / path.name)
    write_text(readme, replaced)
    return into


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.read_bytes() == other.read_bytes()


def summary(name: str, metrics: dict[str, dict[str, float]], titles: dict[str, str]) -> str:
    """Return the README's table and chart of a published study, in Markdown, from its metrics.json
    alone.
    """
    rows = []
    for experiment, found in metrics.items():
        gain, low, high = (found.get(key) for key in ("gain_pp", "low_pp", "high_pp"))
        interval = f"{points(low)} to {points(high)}" if low is not None else "–"
        p = f"{found['p_holm']:.2g}" if "p_holm" in found else "–"
        accuracies = [number(found.get(key)) for key in ("baseline", "mean", "attention", "linear")]
        cells = [titles.get(experiment, experiment), *accuracies, points(gain), interval, p]
        rows.append(f"| {' | '.join(cells)} |")
    head = (
        "| test accuracy | baseline | mean (control) | attention | linear | gain of attention, "
        "p.p. | interval | corrected p |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    return (
        f"{head}{chr(10).join(rows)}\n\n![Gain of attention with its "
        f"interval](docs/studies/{name}/figures/gain.svg)\n"
    )


def with_block(text: str, name: str, block: str) -> str:
    """Return a README with `block` between the marks of the study.

    Raises HeedError where it has no marks.
    """
    begin, end = BEGIN.format(name=name), END.format(name=name)
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise HeedError(
            f"README.md: no place for the study {name}. Put this where its summary belongs: "
            f"{begin}{end}"
        )
    return f"{before}{begin}\n{block}{end}{after}"
