"""Stages run in clones on other hosts, which share nothing with this one but a DVC remote.

The hosts are folders of this machine, each a git clone, with a process of its own; one test goes
through a real sshd.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
import yaml
from ruamel.yaml import YAML

from heed.files import HeedError
from tests.conftest import ROOT
from tests.test_drivers import MODELS, Toy, below, finished, write_stub  # noqa: F401

sys.path.insert(0, str(ROOT / "workflow"))
import hosts
import receive_stage
import send_stage
from clone import PULL, Clone
from lock_file import read_entry_texts

FOLDER = {"folder": "/scratch/heed", "cores": 4}


# --- the file of hosts ----------------------------------------------------------------------------


def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> list[hosts.Host]:
    path = tmp_path / "hosts.yaml"
    path.write_text(text)
    monkeypatch.setenv("HEED_HOSTS", str(path))
    return hosts.read_hosts()


def test_a_host_has_a_folder_and_cores_and_is_reached_by_ssh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEED_HOSTS", raising=False)
    assert hosts.read_hosts() == []
    plain, cluster = read(
        tmp_path,
        monkeypatch,
        "gpu1: {folder: /scratch/heed, cores: 4, gpus: 2}\n"
        "nodes: {folder: /heed, cores: 64, command: 'srun -c {threads} --gres=gpu:{gpu}', "
        "python: python3}\n",
    )
    command = plain.launch("workflow/receive_stage.py", 4, 1)
    assert command[0] == "ssh" and command[-3:] == [
        "gpu1",
        "/scratch/heed/.venv/bin/python",
        "/scratch/heed/workflow/receive_stage.py",
    ]
    assert (plain.cores, plain.gpus, cluster.gpus) == (4, 2, 0)
    assert shlex.join(cluster.launch("x.py", 4, 1)) == "srun -c 4 --gres=gpu:1 python3 /heed/x.py"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpu1: {cores: 4}", r"hosts.yaml: gpu1.folder: is missing"),
        ("gpu1: {folder: /heed}", r"gpu1.cores: is missing"),
        ("gpu1: {folder: /heed, cores: 0}", r"gpu1.cores: expected a whole number from 1, found 0"),
        ("gpu1: {folder: /heed, cores: yes}", r"gpu1.cores: expected a whole number from 1"),
        ("gpu1: {folder: heed, cores: 1}", r"gpu1.folder: expected an absolute path .*'heed'"),
        ("gpu1: {folder: /a; rm x, cores: 1}", r"gpu1.folder: expected an absolute path"),
        ("gpu1: {folder: /heed, cores: 1, gpu: 1}", r"gpu1.gpu: unknown key; known are folder, "),
        ("-oProxyCommand: {folder: /heed, cores: 1}", r"expected a host"),
        ("{}", r"hosts.yaml: names no host"),
        ("gpu1: 4", r"gpu1: expected folder and cores, found 4"),
        (
            "gpu1: {folder: /heed, cores: 1, command: 'ssh \"gpu1'}",
            r"gpu1.command: No closing quotation: ssh \"gpu1",
        ),
        ("gpu1: {folder: /heed, cores: 1, command: \"''\"}", r"gpu1.command: begins with an empty"),
        ("gpu1: [", r"hosts.yaml:1: not valid YAML"),
    ],
)
def test_a_mistake_in_the_file_is_named(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(HeedError, match=message):
        read(tmp_path, monkeypatch, text)


# --- which host takes a stage ---------------------------------------------------------------------


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[hosts.Host]:
    """A host with two cores and a GPU, and one with three cores."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hosts, "POLL", 0.01)
    return [
        hosts.Host("one", "/heed", 2, 1, "ssh one", "python"),
        hosts.Host("two", "/heed", 3, 0, "ssh two", "python"),
    ]


def test_the_host_with_most_free_cores_takes_a_stage(two: list[hosts.Host]) -> None:
    with hosts.claim_host(two, 2, 0) as first, hosts.claim_host(two, 1, 0) as second:
        assert [host.name for host, _ in (first, second)] == ["two", "one"]
    with hosts.claim_host(two, 8, 0) as (host, cores):
        assert (host.name, cores) == ("two", 3)  # all that it has


