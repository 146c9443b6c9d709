"""heed against LibMultiLabel's BiLSTM and JoeyNMT: the same texts, sizes, thread and allocator.

    python -m benchmarks.peers [--precision bfloat16] [--rounds 2] [--environments FOLDER]

Each of the two is installed in an environment of its own in FOLDER (once, some minutes, 2 GB each),
with this environment's version of torch. Every measurement is a process with one thread, and the
columns take turns. Times are processor times: of the steps of a training but its first, or of a
search. The same words, sentences and, in the search, weights reach both.
"""

import argparse
import dataclasses
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import translation, workload
from benchmarks.workload import Row, print_rows
from heed.hyperparameters.translator import TranslatorArchitecture
from heed.inputs.pairs import PairBatch
from heed.models.beam import translate
from heed.models.translators import RecurrentTranslator
from heed.training.loop import train
from heed.training.machine import keep_memory, machine_kind, make_deterministic, seed_everything

ROOT = Path(__file__).resolve().parents[1]
PINS = {
    "libmultilabel": ("libmultilabel[nn]==0.10.0", "lightning==2.6.6", "setuptools==80.9.0"),
    "joeynmt": ("joeynmt==2.3.0", "importlib_metadata==8.7.0"),
}
PEERS = {"libmultilabel": "LibMultiLabel", "joeynmt": "JoeyNMT"}
SCRIPTS = {"libmultilabel": "peer_classifier.py", "joeynmt": "peer_translator.py"}
# What `heed train` has by its command and by `keep_memory`: here for every column.
ALLOCATOR = {"tcache_count": 0, "mmap_max": 0, "trim_threshold": 2**31 - 1}
ENVIRONMENT = os.environ | {
    "GLIBC_TUNABLES": ":".join(f"glibc.malloc.{key}={each}" for key, each in ALLOCATOR.items()),
    "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "MPLBACKEND": "Agg",
}  # fmt: skip
# LibMultiLabel's label-wise attention is a pooling with a learned query, one for each class.
CLASSIFIER = dataclasses.replace(workload.SETTINGS, pooling="attention", score="dot")
DOCUMENTS, VALIDATION, PEER_STEPS = 1280, 64, 3
TRANSLATOR = dataclasses.replace(translation.SETTINGS, tied_readout=True)
INPUT_FEEDING = {"output": False, "input": True}  # JoeyNMT's, by heed's decoder
STEPS, SENTENCES, BEAM = 36, 500, 5
TARGETS = {"classifier": 25, "output": 4, "input": 4, "search": 3}
Rates = dict[str, list[float]]  # tokens a second (search: sentences) of each round, by column


def measure_classifier(name: str, precision: str, folder: Path) -> float:
    """Return tokens a second of the second epoch of heed's training."""
    make_deterministic()
    keep_memory()
    seed_everything(1)
    h = dataclasses.replace(CLASSIFIER, precision=precision)
    learner = workload.learner(DOCUMENTS, VALIDATION, h)
    marks: list[tuple[int, float]] = []
    with tempfile.TemporaryDirectory() as work:
        train(
            learner, h, 1, "cpu", Path(work),
            lambda progress: marks.append((progress.epoch, time.process_time())),
        )  # fmt: skip
    started = max(at for epoch, at in marks if epoch == 1)
    seconds = marks[-2][1] - started  # the last mark is after validation
    return float(learner.encoded.lengths(learner.train).sum()) / seconds


def measure_translator(decoder: str, precision: str, folder: Path) -> float:
    """Return target tokens a second of heed's training."""
    make_deterministic()
    keep_memory()
    seed_everything(1)
    h = dataclasses.replace(TRANSLATOR, decoder=decoder)
    model = RecurrentTranslator(*translation.WORDS, h)

    def loss(batch: PairBatch) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            return model.loss(batch).float() / batch.predicted_tokens

    size, window = workload.BATCH, translation.WINDOW
    return translation.Training(model, loss, size, window, STEPS, fused=True).rate()


def measure_search(name: str, precision: str, folder: Path) -> float:
    """Return sentences a second of heed's beam search; write the translations."""
    make_deterministic()
    keep_memory()
    h = dataclasses.replace(TRANSLATOR, dropout=0.0)
    model = RecurrentTranslator(translation.PIECES, translation.PIECES, h)
    model.load_state_dict(torch.load(folder / "translator.pt"))
    model.eval()
    sources = [source.numpy() for source in torch.load(folder / "sources.pt")]
    translate(model, sources[: workload.BATCH], BEAM, 1.0, "cpu")  # not counted
    started = time.process_time()
    found = translate(model, sources, BEAM, 1.0, "cpu")
    seconds = time.process_time() - started
    write(folder / "heed-translations.json", [best[0].tokens for best in found])
    return len(sources) / seconds


