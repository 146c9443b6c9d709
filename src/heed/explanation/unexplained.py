"""Summaries without a row: the folders `none` in results/explain and adversarial_attention.

DVC needs the folders that the report depends on, also in a study that explains no model.
"""

from pathlib import Path

from heed.files import write_text, writing_folder

SUMMARY = ["test", "measure", "ranking", "class", "seed", "documents", "mean", "std", "reason"]
ADVERSARIAL_SUMMARY = ["test", "measure", "weights", "seed", "documents", "mean", "std", "reason"]


def write_unexplained(explanation: Path, adversarial_model: Path) -> None:
    """Write both folders, with the head of summary.csv alone (docs/contracts.md)."""
    for folder, columns in ((explanation, SUMMARY), (adversarial_model, ADVERSARIAL_SUMMARY)):
        with writing_folder(folder, checksums=True) as out:
            write_text(out / "summary.csv", f"{','.join(columns)}\n")
