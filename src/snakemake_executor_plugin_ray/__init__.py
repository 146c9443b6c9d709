"""Runs each job of Snakemake as a task of a Ray cluster (snakemake issue 1506).

    snakemake --executor ray --ray-address HOST:PORT --jobs 8

Ray queues the jobs, places them by their cores, GPUs and memory, and starts those of a dead node
again elsewhere. With `--shared-fs-usage none` Ray sends the workflow's folder to the nodes, but for
what .gitignore and .rayignore name; a job's inputs go with its task, and its outputs come back with
the result. They pass through memory: large files belong in a storage, Snakemake's or the workflow's
own. Logs arrive while a job runs.
"""

import logging
import math
import os
import re
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Optional

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface
from snakemake_interface_executor_plugins.settings import (
    CommonSettings,
    ExecutorSettingsBase,
    SharedFSUsage,
)

from snakemake_executor_plugin_ray import node

POLL_S = 1  # seconds between two looks at the cluster
CONNECT_S = 20  # seconds that a connection may take
PRINTED = Path(".snakemake/ray_logs")  # what jobs print
MB = 2**20
RETOLD = re.compile("Task .* failed|The node with node id")  # the feed says it in fewer words


def _setting(default: Any, text: str, **metadata: Any) -> Any:
    return field(default=default, metadata={"help": text, **metadata})


@dataclass
class ExecutorSettings(ExecutorSettingsBase):
    """Settings of the plugin: `--ray-address` and so on."""

    address: Optional[str] = _setting(  # noqa: UP045 (Snakemake reads the type)
        None,
        "HOST:PORT of the cluster's head, from a node of it, or ray://HOST:PORT of its client "
        "server, from anywhere. Default: the cluster of which this machine is a node.",
        env_var=True,
    )
    retries: int = _setting(3, "How often a job is started again because its node died.")
    gpu_share: float = _setting(
        1.0, "The share of a GPU for which `gpu=1` stands: with .5 two jobs use one."
    )
    autoscaling: bool = _setting(
        False, "Let a job wait that asks for more than any node has: such a node will be added."
    )


common_settings = CommonSettings(
    non_local_exec=True, implies_no_shared_fs=False, job_deploy_sources=False,
    auto_deploy_default_storage_provider=False, can_transfer_local_files=True,
)  # fmt: skip


