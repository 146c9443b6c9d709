"""A pretrained encoder for tests: tiny, and random. Tests that import it need transformers."""

from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from heed.files import digest_folder
from heed.hyperparameters.pretrained import Encoder
from heed.pretrained import FILES, write_embedding
from heed.task.interface import DeclaredExperiment
from heed.tasks.classification.recipe import Data, Options
from heed.tokens.arrays import load_tokens
from tests.conftest import write_tokens

if find_spec("transformers") is None:
    reason = "transformers is not installed: pip install -e '.[pretrained]'"
    pytest.skip(reason, allow_module_level=True)
one_worker = pytest.mark.xdist_group("encoders")  # the import of transformers takes seconds
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["good", "bad", "film", "the", "a", "was", "it", "##s", ".", "fine"]


def write_encoder(folder: Path, spread: float = 0.02) -> Path:
    """Write a random BERT with two layers of 16 units, which reads 32 pieces.

    `spread` is the standard deviation of its weights: with more the pieces it reads differ more."""
    import transformers

    (folder / "vocab.txt").write_text("\n".join([*MARKS, *WORDS]))
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=32)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(MARKS) + len(WORDS), hidden_size=16, num_hidden_layers=2,
        num_attention_heads=2, intermediate_size=32, max_position_embeddings=32,
        initializer_range=spread, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    (folder / "README.md").write_text("---\nlanguage: en\nlicense: apache-2.0\n---\n# A model\n")
    return folder


def entry(where: Path, **keys: object) -> Encoder:
    digest = digest_folder(where, *FILES)
    given = {"folder": str(where), "sha256": digest, "max_tokens": 16}
    return Encoder(**(given | keys))


def write_films(
    encoder: Path, texts: list[list[str]], labels: list[str], splits: list[str]
) -> DeclaredExperiment:
    """Write a corpus and its vectors into the working folder; return its experiment."""
    write_tokens(Path("data/tokens/films"), texts, labels, splits)
    write_embedding("films", load_tokens("data/tokens/films"), entry(encoder), 1)
    data, options = Data("kind", ["bad", "good"]), Options("words")
    return DeclaredExperiment(task="classification", corpus="films", data=data, options=options)