def test_a_stage_with_a_gpu_goes_to_a_host_with_a_free_gpu(two: list[hosts.Host]) -> None:
    with hosts.claim_host(two, 1, 1) as (host, _):
        assert host.name == "one"
        claimed: list[str] = []

        def claim() -> None:
            with hosts.claim_host(two, 1, 1) as (host, _):
                claimed.append(host.name)

        waiting = threading.Thread(target=claim)
        waiting.start()
        time.sleep(0.1)
        assert not claimed  # the only GPU is taken
    waiting.join(10)
    assert claimed == ["one"]


@pytest.mark.parametrize(
    ("cores", "gpus", "said"), [(5, 1, False), (4, 1, True), (5, 2, True), (5, None, True)]
)
def test_a_run_that_leaves_cores_or_gpus_of_the_hosts_idle_is_told(
    cores: int,
    gpus: int | None,
    said: bool,
    two: list[hosts.Host],
    capsys: pytest.CaptureFixture[str],
) -> None:
    training = receive_stage.stages.Stage("train@a-1", [], [], [], 1, 1, False, [])
    receive_stage.stages.check_hosts(two, [training], {training.name: ""}, cores, gpus, True)
    message = "--cores 5 --resources gpu=1 would use all of them, no more"
    assert (message in capsys.readouterr().err) == said


# --- what is sent and what comes back -------------------------------------------------------------


def ask(command: str) -> dict[str, object]:
    host = hosts.Host("gpu1", "/scratch/heed", 1, 0, "ssh gpu1", "/scratch/heed/.venv/bin/python")
    return send_stage._ask(host, ["sh", "-c", command], {"stage": "x"}, os.getpid())


def test_a_reply_is_found_among_what_a_shell_prints() -> None:
    reply = 'read request; echo welcome; echo "heed-reply: {\\"entry\\": \\"$request\\"}"; echo bye'
    with pytest.raises(json.JSONDecodeError):  # the request holds quotes: it has arrived
        ask(reply)
    assert ask('echo hello; echo "heed-reply: {\\"entry\\": \\"e\\"}"; echo bye') == {"entry": "e"}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("exit 255", r"gpu1: no connection.*`ssh gpu1 true` must work without a question"),
        ("exit 127", r"gpu1: no /scratch/heed/.venv/bin/python there: clone heed into /scratch/h"),
        ("exit 2", r"gpu1: no clone of this version of heed in /scratch/heed"),
        ("kill -9 $$", r"gpu1: the stage ended there without a result \(status -9\)"),
        ("""echo 'heed-reply: {"error": "torch is 1"}'""", r"^gpu1: torch is 1$"),
    ],
)
def test_a_host_that_fails_is_named_with_what_to_do(command: str, message: str) -> None:
    with pytest.raises(HeedError, match=message):
        ask(command)


def test_a_stage_ends_with_the_snakemake_that_has_sent_it() -> None:
    run = subprocess.Popen(["sleep", "0.2"])
    host = hosts.Host("gpu1", "/heed", 1, 0, "ssh gpu1", "python")
    started = time.monotonic()
    threading.Thread(target=run.wait).start()
    with pytest.raises(HeedError, match="was killed"):
        send_stage._ask(host, ["cat"], {}, run.pid)
    assert time.monotonic() - started < 30


def test_other_code_and_other_packages_are_named() -> None:
    files, packages = {"dvc.yaml": "1", "src/heed/recipe.py": "2"}, {"torch": "2.13.0"}
    clone = Clone("abc", files, packages)
    assert clone.difference(Clone("def", dict(files), dict(packages))) == ""
    other = clone.difference(Clone("def", files | {"src/heed/recipe.py": "3"}, packages))
    assert "src/heed/recipe.py (commit def, and abc where the run was started)" in other
    assert PULL in other and PULL in (ROOT / "docs/cluster.md").read_text()
    assert "dvc.yaml and 1 more files" in clone.difference(Clone("def", {}, packages))
    assert clone.difference(Clone("def", files, {"torch": "2.12.0"})).startswith(
        "torch is 2.12.0, and 2.13.0 in the clone where the run was started: make setup"
    )


@pytest.mark.parametrize("comment", ["", "# a comment\n"])
def test_entries_of_a_lock_file_are_read_in_each_of_its_forms(comment: str, tmp_path: Path) -> None:
    entry = {"cmd": "heed train", "params": {"params.yaml": {"rate": 1e-05, "on": "no"}}}
    path = tmp_path / "dvc.lock"
    lock = {"schema": "2.0", "stages": {"train@a-1": entry, "code": {"cmd": "x"}}}
    text = yaml.safe_dump(lock, sort_keys=False).replace("'2.0'\n", "'2.0'\n" + comment)
    path.write_text(text)
    entries = read_entry_texts(path, ["train@a-1", "missing"])
    assert entries.keys() == {"train@a-1"}
    assert YAML(typ="safe").load(entries["train@a-1"]) == {"train@a-1": entry}  # as DVC reads it


