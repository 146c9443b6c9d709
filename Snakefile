# One rule for each DVC stage. DVC decides (what is stale), runs, caches and locks; Snakemake orders and places
# (--cores, --resources gpu=N, --executor slurm). Rules hand on receipts, made anew for every run and never DVC's outs, so that
# Snakemake has no file of ours to compare, touch or delete. See docs/drivers.md.
import sys

sys.path.insert(0, f"{workflow.basedir}/workflow")
from receipts import Receipts

R = Receipts(workflow)


onstart:
    R.lock()


onsuccess:
    R.done()


rule all:
    input:
        R.wanted,


for record in R.stale:

    rule:
        name:
            record["rule"]
        input:
            R.inputs(record),
        output:
            touch(R.receipt(record["rule"])),
        log:
            f"logs/{record['rule']}.log",
        benchmark:
            f"logs/{record['rule']}.tsv"
        params:
            stage=record["stage"],
            path=R.path,
        threads: record["threads"]
        resources:
            gpu=record["gpu"],
        shell:
            "PATH={params.path:q}:$PATH HEED_THREADS={threads} "
            "dvc --wait-for-lock repro --single-item {params.stage:q} > {log} 2>&1"
