"""A study on a real SLURM of two nodes (slurm.py): jobs have the cores and GPUs of their stages and
give the bytes of a local run; what was cancelled or lost, the next run or another node does."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from heed.pipeline import read_lock
from tests.conftest import ROOT
from tests.pipeline.makers import Toy, stages_printed, wait_for
from tests.reports import OUTS_OF_TIMES
from tests.slow.slurm import CORES, Slurm, missing

pytestmark = [pytest.mark.xdist_group("slurm"), pytest.mark.timeout(1800)]
# the profile, for nodes of few cores, and without its waiting for a large cluster
SNAKEMAKE = [
    *("snakemake", "--workflow-profile", "slurm", "--max-threads", str(CORES)),
    *("--slurm-init-seconds-before-status-checks", "1", "--seconds-between-status-checks", "1"),
]
RECORDED = {
    "stage": "DVC_STAGE", "threads": "HEED_THREADS", "gpu": "HEED_GPUS",
    "visible": "CUDA_VISIBLE_DEVICES", "node": "SLURMD_NODENAME", "job": "SLURM_JOB_ID",
}  # fmt: skip
RECORD = f'echo "{"|".join(f"${name}" for name in RECORDED.values())}" >> "$TOY_LOG.jobs"\n'


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    pytest.importorskip("snakemake_executor_plugin_slurm", reason="make slurm installs it")
    if reason := missing():
        pytest.skip(f"no SLURM can be started: {reason}")
    folder = Path(tempfile.mkdtemp(prefix="heed-slurm-"))
    cluster = Slurm(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
    commands = [process.info["cmdline"] for process in psutil.process_iter(["cmdline"])]
    shutil.rmtree(folder)
    assert not [command for command in commands if str(folder) in " ".join(command or [])]


class ToyOnSlurm(Toy):
    """The toy study in a shell on the cluster; its commands record what SLURM gave them."""

    def __init__(self, path: Path, slurm: Slurm) -> None:
        super().__init__(path)
        self.slurm = slurm
        self.earlier = {job["JobId"] for job in slurm.jobs()}
        self.local_path = self.environment["PATH"]
        self.environment["PATH"] = f"{slurm.folder / 'bin'}{os.pathsep}{self.local_path}"
        stub = path.parent / "bin/heed"
        stub.write_text(stub.read_text().replace("exec", f"{RECORD}exec", 1))

    def jobs(self, stage: str = "") -> list[dict[str, str]]:
        """Return SLURM's records of this study's jobs, of one stage or of all."""
        return [
            job
            for job in self.slurm.jobs()
            if job["JobId"] not in self.earlier
            and (not stage or re.search(rf"_{stage}(_|$)", job["Comment"]))
        ]

    def records(self) -> dict[str, dict[str, str]]:
        """Return what each stage's command recorded, of the last time that it ran."""
        lines = Path(f"{self.log}.jobs").read_text().splitlines()
        records = [dict(zip(RECORDED, line.split("|"), strict=True)) for line in lines]
        return {record["stage"]: record for record in records}

    def start_and_hold(self) -> tuple[subprocess.Popen, dict[str, str]]:
        """Change a model, and start; return the job of its first training, which does not end."""
        self.change("dropout: 0.2", "dropout: 0.3")
        process = self.start(*SNAKEMAKE, TOY_HOLD="train author-last-state")
        wait_for(self.held.exists, process)
        (job,) = self.jobs("train@author-last-state")
        assert job["JobState"] == "RUNNING"
        return process, job


@pytest.fixture
def toy(finished: Toy, slurm: Slurm, tmp_path: Path) -> Iterator[ToyOnSlurm]:
    finished.copy(tmp_path)
    yield ToyOnSlurm(tmp_path / "clone", slurm)
    for process in psutil.process_iter():  # of a test that failed
        with contextlib.suppress(psutil.Error):
            if process.cwd().startswith(str(tmp_path)):
                process.kill()


def outputs(toy: Toy) -> dict[str, str]:
    """Return the hash of each output in dvc.lock, but for those that hold times of trainings."""
    stages = read_lock(toy.path).values()
    outs = {out["path"]: out["md5"] for stage in stages for out in stage["outs"]}
    return {p: outs[p] for p in outs if not p.startswith((*OUTS_OF_TIMES, "reports/tables"))}


# with one core for one model, and a GPU for another: (threads, GPUs)
RESOURCES = {
    "tokenize@feelings": (1, 0),  # a small corpus
    "reference_models@author": (1, 0),
    "train@feelings-self-attention": (1, 0),
    "train@feelings-last-state": (3, 0),  # a core for each seed, and for the longer training
    "train@author-last-state": (3, 1),
    "score@author": (1, 1),
}
JOBS = {"rule_tokenize": 2, "rule_reference_models": 2, "rule_train": 3, "rule_score": 2}


