"""SST-Wiki: sentences of film reviews, each followed by sentences of Wikipedia.

Pruthi et al. 2020 (Learning to Deceive with Attention-Based Explanations), of the Stanford
Sentiment Treebank. The label is that of the review's sentence, whose words are the evidence.
"""

import re
from itertools import zip_longest
from pathlib import Path

from heed.corpora.publication import Document, Documents, File, Kind, SourceKind, require_file
from heed.evidence import Span
from heed.files import HeedError

COMMIT = "8c8823efab5a65ea85a9c04130b3622711d2fac5"
HOST = (
    f"https://raw.githubusercontent.com/danishpruthi/deceptive-attention/{COMMIT}"
    "/src/classification_tasks/data/sst-wiki"
)
PARTS = {"train": "train", "dev": "validation", "test": "test"}
HASHES = {
    "train.txt": "a2fd9ae461438e7497ebd329dfa4d2220bdb1015d2af7a31001d65c48a9191eb",
    "train.block": "aad97aeba169e9a80caaa067aab40852008451f720d30563005be33afbe984d3",
    "dev.txt": "fdeb09c33c2577c7e6ec0dbfc6a3f02dcce059bd7093f3422b1213abdd78ceae",
    "dev.block": "b43defeb7731d8d811fcac9de2b13db2ac7ed4e6f58172d9c33e3d941589c49d",
    "test.txt": "ffb5d36e27b8aa134553b07a5286c196e6f253eadb35d9c97e827f9bf64288e5",
    "test.block": "3c8e4373e069110cdedd79c741837f03b9512ee57f92fb7588d09c89d6c7f92b",
}
FILES = tuple(
    # upstream the marks of train.txt are in train.txt.block
    File(
        name,
        f"sst_wiki/{name}",
        (f"sha256:{digest}",),
        f"{HOST}/{name.replace('.block', '.txt.block')}",
    )
    for name, digest in HASHES.items()
)
SENTIMENT = {"0": "negative", "1": "positive"}
REVIEW, WIKIPEDIA = "1", "0"  # the marks of the words


def read_texts(raw: Path) -> Documents:
    """Yield the texts with their split; the words of the review's sentence are the evidence.

    Raises:
        HeedError: a file is missing; a line has no label, or another number of marks than words.

    """
    for part, split in PARTS.items():
        path, marks_path = (require_file(raw, f"{part}{end}") for end in (".txt", ".block"))
        lines, marks = (
            each.read_text(encoding="utf-8", errors="replace").removesuffix("\n").split("\n")
            for each in (path, marks_path)
        )
        for number, (line, line_marks) in enumerate(zip_longest(lines, marks, fillvalue=""), 1):
            label, _, text = line.partition("\t")
            if label not in SENTIMENT:
                raise HeedError(
                    f"{path}:{number}: expected 0 or 1, a tab and a text, found {line[:40]!r}"
                )
            yield Document(
                f"{part}/{number}",
                text,
                {"sentiment": SENTIMENT[label]},
                split=split,
                evidence=tuple(_spans(f"{marks_path}:{number}", text, line_marks.split())),
            )


def _spans(location: str, text: str, marks: list[str]) -> list[Span]:
    """Return the characters of each run of words that are marked as the review's."""
    words = [match.span() for match in re.finditer(r"\S+", text)]
    if len(marks) != len(words) or not {*marks} <= {REVIEW, WIKIPEDIA}:
        raise HeedError(
            f"{location}: expected a mark, 0 or 1, for each of {len(words)} words, found "
            f"{' '.join(marks)[:40]!r} ({len(marks)} marks)"
        )
    runs = re.finditer(f"{REVIEW}+", "".join(marks))
    return [(words[run.start()][0], words[run.end() - 1][1]) for run in runs]


SOURCE = SourceKind(name="sst-wiki", files=FILES, size=3.3e6)
KINDS = (
    Kind(
        name="sst-wiki",
        source=SOURCE,
        read=lambda raw, _: read_texts(raw),
        splits=("given", "random", "folds"),
        labels=("sentiment",),
        evidence="passage",
        documents=9_613,
        learned=7_792,
        validated=872,
        tokens_per_document=42,
    ),
)
