"""HuffPost's articles (Misra 2022), the talk's News, and headlines of them that others tokenised.

The whole News_Category_Dataset is public in twelve parts, as version 3 of the data: articles from
2012-01-28 to 2022-09-23, without their authors. Those up to 2018-05-26 are version 2, the talk's,
in the order of its official file, which is on a host that requires a login.
"""

import itertools
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.corpora.publication import (
    Documents,
    File,
    Kind,
    RawDocument,
    SourceKind,
    read_published_lines,
    require_file,
)
from heed.files import HeedError, writing
from heed.terminal import print_line

if TYPE_CHECKING:
    from heed.corpora.sections import Corpus, Source

# --- files ----------------------------------------------------------------------------------------

PARTS_ADDRESS = (
    "https://raw.githubusercontent.com/namra2000/Big_Data_News_Category_Analysis/"
    "ef4682d78cd5abf605c647e774d549a91a27f8a0/output/sentiment_output.parquet"
)
WRITER = "1ce6f580-1bf2-40da-b378-d28561df5cf6-c000"  # in the published names of the parts
PART_HASHES = (
    "b61c472e82f5298eb21044570d3ae9edfa7049873f7e2f9a63cbdf1813526513",
    "4530d14104346e8fcfb8128a9eeabf713b5a33676935605a1275cbb7ef4a36bf",
    "e4b1a294212d7b91f3e98dce27bcc6b5326b4cbe48a160f119cc5503f6494045",
    "91fdf202c2f772587abeb7ffc42ecb058b555fbeb38a9c624784234c8ace4366",
    "890affa68f0d04d7b3c2e68006c6073f6c537ca2169799a352147f9ed07b5814",
    "b70299bd2a837131a3b9f51151e69f32b357f67181e8c3e05b653dbe4fbc55ce",
    "640b2062aa18c6bf4f59af3edcd46ccfdafc683ea08882427268290056da76ef",
    "11aa85c9d99b8f3b635b9d15c5249ecc4ae17efaa04748d0c69e7a3388a654bb",
    "d50d3ee2f01d5d06969a51aff8943324503f0be96ac7bf8594b82dadd3a2278a",
    "f8f5c385d580ac5fe8ac5705904c72639c036d8362960b78b45406e0bd16977f",
    "7dde071af1f5f7efeb007735c42fb3a36f6b81b397592419a23da190bbf60743",
    "7f471cb888716297cc762ab7b4cdf90402d70e43ec81e24aed484a7d21cb006d",
)
FEW_SHOT_ADDRESS = (
    "https://raw.githubusercontent.com/dinglei0801/Beyond-Soft-Prompts/"
    "f88580ce9a288f1e549ce5f48a5778294691dc88/data/HuffPost/few_shot/01"
)
FEW_SHOT_HASHES = {
    "train.json": "blob:e470175c094f65b15ca1324ffbbd95b938b4cf91",
    "valid.json": "blob:32a88763586efd3f9750e70b6b77e8b2126787f4",
    "test.json": "blob:b3a0300474b3300cae0cfec2b12851ca59afc03b",
}
LAST_DATE = "2018-05-26"  # of version 2
FIELDS = ("category", "headline", "short_description", "date")
# some articles of four classes, which a clone of heed has (benchmarks/articles.py draws them)
SAMPLE_PATH, SAMPLE_FIELDS = Path("data/news/articles.jsonl.gz"), (*FIELDS, "link")
SAMPLE_HASH = "sha256:76c2597092cac77075da4fbc88fbb54f90da57d0c5d224cd41582c274cf8d349"
SAMPLE_FILE = File(SAMPLE_PATH.name, "", (SAMPLE_HASH,))

PARTS = tuple(
    File(f"part-{i:05d}.snappy.parquet", f"news/v3/part-{i:05d}.snappy.parquet",
         (f"sha256:{digest}",), f"{PARTS_ADDRESS}/part-{i:05d}-{WRITER}.snappy.parquet")
    for i, digest in enumerate(PART_HASHES)
)  # fmt: skip
ARTICLES = SourceKind(name="huffpost", files=PARTS, size=35e6)


def copy_sample(_name: str, _source: "Source", folder: Path) -> list[str]:
    """Copy the articles of the clone into `folder`. Raises HeedError unless they are whole."""
    found = SAMPLE_FILE.mismatch(SAMPLE_PATH) if SAMPLE_PATH.is_file() else "not there"
    if found:
        raise HeedError(f"{SAMPLE_PATH}: {found}. Get it back: git checkout -- {SAMPLE_PATH}")
    path = folder / SAMPLE_FILE.name
    with writing(path) as temporary:
        shutil.copyfile(SAMPLE_PATH, temporary)
    print_line(f"{path}: from {SAMPLE_PATH}, verified")
    return [path.name]


