"""The readers of published corpora, and their files with hashes (docs/reference/corpora.md).

The file of the Federalist Papers is Project Gutenberg's, which has its licence; it is not read
as text. Multi30k's repository states no licence: its text is read, and never published.
"""

import contextlib
import csv
import html
import io
import itertools
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from heed.annotations import Span
from heed.corpora.publication import (
    ANY_SPLIT,
    Documents,
    File,
    Kind,
    RawDocument,
    SourceKind,
    open_compressed,
    read_members,
    read_published_lines,
    require_file,
)
from heed.files import bounded_lines

if TYPE_CHECKING:
    from heed.corpora.sections import Corpus

SENTIMENT = {
    "neg": "negative", "pos": "positive", "NEG": "negative", "POS": "positive",
    "0": "negative", "1": "positive",
}  # fmt: skip

# --- files ----------------------------------------------------------------------------------------

IMDB_ARCHIVE, MOVIES_ARCHIVE, GUTENBERG_FILE = "aclImdb_v1.tar.gz", "movies.tar.gz", "1404.txt"
YELP_ARCHIVE, YELP_COLUMNS = "yelp.csv.zip", "yelp.csv.gz"
TRAIN, EVAL = "classifier_data_train.json", "classifier_data_eval.json"
CAPTION_HASHES = {
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
SST_HASHES = {
    "train.txt": "a2fd9ae461438e7497ebd329dfa4d2220bdb1015d2af7a31001d65c48a9191eb",
    "train.block": "aad97aeba169e9a80caaa067aab40852008451f720d30563005be33afbe984d3",
    "dev.txt": "fdeb09c33c2577c7e6ec0dbfc6a3f02dcce059bd7093f3422b1213abdd78ceae",
    "dev.block": "b43defeb7731d8d811fcac9de2b13db2ac7ed4e6f58172d9c33e3d941589c49d",
    "test.txt": "ffb5d36e27b8aa134553b07a5286c196e6f253eadb35d9c97e827f9bf64288e5",
    "test.block": "3c8e4373e069110cdedd79c741837f03b9512ee57f92fb7588d09c89d6c7f92b",
}
EUROPARL_HASHES = {  # as published, and compressed
    "src-train.txt": "a4deafe1eb225d98f196ad87e90eec8494a729690c06e0186ee9d2793667a0d2 "
    "71514b832905734632842a62fb4c1180d7c840ca8cdcdb71c087399801d3f4bc",
    "tgt-train.txt": "fe1f824a189baa650eec46269e66eef07f7304ba7572598ebbe61c55eeff7d01 "
    "960326af90401b543103309e24ac55902bb53bc314519dd2352d220539085680",
}
GITHUB = "https://raw.githubusercontent.com"


def _source(
    name: str, size: float, folder: str, host: str, hashes: dict[str, str],
    public_domain: bool = False, ending: str = "",
) -> SourceKind:  # fmt: skip
    """Return a source of `hashes` of SHA-256, or with their kind, in `folder` and at `host`."""
    files = []
    for file, digests in hashes.items():
        # upstream the marks of SST-Wiki's train.txt are in train.txt.block
        url = f"{host}/{file.replace('.block', '.txt.block')}"
        hashed = tuple(d if ":" in d else f"sha256:{d}" for d in digests.split())
        files.append(File(file, f"{folder}/{file}{ending}", hashed, url, file == YELP_COLUMNS))
    return SourceKind(name=name, files=tuple(files), size=size, public_domain=public_domain)


DECLARED = (
    _source("imdb", 84e6, "imdb", "https://ai.stanford.edu/~amaas/data/sentiment", {
        IMDB_ARCHIVE: (
            "sha256:c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe "
            # a rebuilt archive: the same reviews, without unsup/
            "sha256:c8f37cf029dce64de1ad2ad6af52800d53e5d4f5948d5a8037e16731a79a635f"
        ),
    }),
    _source("letters", 60e6, "letters", f"{GITHUB}/Jamesmin90/Multiclass-classification-with-"
        "Huggin-Face-Transformer/b68c6f1380638917461bd86cf200fc3b92a386f6", {
        TRAIN: "blob:a74f24be4b3d21cd066b7f727bc51f260fb03bd3",
        EVAL: "blob:aec9a12a6c90cb71a9f365dee792e50ff50d5a1f",
    }),
    _source("movies", 3.9e6, "eraser_movies", "https://www.eraserbenchmark.com/zipped", {
        MOVIES_ARCHIVE: (
            "sha256:66e18d4e6c9df9e9f5544572b0bfe92a39673f74ecbfc3859b46cedb2f5b2dee "
            # a rebuilt archive, whose train.jsonl has the reviews of val.jsonl too
            "sha256:e880e04bbe0fc9fd15dcfa5f781fe3b4ddd8aac9080a004925123817b458c920"
        ),
    }),
    _source("sst-wiki", 3.3e6, "sst_wiki", f"{GITHUB}/danishpruthi/deceptive-attention/"
        "8c8823efab5a65ea85a9c04130b3622711d2fac5/src/classification_tasks/data/sst-wiki",
        SST_HASHES),
    _source("federalist", 1.2e6, "federalist", f"{GITHUB}/GITenberg/The-Federalist-Papers_1404/"
        "7effe9c7518aa38e80f23664419a3e28b7993127", {
        GUTENBERG_FILE: "sha256:64dd04d805964a7c8f946072fcc8ba11d01613c8e6faf908511a28930dcb28e1",
    }, public_domain=True),
    _source("yelp", 3.7e6, "yelp", f"{GITHUB}/RWooters/Textclassifier/"
        "5aa7c2f5237f245feaae5f45f70991b3a53e17f8", {
        YELP_ARCHIVE: "blob:c51497844e67a6e113e491d926e7ab0a536efdfb",
        # the columns stars and text of the same rows
        YELP_COLUMNS: "sha256:a5d1c3a50c45b36b776332a7fd350195ba6fd036b0bec5835346713d73c195f4",
    }),
    _source("multi30k", 2e6, "multi30k", f"{GITHUB}/multi30k/dataset/"
        "a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw", CAPTION_HASHES),
    _source("europarl", 3.2e6, "europarl", f"{GITHUB}/OpenNMT/OpenNMT-py/"
        "97111d97551c24857076a4102eabdb468b35cff4/data", EUROPARL_HASHES, ending=".gz"),
)  # fmt: skip
SOURCES = {source.name: source for source in DECLARED}

# --- IMDB -----------------------------------------------------------------------------------------


def read_imdb(raw: Path) -> Documents:
    """Yield the labelled reviews, sorted by name, with the official split; texts are bytes."""
    reviews: list[RawDocument] = []
    for name, content in read_members(require_file(raw, IMDB_ARCHIVE)):
        match PurePosixPath(name).parts:
            case ("aclImdb", ("train" | "test") as split, ("neg" | "pos") as label, file) if (
                file.endswith(".txt")
            ):
                id_ = f"{split}/{label}/{file.removesuffix('.txt')}"
                labels = {"sentiment": SENTIMENT[label]}
                reviews.append(RawDocument(id_, content, labels, split=split))
    yield from sorted(reviews, key=lambda review: review.id)


# --- letters --------------------------------------------------------------------------------------


def read_pieces(path: Path, split: str = "") -> Documents:
    """Yield the pieces in one of the course's files; their group is the letter they come from."""
    for number, row in read_published_lines(path):
        labels = {"author": row["author"], "language": row["lang"]}
        yield RawDocument(f"{path.stem}/{number}", row["text"], labels, row["file"], split)


def read_train_and_eval(raw: Path) -> Documents:
    """Return the pieces of both published files: split train, and eval as split test."""
    train, test = require_file(raw, TRAIN), require_file(raw, EVAL)
    return itertools.chain(read_pieces(train, "train"), read_pieces(test, "test"))


# --- movies and SST-Wiki, whose rationale is words ---------------------------

MOVIES_SPLITS = {"val": "validation", "test": "test", "train": "train"}
SST_SPLITS = {"train": "train", "dev": "validation", "test": "test"}


def _words(text: str) -> list[Span]:
    """Return the characters of each word; words are what white space separates."""
    return [match.span() for match in re.finditer(r"\S+", text)]


def read_movies(raw: Path) -> Documents:
    """Yield the reviews with the official split; reviews of val are not in train.

    A span of rationale is a phrase; 20 phrases of the test split have no word and are left out.
    """
    texts: dict[str, str] = {}
    annotations: dict[str, bytes] = {}
    for name, content in read_members(require_file(raw, MOVIES_ARCHIVE)):
        match PurePosixPath(name).parts:
            case (_, "docs", file):
                texts[file] = content.decode("utf-8", errors="replace")
            case (_, file):
                annotations[file.removesuffix(".jsonl")] = content
    read: set[str] = set()
    for stem, split in MOVIES_SPLITS.items():
        for row in map(json.loads, annotations[stem].splitlines()):
            id_, label = row["annotation_id"], {"sentiment": SENTIMENT[row["classification"]]}
            if id_ not in read:
                read.add(id_)
                evidences = itertools.chain.from_iterable(row["evidences"])
                phrases = {(phrase["start_token"], phrase["end_token"]) for phrase in evidences}
                words = _words(texts[id_])
                spans = [(words[a][0], words[b - 1][1]) for a, b in sorted(phrases) if a < b]
                yield RawDocument(id_, texts[id_], label, split=split, rationale=tuple(spans))


def read_sst_wiki(raw: Path) -> Documents:
    """Yield the texts with their split; the words of the review's sentence are the rationale."""
    for stem, split in SST_SPLITS.items():
        paths = (require_file(raw, f"{stem}{end}") for end in (".txt", ".block"))
        texts = (path.read_text("utf-8", "replace") for path in paths)
        lines, marks = (content.removesuffix("\n").split("\n") for content in texts)
        for number, (line, line_marks) in enumerate(zip(lines, marks, strict=True), 1):
            label, _, text = line.partition("\t")
            words = _words(text)
            runs = re.finditer("1+", "".join(line_marks.split()))  # 1: a word of the review
            rationale = tuple((words[run.start()][0], words[run.end() - 1][1]) for run in runs)
            labels = {"sentiment": SENTIMENT[label]}
            yield RawDocument(f"{stem}/{number}", text, labels, split=split, rationale=rationale)


# --- Yelp -----------------------------------------------------------------------------------------


def read_yelp(raw: Path) -> Documents:
    """Yield the reviews of Yelp's sample with their stars, 1 to 5, in the order of the file."""
    with contextlib.ExitStack() as stack:
        if (archive := raw / YELP_ARCHIVE).is_file():
            file = stack.enter_context(zipfile.ZipFile(archive)).open("yelp.csv")
        else:
            file = stack.enter_context(open_compressed(require_file(raw, YELP_COLUMNS)))
        rows = csv.DictReader(io.TextIOWrapper(file, "utf-8", newline=""))
        for number, row in enumerate(rows, 1):
            yield RawDocument(f"yelp/{number}", row["text"], {"stars": row["stars"]})


# --- The Federalist Papers ------------------------------------------------------------------------

JAY = {2, 3, 4, 5, 64}
JOINT = {18, 19, 20}  # Madison's, with material of Hamilton's
DISPUTED = {*range(49, 59), 62, 63}  # both claimed them; Madison's, by Mosteller and Wallace
MADISON = {10, 14, *range(37, 49)}
VALIDATION_PAPERS = {8, 16, 24, 32, 40, 48, 72, 80}  # of split `given`: every eighth paper
END = "End of the Project Gutenberg EBook"
BYLINE = re.compile(r"HAMILTON|MADISON|JAY|MADISON, with HAMILTON")
SIGNATURE = "PUBLIUS"  # notes of the Published report follow it
NOTE_MARK = re.compile(r"(?<=\S)\(E?\d{1,2}\)")  # of a note: government.(1)


def _read_paragraphs(paper: str) -> list[str]:
    blocks = [" ".join(block.split()) for block in re.split(r"\n\s*\n", paper) if block.strip()]
    byline = next(place for place, block in enumerate(blocks) if BYLINE.fullmatch(block))
    text = blocks[byline + 2 :]  # the address follows the byline
    end = next((i for i, block in enumerate(text) if block.startswith(SIGNATURE)), len(text))
    return [NOTE_MARK.sub("", block) for block in text[:end]]


def read_federalist(raw: Path, corpus: "Corpus") -> Documents:
    """Yield the paragraphs of Hamilton's and Madison's papers; Jay's and the joint ones are not.

    The disputed ones are the test split of split `given`, as Madison's, and in no other split.
    """
    is_given = corpus.split.kind == "given"
    content = require_file(raw, GUTENBERG_FILE).read_text(encoding="ascii", errors="replace")
    papers = re.split(r"^FEDERALIST No\. \d+$", content.partition(END)[0], flags=re.MULTILINE)
    for number, paper in enumerate(papers[1:], 1):
        is_disputed = number in DISPUTED
        if number in JAY | JOINT or (is_disputed and not is_given):
            continue
        author = "Madison" if number in MADISON | DISPUTED else "Hamilton"
        split = "validation" if number in VALIDATION_PAPERS else "train"
        split = "test" if is_disputed else split if is_given else ""
        for place, text in enumerate(_read_paragraphs(paper), 1):
            labels = {"author": author}
            yield RawDocument(f"{number}/{place}", text, labels, str(number), split)


# --- Multi30k -------------------------------------------------------------------------------------

CAPTIONED = ("en", "de", "fr")
CAPTION_SPLITS = {"train": "train", "val": "validation", "test_2016_flickr": "test"}


def _read_aligned(paths: Iterable[Path]) -> Iterator[list[bytes]]:
    """Yield the n-th line of each file, compressed or not, without its end."""
    with contextlib.ExitStack() as stack:
        files = [bounded_lines(path, stack.enter_context(open_compressed(path))) for path in paths]
        for lines in zip(*files, strict=True):
            yield [line.rstrip(b"\r\n") for line in lines]


def read_captions(raw: Path) -> Documents:
    """Yield the captions in all three languages, with the split that they were published with."""
    for name, split in CAPTION_SPLITS.items():
        paths = [require_file(raw, f"{name}.{language}.gz") for language in CAPTIONED]
        for number, lines in enumerate(_read_aligned(paths), 1):
            texts = dict(zip(CAPTIONED, lines, strict=True))
            yield RawDocument(f"{name}/{number}", texts=texts, split=split)


# --- Europarl -------------------------------------------------------------------------------------


def read_europarl(raw: Path) -> Documents:
    """Yield the sentence pairs of OpenNMT's examples, tokenised; escapes (`&apos;`) are undone."""
    paths = {"en": require_file(raw, "src-train.txt"), "de": require_file(raw, "tgt-train.txt")}
    for number, lines in enumerate(_read_aligned(paths.values()), 1):
        texts = (html.unescape(line.decode()).strip() for line in lines)
        yield RawDocument(f"europarl/{number}", texts=dict(zip(paths, texts, strict=True)))


# --- kinds ----------------------------------------------------------------------------------------


def _kind(
    name: str, source: str, read: "Callable[[Path, Corpus], Documents]", labels: str, **options: Any
) -> Kind:
    source_kind, names = SOURCES[source], tuple(labels.split())
    return Kind(name=name, source=source_kind, read=read, labels=names, **options)


KINDS = (
    _kind("imdb", "imdb", lambda raw, _: read_imdb(raw), "sentiment", splits=ANY_SPLIT),
    _kind("letters", "letters", lambda raw, _: read_train_and_eval(raw), "author language",
        splits=("given",)),
    _kind(  # the 4,881 pieces of the eval file, without a split
        "letters-pieces", "letters", lambda raw, _: read_pieces(require_file(raw, EVAL)),
        "author language", grouped=True, files=(EVAL,),
    ),
    _kind(  # no other split: test is marked by another rule than train and validation
        "movies", "movies", lambda raw, _: read_movies(raw), "sentiment",
        splits=("given",), rationale="human",
    ),
    _kind("sst-wiki", "sst-wiki", lambda raw, _: read_sst_wiki(raw), "sentiment",
        splits=ANY_SPLIT, rationale="passage"),
    _kind("yelp", "yelp", lambda raw, _: read_yelp(raw), "stars"),
    _kind("federalist", "federalist", read_federalist, "author", splits=ANY_SPLIT,
        grouped=True),
    _kind("multi30k", "multi30k", lambda raw, _: read_captions(raw), "", parallel=True,
        languages=CAPTIONED, splits=ANY_SPLIT),
    _kind("europarl", "europarl", lambda raw, _: read_europarl(raw), "", parallel=True,
        languages=("en", "de")),
)  # fmt: skip
