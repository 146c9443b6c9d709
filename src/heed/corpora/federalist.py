"""The Federalist Papers: 85 essays of 1787 and 1788 that Hamilton, Madison and Jay signed Publius.

Who wrote which is the classic question of authorship (Mosteller and Wallace 1964, Inference and
Disputed Authorship). A document is a paragraph, its group the paper. The papers are in the public
domain; the file is Project Gutenberg's, whose licence stands in it and is not read as text.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from heed.corpora.publication import Document, Documents, File, Kind, SourceKind, require_file
from heed.files import HeedError

if TYPE_CHECKING:
    from heed.study import Corpus

COMMIT = "7effe9c7518aa38e80f23664419a3e28b7993127"
HOST = f"https://raw.githubusercontent.com/GITenberg/The-Federalist-Papers_1404/{COMMIT}"
FILE = "1404.txt"
FILES = (
    File(
        FILE,
        f"federalist/{FILE}",
        ("sha256:64dd04d805964a7c8f946072fcc8ba11d01613c8e6faf908511a28930dcb28e1",),
        f"{HOST}/{FILE}",
    ),
)
PAPERS = 85
JAY = {2, 3, 4, 5, 64}
JOINT = {18, 19, 20}  # Madison's, with material of Hamilton's
DISPUTED = {*range(49, 59), 62, 63}  # both claimed them; Madison's, by Mosteller and Wallace
MADISON = {10, 14, *range(37, 49)}
VALIDATION = {8, 16, 24, 32, 40, 48, 72, 80}  # of split `given`: every eighth paper
END = "End of the Project Gutenberg EBook"
BYLINE = re.compile(r"HAMILTON|MADISON|JAY|MADISON, with HAMILTON")
SIGNATURE = "PUBLIUS"  # notes of the edition follow it
NOTE_MARK = re.compile(r"(?<=\S)\(E?\d{1,2}\)")  # of a note: government.(1)


def read_papers(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield each paper's number and its paragraphs, without title, byline, address and notes.

    Raises HeedError when the file does not have the papers 1 to 85, each with its byline.
    """
    text = path.read_text(encoding="ascii", errors="replace").partition(END)[0]
    _, *pieces = re.split(r"^FEDERALIST No\. (\d+)$", text, flags=re.MULTILINE)
    numbers = [int(number) for number in pieces[::2]]
    if numbers != [*range(1, PAPERS + 1)]:
        raise HeedError(
            f"{path}: expected the papers 1 to {PAPERS} in their order, "
            f"found {len(numbers)} headings"
        )
    for number, paper in zip(numbers, pieces[1::2], strict=True):
        yield number, _read_paragraphs(f"{path}: paper {number}", paper)


def _read_paragraphs(location: str, paper: str) -> list[str]:
    """Return the paragraphs between the address to the people and the signature."""
    blocks = [" ".join(block.split()) for block in re.split(r"\n\s*\n", paper) if block.strip()]
    bylines = [place for place, block in enumerate(blocks) if BYLINE.fullmatch(block)]
    if len(bylines) != 1:
        raise HeedError(f"{location}: expected one line with its author, found {len(bylines)}")
    paragraphs = []
    for block in blocks[bylines[0] + 2 :]:  # the address follows the byline
        if block.startswith(SIGNATURE):
            break
        paragraphs.append(NOTE_MARK.sub("", block))
    return paragraphs


def read_paragraphs(raw: Path, corpus: "Corpus") -> Documents:
    """Yield the paragraphs of Hamilton's and Madison's papers; Jay's and the joint ones are not.

    With split `given` the undisputed papers are for training and validation and the disputed ones
    for test, with Madison as their author; any other split is of the undisputed papers alone.
    """
    is_given = corpus.split.kind == "given"
    for number, paragraphs in read_papers(require_file(raw, FILE)):
        is_disputed = number in DISPUTED
        if number in JAY | JOINT or (is_disputed and not is_given):
            continue
        author = "Madison" if number in MADISON or is_disputed else "Hamilton"
        part = "test" if is_disputed else "validation" if number in VALIDATION else "train"
        for place, text in enumerate(paragraphs, 1):
            split = part if is_given else ""
            yield Document(f"{number}/{place}", text, {"author": author}, str(number), split)


SOURCE = SourceKind(name="federalist", files=FILES, size=1.2e6)
KINDS = (
    Kind(
        name="federalist",
        source=SOURCE,
        read=read_paragraphs,
        splits=("given", "random", "folds"),
        grouped=True,
        labels=("author",),
        documents=922,
        learned=922,
        added=157,
        tokens_per_document=181,
    ),
)
