"""Stands in for the command `heed`: the same files in the same places, small, made from a hash of
what was read.

As heed it runs the code of the clone that it is in, and compares it with what the stage was planned
with (heed/code/guard.py). Where it computes figures they depend on the lines `ADDED = ...` in the
code of the stage, and on nothing else in it. TOY_LOG: every command that is really executed adds a
line, with its times. TOY_FAIL: the command that fails. TOY_SLEEP: seconds that a training takes.
TOY_HOLD: the command that stops after its first file, until it is killed or the file TOY_LOG +
".held", which it makes, is gone. TOY_GPU: trainings claim a card, as the real ones do.
"""

import hashlib
import json
import os
import sys
import time
from pathlib import Path

import yaml

if Path("src/heed").is_dir():
    sys.path.insert(0, str(Path("src").resolve()))
from heed.code.digests import code_file
from heed.code.guard import guarded
from heed.files import HeedError, write_text

PARAMS = yaml.safe_load(Path("params.yaml").read_text())
COMMAND, KEY, *REST = [*sys.argv[1:], "", ""]
NAME = " ".join(part for part in sys.argv[1:] if part != "--seed")


def digest(*what: object) -> str:
    return hashlib.sha256(repr(what).encode()).hexdigest()[:12]


def write(path: str, text: str) -> None:
    write_text(path, text + "\n")
    if os.environ.get("TOY_HOLD") == NAME:
        held = Path(os.environ["TOY_LOG"] + ".held")
        held.write_text(str(os.getpid()))
        while held.exists():
            time.sleep(0.05)
        del os.environ["TOY_HOLD"]


def read(path: str) -> str:
    return Path(path).read_text()


def code() -> list[str]:
    paths = json.loads(read(str(code_file(COMMAND, KEY))))["files"]
    return [line for path in paths for line in read(path).splitlines() if line.startswith("ADDED")]


def recipe(key: str) -> str:
    model = PARAMS["models"][key]
    given = PARAMS["defaults"]["classification"] | {
        k: v for k, v in model.items() if k not in ("gpu", "tuned_by", "match")
    }
    if "attention" not in given:
        # so a change of heads leaves the recipe of a model without attention as it was
        del given["heads"]
    best = yaml.safe_load(read(f"results/search/{model['tuned_by']}/best.yaml")) or {}
    return json.dumps(
        given | best | {"tokens": read(f"data/tokens/{model['corpus']}/meta.json")}, sort_keys=True
    )


def train(key: str, seed: str) -> None:
    if "TOY_GPU" in os.environ:
        from heed.training.device import claim_gpu

        card = claim_gpu()
        print("card", card)
    time.sleep(float(os.environ.get("TOY_SLEEP", 0)))
    write(
        f"results/train/{key}/{seed}/model.safetensors",
        digest(read(f"results/recipe/{key}.yaml"), seed, code()),
    )


def run() -> None:
    if COMMAND == "download":
        write(f"data/raw/{KEY}/part.txt", digest(PARAMS["sources"][KEY]))
    elif COMMAND == "tokenize":
        section = PARAMS["corpora"][KEY]
        write(
            f"data/tokens/{KEY}/meta.json",
            digest(section, read(f"data/raw/{section['source']}/part.txt")),
        )
    elif COMMAND == "search":
        write(f"results/search/{KEY}/best.yaml", "{}")
    elif COMMAND == "recipe":
        write(f"results/recipe/{KEY}.yaml", recipe(KEY))
    elif COMMAND == "train":
        train(KEY, REST[1])
    elif COMMAND == "opponents":
        section = PARAMS["experiments"][KEY]
        write(
            f"results/opponents/{KEY}/opponents.json",
            digest(section, read(f"data/tokens/{section['corpus']}/meta.json"), code()),
        )
    elif COMMAND == "predict":
        runs = [read(f"results/train/{KEY}/{seed}/model.safetensors") for seed in PARAMS["seeds"]]
        tokens = read(f"data/tokens/{PARAMS['models'][KEY]['corpus']}/meta.json")
        write(f"results/predict/{KEY}/predictions.parquet", digest(runs, tokens, code()))
    elif COMMAND == "evaluate":
        runs = [read(f"results/train/{KEY}/{seed}/model.safetensors") for seed in PARAMS["seeds"]]
        write(
            f"results/evaluate/{KEY}/summary.csv",
            digest(runs, read(f"results/predict/{KEY}/predictions.parquet"), code()),
        )
    elif COMMAND == "compare":
        figures = {
            key: int(read(f"results/predict/{key}/predictions.parquet"), 16) % 1000 / 1000
            for key in PARAMS["models"]
        }
        write("results/compare/comparison.json", json.dumps(figures | {"code": digest(code())}))
        write(
            "metrics.json",
            json.dumps({key: {"accuracy": figure} for key, figure in figures.items()}),
        )
    elif COMMAND == "report":
        write(
            "reports/index.html",
            PARAMS["study"]["title"] + read("results/compare/comparison.json") + digest(code()),
        )
        write("reports/report.tex", "tex")
        write("reports/tables/feelings_seeds.csv", read("results/compare/comparison.json"))
        write("reports/figures/gain.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>")
        write("reports/figures/feelings_curves.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>")
        write("reports/plots/curves.csv", "epoch,validation_accuracy,model,seed\n1,0.5,feelings,1")
        write(
            "reports/plots/confusion.csv",
            "actual,predicted,share,documents,model\ngood,good,1,2,feelings",
        )
        write(
            "reports/plots/comparisons.csv",
            "experiment,compared,difference_pp,low_pp,high_pp\nfeelings,a - b,1,0,2",
        )
        write(
            "reports/documents/documents.html",
            "".join(read(f"results/evaluate/{key}/summary.csv") for key in PARAMS["models"]),
        )
    else:
        sys.exit(f"toy: no command {NAME}")


if __name__ == "__main__":
    started = time.time()
    if os.environ.get("TOY_FAIL") == NAME:
        sys.exit(f"heed: {NAME} fails, as told")
    try:
        with guarded(COMMAND, KEY, NAME):
            run()
    except HeedError as error:
        sys.exit(f"heed: {error}")
    with Path(os.environ["TOY_LOG"]).open("a") as log:
        log.write(
            json.dumps([NAME, started, time.time(), os.environ.get("CUDA_VISIBLE_DEVICES")]) + "\n"
        )
