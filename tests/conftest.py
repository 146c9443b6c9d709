"""Fixtures of several tests: the real corpora, a tiny tokenised corpus with a recipe."""

import contextlib
import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Threads of several test processes wait for each other: a test of 5 s took 220 s among others.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import pytest
import yaml

from heed.files import digest_folder, write_json, write_text
from heed.tasks.classification.recipe import Hyperparameters
from tests.pipeline.makers import DVC, SMALL, SNAKEMAKE, Toy, shared_study

if TYPE_CHECKING:
    from heed.training.loop import Progress
    from heed.training.run import RunInfo

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("HEED_SHARED", ROOT.parent / "shared"))
for who in ("AUTHOR", "COMMITTER"):  # git may not know who commits here
    os.environ.setdefault(f"GIT_{who}_NAME", "x")
    os.environ.setdefault(f"GIT_{who}_EMAIL", "x@y")

RUN = Path("results/train/tiny-self-attention/1")  # of the corpus `tiny`

HYPERPARAMETERS = Hyperparameters(
    vocabulary_size=50, max_tokens=12, embedding_dim=8, hidden_size=6, linear_size=5,
    attention="multi-head", heads=3, pooling="mean", embedding_dropout=0.1, dropout=0.2, epochs=3,
    batch_size=8, learning_rate=0.01, device="cpu",
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-snapshots", action="store_true", help="write what is printed now")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import nothing of tests/slow where nothing slow is asked for, such as a browser's library."""
    return (collection_path == ROOT / "tests/slow" and config.option.markexpr == "not slow") or None


def cases(test: str) -> dict[str, Any]:
    """Return the tables in the YAML file that is named as a test's own file, its `__file__`."""
    return yaml.safe_load(Path(test).with_suffix(".yaml").read_text(encoding="utf-8"))


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with `snapshots/NAME.txt` beside the test; `make snapshots` writes it anew."""

    def compare(name: str, text: str) -> None:
        path = request.path.parent / "snapshots" / f"{name}.txt"
        if request.config.getoption("update_snapshots"):
            write_text(path, text)
        assert text == path.read_text(encoding="utf-8"), f"make snapshots ({name})"

    return compare


@pytest.fixture(scope="session")
def corpora() -> Path:
    """Return the folder of the real corpora, or skip the test."""
    if not (SHARED / "corpora").is_dir():
        pytest.skip(f"no {SHARED / 'corpora'} (HEED_SHARED: the folder that holds corpora/)")
    return SHARED / "corpora"


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """The toy study, committed, in a folder whose name has a space.

    DVC runs most of it, since that takes half as long; Snakemake does the rest."""

    def make(folder: Path) -> Toy:
        toy = Toy.of_stub(folder)
        assert len(toy.executed(*DVC, "score", "reference_models@feelings")) == 13
        assert toy.executed(*SNAKEMAKE) == ["compare", "reference_models author", "report"]
        return toy

    return shared_study(tmp_path_factory, "toy study", make)


@pytest.fixture
def toy(finished: Toy, tmp_path: Path) -> Toy:
    return finished.copy(tmp_path / "a copy")


@pytest.fixture(scope="session")
def real_study(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """A small study, run by the real heed, and committed."""

    def make(folder: Path) -> Toy:
        study = Toy.of_real_heed(folder / "clone", SMALL)
        study.run(*SNAKEMAKE)
        return study

    return shared_study(tmp_path_factory, "real study", make)


def run_heed(
    *arguments: str | bytes, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command `heed` of this tree in a process of its own."""
    command = [sys.executable, "-m", "heed.cli", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")} | environment
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8")


def write_meta(folder: Path, **values: object) -> dict:
    """Write the meta.json of a tokenised corpus, with these values, and return it."""
    meta = {
        "digest": "d", "corpus": folder.name, "kind": "table", "tokenizer": "whitespace",
        "folds": 0, "labels": {}, "documents": 1600, "tokens": 64_000, "types": 500,
        "splits": {"train": 1000, "validation": 200, "test": 400}, "reduced": False,
        "generated": False, "duplicates": {}, "cleaned": {},
        "near_duplicates": {"test": [0], "complete": True},
        "rationale": {"kind": "planted", "documents": {}, "words": {}},
        "vectors": None, "languages": {}, "alignments": [],
    } | values  # fmt: skip
    write_json(folder / "meta.json", meta)
    return meta


def write_tokens(path: Path, texts: list[list[str]], labels: list[str], splits: list[str]) -> dict:
    """Write a tokenised corpus by hand (docs/internals/contracts.md) and return its meta.json."""
    path.mkdir(parents=True)
    lexicon: dict[str, int] = {}
    ids = [lexicon.setdefault(word, len(lexicon)) for words in texts for word in words]
    np.save(path / "ids.npy", np.asarray(ids, np.int32))
    np.save(path / "offsets.npy", np.cumsum([0, *map(len, texts)]).astype(np.int64))
    write_text(path / "lexicon.txt", "".join(f"{word}\n" for word in lexicon))
    columns = {
        "id": [f"d{i}" for i in range(len(texts))], "text": [" ".join(words) for words in texts],
        "label_kind": labels, "group": "", "split": splits,
    }  # fmt: skip
    pd.DataFrame(columns).to_parquet(path / "documents.parquet", index=False)
    write_positions(path, texts)
    write_sentences(path, texts)
    return write_meta(
        path, digest=digest_folder(path), labels={"kind": sorted(set(labels))},
        documents=len(texts), tokens=len(ids), types=len(lexicon),
        splits={split: splits.count(split) for split in ("train", "validation", "test")},
    )  # fmt: skip


def write_positions(path: Path, texts: list[list[str]]) -> None:
    """Write where each token starts and ends in its text, and the word "fine" as rationale."""
    starts = [np.cumsum([0, *(len(word) + 1 for word in words)])[:-1] for words in texts]
    lengths = [len(word) for words in texts for word in words]
    np.save(path / "starts.npy", np.concatenate(starts).astype(np.int32))
    np.save(path / "ends.npy", (np.concatenate(starts) + lengths).astype(np.int32))
    rows = [(row, words) for row, words in enumerate(texts) if "fine" in words]
    fine = [(row, int(starts[row][words.index("fine")])) for row, words in rows]
    rationale = [(row, start, start + 4) for row, start in fine]
    table = pd.DataFrame(rationale, columns=["document", "start", "end"], dtype=np.int64)
    table.to_parquet(path / "evidence.parquet", index=False)


def write_sentences(path: Path, texts: list[list[str]]) -> None:
    starts = [np.arange(0, len(words), 4) for words in texts]
    np.save(path / "sentences.npy", np.concatenate(starts).astype(np.int32))
    np.save(path / "sentence_offsets.npy", np.cumsum([0, *map(len, starts)]).astype(np.int64))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def workplace(folder: Path) -> Path:
    """Run the test in a folder with the corpus and the recipe of `tiny-self-attention`."""
    make_workplace(folder)
    return folder


@contextlib.contextmanager
def new_workplace(factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Work in a new folder with the corpus `tiny` and the recipe `tiny-self-attention`."""
    make_workplace(folder := factory.mktemp("workplace"))
    with contextlib.chdir(folder):
        yield folder


def make_workplace(tmp_path: Path) -> None:
    """Write the tokenised corpus `tiny` and the recipe `tiny-self-attention` into a folder."""
    from heed.recipe import CorpusStatistics, Recipe, write_prediction, write_recipe
    from heed.tasks.classification.recipe import Data, Prediction

    generator = np.random.default_rng(0)
    labels = [("good", "bad")[i % 2] for i in range(60)]
    drawn = [generator.integers(0, 30, generator.integers(0, 15)) for _ in labels]
    pairs, last = zip(drawn, labels, strict=True), {"good": ["fine"], "bad": []}
    texts = [[*(f"w{w}" for w in words), *last[label]] for words, label in pairs]
    splits = ["train"] * 36 + ["validation"] * 12 + ["test"] * 12
    meta = write_tokens(tmp_path / "data/tokens/tiny", texts, labels, splits)
    statistics = {field.name: meta[field.name] for field in dataclasses.fields(CorpusStatistics)}
    recipe = Recipe(
        model="tiny-self-attention", experiment="tiny", task="classification",
        variant="self-attention", corpus="tiny", tokenizer="whitespace", folds=0,
        tokens=meta["digest"], statistics=CorpusStatistics(**statistics),
        data=Data("kind", ["bad", "good"]), hyperparameters=HYPERPARAMETERS,
    )  # fmt: skip
    recipes = tmp_path / "results/recipe/tiny"
    write_recipe(recipes / "tiny-self-attention.yaml", recipe)
    write_prediction(recipes / "tiny-self-attention.prediction.yaml", Prediction())


def change_recipe(model: str = "tiny-self-attention", **changes: object) -> None:
    """Write the recipe of a model in the working folder with other values of hyperparameters."""
    from heed.paths import recipe_file
    from heed.recipe import read_model_recipe, write_recipe

    write_recipe(recipe_file(model), read_model_recipe(model).changed(changes))


def train(
    model: str, seed: int, report: Callable[["Progress"], None] | None = None, code: str = ""
) -> "RunInfo":
    """Train a model in the working folder; of a training that ends no checkpoint is left."""
    from heed.recipe import read_model_recipe
    from heed.training.checkpoint import work_folder
    from heed.training.run import train_run

    info = train_run(model, seed, code, report or (lambda progress: None))
    shutil.rmtree(work_folder(read_model_recipe(model), seed, code))
    return info


def killed(progress: "Progress") -> None:
    """Report to nobody, and die in the third epoch of a training."""
    if progress.epoch == 3:
        raise KeyboardInterrupt


def contents(folder: Path = RUN, pattern: str = "*") -> dict[str, bytes]:
    """Return the files below a folder by their paths, without the times of trainings."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob(pattern))
        if path.is_file() and "timing" not in path.parts
    }


def train_and_predict(model: str = "tiny-self-attention", seeds: tuple[int, ...] = (1,)) -> None:
    """Train a model in the working folder with these seeds, and write its predictions."""
    from heed.prediction import write_predictions

    for seed in seeds:
        train(model, seed)
    write_predictions(model, list(seeds))
