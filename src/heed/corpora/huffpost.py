"""HuffPost news, version 2: 200,853 headlines with descriptions in 41 categories (Misra), as the
talk merged them.
"""

from pathlib import Path

from heed.corpora.letters import field, json_lines
from heed.corpora.publication import Document, Documents, File, Kind, SourceKind
from heed.files import HeedError

FULL, PREFIX = "News_Category_Dataset_v2.json", "News_Category_Dataset_v2.prefix.json.gz"
BY_HAND = (
    "its host wants a login. Get News_Category_Dataset_v2.json from the Kaggle data set "
    "rmisra/news-category-dataset "
    "(version 2) and put it where HEED_MIRROR points to, as news/News_Category_Dataset_v2.json; "
    "heed checks its hash"
)
FILES = (
    File(FULL, f"news/{FULL}", ("blob:cc83ea1669145aea0fa97d57ad4e64f1e56a356b",), by_hand=BY_HAND),
    # 4,782 genuine rows, the newest dates: a fixture of the format.
    File(
        PREFIX,
        f"news/{PREFIX}",
        ("sha256:04bd0bf7832e3b146201b91f369d722ebd8e66a24c4c5b6a144ec5eb033109fb",),
        by_hand="it is the team's own fixture; point HEED_MIRROR to the folder that has news/",
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
CAP = 2001  # documents a class in the talk's News


def merged(category: str) -> str | None:
    """Return the talk's class of a category (41 to 34), None for the one it dropped."""
    return None if category == DROPPED else MERGED.get(category, category)


def read(raw: Path) -> Documents:
    """Yield every article as headline, a space, description."""
    path = next((raw / name for name in (FULL, PREFIX) if (raw / name).is_file()), None)
    if path is None:
        raise HeedError(f"{raw / FULL}: not there. Run: heed download {raw.name}")
    for number, row in json_lines(path):
        category = merged(field(path, number, row, "category"))
        if category is not None:
            text = (
                f"{field(path, number, row, 'headline')} "
                f"{field(path, number, row, 'short_description')}"
            )
            yield Document(f"huffpost/{number}", text.strip(), {"category": category})


def read_capped(raw: Path, seed: int) -> Documents:
    """Yield at most CAP articles a class, drawn with `seed`, in their own order."""
    import numpy as np  # here: who reads the declarations alone need not load it

    documents = list(read(raw))
    labels = np.asarray([document.labels["category"] for document in documents])
    generator = np.random.default_rng(seed)
    keep: list[int] = []
    for label in np.unique(labels):
        keep.extend(generator.permutation(np.flatnonzero(labels == label))[:CAP].tolist())
    yield from (documents[i] for i in sorted(keep))


SOURCE = SourceKind(name="huffpost", files=FILES, size=88e6)
LABELS = ("category",)
KINDS = (  # tokens: a guess from the headlines
    Kind(
        name="news",
        source=SOURCE,
        read=lambda raw, corpus: read_capped(raw, corpus.split.seed),
        labels=LABELS,
        documents=64_000,
        tokens=32,
    ),
    Kind(
        name="news-big",
        source=SOURCE,
        read=lambda raw, _: read(raw),
        labels=LABELS,
        documents=199_700,
        tokens=32,
    ),
)
