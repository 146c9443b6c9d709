"""A stub of the command `heed`: it writes the same files, but small, from a hash of its inputs.

Like heed it runs the code of the clone that it is in, and keeps runs of the same recipe and code,
from DVC's cache where DVC has deleted them.
Its figures depend on the lines `ADDED = ...` in the code of the stage, and on nothing else in it.
TOY_LOG: the file to which every command that really runs adds a line, with its times; that of a
training names the seeds that it trained: train author-last-state 1 2. TOY_FAIL: the command that
fails. TOY_SLEEP: seconds that a training takes. TOY_HOLD: the command that stops after its first
file, until it is killed or until the file TOY_LOG + ".held", which it makes, is deleted. TOY_GPU:
trainings claim a GPU, as the real ones do."""

import hashlib
import json
import os
import shutil
import sys
import time
from pathlib import Path

import yaml

if Path("src/heed").is_dir():
    sys.path.insert(0, str(Path("src").resolve()))
from heed.digests import code_file
from heed.files import digest_as_key, write_text
from heed.pipeline import recorded_files
from heed.progress import INTERRUPTED

PARAMS = yaml.safe_load(Path("params.yaml").read_text())
COMMAND, KEY = [*sys.argv[1:], ""][:2]
NAME = " ".join(sys.argv[1:])
SEEDS = [str(seed) for seed in PARAMS["seeds"]]


def digest(*inputs: object) -> str:
    return hashlib.sha256(repr(inputs).encode()).hexdigest()[:12]


def write(path: str, text: str) -> None:
    write_text(path, text + "\n")
    if os.environ.get("TOY_HOLD") == NAME:
        held = Path(os.environ["TOY_LOG"] + ".held")
        held.write_text(str(os.getpid()))
        while held.exists():
            time.sleep(0.05)
        del os.environ["TOY_HOLD"]


def experiment_of(model: str) -> str:
    return PARAMS["models"][model]["experiment"]


def models_of(experiment: str) -> list[str]:
    return [name for name in PARAMS["models"] if experiment_of(name) == experiment]


def tokens(model: str) -> str:
    corpus = PARAMS["experiments"][experiment_of(model)]["corpus"]
    return read(f"data/tokens/{corpus}/meta.json")


def read(path: str) -> str:
    return Path(path).read_text()


def code() -> list[str]:
    key = PARAMS["models"][KEY]["experiment"] if COMMAND == "train" else KEY
    paths = json.loads(read(str(code_file(COMMAND, key))))["files"]
    return [line for path in paths for line in read(path).splitlines() if line.startswith("ADDED")]


def recipe() -> None:
    searches = PARAMS["searches"].items()
    names = [name for name, search in searches if search["experiment"] == KEY]
    for name in names:
        write(f"results/search/{KEY}/{name}/best.yaml", "{}")
    write(f"results/search/{KEY}/searches.json", json.dumps(names))
    write(f"results/shown/search/{KEY}", digest(names))
    for name in models_of(KEY):
        write_recipe(name, PARAMS["models"][name])
    paths = sorted(Path(f"results/recipe/{KEY}").glob("*.yaml"))
    write(f"results/recipe/{KEY}/all_models.digest", digest_as_key(*map(read, map(str, paths))))


def write_recipe(name: str, model: dict) -> None:
    values = PARAMS["defaults"]["classification"] | {
        k: v
        for k, v in model.items()
        if k not in ("gpus", "threads", "search", "match_parameters_of")
    }
    if "attention" not in values:
        # so a change of heads does not change the recipe of a model without attention
        del values["heads"]
    if search := model.get("search"):
        values |= yaml.safe_load(read(f"results/search/{KEY}/{search}/best.yaml")) or {}
    values["tokens"] = tokens(name)
    prediction = {"beam": values.pop("beam", 1)}
    text = json.dumps(values, sort_keys=True)
    write(f"results/recipe/{KEY}/{name}.yaml", text)
    write(f"results/recipe/{KEY}/{name}.digest", digest_as_key(text))
    write(f"results/recipe/{KEY}/{name}.prediction.yaml", json.dumps(prediction))


def train() -> str:
    if "TOY_GPU" in os.environ:
        from heed.training.machine import claim_gpu

        print("GPU", claim_gpu())
    folder, times = Path("results/train", KEY), Path("results/timing/train", KEY)
    if not all((folder / seed).exists() for seed in SEEDS):
        for path, cached in recorded_files(f"train@{KEY}").items():
            if cached.exists() and not path.exists():
                write_text(path, cached.read_text())
    for path in (path for each in (folder, times) if each.exists() for path in each.iterdir()):
        if path.stem not in SEEDS:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    trained = []
    for seed in SEEDS:
        recipe = read(f"results/recipe/{experiment_of(KEY)}/{KEY}.yaml")
        weights = digest(recipe, seed, code())
        run, timing = folder / seed / "model.safetensors", times / f"{seed}.json"
        if not (run.exists() and timing.exists() and run.read_text() == f"{weights}\n"):
            time.sleep(float(os.environ.get("TOY_SLEEP", 0)))
            write(str(run), weights)
            write(str(timing), str(time.time()))
            trained.append(seed)
    write(f"results/trained/{experiment_of(KEY)}/{KEY}.json", digest(read_runs()))
    write(f"{folder}/.digest", digest_as_key(*read_runs()))
    write(f"results/shown/timing/{KEY}", digest(*(read(f"{times}/{seed}.json") for seed in SEEDS)))
    return " ".join(trained)


