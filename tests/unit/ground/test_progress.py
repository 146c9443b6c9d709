"""A log of a training has whole lines without control characters, and costs no import of rich."""

import re
import subprocess
import sys

TRAINING = """
import sys, time
from heed.progress import Progress, training_progress
with training_progress("author-attention seed 1") as report_progress:
    for epoch in (1, 2, 3):
        for documents in (50, 100):
            time.sleep(0.25)
            report_progress(Progress(epoch, 3, documents, 100, 0.5, 0.25))
        report_progress(Progress(epoch, 3, 100, 100, 0.5, 0.0, {"accuracy": 0.75}))
assert ("rich.progress" in sys.modules) == sys.stderr.isatty()
"""
EPOCH = (
    r"author-attention seed 1: epoch {0}/3, train loss 0\.5000, validation accuracy 0\.7500, \d+ "
    r"docs/s, \d+ s, \d+ s left"
)
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")


def in_a_log(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def test_a_log_of_a_training_has_a_line_an_epoch_and_no_control_characters():
    lines = in_a_log(TRAINING).splitlines()
    assert len(lines) == 3 and not CONTROL.search("".join(lines))
    assert all(re.fullmatch(EPOCH.format(n), line) for n, line in enumerate(lines, 1)), lines
