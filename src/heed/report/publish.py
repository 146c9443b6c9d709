"""`heed publish`: an edition of a study for docs/studies/, and its summary in the README.

An edition has no text of a corpus, unless heed generated it.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from heed.evaluation.families import BASELINE
from heed.evaluation.results import Comparison
from heed.files import HeedError, read_json, write_text, writing_folder
from heed.report.answer import tested_differences
from heed.report.experiments import is_generated
from heed.report.formats import DASH, format_interval, format_number, format_p, format_points
from heed.report.links import Links
from heed.report.local_paths import map_texts, path_remover
from heed.report.measures import measure_of
from heed.report.provenance import write_provenance
from heed.report.render import render
from heed.report.renderers import markdown
from heed.study.studies import own_study_file

if TYPE_CHECKING:
    from heed.study import Params

COPIED = ("params.yaml", "dvc.lock", "metrics.json")
TEXTS = (".csv", ".html", ".json", ".lock", ".svg", ".tex", ".yaml")  # files of an edition
README, PDF, PROVENANCE = "README.md", "report.pdf", "provenance.html"
# The source of reports/report.pdf. It is not named report.tex: LaTeX would read it instead of the
# one in reports/.
PRINTED = Path(".heed/pdf/printed.tex")
BEGIN, END = "<!-- heed publish {name}: begin -->", "<!-- heed publish {name}: end -->"


def publish(
    params: "Params", comparison: Comparison, published: Path, results: Path, root: Path
) -> Path:
    """Write docs/studies/NAME/ and the summary in README.md; return the folder.

    A study of the user's own has no summary in README.md unless there is a place for it.

    The folder has the page, its figures and tables, its provenance, the files of COPIED, and
    reports/report.pdf if there is one. Text of a corpus is not for git: the page has a document
    browser only where heed generated all texts, and sentences of a translation only where heed
    generated them. Nor are the paths of this machine. README.md in the folder is written by hand,
    and stays.

    Args:
        params: the study.
        comparison: results/compare/comparison.json.
        published: the folder with the talk's figures.
        results: results/, with the results of the other stages.
        root: the top folder of the clone.

    Raises:
        HeedError: a file is missing; report.pdf is of another report; README.md has no place for
            the summary.

    """
    name = params.study.name
    _check_files(root)
    remove_paths = path_remover(root, [root / "params.yaml", root / "dvc.lock"])
    params = map_texts(params, remove_paths)
    titles = {key: experiment.title for key, experiment in params.experiments.items()}
    metrics = read_json(root / "metrics.json", "heed compare")
    names = {key: measure_of(result).name for key, result in comparison.experiments.items()}
    figures = _main_figures(metrics, comparison)
    block = summary(name, figures, titles, names, translation_rows(comparison))
    readme = _with_summary(root, name, block)
    folder = root / "docs" / "studies" / name
    generated = all(is_generated(each.corpus) for each in comparison.experiments.values())
    with writing_folder(folder) as out:
        render(params, comparison, published, results, out, generated, _links(root, folder))
        write_provenance(root, out / PROVENANCE, params.models, with_hosts=False)
        if not generated:
            (out / "documents").rmdir()
        _copy_files(root, out, remove_paths)
        if (folder / README).exists():
            shutil.copyfile(folder / README, out / README)
    write_text(root / README, readme)
    return folder


def _links(root: Path, folder: Path) -> Links:
    """Return the addresses of the files that stand next to the page of an edition."""
    return Links(
        params="params.yaml",
        method="../../statistics.md",
        paper=PDF if (root / "reports" / PDF).exists() else "",
        reading=README if (folder / README).exists() else "",
        provenance=PROVENANCE,
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


def summary(
    name: str,
    metrics: dict[str, dict[str, float]],
    titles: dict[str, str],
    names: dict[str, str],
    translations: dict[str, list[str]],
) -> str:
    """Return the README's tables and chart of a published study, in Markdown.

    Args:
        name: of the study.
        metrics: its metrics.json.
        titles: of its experiments, by key.
        names: of the figures by which the experiments compare their models, by key: a table each.
        translations: from `translation_rows`; all other experiments are classifications.

    """
    rows: dict[str, list[list[str]]] = {}
    for experiment, values in metrics.items():
        if experiment not in translations:
            cells = [_title(titles, experiment), *_classification_cells(values)]
            rows.setdefault(names[experiment], []).append(cells)
    tables = [
        f"| test {figure} | baseline | mean (control) | attention | linear | gain of "
        "attention, p.p. | interval | corrected p |\n"
        "|---|---|---|---|---|---|---|---|\n" + _rows(each)
        for figure, each in rows.items()
    ]
    if translations:
        head = (
            "| translation | baseline | attention | best opponent | gain of attention | interval "
            "| verdict |\n|---|---|---|---|---|---|---|\n"
        )
        translated = [[_title(titles, key), *values] for key, values in translations.items()]
        tables.append(head + _rows(translated))
    return (
        "\n".join(tables) + f"\n![Gain of attention with its "
        f"interval](docs/studies/{name}/figures/gain.svg)\n"
    )


def translation_rows(comparison: Comparison) -> dict[str, list[str]]:
    """Return the figures of each translation by experiment, as the README has them."""
    rows = {}
    for key, result in comparison.experiments.items():
        measure = measure_of(result)
        if not measure.is_translation:
            continue
        attention, models = result.attention[:1], result.models
        figures = [
            f"{measure.name} {measure.figure(result.figure_of(name))}" if name in models else DASH
            for name in (BASELINE, next(iter(attention), ""))
        ]
        best = max(result.opponents, key=result.figure_of)
        opponent = f"{measure.figure(result.figure_of(best))} ({best})"
        gains = tested_differences(result, comparison.significance)
        gain = next(
            (each for each in gains if [each.first, each.second] == [*attention, BASELINE]), None
        )
        tested = [DASH] * 3
        if gain:
            tested = [measure.difference(gain.mean), format_interval(gain.ends), gain.verdict]
        rows[key] = [*figures, opponent, *tested]
    return rows


def _main_figures(
    metrics: dict[str, dict[str, float]], comparison: Comparison
) -> dict[str, dict[str, float]]:
    """Return metrics.json with the variant whose gain it has as `attention`."""
    figures = {}
    for key, values in metrics.items():
        result = comparison.experiments.get(key)
        first = next(iter(result.attention), "") if result else ""
        figures[key] = values | ({"attention": values[first]} if first in values else {})
    return figures


def _title(titles: dict[str, str], experiment: str) -> str:
    return markdown.escape(titles.get(experiment, experiment))


def _classification_cells(values: dict[str, float]) -> list[str]:
    """Return the figures of an experiment and the gain of attention, of metrics.json."""
    gain, low, high = (values.get(key) for key in ("gain_pp", "low_pp", "high_pp"))
    interval = f"{format_points(low)} to {format_points(high)}" if low is not None else DASH
    p = values.get("p_holm")
    keys = ("baseline", "mean", "attention", "linear")
    figures = [format_number(values.get(key)) for key in keys]
    printed_p = format_p(p) if p is None or p < 0.001 else f"{p:g}"  # as in metrics.json
    return [*figures, format_points(gain), interval, printed_p]


def _rows(rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def _with_summary(root: Path, name: str, block: str) -> str:
    """Return README.md with the summary; unchanged for the user's own study without a place."""
    readme = (root / README).read_text(encoding="utf-8")
    is_own = (root / own_study_file(name)).exists()
    return (
        readme
        if is_own and BEGIN.format(name=name) not in readme
        else with_block(readme, name, block)
    )


def with_block(text: str, name: str, block: str) -> str:
    """Return a README with `block` between the comments that mark the study's summary.

    Raises HeedError: it has no such comments.
    """
    begin, end = BEGIN.format(name=name), END.format(name=name)
    before, begin_found, rest = text.partition(begin)
    _, end_found, after = rest.partition(end)
    if not begin_found or not end_found:
        raise HeedError(
            f"README.md: no place for the study {name}. Put this where its summary belongs: "
            f"{begin}{end}"
        )
    return f"{before}{begin}\n{block}{end}{after}"
