"""Which device a training uses: the CPU, or one free GPU of this machine, held until the process
ends.

Snakemake counts GPUs (`--resources gpu=2`) but gives none out. So a training takes a free card
itself: an flock on one file a card. The kernel drops the lock when the process ends, kill -9
included.

A small LSTM leaves most of a GPU idle. With HEED_RUNS_PER_GPU=4 each card has four places, and
Snakemake counts places: `HEED_RUNS_PER_GPU=4 snakemake --resources gpu=8` on two cards. It belongs
to the machine, so it is no parameter of a study.
"""

import fcntl
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

_held: tuple[str, IO[str]] | None = None  # the card of this process, and its locked file


def cards() -> list[str]:
    """Return the GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them, without
    importing torch.

    CUDA_VISIBLE_DEVICES when it is set (by SLURM, by a user), else HEED_GPU_COUNT cards, else what
    `nvidia-smi -L` lists.
    """
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        found = [card.strip() for card in visible.split(",")]
        end = next(
            (i for i, card in enumerate(found) if card in ("", "-1", "NoDevFiles")), len(found)
        )
        return found[:end]  # CUDA, too, stops at the first that is none
    if (count := os.environ.get("HEED_GPU_COUNT")) is not None:
        return [str(card) for card in range(int(count))]
    return list(_physical())


def _physical() -> dict[str, str]:
    """Return the machine's cards: index → UUID; for a card that is split (MIG), its parts in its
    place, by UUID.
    """
    try:
        listing = subprocess.run(
            ["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found: dict[str, str] = {}
    index = ""
    for line in listing.splitlines():
        if match := re.match(r"GPU (\d+): .*\(UUID: (GPU-[^)]+)\)", line):
            index = match[1]
            found[index] = match[2]
        elif match := re.search(r"\(UUID: (MIG-[^)]+)\)", line):
            found.pop(index, None)
            found[match[1]] = match[1]
    return found


def runs_per_gpu() -> int:
    """Return how many trainings share a card: HEED_RUNS_PER_GPU, 1 by default.

    Raises HeedError when it is no number.
    """
    text = os.environ.get("HEED_RUNS_PER_GPU", "1")
    if not text.isdecimal() or int(text) < 1:
        from heed.files import HeedError

        raise HeedError(f"HEED_RUNS_PER_GPU: expected a whole number from 1, found {text!r}")
    return int(text)


def claim(poll: float = 0.5) -> str | None:
    """Hold a place on a card until this process ends, and make it the only one CUDA sees; None
    where there is no card.

    Every card's first place is taken before any card's second. Waits while all cards are taken,
    looking every `poll` seconds. Call it before torch initialises CUDA. A second call returns the
    same card.
    """
    global _held
    if _held:
        return _held[0]
    if not (usable := cards()):
        return None
    # Locks go by UUID: in two SLURM jobs of one machine, card 0 may be two cards.
    names = {} if "HEED_GPU_COUNT" in os.environ else _physical()
    room = Path(tempfile.gettempdir(), f"heed-gpus-{os.getuid()}")
    room.mkdir(exist_ok=True)
    told = False
    places = [(card, place) for place in range(runs_per_gpu()) for card in usable]
    while True:
        for card, place in places:
            file = (
                room / (re.sub(r"\W", "_", names.get(card, card)) + (f"-{place}" if place else ""))
            ).open("a")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                continue
            _held = (card, file)
            os.environ["CUDA_VISIBLE_DEVICES"] = card
            # the order in which nvidia-smi counts
            os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
            return card
        if not told:
            print(
                f"heed: waiting for a free GPU of {len(usable)} ({len(places)} places)",
                file=sys.stderr,
                flush=True,
            )
            told = True
        time.sleep(poll)


def device(name: str) -> str:
    """Return the torch device of a training: `cpu`, or `cuda` with one card claimed.

    `auto` is cuda where torch can use a card, else cpu. It waits for a card that is taken, and
    never goes to the CPU instead: what a run computes must not depend on what else is running.

    Raises:
        HeedError: `cuda` is asked for, and there is no card that torch can use.

    """
    if name == "cpu":
        return "cpu"
    import torch

    built = torch.version.cuda or torch.version.hip
    if built and claim() and torch.cuda.is_available():
        return "cuda"
    if name == "auto":
        return "cpu"
    from heed.files import HeedError

    what = "no GPU is visible (nvidia-smi -L, CUDA_VISIBLE_DEVICES)"
    if not built:
        what = "this torch is built for the CPU (envs/README.md says how to install the CUDA build)"
    elif _held:
        what = f"torch cannot use card {_held[0]}: see the driver's version in nvidia-smi"
    raise HeedError(f"device: cuda: {what}. Mend it, or set `device: auto` or `cpu` in params.yaml")
