"""Run one stage by DVC, as `dvc repro` does: `python workflow/dvc_stage.py STAGE`.

Where the stage succeeds, what it used is written into logs/STAGE.tsv, in Snakemake's words.
"""

import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
from heed.fork_client import run_in_fork


def main() -> None:
    """Run the stage in a fork, or in this process where no server forks it."""
    started, stage = time.monotonic(), sys.argv[1]
    usage = run_in_fork("dvc")
    if usage is None:
        import engine_names as engine

        if status := engine.run_stage():
            sys.exit(status)
        own, command = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        unit = 1024 if sys.platform == "linux" else 1024**2  # kibibytes; elsewhere bytes
        usage = {
            "max_rss": max(own.ru_maxrss, command.ru_maxrss) / unit,
            "cpu_time": own.ru_utime + own.ru_stime + command.ru_utime + command.ru_stime,
        }
    figures = {"s": time.monotonic() - started} | usage
    logs = Path("logs")
    logs.mkdir(exist_ok=True)
    (logs / f"{stage}.tsv").write_text(
        "\t".join(figures) + "\n" + "\t".join(f"{value:.2f}" for value in figures.values()) + "\n"
    )


if __name__ == "__main__":
    main()
