"""IMDB: 50,000 film reviews, half positive (Maas et al. 2011)."""

from pathlib import Path, PurePosixPath

from heed.corpora.publication import Document, Documents, File, Kind, SourceKind, require_file

ARCHIVE = "aclImdb_v1.tar.gz"
FILES = (
    File(
        ARCHIVE,
        f"imdb/{ARCHIVE}",
        (
            # the official archive
            "sha256:c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
            # a rebuilt archive: the same reviews, without unsup/
            "sha256:c8f37cf029dce64de1ad2ad6af52800d53e5d4f5948d5a8037e16731a79a635f",
        ),
        f"https://ai.stanford.edu/~amaas/data/sentiment/{ARCHIVE}",
    ),
)
SENTIMENT = {"neg": "negative", "pos": "positive"}


def read_reviews(raw: Path) -> Documents:
    """Yield the labelled reviews, sorted by name, with the official split; texts are bytes."""
    # not at the top: tarfile takes longer to import than all declarations together
    from heed.corpora.archive import read_members

    reviews = []
    for name, content in read_members(require_file(raw, ARCHIVE)):
        match PurePosixPath(name).parts:
            case ("aclImdb", ("train" | "test") as split, ("neg" | "pos") as label, file) if (
                file.endswith(".txt")
            ):
                reviews.append(
                    (f"{split}/{label}/{file.removesuffix('.txt')}", content, label, split)
                )
    for id_, content, label, split in sorted(reviews, key=lambda item: item[0]):
        yield Document(id_, content, {"sentiment": SENTIMENT[label]}, split=split)


SOURCE = SourceKind(name="imdb", files=FILES, size=84e6)
KINDS = (
    Kind(
        name="imdb",
        source=SOURCE,
        read=lambda raw, _: read_reviews(raw),
        splits=("given", "random", "folds"),
        labels=("sentiment",),
        documents=50_000,
        learned=25_000,
        tokens_per_document=269,
    ),
)