# --- the clone of a host --------------------------------------------------------------------------


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with a params.yaml."""
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text("study: committed\n")
    author = ["-c", "user.name=heed", "-c", "user.email=heed@localhost"]
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "params"]):
        subprocess.run(["git", *command], check=True)
    return tmp_path


def test_params_are_replaced_where_nobody_has_edited_them(clone: Path) -> None:
    for params in ("study: first\n", "study: second\n"):
        with receive_stage._hold_clone(params, []):
            assert (clone / "params.yaml").read_text() == params
    (clone / "params.yaml").write_text("study: edited\n")
    refused = pytest.raises(HeedError, match=r"params.yaml: was edited there.*git checkout params")
    with refused, receive_stage._hold_clone("study: third\n", []):
        pass
    assert (clone / "params.yaml").read_text() == "study: edited\n"


def test_results_of_a_run_that_was_started_there_are_deleted_though_params_are_the_same(
    clone: Path,
) -> None:
    runs = ["results/train/a/1", "results/train/a/2"]
    command = " && ".join(f"mkdir -p {run} && echo {run} > {run}/model" for run in runs)
    (clone / "dvc.yaml").write_text(
        yaml.safe_dump({"stages": {"t": {"cmd": command, "outs": runs}}})
    )
    for command in (["init", "-q"], ["repro", "-q", "t"]):
        subprocess.run(["dvc", *command], check=True)
    params, kept = (clone / "params.yaml").read_text(), clone / "results/train/notes"
    kept.write_text("not DVC's")
    with receive_stage._hold_clone(params, runs[:1]):
        assert [Path(run).exists() for run in runs] == [True, False]
    assert kept.exists()
    (clone / "dvc.lock").write_text("schema: '2.0'\nstages:\n  t:")  # as a kill leaves it
    refused = pytest.raises(HeedError, match=r"dvc.lock: cut off by a kill: `git checkout dvc.lock")
    with refused, receive_stage._hold_clone(params, runs):
        pass


def test_the_clone_of_the_run_itself_is_no_host(clone: Path) -> None:
    (clone / ".heed/snakemake/abc").mkdir(parents=True)
    request = {"stage": "code", "run": "abc", "environment": {}}
    with pytest.raises(HeedError, match="is the clone where the run was started"):
        receive_stage.run_stage(request)


def test_stages_of_one_params_run_together_and_those_of_another_wait(clone: Path) -> None:
    entered = threading.Event()

    def hold(params: str) -> None:
        with receive_stage._hold_clone(params, []):
            entered.set()

    with receive_stage._hold_clone("study: first\n", []):
        together = threading.Thread(target=hold, args=["study: first\n"])
        together.start()
        assert entered.wait(10)
        together.join()
        entered.clear()
        waiting = threading.Thread(target=hold, args=["study: second\n"])
        waiting.start()
        assert not entered.wait(0.2)
        assert (clone / "params.yaml").read_text() == "study: first\n"
    waiting.join(10)
    assert entered.is_set() and (clone / "params.yaml").read_text() == "study: second\n"


# --- whole runs -----------------------------------------------------------------------------------

RUN = ("snakemake", "--cores", "4")


class Apart(Toy):
    """A clone of the toy study that has not run, and two other clones, which share a remote."""

    def __init__(self, finished: Toy, path: Path) -> None:  # noqa: F811
        write_stub(path / "bin")
        for name in ("clone", "one", "two"):
            self.copy_commit(finished.path, path / name)
        super().__init__(path / "clone")
        self.hosts = path / "hosts.yaml"
        self.environment["HEED_HOSTS"] = str(self.hosts)
        self.set_remote(path / "store")
        self.write_hosts(command="env")
        for name in ("dvc.lock", "metrics.json"):
            (self.path / name).unlink()

    @staticmethod
    def copy_commit(source: Path, target: Path) -> None:
        subprocess.run(["git", "clone", "-q", str(source), str(target)], check=True)

    def folder(self, name: str) -> Path:
        return self.path.parent / name

    def set_remote(self, path: Path, *names: str) -> None:
        for name in names or ("clone", "one", "two"):
            command = ["dvc", "remote", "add", "-q", "--local", "-f", "-d", "store", str(path)]
            subprocess.run(command, cwd=self.folder(name), env=self.environment, check=True)

    def write_hosts(self, **values: object) -> None:
        content = {
            name: {"folder": str(self.folder(name)), "cores": 2, "python": sys.executable} | values
            for name in ("one", "two")
        }
        self.hosts.write_text(yaml.safe_dump(content))

    def outs(self, path: Path) -> dict[str, str]:
        """Return the hashes in dvc.lock of all that does not depend on the time."""
        return {
            out["path"]: out["md5"]
            for entry in yaml.safe_load((path / "dvc.lock").read_text())["stages"].values()
            for out in entry["outs"]
            if not out["path"].startswith(("results/timing/", "reports/"))
        }


@pytest.fixture
def apart(finished: Toy, tmp_path: Path) -> Apart:  # noqa: F811
    return Apart(finished, tmp_path)


def hosts_of(toy: Apart) -> dict[str, str]:
    """Return the host of each stage that has run on one, from the logs."""
    logs = [path.read_text() for path in (toy.path / "logs").glob("*.log")]
    words = [log.splitlines()[0].split() for log in logs if " runs on " in log]
    return {line[1]: line[4].rstrip(",") for line in words}


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_study_is_the_same_on_hosts_that_share_a_remote_alone(
    apart: Apart,
    finished: Toy,  # noqa: F811
) -> None:
    assert len(apart.executed(*RUN)) == 26
    ran = hosts_of(apart)
    assert {*ran.values()} == {"one", "two"}
    here = {"code", "download@one", "download@two", "untuned", "unexplained", "compare", "report"}
    names = {*yaml.safe_load((apart.path / "dvc.lock").read_text())["stages"]}
    assert names - {*ran} == here | {f"recipe@{model}" for model in MODELS}
    assert apart.outs(apart.path) == apart.outs(finished.path)
    assert "up to date" in apart.run("dvc", "status")
    assert "all 26 stages are up to date" in apart.run("snakemake", "-n")
    assert apart.executed("dvc", "repro", "--quiet") == []
    _, figures = (apart.path / "logs/train@feelings-attention-1.tsv").read_text().splitlines()
    assert all(float(figure) > 0 for figure in figures.split("\t"))

    apart.change("dropout: 0.2", "dropout: 0.3")
    assert apart.executed(*RUN) == below("author-baseline")
    # a host that has run seed 2 must not take its run for one of the study
    apart.change("[1, 2]", "[1]")
    judged = [f"{stage} {model}" for stage in ("predict", "evaluate") for model in MODELS]
    assert apart.executed(*RUN) == sorted(["code", *judged, "compare", "report"])
    assert "up to date" in apart.run("dvc", "status")

    apart.run("git", "commit", "--quiet", "--all", "--message", "run")
    for name in ("one", "two"):
        command = f"{PULL} --quiet {shlex.quote(str(apart.path))} HEAD"
        subprocess.run(command, shell=True, cwd=apart.folder(name), check=True)
        assert (apart.folder(name) / "dvc.lock").read_text() == (
            apart.path / "dvc.lock"
        ).read_text()


def read_lock(path: Path) -> str:
    return (path / "dvc.lock").read_text()


def fails(toy: Apart, message: str, stage: str = "tokenize@feelings", **environment: str) -> None:
    """Check that a stage fails with a message in one line, and that nothing is recorded."""
    status, output = toy.try_(*RUN, stage, **environment)
    lines = [line for line in output.splitlines() if line.startswith(f"heed: {stage} failed: ")]
    assert status == 1 and len({*lines}) == 1 and message in lines[0], output
    assert stage not in (toy.path / "dvc.lock").read_text()


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_what_a_host_refuses_or_cannot_do_is_one_message_and_the_next_run_continues(
    apart: Apart,
) -> None:
    edited = [apart.folder(name) / "src/heed/recipe.py" for name in ("one", "two")]
    sources = [path.read_text() for path in edited]
    for path, source in zip(edited, sources, strict=True):
        path.write_text(source + "\n# edited")
    fails(apart, "other code than in the clone where the run was started: src/heed/recipe.py")
    for path, source in zip(edited, sources, strict=True):
        path.write_text(source)

    params = [apart.folder(name) / "params.yaml" for name in ("one", "two")]
    for path in params:
        path.write_text(path.read_text() + "# edited\n")
    apart.change("title: Toy", "title: Other")  # with the same params nothing is replaced
    fails(apart, "params.yaml: was edited there")
    assert all(path.read_text().endswith("# edited\n") for path in params)
    for path in params:
        subprocess.run(["git", "checkout", "-q", "params.yaml"], cwd=path.parent, check=True)

    apart.set_remote(apart.folder("elsewhere"), "one", "two")
    fails(apart, "what tokenize@feelings reads cannot be fetched: failed to pull data")
    apart.set_remote(apart.folder("store"), "one", "two")
    fails(apart, "tokenize feelings fails, by TOY_FAIL", TOY_FAIL="tokenize feelings")

    apart.set_remote(Path("/proc/nowhere"), "clone")
    status, output = apart.try_(*RUN, "tokenize@feelings")
    assert status == 1 and "Traceback" not in output
    assert (
        "/proc/nowhere" in output and "Other hosts get what they read by the DVC remote" in output
    )
    apart.set_remote(apart.folder("store"), "clone")
    assert apart.executed(*RUN, "tokenize@feelings") == ["tokenize feelings"]


def started(toy: Apart, command: str) -> tuple[subprocess.Popen, int]:
    """Start a run, and return it and the process of a stage that holds, once it runs."""
    held = Path(f"{toy.log}.held")
    run = toy.start(*RUN, "train@feelings-baseline-1", TOY_HOLD=command)
    end = time.monotonic() + 300
    while not held.exists() or not held.read_text():
        assert time.monotonic() < end and run.poll() is None
        time.sleep(0.1)
    return run, int(held.read_text())


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_stage_there_ends_with_the_run_here_and_the_next_run_continues(apart: Apart) -> None:
    held, stage = Path(f"{apart.log}.held"), "train feelings-baseline 1"
    run, process = started(apart, stage)
    run.kill()  # snakemake alone: neither the job, nor the stage there
    assert gone(process)
    held.unlink()
    run, process = started(apart, stage)
    os.killpg(run.pid, signal.SIGINT)  # Ctrl-C
    output = run.communicate(timeout=60)[0]
    assert gone(process) and "heed: stopped, and nothing is lost" in output
    held.unlink()
    run, process = started(apart, stage)
    (receiver,) = [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if f"{apart.path.parent}/" in (words := read_command(path)) and "receive_stage" in words
    ]
    os.kill(receiver, signal.SIGKILL)
    output = run.communicate(timeout=60)[0]
    assert "the stage ended there without a result" in output
    os.kill(process, signal.SIGKILL)  # what a kill of its parent has left there
    held.unlink()
    assert "train@feelings-baseline-1" not in (apart.path / "dvc.lock").read_text()
    assert apart.executed(*RUN, "train@feelings-baseline-1") == [stage]


def gone(process: int) -> bool:
    """Whether a process ends within a minute; a zombie has ended."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if psutil.Process(process).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.1)
    return False