def test_on_two_nodes_stages_have_their_cores_and_gpus_and_a_local_runs_bytes(toy, tmp_path):
    toy.change("dropout: 0.2}", "dropout: 0.2, gpus: 1}")
    toy.change("pooling: mean}", "pooling: mean, threads: 1}")
    local = toy.copy(tmp_path / "local")
    for folder in (".dvc/cache", ".dvc/tmp", "results", "data/tokens", "data/raw", "reports"):
        shutil.rmtree(toy.path / folder)
    (toy.path / "dvc.lock").unlink()

    assert stages_printed(toy.run(*SNAKEMAKE)) == 15  # `code` runs first

    assert Counter(job["Comment"].split("@")[0] for job in toy.jobs()) == JOBS
    records = toy.records()
    cores = os.cpu_count() or 1  # Snakemake gives a stage no more than the machine really has
    for stage, (threads, gpu) in RESOURCES.items():
        record, (job,) = records[stage], toy.jobs(stage)
        assert int(job["NumCPUs"]) == threads, job
        assert ("gpu:1" in job.get("JOB_GRES", "")) == bool(gpu), job
        assert record["job"] == job["JobId"]
        assert (int(record["threads"]), int(record["gpu"])) == (min(threads, cores), gpu), stage
        assert bool(re.fullmatch(r"\d", record["visible"])) == bool(gpu), record
    assert {record["node"] for record in records.values()} == {"n1", "n2", ""}
    assert {name.split("@")[0] for name, record in records.items() if not record["job"]} == {
        *("download", "recipe", "compare", "report")
    }

    local.run("snakemake", "--cores", "2")
    assert outputs(toy) == outputs(local)
    toy.environment["PATH"] = toy.local_path
    assert toy.is_up_to_date() and "all 16 stages are up to date" in toy.run("snakemake", "-n")


def test_a_cancelled_job_is_reported_with_its_stage_and_log_and_the_next_run_resumes(toy):
    process, job = toy.start_and_hold()
    toy.slurm.run("scancel", job["JobId"])
    output = process.communicate(timeout=600)[0]
    assert process.returncode != 0 and "SLURM status is: 'CANCELLED'" in output
    assert "Error in rule train@author-last-state:" in output
    assert "log: logs/train@author-last-state.log" in output
    toy.held.unlink()
    assert "train author-last-state 1 2" in toy.executed(*SNAKEMAKE)
    assert "recipe author" not in toy.logged() and toy.is_up_to_date()


def test_the_jobs_of_a_node_that_dies_run_on_another_one(toy):
    process, job = toy.start_and_hold()
    first = toy.held.read_text()
    toy.slurm.kill_node(job["NodeList"])
    try:
        wait_for(lambda: toy.held.read_text() not in ("", first), describe=toy.slurm.logs)
        toy.held.unlink()
        output = process.communicate(timeout=600)[0]
    finally:
        toy.slurm.start_node(job["NodeList"])
    assert process.returncode == 0, output
    assert toy.records()["train@author-last-state"]["node"] not in ("", job["NodeList"])
    assert toy.is_up_to_date()
    wait_for(lambda: toy.slurm.idle_nodes() == 2, describe=toy.slurm.logs)


def test_ctrl_c_cancels_the_jobs_and_the_next_run_resumes(toy):
    process, job = toy.start_and_hold()
    os.kill(process.pid, signal.SIGINT)
    output = process.communicate(timeout=300)[0]
    assert process.returncode != 0
    assert "heed: stopped, and nothing is lost" in output.splitlines()[-1], output
    wait_for(lambda: not toy.slurm.run("squeue", "--noheader"), describe=toy.slurm.logs)
    (job,) = toy.jobs("train@author-last-state")
    assert job["JobState"] == "CANCELLED"
    toy.held.unlink()
    assert "train author-last-state 1 2" in toy.executed(*SNAKEMAKE) and toy.is_up_to_date()


def test_a_search_with_ray_on_two_nodes(slurm, tmp_path):
    clone = Toy.of_real_heed(tmp_path / "clone", ROOT / "tests/studies/small.yaml")
    clone.environment |= slurm.environment | {
        "PATH": f"{slurm.folder / 'bin'}{os.pathsep}{clone.environment['PATH']}"
    }
    clone.run("dvc", "repro", "--quiet", "tokenize@sample-letters")
    clone.run(
        *("sbatch", "--wait", "--nodes=2", "--cpus-per-task=2", "--output=search.log"),
        *(str(ROOT / "workflow/clusters/ray.slurm"), "sample-author"),
    )
    assert (clone.path / "results/search/sample-author/sample-author-searched/best.yaml").exists()
    wait_for(lambda: not slurm.run("squeue", "--noheader"), describe=slurm.logs)  # nodes are free
