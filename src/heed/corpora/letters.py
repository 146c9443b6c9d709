"""Letters of seven authors in five languages, cut into pieces by the course."""

from pathlib import Path

from heed.corpora.publication import Document, Documents, File, Kind, SourceKind, require_file
from heed.corpora.published_lines import read_published_lines, text_field

COMMIT = "b68c6f1380638917461bd86cf200fc3b92a386f6"
HOST = f"https://raw.githubusercontent.com/Jamesmin90/Multiclass-classification-with-Huggin-Face-Transformer/{COMMIT}"
TRAIN, EVAL = "classifier_data_train.json", "classifier_data_eval.json"
FILES = (
    File(
        TRAIN,
        f"letters/{TRAIN}",
        ("blob:a74f24be4b3d21cd066b7f727bc51f260fb03bd3",),
        f"{HOST}/{TRAIN}",
    ),
    File(
        EVAL,
        f"letters/{EVAL}",
        ("blob:aec9a12a6c90cb71a9f365dee792e50ff50d5a1f",),
        f"{HOST}/{EVAL}",
    ),
)


def read_pieces(path: Path, split: str = "") -> Documents:
    """Yield the pieces in one of the course's files; their group is the letter they come from."""
    for number, row in read_published_lines(path):
        text, author, language, letter = (
            text_field(path, number, row, key) for key in ("text", "author", "lang", "file")
        )
        yield Document(
            f"{path.stem}/{number}", text, {"author": author, "language": language}, letter, split
        )


def read_train_and_eval(raw: Path) -> Documents:
    """Yield the pieces of both published files: split train, and eval as split test."""
    train, test = require_file(raw, TRAIN), require_file(raw, EVAL)
    yield from read_pieces(train, "train")
    yield from read_pieces(test, "test")


def read_eval(raw: Path) -> Documents:
    """Yield the 4,881 pieces of the eval file, without a split."""
    yield from read_pieces(require_file(raw, EVAL))


SOURCE = SourceKind(name="letters", files=FILES, size=60e6)
LABELS = ("author", "language")
KINDS = (
    Kind(
        name="letters",
        source=SOURCE,
        read=lambda raw, _: read_train_and_eval(raw),
        splits=("given",),
        labels=LABELS,
        documents=43_958,
        tokens_per_document=62,
    ),
    Kind(
        name="letters-pieces",
        source=SOURCE,
        read=lambda raw, _: read_eval(raw),
        grouped=True,
        labels=LABELS,
        documents=4_881,
        tokens_per_document=62,
    ),
)
