"""Peak memory of a `heed train`: one epoch, H = 256, 50,000 generated texts of IMDB's lengths."""

import dataclasses
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.workload import SETTINGS, Row, imdb_like, print_rows
from heed.cli.program import environment_without_cache
from heed.files import write_json, write_text
from heed.paths import TOKENS, recipe_file
from heed.recipe import CorpusStatistics, Recipe, write_recipe
from heed.tasks.classification.recipe import Data

DOCUMENTS = 50_000
# 50 steps, so that memory which grows by the step shows; the other documents are in no split
TRAINED, HELD_OUT = 3200, 640

MEASURE = """
import resource, sys
from heed.training.run import train_run
train_run("big", 1, "", lambda progress: None)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def prepare(folder: Path, attention: str) -> None:
    tokens = imdb_like(DOCUMENTS)
    path = folder / TOKENS / "big"
    path.mkdir(parents=True)
    splits = np.full(DOCUMENTS, "unread", object)
    order = np.random.default_rng(0).permutation(DOCUMENTS)
    splits[order[:TRAINED]] = "train"
    splits[order[-HELD_OUT:]] = "validation"
    splits[order[TRAINED : TRAINED + HELD_OUT]] = "test"
    labels = np.where(np.arange(DOCUMENTS) % 2, "a", "b")
    text = [" ".join(["word"] * int(n)) for n in np.diff(tokens.offsets)]
    frame = pd.DataFrame(
        {
            "id": [f"d{i}" for i in range(DOCUMENTS)], "text": text, "label_kind": labels,
            "split": splits,
        }
    )  # fmt: skip
    frame.to_parquet(path / "documents.parquet", index=False)
    np.save(path / "ids.npy", tokens.ids)
    np.save(path / "offsets.npy", tokens.offsets)
    np.save(path / "sentences.npy", tokens.sentence_starts)
    np.save(path / "sentence_offsets.npy", tokens.sentence_offsets)
    write_text(path / "lexicon.txt", "".join(f"{word}\n" for word in tokens.lexicon))
    write_json(path / "meta.json", dataclasses.asdict(tokens.meta))
    h = dataclasses.replace(SETTINGS, attention=attention, epochs=1, device="cpu")
    names = [field.name for field in dataclasses.fields(CorpusStatistics)]
    statistics = CorpusStatistics(**{name: getattr(tokens.meta, name) for name in names})
    recipe = Recipe(
        model="big", experiment="big", task="classification", variant=attention, corpus="big",
        tokenizer="whitespace", folds=0, tokens=tokens.meta.digest, statistics=statistics,
        data=Data("kind", ["a", "b"]), hyperparameters=h,
    )  # fmt: skip
    write_recipe(folder / recipe_file("big"), recipe)


def main() -> None:
    rows = []
    for attention in ("none", "multi-head"):
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder), attention)
            done = subprocess.run(
                [sys.executable, "-c", MEASURE], stdout=subprocess.PIPE, text=True, check=True,
                cwd=folder, env=environment_without_cache(),
            )  # fmt: skip
        gigabytes = float(done.stdout.split()[-1]) / 1e9
        name = "baseline" if attention == "none" else "with attention"
        rows.append(
            Row(f"peak memory of a training, H = 256, {name}", f"{gigabytes:.2f} GB", "<= 1.3 GB")
        )
    print_rows(rows)


if __name__ == "__main__":
    main()
