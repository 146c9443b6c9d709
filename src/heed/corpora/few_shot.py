"""HuffPost headlines in 41 categories, 900 each, already tokenised: a substitute for `huffpost`."""

from collections.abc import Iterator
from pathlib import Path

from heed.corpora.huffpost import merge_category
from heed.corpora.publication import Document, Documents, File, Kind, SourceKind, require_file
from heed.corpora.published_lines import read_published_lines, text_field

COMMIT = "f88580ce9a288f1e549ce5f48a5778294691dc88"
HOST = f"https://raw.githubusercontent.com/dinglei0801/Beyond-Soft-Prompts/{COMMIT}/data/HuffPost/few_shot/01"
NAMES = {
    "train.json": "e470175c094f65b15ca1324ffbbd95b938b4cf91",
    "valid.json": "32a88763586efd3f9750e70b6b77e8b2126787f4",
    "test.json": "b3a0300474b3300cae0cfec2b12851ca59afc03b",
}
JOINED = 5  # headlines in a text of `news-headlines-joined`
FILES = tuple(
    File(name, f"news/few_shot_01/{name}", (f"blob:{blob}",), f"{HOST}/{name}")
    for name, blob in NAMES.items()
)


def read_headlines(raw: Path) -> Documents:
    """Yield the headlines of all three files, without their split, which is by class."""
    for name, text, category in _headlines(raw):
        yield Document(name, text, {"category": category})


def read_joined(raw: Path) -> Documents:
    """Yield texts of JOINED headlines of a category each, in the order of the files.

    Those that are left over in the end are left out. The texts are longer, and still about one
    category: for the question whether self-attention needs longer texts.
    """
    waiting: dict[str, list[str]] = {}
    number = 0
    for _, text, category in _headlines(raw):
        texts = waiting.setdefault(category, [])
        texts.append(text)
        if len(texts) == JOINED:
            yield Document(f"joined/{number}", " ".join(texts), {"category": category})
            number += 1
            texts.clear()


def _headlines(raw: Path) -> Iterator[tuple[str, str, str]]:
    """Yield name, text and category of each headline."""
    for name in NAMES:
        path = require_file(raw, name)
        for number, row in read_published_lines(path):
            category = merge_category(text_field(path, number, row, "class_name").upper())
            if category is not None:
                yield f"{path.stem}/{number}", text_field(path, number, row, "sentence"), category


SOURCE = SourceKind(name="few-shot-01", files=FILES, size=7e6)
KINDS = (
    Kind(
        name="news-headlines",
        source=SOURCE,
        read=lambda raw, _: read_headlines(raw),
        labels=("category",),
        documents=36_000,
        tokens_per_document=11,
    ),
    Kind(
        name="news-headlines-joined",
        source=SOURCE,
        read=lambda raw, _: read_joined(raw),
        labels=("category",),
        documents=36_000 // JOINED,
        tokens_per_document=11 * JOINED,
    ),
)
