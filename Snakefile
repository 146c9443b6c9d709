# One rule a DVC stage, made from dvc.yaml. DVC decides what is stale, runs it, caches it and locks it; Snakemake orders
# and places (--cores N, --resources gpu=M, --workflow-profile slurm). Rules hand on receipts: docs/drivers.md says why.
import sys
from pathlib import Path

sys.path.insert(0, str(Path(workflow.basedir, "workflow")))
import engine_names as engine
import stages


workdir: workflow.basedir


report: "workflow/captions/study.rst"


try:
    run = stages.Run(engine.is_main_process(workflow), engine.is_dry_run(workflow))
except stages.HeedError as error:
    sys.exit(f"heed: {error}")


engine.silence_snakemake()


def receipts(names):
    return run.receipts(names, engine.is_running_jobs(workflow), engine.cores(workflow))


if engine.is_main_process(workflow) and not engine.is_dry_run(workflow):
    stages.show()


onerror:
    for line in run.failures():
        stages.say(line)


localrules:
    all,
    shown,


rule all:
    input:
        lambda _: receipts([stage.name for stage in run.stages]),
        f"{stages.SHOWN}/index.html",
    output:
        touch(run.receipt("all")),
    message:
        "the study in params.yaml is up to date: reports/index.html"


rule shown:  # for `snakemake --report report.zip`
    input:
        lambda _: receipts(["report"]),
    output:
        report(f"{stages.SHOWN}/index.html", caption="workflow/captions/report.rst", category="The report"),
        report(
            directory(f"{stages.SHOWN}/figures"),
            patterns=["{of}_{shows}.svg"],
            caption="workflow/captions/figures.rst",
            category="Figures",
            subcategory="{shows}",
            labels={"of": "{of}", "shows": "{shows}"},
        ),
        report(
            directory(f"{stages.SHOWN}/tables"),
            patterns=["{of}_{holds}.csv"],
            caption="workflow/captions/tables.rst",
            category="Tables",
            labels={"of": "{of}", "holds": "{holds}"},
        ),
    message:
        "figures and tables for snakemake --report"
    log:
        "logs/shown.log",
    params:
        python=sys.executable,  # not `run:`, whose command breaks where the path of python has a space
    shell:
        "{params.python:q} workflow/stages.py > {log:q} 2>&1"


for stage in run.stages:

    rule:
        name:
            stage.name
        input:
            lambda _, names=stage.upstream: receipts(names),
        output:
            run.receipt(stage.name),
        log:
            f"logs/{stage.name}.log",
        benchmark:
            f"logs/{stage.name}.tsv"
        params:
            stage=stage.name,
            receipts=run.folder / "receipts",
            of=lambda _: len(run.plan(False)),
            why=lambda _, name=stage.name: run.plan(False).get(name, "asked for"),
        message:
            "{params.stage}  ({params.why})"
        threads: stage.threads
        resources:
            gpu=stage.gpu,
        shell:
            "HEED_THREADS={threads} HEED_GPUS={resources.gpu} dvc --wait-for-lock repro --single-item {params.stage:q} > {log:q} 2>&1; "
            "touch {output:q}; echo heed: done {params.stage:q}, $(ls {params.receipts:q} | wc -l) of {params.of}"


for out, stage in {out: stage for stage in run.stages for out in stage.outs}.items():  # `snakemake results/compare`

    rule:
        name:
            out
        input:
            run.receipt(stage.name),
