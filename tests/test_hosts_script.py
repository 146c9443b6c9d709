"""What workflow/clusters/hosts.sh says and does where it cannot reach a host.

A script in the place of ssh notes what it runs, and fails for one host; test_cluster.py starts Ray.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

SSH = """#!/bin/sh
echo "$*" >> "{log}"
[ "$1" != away ]
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    script = tmp_path / "workflow/clusters/hosts.sh"
    script.parent.mkdir(parents=True)
    shutil.copy(ROOT / "workflow/clusters/hosts.sh", script)
    ssh = tmp_path / "ssh"
    ssh.write_text(SSH.format(log=tmp_path / "log"))
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("HEED_ON", raising=False)
    return script


def run(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([script, *arguments], capture_output=True, text=True)


def test_up_names_the_hosts_where_ray_runs_if_another_one_fails(script: Path) -> None:
    done = run(script, "up", "first", "second", "away", "fourth")
    assert done.returncode == 1 and done.stdout == ""
    message = "no Ray on away; see the lines above. It runs on first second: "
    assert f"hosts.sh: {message}`hosts.sh down first second` ends it\n" in done.stderr
    head = run(script, "up", "away", "second")
    assert head.stderr == "hosts.sh: no Ray on away; see the lines above\n"


def test_down_goes_on_to_the_other_hosts_and_fails_if_one_was_not_reached(script: Path) -> None:
    done = run(script, "down", "first", "away", "third")
    assert done.returncode == 1
    assert done.stderr == "hosts.sh: Ray may still run on away; see the lines above\n"
    log = (script.parents[2] / "log").read_text().splitlines()
    assert [line.split()[0] for line in log] == ["first", "away", "third"]
    assert all("stop" in line.split() for line in log)
    assert run(script, "down", "first").returncode == 0


def test_the_token_is_no_argument_and_only_its_owner_can_read_it(script: Path) -> None:
    done = run(script, "up", "first", "second")
    assert done.returncode == 0, done.stderr
    token = script.parents[2] / ".heed/ray-token"
    assert token.stat().st_mode & 0o777 == 0o600
    secret = token.read_text()
    assert len(secret) == 64
    log = (script.parents[2] / "log").read_text()
    assert secret not in log + done.stdout + done.stderr
    assert log.count(f"RAY_AUTH_TOKEN_PATH={token}") == 2
