"""`snakemake --executor ray`: a small workflow, without heed, on two real Ray nodes that share
nothing (ray_nodes.py). It gives the bytes of a local run, whatever dies meanwhile."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, contents
from tests.slow.ray_nodes import OnRay, RayNodes, ray_nodes

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.timeout(900)]
SPLITS = 6
FOLDER = Path(__file__).parent
SNAKEFILE, GPU_SNAKEFILE = (FOLDER.joinpath(name).read_text() for name in ("parts.smk", "gpu.smk"))
RUN = ("snakemake", "--executor", "ray", "--jobs", "8", "--shared-fs-usage")
SHARED = "persistence input-output software-deployment sources source-cache"


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayNodes]:
    with ray_nodes(tmp_path_factory.mktemp("submit")) as started:
        started.start(1)
        started.start(2, cpus=2, gpus=1)
        yield started


class Workflow(OnRay):
    def __init__(self, nodes: RayNodes, folder: Path, snakefile: str = SNAKEFILE) -> None:
        self.nodes, self.folder = nodes, folder
        (folder / "in").mkdir(parents=True)
        for n in range(SPLITS):
            (folder / f"in/{n}.txt").write_text(f"split {n}\n")
        (folder / "Snakefile").write_text(snakefile)
        (folder / ".gitignore").write_text("in\nout\nlogs\n")
        self.printed = folder / "snakemake.txt"

    def start(
        self, *options: str, shared: str = "none", on: list[str] | None = None, **env: str
    ) -> subprocess.Popen:
        environment = self.nodes.environment | {
            "HOME": str(self.folder), "PYTHONPATH": str(ROOT / "src"),
            "SNAKEMAKE_RAY_ADDRESS": self.nodes.address, **env,
        }  # fmt: skip
        command = [*(on or self.nodes.on(1)), *RUN, *shared.split(), *options]
        return self.start_logged(command, self.folder, **environment)

    def placed(self, number: int) -> int:
        """Return how many jobs were started on a node, also again."""
        started = rf"(runs|starts again) on {re.escape(self.nodes.host(number))}\b"
        return len(re.findall(started, self.output()))

    def results(self) -> dict[str, bytes]:
        return contents(self.folder / "out", "*.txt")


@pytest.fixture
def workflow(nodes: RayNodes, request: pytest.FixtureRequest) -> Workflow:
    return Workflow(nodes, nodes.folder / request.node.name.partition("[")[0][:40])


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("local") / "workflow"
    there = Workflow(None, folder, SNAKEFILE.replace("sleep 1", "true"))  # type: ignore[arg-type]
    command = [str(Path(sys.executable).with_name("snakemake")), "--cores", "2", "--quiet"]
    subprocess.run(command, cwd=folder, check=True)
    return there.results()


@pytest.mark.parametrize(("share", "at_once"), [("1", 1), ("0.5", 2)])
def test_jobs_share_a_gpu_as_declared(nodes, share, at_once):
    workflow = Workflow(nodes, nodes.folder / f"gpu{at_once}", GPU_SNAKEFILE)
    workflow.finish(workflow.start("--ray-gpu-share", share))
    lines = [text.decode().split() for text in workflow.results().values()]
    assert [line[2] for line in lines] == ["0"] * 3, "each sees the node's only GPU"
    starts_ends = [(float(line[0]), float(line[1])) for line in lines]
    running = [sum(s <= start < e for s, e in starts_ends) for start, _ in starts_ends]
    assert max(running) == at_once


ABSOLUTE = 'rule all:\n    output: "/tmp/elsewhere"\n    shell: "touch {output}"\n'
FAILING = 'rule all:\n    output: "out/x"\n    shell: "echo so it is; exit 3"\n'
CORES = 'rule all:\n    output: "x"\n    threads: 64\n    shell: "touch {output}"\n'
TWO_GPUS = GPU_SNAKEFILE.replace("gpu=1", "gpu=2").replace("range(3)", "range(1)")
ASKS, ADDRESS = ". The nodes of the Ray cluster have ", "SNAKEMAKE_RAY_ADDRESS"
NONE_AT = "no Ray cluster at"
REFUSED = f"{NONE_AT} 10.79.0.1:9: [Errno 111] Connection refused"
MISTAKES = {
    "wrong token": (SNAKEFILE, {"RAY_AUTH_TOKEN": "f" * 64}, "Authentication token is missing or"),
    "no such host": (SNAKEFILE, {ADDRESS: "10.79.0.99:6399"}, f"{NONE_AT} 10.79.0.99:6399: "),
    "no cluster there": (SNAKEFILE, {ADDRESS: "10.79.0.1:9"}, REFUSED),
    "no port": (SNAKEFILE, {ADDRESS: "node"}, f"{NONE_AT} node: "),
    "too many cores for a node": (CORES, {}, f"all asks for 64 cores, 0 GPUs, 0 MB{ASKS}"),
    "too many GPUs for a node": (TWO_GPUS, {}, f"gpu asks for 1 cores, 2 GPUs, 0 MB{ASKS}"),
    "a file elsewhere": (ABSOLUTE, {}, "all: /tmp/elsewhere is no path within the workflow's"),
    "a job that fails": (FAILING, {}, "exit status 1. "),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_clear_message(nodes, mistake):
    snakefile, environment, message = MISTAKES[mistake]
    workflow = Workflow(nodes, nodes.folder / mistake.replace(" ", "-"), snakefile)
    process = workflow.start(**environment)
    assert process.wait(60) == 1, workflow.output()
    assert workflow.output().count(message) == 1, workflow.output()
    assert "Traceback" not in workflow.output()


def test_a_machine_that_is_no_node_submits_by_rays_client(nodes, workflow, local):
    pytest.importorskip("grpc", reason="Ray's client needs grpcio: pip install 'ray[client]'")
    nodes.plug(5)
    address = f"ray://{nodes.host(1)}:10001"
    on = nodes.on(5, own_processes=True)
    process = workflow.start(on=on, SNAKEMAKE_RAY_ADDRESS=address)
    log = workflow.folder / "logs/0.log"
    workflow.until(lambda: log.exists() and "second 2" in log.read_text(), process)
    workflow.finish(process)
    assert workflow.results() == local


def test_nodes_that_share_the_folder_work_in_it(tmp_path, local):
    with ray_nodes() as nodes:
        nodes.start(1)
        nodes.start(2, cpus=2)
        workflow = Workflow(nodes, tmp_path / "workflow")
        workflow.finish(workflow.start(shared=SHARED))
        assert workflow.placed(2) > 0
    assert workflow.results() == local
    assert (workflow.folder / "logs/0.log").read_text().endswith("second 6\n")
