"""HuffPost headlines in 41 categories, 900 each, tokenised already: the substitute for News when
HuffPost is not at hand.
"""

from pathlib import Path

from heed.corpora.huffpost import merged
from heed.corpora.letters import field, json_lines
from heed.corpora.publication import Document, Documents, File, Kind, SourceKind, need

COMMIT = "f88580ce9a288f1e549ce5f48a5778294691dc88"
HOST = f"https://raw.githubusercontent.com/dinglei0801/Beyond-Soft-Prompts/{COMMIT}/data/HuffPost/few_shot/01"
NAMES = {
    "train.json": "e470175c094f65b15ca1324ffbbd95b938b4cf91",
    "valid.json": "32a88763586efd3f9750e70b6b77e8b2126787f4",
    "test.json": "b3a0300474b3300cae0cfec2b12851ca59afc03b",
}
FILES = tuple(
    File(name, f"news/few_shot_01/{name}", (f"blob:{blob}",), f"{HOST}/{name}")
    for name, blob in NAMES.items()
)


def read(raw: Path) -> Documents:
    """Yield the headlines of all three files: their own split is by class, for few-shot work, and
    of no use here.
    """
    for name in NAMES:
        path = need(raw, name)
        for number, row in json_lines(path):
            category = merged(field(path, number, row, "class_name").upper())
            if category is not None:
                yield Document(
                    f"{path.stem}/{number}",
                    field(path, number, row, "sentence"),
                    {"category": category},
                )


SOURCE = SourceKind(name="few-shot-01", files=FILES, size=7e6)
KINDS = (
    Kind(
        name="news-headlines",
        source=SOURCE,
        read=lambda raw, _: read(raw),
        labels=("category",),
        documents=36_000,
        tokens=11,
    ),
)
