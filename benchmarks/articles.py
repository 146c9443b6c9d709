"""The table of data/news: HuffPost articles of a few classes, drawn by a rule that can be repeated.

`python -m benchmarks.articles FOLDER` writes it from the twelve parts in FOLDER, which `heed
download huffpost` gets (data/raw/huffpost), and prints its SHA-256. Of version 2 of the data, an
article whose headline and description are together those of an earlier one is left out, whatever
their classes. Of each class those SIZE articles are taken whose links have the smallest SHA-256
together with SEED, in the order of the data.
"""

import argparse
import collections
import gzip
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from heed.corpora.huffpost import (
    SAMPLE_FIELDS,
    SAMPLE_PATH,
    merge_category,
    read_version_2,
    text_of,
)
from heed.files import sha256

CLASSES = ("POLITICS", "SPORTS", "TRAVEL", "WELLNESS")
SIZE, SEED = 625, 1
Row = dict[str, str]


def draw(
    rows: Iterable[tuple[int, Row]], classes: tuple[str, ...], size: int, seed: int
) -> list[Row]:
    """Return `size` articles of each class, in their order."""
    drawn: dict[str, list[tuple[str, int, Row]]] = collections.defaultdict(list)
    seen = set[str]()
    for number, row in rows:
        label, text = merge_category(row["category"]), " ".join(text_of(row).split())
        if label in classes and text not in seen:
            rank = hashlib.sha256(f"{seed} {row['link']}".encode()).hexdigest()
            drawn[label].append((rank, number, row | {"category": label}))
        seen.add(text)
    kept = [entry for entries in drawn.values() for entry in sorted(entries)[:size]]
    return [row for _, _, row in sorted(kept, key=lambda entry: entry[1])]


def write(rows: Iterable[Row], path: Path) -> None:
    """Write the articles as JSON lines, compressed: the same bytes every time."""
    lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    path.write_bytes(gzip.compress(lines.encode(), 9, mtime=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    rows = read_version_2(parser.parse_args().folder, SAMPLE_FIELDS)
    write(draw(rows, CLASSES, SIZE, SEED), SAMPLE_PATH)
    print(f"{SAMPLE_PATH}: {SAMPLE_PATH.stat().st_size:,} bytes, sha256:{sha256(SAMPLE_PATH)}")


if __name__ == "__main__":
    main()
