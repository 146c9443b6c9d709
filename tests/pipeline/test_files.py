"""The files of a run: links into DVC's cache, permissions, and temporary files."""

import contextlib
import os
import stat
import subprocess

import pytest

from tests.pipeline.makers import CHANGES, DVC, SNAKEMAKE, Toy

pytestmark = pytest.mark.slow
each_driver = pytest.mark.parametrize("driver", [DVC, SNAKEMAKE], ids=["dvc", "snakemake"])


@each_driver
def test_nothing_is_written_through_a_link_into_the_cache(toy, driver):
    toy.run("dvc", "config", "cache.type", "symlink")
    toy.run("dvc", "checkout", "--relink")
    assert (toy.path / "results/train/author-last-state/1/model.safetensors").is_symlink()
    files = [path for path in (toy.path / ".dvc/cache/files").rglob("*") if path.is_file()]
    cached = {path: path.read_bytes() for path in files}
    toy.change(*CHANGES["a hyperparameter of one model"][:2])
    toy.run(*driver)
    assert {path: path.read_bytes() for path in files} == cached and toy.is_up_to_date()
    assert not toy.executed(*driver)


def test_a_run_gives_no_permission_that_the_umask_takes(tmp_path):
    toy, mask = Toy.of_stub(tmp_path), 0o077
    before = {*toy.path.rglob("*")}
    old = os.umask(mask)
    try:
        toy.run(*SNAKEMAKE)
    finally:
        os.umask(old)
    private = toy.path / ".heed/dvc"  # DVC opens it to all, below a folder that snakemake closes
    made = [path for path in {*toy.path.rglob("*")} - before if not path.is_symlink()]
    made = [path for path in made if not path.is_relative_to(private)]
    cache = toy.path / ".dvc/cache/files"  # DVC's own files are read-only, in folders of the umask
    open_to_others = {
        str(path.relative_to(toy.path)): oct(mode)
        for path in made
        if (mode := stat.S_IMODE(path.stat().st_mode)) & mask
        and not (path.is_file() and path.is_relative_to(cache))
    }
    assert len(made) > 100 and not open_to_others


@each_driver
def test_a_run_needs_no_space_in_the_folder_for_temporary_files(tmp_path, driver):
    toy = Toy.of_stub(tmp_path)
    full = tmp_path / "full"
    full.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", full], check=False)
    if mount.returncode:
        pytest.skip("needs root, or `unshare --user --map-root-user --mount make test-slow`")
    try:
        with contextlib.suppress(OSError), (full / "filler").open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        output = toy.run(*driver, TMPDIR=str(full))
        assert len(output.splitlines()) < 100 and "Traceback" not in output
    finally:
        subprocess.run(["umount", "--lazy", full], check=False)
    assert toy.is_up_to_date()
