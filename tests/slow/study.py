"""The small study of the drills, and the class that runs its commands."""

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import ROOT
from tests.reports import OUTS_OF_TIMES, without_times

WARM = str(Path(__file__).with_name("warm.py"))
MODEL = "author-self-attention"
TIMES, TRAINED = f"results/timing/train/{MODEL}", f"results/trained/author/{MODEL}.json"
# stage: (the command that is disturbed, its outputs), in the order in which they run
STAGES: dict[str, tuple[str, list[str]]] = {
    "download": ("download sample", ["data/raw/sample"]),
    "tokenize": ("tokenize letters", ["data/tokens/letters"]),
    "search": ("recipe author", ["results/search/author/hunt"]),  # starts Ray: some 20 s
    "recipe": ("recipe author", ["results/recipe/author"]),
    "train": (f"train {MODEL}", [f"results/train/{MODEL}", TIMES, TRAINED]),
    "score": ("score author", ["results/predict/author", "results/evaluate/author"]),
    "reference_models": ("reference_models author", ["results/reference_models/author"]),
    "compare": ("compare", ["results/compare", "metrics.json"]),
    "report": ("report", ["reports"]),
}
# stage: the stages that read its outputs and refuse damaged ones; `recipe` searches again
READERS = {
    "download": ["tokenize"], "tokenize": ["recipe", "train", "score", "reference_models"],
    "search": [], "recipe": ["train"], "train": ["score"], "score": ["compare", "report"],
    "reference_models": ["compare"], "compare": ["report"], "report": [],
}  # fmt: skip
UNTUNED = [
    "download sample", "tokenize letters", "recipe author", "train author-last-state",
    "train author-self-attention", "score author", "reference_models author", "compare", "report",
]  # fmt: skip


@dataclass
class Outcome:
    """How a command ended: its exit code (negative: a signal) and its output."""

    code: int
    output: str

    @property
    def message(self) -> str:
        """heed's only message; the output must hold exactly one and no traceback."""
        messages = [line for line in self.output.splitlines() if line.startswith("heed: ")]
        assert self.code == 1, f"exit code {self.code}: {self.output}"
        assert "Traceback" not in self.output, self.output
        assert len(messages) == 1, self.output
        return messages[0]


class Heed:
    """The warm command (warm.py); `prefix` is a command that starts it, such as setpriv."""

    def __init__(self, *prefix: str) -> None:
        self.prefix = prefix
        self.command = [*prefix, sys.executable, "-m", "heed.cli"]  # as a user starts it
        self.environment = os.environ | {
            "PYTHONPATH": str(ROOT / "src"), "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1",
            "HEED_THREADS": "1",
        }  # fmt: skip
        self.process = subprocess.Popen(
            [*prefix, sys.executable, WARM], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=self.environment, cwd=ROOT,
        )  # fmt: skip
        assert self._line() == str(ROOT / "src/heed"), "the drills run another tree's heed"

    def _line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def run(
        self, folder: Path, command: str, kill: int | str | None = None, trace: Path | None = None,
        limit: float = 120, cold: bool = False, **environment: str,
    ) -> Outcome:  # fmt: skip
        """Run `heed COMMAND` in `folder`; a command that takes longer than `limit` seconds hangs.

        A `cold` one is a process that imports everything itself; several may run at once, each
        called from its own thread.

        Raises:
            AssertionError: the command hangs.

        """
        with tempfile.NamedTemporaryFile("w+", suffix=".log") as log:
            job = {
                "folder": str(folder), "command": command.split(), "output": log.name,
                "environment": environment, "kill": kill, "trace": trace and str(trace),
            }  # fmt: skip
            params = folder / "params.yaml"
            searches = command == "recipe author" and "search: hunt" in params.read_text()
            code = self._run_job(job, limit, cold or searches)
            output = Path(log.name).read_text(errors="replace")
        assert code is not None, f"heed {command} hung for {limit} s: {output}"
        return Outcome(code, output)

    def _run_job(self, job: dict, limit: float, cold: bool) -> int | None:
        """Run a job of warm.py; return its exit code, or None where it had to be killed."""
        process = None
        if cold:
            process = subprocess.Popen(
                [*self.prefix, sys.executable, WARM, json.dumps(job)], env=self.environment
            )
            child = process.pid
        else:
            assert self.process.stdin
            print(json.dumps(job), file=self.process.stdin, flush=True)
            child = int(self._line())
        self.child = child
        hung = threading.Event()

        def kill() -> None:
            hung.set()
            os.killpg(child, signal.SIGKILL)

        timer = threading.Timer(limit, kill)
        timer.start()
        code = process.wait() if process else int(self._line())
        timer.cancel()
        with contextlib.suppress(ProcessLookupError):  # processes that the command has left running
            os.killpg(child, signal.SIGKILL)
        return None if hung.is_set() else code

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(30)


@dataclass
class Study:
    """A folder with the drills' params.yaml, in which plain commands run."""

    path: Path
    heed: Heed
    expected: dict[str, str] = field(default_factory=dict)  # the undisturbed study's files

    def make(self, params: str) -> None:
        """Write the files of a clone that commands need, and what the stage `code` writes."""
        (self.path / "data").mkdir(parents=True)
        (self.path / "params.yaml").write_text(params)
        (self.path / "data/published").symlink_to(ROOT / "data/published")

    def run(self, command: str, heed: Heed | None = None, **options: object) -> str:
        outcome = (heed or self.heed).run(self.path, command, **options)  # type: ignore[arg-type]
        assert outcome.code == 0, f"heed {command}: {outcome.output}"
        return outcome.output

    def try_(self, command: str, heed: Heed | None = None, **options: object) -> Outcome:
        return (heed or self.heed).run(self.path, command, **options)  # type: ignore[arg-type]

    def files(self) -> dict[str, str]:
        """Return {path: hash} of data, results and report, without times and unfinished work."""
        folders = ("data/raw", "data/tokens", "results", "reports")
        paths = [path for folder in folders for path in (self.path / folder).rglob("*")]
        paths = [p for p in (*paths, self.path / "metrics.json") if p.is_file() or p.is_symlink()]
        names = {str(path.relative_to(self.path)): path for path in paths}
        kept = (name for name in names if not name.startswith(OUTS_OF_TIMES))
        contents = {name: names[name].read_bytes() for name in kept}
        for name, text in without_times(self.path / "reports").items():
            contents[f"reports/{name}"] = text.encode()
        return {name: hashlib.sha256(text).hexdigest() for name, text in sorted(contents.items())}

    def remove(self, outs: list[str]) -> None:
        """Delete the outputs of a stage, as DVC does before it runs the stage."""
        for out in outs:
            path = self.path / out
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def recovers(self, stage: str) -> None:
        """After a fault a stage runs as DVC runs it, and the study is the undisturbed one."""
        command, outs = STAGES[stage]
        self.remove(outs)
        self.run(command)
        self.assert_recovered()

    def assert_recovered(self) -> None:
        """The study must have exactly the files of the undisturbed one."""
        files = self.files()
        assert sorted(files) == sorted(self.expected), "files missing or left over"
        differing = [name for name in files if files[name] != self.expected[name]]
        assert not differing, f"bytes differ: {differing}"
