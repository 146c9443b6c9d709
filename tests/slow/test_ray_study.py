"""`snakemake --executor ray --shared-fs-usage none`: a small study on two real Ray nodes that share
nothing but a network and DVC's remote (ray_nodes.py). It gives the bytes of a local run, whatever
dies meanwhile."""

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, contents
from tests.pipeline.makers import SEARCHED, SNAKEMAKE, Toy, stages_printed, wait_for
from tests.reports import without_times
from tests.slow.ray_nodes import OnRay, RayNodes, ray_nodes

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.timeout(1800)]
# two models, one of which asks for a GPU and the result of a search; trainings of some ten seconds
STUDY = SEARCHED.replace("epochs: 2", "epochs: 360").replace("heads: 2,", "heads: 2, gpus: 1,")
BASELINE, ATTENTION = "train@author-last-state", "train@author-self-attention"
RAY = ("snakemake", "--executor", "ray", "--shared-fs-usage", "none", "--jobs", "8")
OPTIONS = ("--max-threads", "2", "--resources", "gpu=1", "--ray-gpu-share", "0.5")
LEFT = re.compile("snakemake|heed train")  # of a job
EPOCH = re.compile(r"seed (\d+): epoch \d+/")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayNodes]:
    """Start two nodes: trainings fit on the second alone, which has a GPU."""
    with ray_nodes(tmp_path_factory.mktemp("submit")) as started:
        started.start(1, cpus=1)
        started.start(2, cpus=2, gpus=1, RAY_ADDRESS=started.address)  # as some clusters set it
        yield started


class Clone(OnRay, Toy):
    """A clone with the study, on the first node; `heed` is the real one."""

    def __init__(self, path: Path, nodes: RayNodes | None = None) -> None:
        super().__init__(path)
        path.parent.mkdir(exist_ok=True)
        Toy.of_real_heed(path, STUDY)
        shutil.copy(ROOT / ".rayignore", path)
        self.printed, self.nodes = path.parent / f"{path.name}.txt", nodes
        if nodes:
            store = nodes.files / f"store of {path.parent.name}"  # the second node sees it too
            self.run("dvc", "remote", "add", "--quiet", "--default", "store", str(store))
            self.environment |= nodes.environment | {
                "HOME": str(path.parent), "SNAKEMAKE_RAY_ADDRESS": nodes.address,
            }  # fmt: skip

    def start_on_ray(self) -> subprocess.Popen:
        command = [*self.nodes.on(1), *RAY, *OPTIONS]
        return self.start_logged(command, self.path, **self.environment)

    def seeds_in_log(self, stage: str) -> set[str]:
        """Return the seeds that a stage has trained, as far as its log has arrived."""
        log = self.path / f"logs/{stage}.log"
        return {*EPOCH.findall(log.read_text())} if log.exists() else set()

    def results(self) -> dict[str, object]:
        made = contents(self.path / "data") | contents(self.path / "results")
        return made | {"reports": without_times(self.path / "reports")}

    def is_up_to_date(self) -> bool:
        has_run = "stages are up to date" in self.run("snakemake", "-n")
        return has_run and super().is_up_to_date()


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    clone = Clone(tmp_path_factory.mktemp("local") / "clone")
    clone.run(*SNAKEMAKE)
    results = clone.results()
    assert len(results) > 60
    return results


def jobs_left(nodes: RayNodes) -> list[str]:
    commands = [*nodes.processes(1).values(), *nodes.processes(2).values()]
    return [command for command in commands if LEFT.search(command)]


def test_two_nodes_give_the_bytes_of_one_machine_and_a_new_seed_trains_only_itself(nodes, local):
    clone = Clone(nodes.folder / "whole/clone", nodes)
    printed = clone.finish(clone.start_on_ray())
    (log,) = clone.path.glob(".snakemake/log/*.snakemake.log")
    assert clone.results() == local and clone.is_up_to_date()
    placed = log.read_text()
    assert f"{ATTENTION} runs on {nodes.host(2)}\n" in placed, "the node with a GPU"
    assert f"recipe@author runs on {nodes.host(2)}\n" in placed
    assert f" runs on {nodes.host(1)}\n" in placed and stages_printed(printed) == 9
    assert clone.seeds_in_log(ATTENTION) == {"1", "2"}
    clone.change("seeds: [1, 2]", "seeds: [1, 2, 3]")
    clone.change("longer_training: false", "longer_training: false, looked: [2]")
    clone.finish(clone.start_on_ray())
    assert [clone.seeds_in_log(stage) for stage in (BASELINE, ATTENTION)] == [{"3"}, {"3"}]
    assert clone.is_up_to_date()
    before = {path: local[path] for path in local if re.match(r"train/.+(?<!/\.digest)$", path)}
    assert before and before.items() <= clone.results().items()


def test_a_training_whose_node_dies_starts_again_on_another(nodes, local):
    clone = Clone(nodes.folder / "deaths/clone", nodes)
    process = clone.start_on_ray()
    clone.until(lambda: clone.seeds_in_log(BASELINE), process)
    for dies, other in ((2, 3), (3, 2)):
        nodes.start(other, cpus=2, gpus=1)
        clone.until(lambda: clone.seeds_in_log(BASELINE), process)
        nodes.kill(dies)
        again = f"{BASELINE} starts again on {nodes.host(other)}: its node died\n"
        clone.until(lambda again=again: again in clone.output(), process)
        (clone.path / f"logs/{BASELINE}.log").unlink(missing_ok=True)
    clone.finish(process)
    assert clone.results() == local and clone.is_up_to_date()


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_after_its_end_the_same_command_makes_no_delivered_training_again(nodes, local, death):
    clone = Clone(nodes.folder / f"killed-{death}/clone", nodes)
    process = clone.start_on_ray()
    done = (clone.path / ".heed/snakemake").glob
    clone.until(lambda: [*done(f"*/done/{BASELINE}")], process)
    process.send_signal(death)
    assert process.wait(60) != 0
    wait_for(lambda: not jobs_left(nodes), seconds=5, describe=lambda: str(jobs_left(nodes)))
    before = clone.path.joinpath("logs", f"{BASELINE}.log").read_bytes()
    output = clone.finish(clone.start_on_ray())
    assert BASELINE not in output
    assert clone.path.joinpath("logs", f"{BASELINE}.log").read_bytes() == before
    assert clone.results() == local and clone.is_up_to_date()