class Executor(RemoteExecutor):
    """Submits jobs to Ray, and asks which have ended."""

    def __post_init__(self) -> None:
        """Connect to the cluster. Raises WorkflowError if that fails, or Ray is not installed."""
        if find_spec("ray") is None:
            raise WorkflowError(
                "Ray is not installed. Run: make search, or pip install 'ray[tune]'"
            )
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self.next_seconds_between_status_checks = POLL_S
        self.shared = SharedFSUsage.INPUT_OUTPUT in self.workflow.storage_settings.shared_fs_usage
        self.settings = self.workflow.executor_settings
        address = self.settings.address or "auto"
        if address != "auto":
            _check_cluster(address)
        sent = {"working_dir": ".", "excludes": [".git", ".snakemake", ".venv"]}
        try:
            ray.init(
                address, runtime_env={} if self.shared else sent, log_to_driver=False,
                logging_level=logging.CRITICAL,
            )  # fmt: skip
        except Exception as error:  # of nearly every kind
            raise WorkflowError(f"no Ray cluster at {address}: {error}") from None
        _hide_retold(ray._private.worker)
        ray.cloudpickle.register_pickle_by_value(node)  # the nodes need no plugin
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        feed = ray.remote(node.Feed).options(num_cpus=0, scheduling_strategy=here)
        self.feed: Any = feed.remote()
        self.ray, self.task = ray, ray.remote(node.run_job)
        self.started: set[str] = set()

    def get_python_executable(self) -> str:
        """Return `python`: on a node the one by which Ray runs there."""
        return "python"

    def run_job(self, job: JobExecutorInterface) -> None:
        """Submit a job; report its failure if no node can run it, or a file cannot be sent."""
        try:
            info = self._submit(job)
        except WorkflowError as error:  # let the jobs that run end
            self.report_job_error(SubmittedJobInfo(job), msg=f"{error}. ")
        else:
            self.report_job_submission(info)

    def _submit(self, job: JobExecutorInterface) -> SubmittedJobInfo:
        share = (job.resources.get("gpu") or 0) * self.settings.gpu_share
        asked = {
            "CPU": job.threads,
            "GPU": share if share < 1 else math.ceil(share),
            "memory": (job.resources.get("mem_mb") or 0) * MB,
        }
        if not self.settings.autoscaling:
            self._check_size(job, asked)
        printed = PRINTED / job.name / f"{job.jobid}.log"
        made = [*job.output, *filter(None, [getattr(job, "benchmark", None)])]
        inputs, outputs, logs = ([], [], []) if self.shared else (job.input, made, job.log)
        _check_inside(job, [*inputs, *outputs, *logs])
        task = self.task.options(
            name=job.name, num_cpus=asked["CPU"], num_gpus=asked["GPU"],
            memory=asked["memory"] or None, max_retries=self.settings.retries,
        ).remote(
            job.name, self.format_job_exec(job), str(Path.cwd()) if self.shared else ".",
            node.pack(inputs), [*map(str, outputs)], [*map(str, [printed, *logs])], self.feed,
        )  # fmt: skip
        return SubmittedJobInfo(job, aux={"task": task, "logs": [str(printed)]})

    def _check_size(self, job: JobExecutorInterface, asked: dict[str, float]) -> None:
        """Raise WorkflowError if no node has what a job asks for."""
        nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        if not any(all(has.get(key, 0) >= asked[key] for key in asked) for has in nodes):
            raise WorkflowError(
                f"{job.name} asks for {_describe(asked)}. The nodes of the Ray cluster have "
                f"{'; '.join(map(_describe, nodes))}. Ask for less (--max-threads, "
                "--set-resources) or add a node; with --ray-autoscaling the job waits for one"
            )

    async def check_active_jobs(
        self, active_jobs: list[SubmittedJobInfo]
    ) -> AsyncGenerator[SubmittedJobInfo, None]:
        """Write what jobs have logged, report those that have ended, yield the others."""
        tasks = [info.aux["task"] for info in active_jobs]
        ended = self.ray.wait(tasks, num_returns=len(tasks), timeout=0)[0] if tasks else []
        for kind, name, *event in self.ray.get(self.feed.take.remote()) if tasks else []:
            if kind == "start":
                host, task = event
                if task in self.started:
                    self.logger.warning(f"{name} starts again on {host}: its node died")
                else:
                    self.logger.info(f"{name} runs on {host}")
                self.started.add(task)
            else:
                node.write(name, *event)
        for info in active_jobs:
            if info.aux["task"] not in ended:
                yield info
                continue
            try:
                status, files = self.ray.get(info.aux["task"])
                failure = f"exit status {status}. " if status else ""
            except self.ray.exceptions.RayError as error:
                failure = f"{_last_line(str(error))} "
            if failure:
                self.report_job_error(info, msg=failure, aux_logs=info.aux["logs"])
            else:
                node.unpack(files)
                self.report_job_success(info)

    def cancel_jobs(self, active_jobs: list[SubmittedJobInfo]) -> None:
        """End the given jobs."""
        for info in active_jobs:
            self.ray.cancel(info.aux["task"], force=True)


def _hide_retold(worker: Any) -> None:
    """Keep Ray from printing a paragraph for each task of a dead node, whatever its options."""
    tell = worker.print_to_stdstream

    def tell_less(data: dict[str, list[str]], **options: bool) -> None:
        if not RETOLD.match(data["lines"][0]):
            tell(data, **options)

    worker.print_to_stdstream = tell_less


def _check_cluster(address: str) -> None:
    """Raise WorkflowError if a cluster does not answer, or Ray does not run on this machine.

    Ray itself would try for minutes, and not say which it is.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()
    except (OSError, ValueError) as error:
        raise WorkflowError(f"no Ray cluster at {address}: {error}") from None
    if address.startswith("ray://"):
        return
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CONNECT_S)
    except subprocess.TimeoutExpired:
        raise WorkflowError(f"what listens at {address} does not answer as Ray does") from None
    if done.returncode:
        raise WorkflowError(f"no Ray cluster at {address}: {_last_line(done.stderr)}")
    if not any(path.read_text() == "raylet\n" for path in Path("/proc").glob("[0-9]*/comm")):
        raise WorkflowError(
            f"this machine is not a node of the Ray cluster at {address}. Either make it one: `ray "
            f"start --address={address} --num-cpus=0`, or use Ray's client: --ray-address "
            f"ray://{host}:10001 (needs the package ray[client] here and on the head)"
        )


def _check_inside(job: JobExecutorInterface, paths: list[Any]) -> None:
    """Raise WorkflowError if a path does not lead into the workflow's folder."""
    for path in map(str, paths):
        if Path(path).is_absolute() or os.path.normpath(path).startswith(".."):
            raise WorkflowError(
                f"{job.name}: {path} is no path within the workflow's folder, and only such files "
                "go to the nodes and back. Name it by one, or use a storage of Snakemake"
            )


def _describe(resources: dict[str, float]) -> str:
    cpus, gpus, memory = (resources.get(key, 0) for key in ("CPU", "GPU", "memory"))
    return f"{cpus:g} cores, {gpus:g} GPUs, {memory / MB:.0f} MB"


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1]