SAMPLE = SourceKind(name="news-sample", make=copy_sample, optional_keys=(), size=1e6)
HEADLINES = SourceKind(
    name="few-shot-01",
    files=tuple(
        File(name, f"news/few_shot_01/{name}", (digest,), f"{FEW_SHOT_ADDRESS}/{name}")
        for name, digest in FEW_SHOT_HASHES.items()
    ),
    size=7e6,
)

# --- classes --------------------------------------------------------------------------------------

DROPPED = "LATINO VOICES"
MERGED = {
    "PARENTS": "PARENTING", "ARTS": "CULTURE & ARTS", "GREEN": "ENVIRONMENT",
    "FOOD & DRINK": "TASTE",
    **dict.fromkeys(("THE WORLDPOST", "WORLD NEWS", "WORLDPOST"), "WORLD"),
}  # fmt: skip
CAP = 2001  # maximum documents per class in the talk's News
JOINED = 5  # headlines in a text of `news-headlines-joined`


def merge_category(category: str) -> str | None:
    """Return the talk's class of a category (41 to 34), None for the one that it dropped."""
    return None if category == DROPPED else MERGED.get(category, category)


# --- articles -------------------------------------------------------------------------------------


def read_version_2(
    raw: Path, fields: Sequence[str] = FIELDS
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (number from 1, article) of version 2, in its order, from the parts."""
    rows = itertools.chain.from_iterable(read_part(raw, part, fields) for part in PARTS)
    yield from enumerate((row for row in rows if row["date"] <= LAST_DATE), 1)


def read_part(raw: Path, part: File, fields: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the articles of a part, whose hash has been checked. Raises HeedError: missing."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(require_file(raw, part.name)) as file:
        for batch in file.iter_batches(columns=[*fields]):
            yield from ({name: row[name] for name in fields} for row in batch.to_pylist())


def read_articles(raw: Path) -> Documents:
    """Yield every article as headline, a space, description; some have no description."""
    for number, row in read_version_2(raw):
        if category := merge_category(row["category"]):
            yield RawDocument(f"huffpost/{number}", text_of(row), {"category": category})


def text_of(row: Mapping[str, str]) -> str:
    """Return the text of an article: headline, a space, description."""
    return f"{row['headline']} {row['short_description']}".strip()


def read_capped_articles(raw: Path, seed: int) -> Documents:
    """Yield at most CAP articles per class, drawn with `seed`, in the order of the file."""
    import numpy as np  # not at the top: the declarations are read without it

    documents, draw = list(read_articles(raw)), np.random.default_rng(seed).permutation
    labels = np.asarray([document.labels["category"] for document in documents])
    drawn = [draw(np.flatnonzero(labels == label))[:CAP] for label in np.unique(labels)]
    yield from (documents[i] for i in np.sort(np.concatenate([*drawn, np.zeros(0, int)])))


def read_sample(raw: Path) -> Documents:
    """Yield the articles of the sample."""
    for number, row in read_published_lines(require_file(raw, SAMPLE_FILE.name)):
        yield RawDocument(f"news-sample/{number}", text_of(row), {"category": row["category"]})


def read_headlines(raw: Path) -> Documents:
    """Yield the headlines of all three files, without their split, which is by class."""
    for file in HEADLINES.files:
        path = require_file(raw, file.name)
        for number, row in read_published_lines(path):
            if category := merge_category(row["class_name"].upper()):
                yield RawDocument(f"{path.stem}/{number}", row["sentence"], {"category": category})


def read_joined_headlines(raw: Path) -> Documents:
    """Yield longer texts: JOINED headlines of a category each, in the order of the files."""
    waiting, numbers = defaultdict[str, list[str]](list), itertools.count()
    for document in read_headlines(raw):
        texts = waiting[document.labels["category"]]
        texts.append(str(document.text))
        if len(texts) == JOINED:
            yield RawDocument(f"joined/{next(numbers)}", " ".join(texts), document.labels)
            texts.clear()


# --- kinds ----------------------------------------------------------------------------------------

READ: "tuple[tuple[str, SourceKind, Callable[[Path, Corpus], Documents]], ...]" = (
    ("news", ARTICLES, lambda raw, corpus: read_capped_articles(raw, corpus.split.seed)),
    ("news-big", ARTICLES, lambda raw, _: read_articles(raw)),
    ("news-sample", SAMPLE, lambda raw, _: read_sample(raw)),
    ("news-headlines", HEADLINES, lambda raw, _: read_headlines(raw)),
    ("news-headlines-joined", HEADLINES, lambda raw, _: read_joined_headlines(raw)),
)
KINDS = tuple(
    Kind(name=name, source=source, read=read, labels=("category",),
         tokenizer="en" if source is SAMPLE else Kind.tokenizer)
    for name, source, read in READ
)  # fmt: skip
