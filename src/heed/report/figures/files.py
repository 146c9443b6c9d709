"""The files of all figures of a report, drawn in several processes."""

from pathlib import Path

from heed.processes import process_pool
from heed.report.blocks import Figure
from heed.report.figures.drawing import draw

PaperSizes = dict[str, tuple[float, float]]  # key of a figure → its size on paper, in inches
Job = tuple[Figure, Path, tuple[float, float] | None]
_inherited: list[Job] = []  # of a process of the pool


def draw_figures(
    figures: list[Figure], paper_sizes: PaperSizes, folder: Path, processes: int
) -> None:
    """Write the files of all figures into `folder`; the same bytes for any number of processes.

    Raises HeedError when a file cannot be written, or a process was killed.
    """
    jobs = [(each, folder / each.key, paper_sizes.get(each.key)) for each in figures]
    if processes < 2 or len(jobs) < 2:
        for job in jobs:
            _draw(*job)
        return
    # Forks: what draws a figure is a function inside another, which cannot be sent to a process.
    with process_pool(min(processes, len(jobs)), "fork", _inherited.extend, jobs) as pool:
        for _ in pool.map(_draw_inherited, range(len(jobs))):
            pass


def _draw_inherited(number: int) -> None:
    _draw(*_inherited[number])


def _draw(figure: Figure, path: Path, paper: tuple[float, float] | None) -> None:
    text = f"{figure.title}. {figure.alt_text}"
    draw(path, text, figure.size, figure.draw, paper)
