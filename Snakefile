# One rule for each DVC stage, made from dvc.yaml. DVC decides what is stale, runs it, caches it and locks it; Snakemake
# orders the stages and assigns them to cores and GPUs (--cores N, --resources gpu=M, --workflow-profile slurm). The output
# of a rule is a done file, not a result: docs/drivers.md says why. `Snakefile` in the top folder is a link to this file.
import sys
from pathlib import Path

here = Path(workflow.basedir, "workflow" if Path(workflow.basedir, "dvc.yaml").exists() else "")
if not Path(here, "stages.py").exists():  # as a module, or by an address
    sys.exit(
        "heed: this Snakefile is no module for other workflows: clone heed, and run snakemake in its "
        "folder (config/README.md)"
    )

sys.path.insert(0, str(here))
import engine_names as engine
import stages


workdir: str(here.parent)


report: str(here / "captions/study.rst")


if engine.is_main_process(workflow):
    stages.catch_interrupt()


try:
    run = stages.Run(workflow)
except stages.HeedError as error:
    sys.exit(f"heed: {error}")


stages.silence_snakemake()


def done_files(names):
    try:
        return run.done_files(names)
    except stages.HeedError as error:
        sys.exit(f"heed: {error}")


envvars:
    "HEED_RUN",


onsuccess:
    stages.collect()


onerror:
    stages.collect()
    for line in run.describe_failures():
        stages.print_message(line)


localrules:
    all,
    shown,


rule all:
    input:
        lambda _: done_files([stage.name for stage in run.stages]),
        f"{stages.REPORT_COPIES}/index.html",
    output:
        touch(run.done_file("all")),
    message:
        "the study in params.yaml is up to date: reports/index.html"


rule shown:  # for `snakemake --report report.zip`
    input:
        lambda _: done_files(["report"]),
    output:
        report(
            f"{stages.REPORT_COPIES}/index.html",
            caption=str(here / "captions/report.rst"),
            category="The report",
        ),
        report(
            directory(f"{stages.REPORT_COPIES}/figures"),
            patterns=["{subject}_{figure}.svg"],
            caption=str(here / "captions/figures.rst"),
            category="Figures",
            subcategory="{figure}",
            labels={"of": "{subject}", "shows": "{figure}"},
        ),
        report(
            directory(f"{stages.REPORT_COPIES}/tables"),
            patterns=["{subject}_{table}.csv"],
            caption=str(here / "captions/tables.rst"),
            category="Tables",
            labels={"of": "{subject}", "holds": "{table}"},
        ),
    log:
        "logs/shown.log",
    params:
        python=sys.executable,  # not `run:`, whose command breaks where the path of python has a space
    message:
        "figures and tables for snakemake --report"
    shell:
        "{params.python:q} workflow/stages.py > {log:q} 2>&1"


fetch, pull, deliver = "", "", "touch {output:q}"
if run.apart:  # jobs share no folder with this machine: data go by the DVC remote
    fetch = "{params.python:q} workflow/apart.py fetch {params.stage:q} {params.upstream:q} {input.done:q} && "
    pull = "--pull "
    deliver = "{params.python:q} workflow/apart.py deliver {params.stage:q} {output:q}"
chains = stages.longest_chains(run.stages)
for stage in run.stages:

    rule:
        name:
            stage.name
        input:
            done=lambda _, names=stage.upstream: done_files(names),
            plan=[run.plan_file] if run.apart else [],
        output:
            run.done_file(stage.name),
        log:
            f"logs/{stage.name}.log",
        priority: chains[stage.name]
        localrule: stage.local
        threads: lambda _, stage=stage: run.threads(stage)
        resources:
            gpu=stage.gpus,
        params:
            stage=stage.name,
            upstream=stage.upstream,
            python=sys.executable,
            done=run.folder / "done",
            times=f"logs/{stage.name}.times",  # not `benchmark:`, which looks at all processes twice a second
            total=lambda _: len(run.plan()),
            reason=lambda _, name=stage.name: run.plan().get(name, "requested"),
        message:
            "{params.stage}  ({params.reason})"
        shell:
            f"({fetch}HEED_THREADS={{threads}} HEED_GPUS={{resources.gpu}} {{params.python:q}} -m dvc --wait-for-lock repro "
            f"--single-item {pull}{{params.stage:q}} && {deliver}) > {{log:q}} 2>&1 && times > {{params.times:q}} && "
            "echo heed: done {params.stage:q}, $(ls {params.done:q} | wc -l) of {params.total}"


for out, stage in ((out, stage) for stage in run.stages for out in stage.outs):

    # `snakemake results/compare`

    rule:
        name:
            out
        input:
            run.done_file(stage.name),
