"""Run one stage by DVC, as `dvc repro` does: `python workflow/dvc_stage.py STAGE`.

Where the run has other hosts (HEED_HOSTS), the stage runs in the clone of one of them. Where the
stage succeeds, what it used is written into logs/STAGE.tsv, in Snakemake's words.
"""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
from heed.fork_client import Program, run_in_fork


def main() -> None:
    """Run the stage, and write what it used."""
    started, stage = time.monotonic(), sys.argv[1]
    usage = run_by_plan(stage) if os.environ.get("HEED_HOSTS") else run("dvc", stage)
    figures = {"s": time.monotonic() - started} | usage
    logs = Path("logs")
    logs.mkdir(exist_ok=True)
    (logs / f"{stage}.tsv").write_text(
        "\t".join(figures) + "\n" + "\t".join(f"{value:.2f}" for value in figures.values()) + "\n"
    )


def run_by_plan(stage: str) -> dict[str, float]:
    """Run a stage of a run with other hosts on one of them, or here; return what it used there.

    What other hosts read of it is on the DVC remote in the end.
    """
    import send_stage

    from heed.files import HeedError, write_text
    from heed.progress import INTERRUPTED

    plan = send_stage.read_plan()
    if plan is None:  # a cheap stage, before the plan is made
        return run("dvc", stage)
    if send_stage.stays_here(plan, stage):
        usage = run("dvc", stage)
        if send_stage.is_read_elsewhere(plan, stage):
            run("push", stage)
        return usage
    try:
        entry, usage = send_stage.send_stage(plan, stage)
    except HeedError as error:
        sys.exit(f"heed: {stage} failed: {error}")
    except KeyboardInterrupt:
        sys.exit(f"heed: {INTERRUPTED}")
    path = send_stage.RUNS / os.environ["HEED_RUN"] / "entries" / f"{stage}.yaml"
    write_text(path, entry)
    run("record", stage, str(path))
    return usage


def run(program: Program, *arguments: str) -> dict[str, float]:
    """Run DVC for a stage in a fork, or in this process where no server forks it.

    Ends this process where the program fails. Returns what the stage used.
    """
    sys.argv[1:] = arguments
    usage = run_in_fork(program)
    if usage is None:
        import stage_programs

        if status := stage_programs.MAIN[program]():
            sys.exit(status)
        usage = stage_programs.measure_usage()
    return usage


if __name__ == "__main__":
    main()
