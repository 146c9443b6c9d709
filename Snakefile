# One rule for each DVC stage, made from dvc.yaml. DVC decides what is stale, runs it, caches it and locks it; Snakemake
# orders the stages and assigns them to cores and GPUs (--cores N, --resources gpu=M, --workflow-profile slurm). The output
# of a rule is a receipt, not a result: docs/drivers.md says why.
import sys
from pathlib import Path

sys.path.insert(0, str(Path(workflow.basedir, "workflow")))
import engine_names as engine
import stages


workdir: workflow.basedir


report: "workflow/captions/study.rst"


if engine.is_main_process(workflow):
    engine.catch_interrupt(stages.print_interrupted)


try:
    run = stages.Run(engine.is_main_process(workflow), engine.is_dry_run(workflow))
except stages.HeedError as error:
    sys.exit(f"heed: {error}")


engine.silence_snakemake()


def receipts(names):
    return run.receipts(
        names, engine.is_running_jobs(workflow), engine.cores(workflow), engine.runs_jobs_here(workflow)
    )


if engine.is_main_process(workflow) and not engine.is_dry_run(workflow):
    stages.copy_report()


onerror:
    for line in run.describe_failures():
        stages.print_message(line)


localrules:
    all,
    shown,


rule all:
    input:
        lambda _: receipts([stage.name for stage in run.stages]),
        f"{stages.REPORT_COPIES}/index.html",
    output:
        touch(run.receipt("all")),
    message:
        "the study in params.yaml is up to date: reports/index.html"


rule shown:  # for `snakemake --report report.zip`
    input:
        lambda _: receipts(["report"]),
    output:
        report(f"{stages.REPORT_COPIES}/index.html", caption="workflow/captions/report.rst", category="The report"),
        report(
            directory(f"{stages.REPORT_COPIES}/figures"),
            patterns=["{subject}_{figure}.svg"],
            caption="workflow/captions/figures.rst",
            category="Figures",
            subcategory="{figure}",
            labels={"of": "{subject}", "shows": "{figure}"},
        ),
        report(
            directory(f"{stages.REPORT_COPIES}/tables"),
            patterns=["{subject}_{table}.csv"],
            caption="workflow/captions/tables.rst",
            category="Tables",
            labels={"of": "{subject}", "holds": "{table}"},
        ),
    message:
        "figures and tables for snakemake --report"
    log:
        "logs/shown.log",
    params:
        python=sys.executable,  # not `run:`, whose command breaks where the path of python has a space
    shell:
        "{params.python:q} workflow/stages.py > {log:q} 2>&1"


chains = stages.longest_chains(run.stages)
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
        params:
            stage=stage.name,
            python=sys.executable,
            receipts=run.folder / "receipts",
            total=lambda _: len(run.plan(False)),
            reason=lambda _, name=stage.name: run.plan(False).get(name, "requested"),
        message:
            "{params.stage}  ({params.reason})"
        # on the submitting machine: other nodes of a cluster may have no network, and a job costs more than a cheap stage
        localrule: stage.cheap or stage.needs_network
        group: stage.group
        priority: chains[stage.name]  # the search whose winner is then trained starts before trainings
        threads: stage.threads
        resources:
            gpu=stage.gpu,
        shell:
            "HEED_THREADS={threads} HEED_GPUS={resources.gpu} {params.python:q} workflow/dvc_stage.py {params.stage:q} > {log:q} 2>&1 && "
            "touch {output:q} && echo heed: done {params.stage:q}, $(ls {params.receipts:q} | wc -l) of {params.total}"


for out, stage in {out: stage for stage in run.stages for out in stage.outs}.items():  # `snakemake results/compare`

    rule:
        name:
            out
        input:
            run.receipt(stage.name),
