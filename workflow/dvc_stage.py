"""Run one stage by DVC, as `dvc repro` does: `python workflow/dvc_stage.py STAGE`."""

import sys

import engine_names as engine

if __name__ == "__main__":
    sys.argv = ["dvc", *engine.REPRO, *sys.argv[1:]]  # so DVC names this process to others
    engine.share_params()
    engine.change_lock_by_stage()
    sys.exit(engine.run_dvc())