def write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def write_texts(folder: Path) -> None:
    """Write the texts and sizes for LibMultiLabel."""
    tokens = workload.imdb_like(DOCUMENTS + VALIDATION)
    offsets = tokens.offsets[: DOCUMENTS + 1]
    labels = np.arange(DOCUMENTS) % workload.CLASSES
    np.savez(
        folder / "texts.npz", ids=tokens.ids[: offsets[-1]] + 2, offsets=offsets, labels=labels
    )
    h = CLASSIFIER
    sizes = {"embedding_dim": h.embedding_dim, "hidden_size": h.hidden_size}
    sizes |= {"max_tokens": h.max_tokens, "batch": workload.BATCH, "classes": workload.CLASSES}
    write(folder / "classifier.json", sizes | {"vocabulary": workload.VOCABULARY})


def write_pairs(folder: Path) -> None:
    """Write the sentence pairs, and JoeyNMT's configurations of both decoders."""
    pairs = translation.random_pairs(translation.PAIRS, translation.WORDS)
    for side, ending in enumerate(("src", "trg")):
        lines = [" ".join(f"w{i}" for i in pair[side]) for pair in pairs]
        for split in ("train", "dev"):
            text = "\n".join(lines[: None if split == "train" else 64]) + "\n"
            (folder / f"{split}.{ending}").write_text(text, encoding="utf-8")
    for decoder in INPUT_FEEDING:
        write(folder / f"{decoder}.yaml", joeynmt_settings(folder, decoder, TRANSLATOR))


def write_search(folder: Path) -> None:
    """Write a trained model, JoeyNMT's configuration of it, and the sentences to translate."""
    h = dataclasses.replace(TRANSLATOR, dropout=0.0)
    pieces = (translation.PIECES, translation.PIECES)
    write(folder / "search.yaml", joeynmt_settings(folder, "output", h, pieces))
    model = translation.trained_translator(SENTENCES)
    torch.save(model.state_dict(), folder / "translator.pt")
    sources = [torch.from_numpy(each) for each, _ in translation.ambiguous_pairs(SENTENCES, 2)]
    torch.save(sources, folder / "sources.pt")


