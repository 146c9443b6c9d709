"""Paths of params.yaml and of each stage's files, relative to the top folder of a clone.

docs/internals/contracts.md describes the files. Names of params.yaml are parts of paths.
"""

import re
from pathlib import Path

# The form of the names of sources, corpora, experiments, models and searches: names of folders too.
NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"
MAX_NAME = 100  # characters; DVC and Snakemake name files by several names

PARAMS = Path("params.yaml")
RAW, TOKENS = Path("data/raw"), Path("data/tokens")
EMBEDDINGS = Path("data/embeddings")
PUBLISHED = Path("data/published")
RESULTS, REPORTS = Path("results"), Path("reports")
RECIPES, SEARCHES = RESULTS / "recipe", RESULTS / "search"
RUNS, PREDICTIONS = RESULTS / "train", RESULTS / "predict"
REFERENCE_MODELS = RESULTS / "reference_models"
TRAINED = RESULTS / "trained"  # EXPERIMENT/MODEL.json: the digests of a model's runs
EVALUATIONS, COMPARISON = RESULTS / "evaluate", RESULTS / "compare"
EXPLANATIONS, ADVERSARIAL_ATTENTION = RESULTS / "explain", RESULTS / "adversarial_attention"
METRICS = Path("metrics.json")
TIMING = RESULTS / "timing"
SHOWN = RESULTS / "shown"  # STAGE/KEY: the digest of a folder that the report reads
WORK = Path(".heed/work")  # unfinished downloads, checkpoints, searches
LOCKS = Path(".heed/locks")
LOOKS = Path(".heed/looks")  # STUDY.json: the numbers of seeds of each experiment's comparisons

# Names of files in the folders above that several stages use.
PREDICTED, STATISTICS = "predictions.parquet", "statistics.parquet"
WEIGHTS, RUN, HISTORY = "model.safetensors", "run.json", "history.csv"  # of a run
LONGER = "longer"  # in place of a seed: the longer training of a model
VECTORS, ENCODER_FACTS = "vectors.npy", "encoder.json"  # of an embedding
MODEL_RECIPE, MODEL_RUNS, MODEL_PREDICTION = "recipe.yaml", "runs.json", "prediction.yaml"
MODEL_LONGER = "longer_training.json"


def experiment_of(model: str) -> str:
    """Return the experiment that has a model's recipe; empty: none."""
    found = (path.name for path in RECIPES.glob("*/") if (path / f"{model}.yaml").exists())
    return next(found, "")


def recipe_file(model: str) -> Path:
    """Return the path of a model's recipe, in the folder of its experiment."""
    return RECIPES / experiment_of(model) / f"{model}.yaml"


def command_of(stage: str, model: str) -> str:
    """Return the command of a stage, recipe or score, of a model's experiment, for messages."""
    return f"heed {stage} {experiment_of(model) or 'EXPERIMENT'}"


def prediction_folder(model: str) -> Path:
    """Return the folder of a model's predictions, in its experiment's folder."""
    return PREDICTIONS / experiment_of(model) / model


def pretrained_folder(corpus: str) -> Path:
    """Return the folder of a corpus's pretrained reference models; no experiment has a dot."""
    return REFERENCE_MODELS / f"{corpus}.pretrained"


def encoder_explanation_folder(corpus: str) -> Path:
    """Return the folder of what a corpus's encoder explains; no model has a dot."""
    return EXPLANATIONS / f"{corpus}.pretrained"


def prediction_file(model: str) -> Path:
    """Return the path of the settings by which a model's test items are predicted and scored."""
    return recipe_file(model).with_name(f"{model}.prediction.yaml")


def run_folder(model: str, seed: int | str) -> Path:
    """Return the folder of the training with a seed, or of the LONGER one."""
    return RUNS / model / str(seed)


def trained_file(model: str) -> Path:
    """Return the file with the digests of a model's runs."""
    return TRAINED / experiment_of(model) / f"{model}.json"


def timing_file(model: str, seed: int | str) -> Path:
    """Return the file with the time of the training with a seed, or of the LONGER one."""
    return TIMING / "train" / model / f"{seed}.json"


def train_command(model: str, seed: int | str) -> str:
    """Return the command of one training, for messages; without seeds it makes the LONGER one."""
    return f"heed train {model}" + (f" --seeds {seed}" if seed != LONGER else "")


def is_name(text: str) -> bool:
    """Return whether `text` can name a source, corpus, experiment, search or model."""
    return len(text) <= MAX_NAME and bool(re.fullmatch(NAME, text))
