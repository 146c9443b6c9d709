"""After a fault in a stage the same command gives the same bytes; no stage reads a partial file."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slow.study import READERS, STAGES, Study

MOMENTS = (0.0, 0.4, 0.8, 1.0)  # shares of what a stage does to its files
each_stage = pytest.mark.parametrize("stage", STAGES)


@pytest.mark.parametrize("share", MOMENTS)
@each_stage
def test_kill_9_of_a_stage(stage, share, study_of, moments):
    study = study_of(stage)
    command, outs = STAGES[stage]
    touched = moments(study, stage)
    renames = [number for number, event in enumerate(touched) if event.startswith("os.rename")]
    study.remove(outs)
    moment = touched[renames[-1]] if share == 1 else round(share * renames[-1])
    outcome = study.try_(command, kill=moment)
    assert outcome.code == -9 or "was killed" in outcome.message  # a training is a child
    study.run(command)
    study.assert_recovered()


def prepare(study: Study, stage: str) -> tuple[str, list[str], dict[str, str]]:
    """Return a stage's command, its outputs, and the files before: none that a stage keeps."""
    command, outs = STAGES[stage]
    if stage in ("train", "search"):  # they keep what is there
        study.remove(outs)
    return command, outs, study.files()


@pytest.mark.parametrize("free_bytes", [0, 24_000], ids=["at once", "half-way"])
@each_stage
def test_a_full_disk(stage, free_bytes, study_of, mounted, tmp_path):
    (tmp_path / "disk").mkdir()
    mounted("-t", "tmpfs", "-o", "size=16m", "tmpfs", str(tmp_path / "disk"))
    study = study_of(stage, tmp_path / "disk/clone")
    command, _, before = prepare(study, stage)
    filler = tmp_path / "disk/filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    os.truncate(filler, max(0, filler.stat().st_size - free_bytes))
    outcome = study.try_(command)
    if outcome.code or not free_bytes:  # else there was enough space
        assert "Free space" in outcome.message
    files = study.files()
    assert before.items() <= files.items(), "a command that failed has changed something"
    assert files.items() <= study.expected.items()
    filler.unlink()
    study.recovers(stage)


INPUTS = {
    "download": "params.yaml", "tokenize": "data/raw/sample/sample.jsonl",
    "search": "data/tokens/letters/ids.npy", "recipe": "data/tokens/letters/meta.json",
    "train": "results/recipe/author/author-self-attention.yaml",
    "reference_models": "data/tokens/letters/documents.parquet",
    "score": "results/train/author-self-attention/1/model.safetensors",
    "compare": "results/predict/author/author-self-attention/statistics.parquet",
    "report": "results/compare/comparison.json",
}  # fmt: skip


# written file by file, or model by model
OUTPUTS = {"download": "data/raw/sample", "score": "results/predict/author", "report": "reports"}


@pytest.mark.parametrize("access", ["write", "read"])
@pytest.mark.parametrize("stage", STAGES)
def test_no_permission(stage, access, study_of, unprivileged):
    study = study_of(stage)
    command, outs, before = prepare(study, stage)
    written = OUTPUTS.get(stage, str(Path(outs[0]).parent))
    path = study.path / (INPUTS[stage] if access == "read" else written)
    mode = path.stat().st_mode
    path.chmod(0 if access == "read" else 0o555)
    try:
        message = study.try_(command, unprivileged).message
    finally:
        path.chmod(mode)
    assert "Permission denied" in message
    assert (path if access == "write" else path.relative_to(study.path)).name in message
    assert study.files() == before
    study.recovers(stage)


def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    position = len(content) * 3 // 4
    return content[:position] + bytes([content[position] ^ 4]) + content[position + 1 :]


@contextlib.contextmanager
def without_runs(study: Study, reader: str) -> Iterator[None]:
    """Put runs aside while `train` is the reader: where they are there, it keeps and reads them."""
    runs, aside = study.path / "results/train/author-self-attention", study.path / "aside"
    if reader == "train":
        runs.rename(aside)
    yield
    if reader == "train":
        shutil.rmtree(runs, ignore_errors=True)
        aside.rename(runs)


def complaint(study: Study, reader: str, file: str, before: dict[str, str]) -> str:
    """Run a stage that may read a damaged file; return how it fails to refuse it, or nothing."""
    outcome = study.try_(STAGES[reader][0])
    if outcome.code == 0:
        changed = sorted(dict(study.files().items() - before.items()))
        return f"{reader} read it and wrote {changed[:3]}" if changed else ""
    try:
        message = outcome.message
    except AssertionError:
        return f"{reader}: {outcome.output.strip().splitlines()[-1:]}"
    if Path(file).name not in message and str(Path(file).parent) not in message:
        return f"{reader} does not name it: {message}"
    told = "un again: heed" in message or "un: heed" in message
    return "" if told else f"{reader} does not say what to do: {message}"


@pytest.mark.parametrize("damage", [half, lambda content: b"", flipped])
@pytest.mark.parametrize("stage", [stage for stage in STAGES if READERS[stage]])
def test_a_damaged_file_is_refused_by_every_stage_that_reads_it(stage, damage, study_of):
    study, outs = study_of(stage), tuple(STAGES[stage][1])
    files = [name for name in study.expected if any(f"{name}/".startswith(f"{o}/") for o in outs)]
    contents = {name: (study.path / name).read_bytes() for name in files}
    damaged = {name: content for name, content in contents.items() if content}
    complaints = []
    for file, content in damaged.items():
        path = study.path / file
        path.write_bytes(damage(content))
        before = study.files()
        for reader in READERS[stage]:
            if damage is flipped and "recipe" in (stage, reader):
                # its single files have no checksums: only DVC detects another content
                continue
            with without_runs(study, reader):
                if fault := complaint(study, reader, file, before):
                    complaints.append(f"{file}: {fault}")
        path.write_bytes(content)
        assert study.files().items() <= study.expected.items(), complaints
    assert complaints == []
    study.recovers(stage)
