"""HuffPost news, version 2 (Misra): 200,853 headlines with descriptions in 41 categories.

Some categories are merged, as in the talk.
"""

from pathlib import Path

from heed.corpora.publication import Document, Documents, File, Kind, SourceKind
from heed.corpora.published_lines import read_published_lines, text_field
from heed.files import HeedError

FULL, PREFIX = "News_Category_Dataset_v2.json", "News_Category_Dataset_v2.prefix.json.gz"
INSTRUCTIONS = (
    "its host requires a login. Get News_Category_Dataset_v2.json from the Kaggle data set "
    "rmisra/news-category-dataset "
    "(version 2) and put it where HEED_MIRROR points to, as news/News_Category_Dataset_v2.json; "
    "heed checks its hash"
)
FILES = (
    File(
        FULL,
        f"news/{FULL}",
        ("blob:cc83ea1669145aea0fa97d57ad4e64f1e56a356b",),
        instructions=INSTRUCTIONS,
    ),
    # a fixture of the format: 4,782 real rows, those with the newest dates
    File(
        PREFIX,
        f"news/{PREFIX}",
        ("sha256:04bd0bf7832e3b146201b91f369d722ebd8e66a24c4c5b6a144ec5eb033109fb",),
        instructions="it is the team's own fixture; point HEED_MIRROR to the folder that has news/",
        on_request=True,
    ),
)
DROPPED = "LATINO VOICES"
MERGED = {
    "PARENTS": "PARENTING",
    "ARTS": "CULTURE & ARTS",
    "GREEN": "ENVIRONMENT",
    "FOOD & DRINK": "TASTE",
    "THE WORLDPOST": "WORLD",
    "WORLD NEWS": "WORLD",
    "WORLDPOST": "WORLD",
}
CAP = 2001  # maximum documents per class in the talk's News


def merge_category(category: str) -> str | None:
    """Return the talk's class of a category (41 to 34), None for the one that it dropped."""
    return None if category == DROPPED else MERGED.get(category, category)


def read_articles(raw: Path) -> Documents:
    """Yield every article as headline, a space, description."""
    path = next((raw / name for name in (FULL, PREFIX) if (raw / name).is_file()), None)
    if path is None:
        raise HeedError(f"{raw / FULL}: not there. Run: heed download {raw.name}")
    for number, row in read_published_lines(path):
        category = merge_category(text_field(path, number, row, "category"))
        if category is not None:
            text = (
                f"{text_field(path, number, row, 'headline')} "
                f"{text_field(path, number, row, 'short_description')}"
            )
            yield Document(f"huffpost/{number}", text.strip(), {"category": category})


def read_capped_articles(raw: Path, seed: int) -> Documents:
    """Yield at most CAP articles per class, drawn with `seed`, in the order of the file."""
    import numpy as np  # not at the top: the declarations are read without it

    documents = list(read_articles(raw))
    labels = np.asarray([document.labels["category"] for document in documents])
    generator = np.random.default_rng(seed)
    drawn: list[int] = []
    for label in np.unique(labels):
        drawn.extend(generator.permutation(np.flatnonzero(labels == label))[:CAP].tolist())
    yield from (documents[i] for i in sorted(drawn))


SOURCE = SourceKind(name="huffpost", files=FILES, size=88e6)
LABELS = ("category",)
KINDS = (  # tokens per document: a guess from the headlines
    Kind(
        name="news",
        source=SOURCE,
        read=lambda raw, corpus: read_capped_articles(raw, corpus.split.seed),
        labels=LABELS,
        documents=64_000,
        tokens_per_document=32,
    ),
    Kind(
        name="news-big",
        source=SOURCE,
        read=lambda raw, _: read_articles(raw),
        labels=LABELS,
        documents=199_700,
        tokens_per_document=32,
    ),
)
