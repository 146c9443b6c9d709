import sys

sys.path.insert(0, "WORKFLOW")
import engine_names as engine


def note(*names):
    with open("said", "a") as file:
        file.writelines(f"{name} {getattr(engine, name)(workflow)}\n" for name in names)


note("is_main_process", "is_dry_run", "shares_nothing")


def inputs(_):
    running = engine.is_running_jobs(workflow)
    note("is_running_jobs", "cores", *(["runs_jobs_here"] if running else []))
    return []


rule one:
    input:
        inputs,
    output:
        "one",
    shell:
        "touch one"
