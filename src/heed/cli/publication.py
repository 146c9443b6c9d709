"""The commands that show results to others."""

from pathlib import Path

from heed.cli.stages import read_comparison
from heed.paths import PUBLISHED, REPORTS, RESULTS
from heed.terminal import print_line


def provenance() -> None:
    """Write reports/provenance.html: commit, versions, machine, dates, core-hours."""
    from heed.report.provenance import write_provenance
    from heed.study import load

    write_provenance(Path(), REPORTS / "provenance.html", load().models)
    print_line(f"{REPORTS}/provenance.html")


def publish() -> None:
    """Write the report into docs/studies/NAME, without texts, and its summary into pages."""
    from heed.evaluation.machines import mixed_machine_kinds
    from heed.pipeline import check_up_to_date
    from heed.report.publish import check_commit, publish
    from heed.study import load

    params = load()
    check_commit(Path(), params.study.name)
    check_up_to_date(Path())
    comparison = read_comparison()
    folder = publish(params, comparison, PUBLISHED, RESULTS, Path())
    print_line(str(folder))
    for message in mixed_machine_kinds(comparison):
        print_line(message)