def joeynmt_settings(
    folder: Path,
    decoder: str,
    h: TranslatorArchitecture,
    words: tuple[int, int] = translation.WORDS,
) -> dict[str, Any]:
    """Return JoeyNMT's configuration of heed's model `h`, and write its vocabularies."""
    name = f"{decoder}-{words[0]}"
    sides = {}
    for side, count in zip(("src", "trg"), words, strict=True):
        path = folder / f"{name}.{side}.vocabulary"
        path.write_text("\n".join(f"w{i}" for i in range(4, count)) + "\n", encoding="utf-8")
        sides[side] = {"lang": side, "level": "word", "voc_file": str(path)}
    size, rate = h.hidden_size, h.dropout
    layer = {"rnn_type": "lstm", "num_layers": 1, "dropout": rate}
    embedding = {"embeddings": {"embedding_dim": h.embedding_dim, "dropout": rate}}
    both = {
        "hidden_size": size,
        "hidden_dropout": rate,
        "init_hidden": "last",
        "attention": "luong",
    }
    return {
        "name": name, "model_dir": str(folder), "use_cuda": False, "random_seed": 1,
        "data": {"train": str(folder / "train"), "dev": str(folder / "dev"), **sides},
        "testing": {}, "training": {
            "optimizer": "adam", "learning_rate": 0.001, "scheduling": "warmupinversesquareroot",
            "clip_grad_norm": 1.0, "normalization": "tokens", "batch_size": workload.BATCH,
            "batch_type": "sentence", "epochs": 1, "validation_freq": 10**6,
            "logging_freq": 10**6,
        },
        "model": {
            "tied_softmax": True, "bias_initializer": "zeros",
            "encoder": {"type": "recurrent", "hidden_size": size // 2, **layer, **embedding},
            "decoder": {
                "type": "recurrent", "input_feeding": INPUT_FEEDING[decoder], **both, **layer,
                **embedding,
            },
        },
    }  # fmt: skip


def install(folder: Path, name: str) -> Path:
    """Return the Python of a peer's environment, which is made if need be."""
    python = folder / name / "bin" / "python"
    marker = folder / name / "pins.txt"
    pins = [f"torch=={torch.__version__.split('+')[0]}", *PINS[name]]
    if not marker.is_file() or marker.read_text() != "\n".join(pins):
        print(f"installing {' '.join(pins)} in {folder / name}", file=sys.stderr, flush=True)
        venv.create(folder / name, with_pip=True, clear=True)
        # torch first: a resolver that sees it never fetches another build
        for wanted in (pins[:1], pins):
            subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
        marker.write_text("\n".join(pins))
    return python


def rate(command: list[str | Path]) -> float:
    done = subprocess.run(
        command, env=ENVIRONMENT, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return float(done.stdout.split()[-1])


def take_turns(columns: dict[str, list[str | Path]], rounds: int) -> Rates:
    """Return the rates of columns that take turns: A B, A B."""
    rates: Rates = {name: [] for name in columns}
    for _ in range(rounds):
        for name, command in columns.items():
            rates[name].append(rate(command))
            print(f"{name}: {rates[name][-1]:.1f}", file=sys.stderr, flush=True)
    return rates


def comparisons(
    folder: Path, pythons: dict[str, Path], precisions: list[str]
) -> dict[str, dict[str, list[str | Path]]]:
    """Return the command of each column of each comparison; the peer's is the last."""

    found: dict[str, dict[str, list[str | Path]]] = {}
    for name in NAMES:
        found[name] = {
            precision: [
                sys.executable, "-m", "benchmarks.peers", "--measure", name, precision, folder
            ]
            for precision in (precisions if name != "search" else ["float32"])
        }  # fmt: skip
        package = "libmultilabel" if name == "classifier" else "joeynmt"
        script = ROOT / "benchmarks" / SCRIPTS[package]
        steps = str(PEER_STEPS) if name == "classifier" else name
        found[name][PEERS[package]] = [pythons[package], "-P", script, folder, steps]
    return found


MEASUREMENTS = {"classifier": measure_classifier, "search": measure_search}
NAMES = {
    "classifier": "training a BiLSTM with attention pooling, documents/s",
    "output": "training a translator, attention after the recurrence, target tokens/s",
    "input": "training a translator, attention before the recurrence, target tokens/s",
    "search": f"beam search, {BEAM} hypotheses, sentences/s",
}


def make_rows(name: str, rates: Rates, unit: float, note: str) -> list[Row]:
    """Return a row for each of heed's columns; `unit`: tokens of what is counted."""
    *own, peer = rates
    average = {column: float(np.mean(each)) / unit for column, each in rates.items()}
    rows = []
    for column in own:
        by_round = np.divide(rates[column], rates[peer])
        rows.append(
            Row(
                f"{NAMES[name]}, {column}, against {peer}",
                f"{average[column] / average[peer]:.1f}x", f">= {TARGETS[name]}x",
                f"{average[column]:.1f}, {average[peer]:.1f} there; by round "
                f"{', '.join(f'{each:.1f}x' for each in by_round)}{note}",
            )
        )  # fmt: skip
    return rows


def same_translations(folder: Path) -> str:
    found = [json.loads((folder / f"{each}-translations.json").read_text()) for each in
             ("heed", "joeynmt")]  # fmt: skip
    same = np.mean([one == other for one, other in zip(*found, strict=True)])
    words = np.mean([len(each) for each in found[0]])
    return f"; {same:.1%} of the translations are the same, {words:.1f} tokens on average"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--precision", action="append", choices=["float32", "bfloat16"])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--environments", type=Path, default=ROOT / ".heed" / "peers")
    parser.add_argument("--only", action="append", choices=NAMES, help="a comparison")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    torch.set_num_threads(1)
    if wanted.measure:
        name, precision, path = wanted.measure
        print(MEASUREMENTS.get(name, measure_translator)(name, precision, Path(path)))
        return
    pythons = {name: install(wanted.environments.resolve(), name) for name in PINS}
    print(f"{machine_kind('cpu')}, Python {platform.python_version()}; peers: {PINS}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_texts(folder)
        write_pairs(folder)
        if "search" in (wanted.only or NAMES):
            write_search(folder)
        lengths = np.minimum(workload.imdb_lengths(DOCUMENTS + VALIDATION), CLASSIFIER.max_tokens)
        commands = comparisons(folder, pythons, wanted.precision or ["float32"])
        for name in wanted.only or NAMES:
            rates = take_turns(commands[name], wanted.rounds)
            unit = lengths[:DOCUMENTS].mean() if name == "classifier" else 1
            note = same_translations(folder) if name == "search" else ""
            print_rows(make_rows(name, rates, float(unit), note))


if __name__ == "__main__":
    main()