def download() -> None:
    write(f"data/raw/{KEY}/part.txt", text := digest(PARAMS["sources"][KEY]))
    write(f"data/raw/{KEY}/.digest", digest_as_key(text))


def tokenize() -> None:
    section = PARAMS["corpora"][KEY]
    source = read(f"data/raw/{section['source']}/part.txt")
    write(f"data/tokens/{KEY}/meta.json", text := digest(section, source))
    write(f"data/tokens/{KEY}/.digest", digest_as_key(text))


def reference_models() -> None:
    section = PARAMS["experiments"][KEY]
    path = f"data/tokens/{section['corpus']}/meta.json"
    into = f"results/reference_models/{KEY}/reference_models.json"
    write(into, digest(section, read(path), code()))


def read_runs(model: str = KEY) -> list[str]:
    return [read(f"results/train/{model}/{seed}/model.safetensors") for seed in SEEDS]


def score() -> None:
    for name in models_of(KEY):
        settings = read(f"results/recipe/{KEY}/{name}.prediction.yaml")
        predictions = digest(read_runs(name), tokens(name), settings)
        write(f"results/predict/{KEY}/{name}/predictions.parquet", predictions)
        write(f"results/evaluate/{KEY}/{name}/summary.csv", digest(predictions, code()))
    summaries = [read(f"results/evaluate/{KEY}/{name}/summary.csv") for name in models_of(KEY)]
    write(f"results/shown/evaluate/{KEY}", digest(summaries))


def explain() -> None:
    noise = read(f"data/tokens/{PARAMS['explain']['models'][KEY]['noise']}/meta.json")
    inputs = read_runs(), tokens(KEY), noise, PARAMS["explain"]["documents"], code()
    write(f"results/explain/{KEY}/summary.csv", digest(*inputs))
    write(f"results/shown/explain/{KEY}", digest(*inputs))


def adversarial_attention() -> None:
    section = PARAMS["adversarial_attention"][KEY]
    inputs = read_runs(section["model"]), tokens(section["model"]), section, code()
    write(f"results/adversarial_attention/{KEY}/summary.csv", digest(*inputs))
    write(f"results/shown/adversarial_attention/{KEY}", digest(*inputs))


def scored(stage: str, model: str) -> str:
    return f"results/{stage}/{experiment_of(model)}/{model}"


def compare() -> None:
    scores = {
        key: int(read(f"{scored('predict', key)}/predictions.parquet"), 16) % 1000 / 1000
        for key in PARAMS["models"]
    }
    write("results/compare/comparison.json", json.dumps(scores | {"code": digest(code())}))
    rows = [f"toy,feelings,{key},1,test,accuracy,{value}" for key, value in scores.items()]
    heads = "study,experiment,model,seed,split,metric,value"
    write("results/compare/results.csv", "\n".join([heads, *rows]))
    metrics = {key: {"accuracy": metric} for key, metric in scores.items()}
    write("metrics.json", json.dumps(metrics))


def report() -> None:
    comparison = read("results/compare/comparison.json")
    summaries = [read(f"{scored('evaluate', key)}/summary.csv") for key in PARAMS["models"]]
    times = [path.read_text() for path in sorted(Path("results/timing/train").glob("*/*.json"))]
    files = {
        "index.html": PARAMS["study"]["title"] + comparison + digest(code()),
        "tables/feelings_scores.csv": comparison,
        "tables/feelings_translation.csv": "core_minutes\n" + "".join(times).rstrip(),
        "documents/documents.html": "".join(summaries),
    }
    others = yaml.safe_load(Path(__file__).with_name("report.yaml").read_text())
    for name, text in (files | others).items():
        write(f"reports/{name}", text)


STAGES = {
    "download": download, "tokenize": tokenize, "recipe": recipe, "train": train,
    "reference_models": reference_models, "score": score, "explain": explain,
    "adversarial_attention": adversarial_attention,
    "compare": compare, "report": report,
}  # fmt: skip


if __name__ == "__main__":
    started = time.time()
    if os.environ.get("TOY_FAIL") == NAME:
        sys.exit(f"heed: {NAME} fails, by TOY_FAIL")
    if COMMAND not in STAGES:
        sys.exit(f"toy: no command {NAME}")
    try:
        trained = STAGES[COMMAND]()
    except KeyboardInterrupt:
        sys.exit(f"heed: {INTERRUPTED}")
    name = f"{NAME} {trained}" if trained else NAME
    with Path(os.environ["TOY_LOG"]).open("a") as log:
        gpus = os.environ.get("CUDA_VISIBLE_DEVICES")
        log.write(json.dumps([name, started, time.time(), gpus]) + "\n")
