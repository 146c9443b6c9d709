"""Multi30k: 31,014 captions of photographs in English, German and French (Elliott et al. 2016).

The German and French texts are translations of the English captions. The repository of the dataset
states no licence: its text is read, and never published.
"""

from pathlib import Path

from heed.corpora.publication import (
    Document,
    Documents,
    File,
    Kind,
    SourceKind,
    require_file,
)
from heed.files import HeedError

COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
HOST = f"https://raw.githubusercontent.com/multi30k/dataset/{COMMIT}/data/task1/raw"
LANGUAGES = ("en", "de", "fr")
SPLITS = {"train": "train", "val": "validation", "test_2016_flickr": "test"}
HASHES = {
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
}
FILES = tuple(
    File(name, f"multi30k/{name}", (f"sha256:{digest}",), f"{HOST}/{name}")
    for name, digest in HASHES.items()
)


def read_captions(raw: Path) -> Documents:
    """Yield the captions in all three languages, with the split that they were published with.

    Raises HeedError when a file is missing or broken, or the languages differ in their lines.
    """
    for name, split in SPLITS.items():
        lines = [_read_lines(require_file(raw, f"{name}.{language}.gz")) for language in LANGUAGES]
        if len({*map(len, lines)}) > 1:
            counts = ", ".join(
                f"{name}.{language}.gz {len(texts):,}"
                for language, texts in zip(LANGUAGES, lines, strict=True)
            )
            raise HeedError(f"{raw}: the files differ in their number of lines: {counts}")
        for number, texts in enumerate(zip(*lines, strict=True), 1):
            yield Document(
                f"{name}/{number}", texts=dict(zip(LANGUAGES, texts, strict=True)), split=split
            )


def _read_lines(path: Path) -> list[str | bytes]:
    """Return the lines of a .gz file as bytes, without their ends."""
    # not at the top: tarfile takes longer to import than all declarations together
    from heed.corpora.archive import open_compressed

    with open_compressed(path) as file:
        return [line.rstrip(b"\r\n") for line in file]


SOURCE = SourceKind(name="multi30k", files=FILES, size=2e6)
KINDS = (
    Kind(
        name="multi30k",
        source=SOURCE,
        read=lambda raw, _: read_captions(raw),
        parallel=True,
        languages=LANGUAGES,
        splits=("given", "random", "folds"),
        documents=31_014,
        learned=30_014,
        validated=1_014,
        tokens_per_document=40,
    ),
)
