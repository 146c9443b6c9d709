"""The image of envs/Containerfile runs the sample study as its user, with the clone's own code, and
gives the bytes that the study has outside."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, contents

pytestmark = [pytest.mark.timeout(3000)]
# an image that is built already; or an image (of Debian with Python 3.11) to build it from, with
# more options of `buildah build`, such as those by which pip finds its index
IMAGE, BASE = os.environ.get("HEED_IMAGE", ""), os.environ.get("HEED_IMAGE_BASE", "")
OPTIONS = shlex.split(os.environ.get("HEED_IMAGE_OPTIONS", ""))
USER = 1000
Run = Callable[..., str]


def buildah(*arguments: str | Path) -> str:
    done = subprocess.run(["buildah", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def image() -> str:
    if not shutil.which("buildah") or os.geteuid():
        pytest.skip("needs buildah (Debian's package buildah) and root")
    if not (IMAGE or BASE):
        pytest.skip(
            "HEED_IMAGE names no image of envs/Containerfile, and HEED_IMAGE_BASE none to build it "
            "from, such as docker.io/library/python:3.11-slim"
        )
    if not IMAGE:
        file = ROOT / "envs/Containerfile"
        arguments = ["--build-arg", f"BASE={BASE}", *OPTIONS, "--file", file, "--tag", "heed-test"]
        buildah("build", "--isolation", "chroot", *arguments, ROOT)
    return IMAGE or "heed-test"


def make_clone(path: Path) -> Path:
    subprocess.run(["git", "clone", "--quiet", ROOT, path], check=True)
    return path


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone that belongs to the user of the image, with the environment of another machine."""
    path = make_clone(tmp_path / "clone")
    (path / ".venv/bin").mkdir(parents=True)
    for name in ("heed", "python", "snakemake"):
        (path / ".venv/bin" / name).write_text("#!/nowhere/python\n")
        (path / ".venv/bin" / name).chmod(0o755)
    subprocess.run(["chown", "--recursive", f"{USER}:{USER}", path], check=True)
    return path


@pytest.fixture
def run(image: str, clone: Path) -> Iterator[Run]:
    """Run a command in a container of the image, with the clone at /study."""
    container = buildah("from", image).strip()

    def run_in_container(*command: str, user: str = "heed") -> str:
        options = ["--isolation", "chroot", "--workingdir", "/study", "--user", user]
        return buildah("run", *options, "--volume", f"{clone}:/study", container, "--", *command)

    yield run_in_container
    buildah("rm", container)


def test_the_clones_code_runs_with_the_packages_of_the_image(run):
    print_places = "import heed, torch; print(heed.__file__); print(torch.__file__)"
    heed, torch = run("python", "-c", print_places).split()
    assert heed == "/study/src/heed/__init__.py" and torch.startswith("/opt/heed/lib")


def test_the_sample_study_has_the_bytes_that_it_has_outside(run, clone, tmp_path):
    run("snakemake", "--cores", "2")
    outside = make_clone(tmp_path / "outside")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(outside / "src")}
    command = ["snakemake", "--cores", "2"]
    subprocess.run(command, cwd=outside, env=environment, check=True, capture_output=True)
    inside = contents(clone / "results")
    assert len(inside) > 100 and inside == contents(outside / "results")
    assert (clone / "metrics.json").read_bytes() == (outside / "metrics.json").read_bytes()
    assert (clone / "reports/index.html").stat().st_uid == USER