def read_command(path: Path) -> str:
    try:
        return path.read_text().replace("\0", " ")
    except OSError:
        return ""


SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not SSHD, reason="needs sshd (Debian: openssh-server)")
def test_a_stage_runs_through_ssh_and_an_unknown_host_key_is_refused(apart: Apart) -> None:
    assert SSHD is not None
    port, folder = 22000 + os.getpid() % 20000, apart.path.parent / "ssh"
    folder.mkdir(mode=0o700)
    for name in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True)
    shutil.copy(folder / "user.pub", folder / "authorized")
    passed = " ".join(f'{name}="{apart.environment[name]}"' for name in ("PATH", "TOY_LOG"))
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile {folder}/pid\n"
        f"AuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\n"
        f"SetEnv {passed} PYTHONPATH={ROOT}/src\n"
    )
    ssh = (
        f"ssh -F none -T -o BatchMode=yes -o StrictHostKeyChecking=yes -p {port} -i {folder}/user "
        f"-o UserKnownHostsFile={folder}/known"
    )
    server = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "sshd_config")])
    try:
        apart.write_hosts(command=f"{ssh} 127.0.0.1", cores=1)
        fails(apart, "no connection")
        log = (apart.path / "logs/tokenize@feelings.log").read_text()
        assert "Host key verification failed" in log
        key = (folder / "host.pub").read_text()
        (folder / "known").write_text(f"[127.0.0.1]:{port} {key}")
        assert apart.executed(*RUN, "tokenize@feelings") == ["tokenize feelings"]
        assert hosts_of(apart)["tokenize@feelings"] in ("one", "two")
        assert (apart.path / "data/tokens/feelings/meta.json").exists()
    finally:
        server.terminate()
        server.wait()
