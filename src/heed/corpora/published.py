"""The readers of published corpora, and their files with hashes: data that `kinds` registers.

- IMDB: 50,000 film reviews, half positive (Maas et al. 2011).
- Letters of seven authors in five languages, cut into pieces by the course.
- HuffPost news, version 2 (Misra): 200,853 headlines with descriptions in 41 categories, some of
  which are merged, as in the talk; and a substitute, headlines alone, 900 of each category.
- ERASER movies (DeYoung et al. 2020): film reviews whose evidence people marked, of Pang and Lee
  2004 and Zaidan and Eisner 2008.
- SST-Wiki (Pruthi et al. 2020, Learning to Deceive with Attention-Based Explanations): sentences of
  film reviews of the Stanford Sentiment Treebank, each followed by sentences of Wikipedia. The
  review's sentence decides the label, and its words are the evidence.
- The Federalist Papers: 85 essays of 1787 and 1788 that Hamilton, Madison and Jay signed Publius.
  Who wrote which is the classic question of authorship (Mosteller and Wallace 1964, Inference and
  Disputed Authorship). The papers are in the public domain; the file is Project Gutenberg's, whose
  licence stands in it and is not read as text.
- Multi30k: 31,014 captions of photographs in English, German and French (Elliott et al. 2016). Its
  repository states no licence: its text is read, and never published.
"""

import json
import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from heed.annotations import Span
from heed.corpora.publication import (
    Document,
    Documents,
    File,
    Kind,
    SourceKind,
    read_published_lines,
    require_file,
    text_field,
)
from heed.files import HeedError

if TYPE_CHECKING:
    from heed.study import Corpus

GITHUB = "https://raw.githubusercontent.com"


def _files(folder: str, host: str, hashes: dict[str, str]) -> tuple[File, ...]:
    """Return the files of a publication, from the hash of each, by name, on one host."""
    return tuple(
        File(name, f"{folder}/{name}", (digest,), f"{host}/{name}")
        for name, digest in hashes.items()
    )


# --- IMDB -----------------------------------------------------------------------------------------

IMDB_ARCHIVE = "aclImdb_v1.tar.gz"
IMDB_FILE = File(
    IMDB_ARCHIVE,
    f"imdb/{IMDB_ARCHIVE}",
    (
        # the official archive
        "sha256:c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
        # a rebuilt archive: the same reviews, without unsup/
        "sha256:c8f37cf029dce64de1ad2ad6af52800d53e5d4f5948d5a8037e16731a79a635f",
    ),
    f"https://ai.stanford.edu/~amaas/data/sentiment/{IMDB_ARCHIVE}",
)
SENTIMENT = {
    "neg": "negative", "pos": "positive", "NEG": "negative", "POS": "positive",
    "0": "negative", "1": "positive",
}  # fmt: skip


def read_imdb(raw: Path) -> Documents:
    """Yield the labelled reviews, sorted by name, with the official split; texts are bytes."""
    # not at the top: tarfile takes longer to import than all declarations together
    from heed.corpora.archive import read_members

    reviews = []
    for name, content in read_members(require_file(raw, IMDB_ARCHIVE)):
        match PurePosixPath(name).parts:
            case ("aclImdb", ("train" | "test") as split, ("neg" | "pos") as label, file) if (
                file.endswith(".txt")
            ):
                reviews.append(
                    (f"{split}/{label}/{file.removesuffix('.txt')}", content, label, split)
                )
    for id_, content, label, split in sorted(reviews, key=lambda item: item[0]):
        yield Document(id_, content, {"sentiment": SENTIMENT[label]}, split=split)


# --- letters --------------------------------------------------------------------------------------

TRAIN, EVAL = "classifier_data_train.json", "classifier_data_eval.json"
LETTERS_HOST = (
    f"{GITHUB}/Jamesmin90/Multiclass-classification-with-Huggin-Face-Transformer"
    "/b68c6f1380638917461bd86cf200fc3b92a386f6"
)
LETTERS_FILES = _files(
    "letters",
    LETTERS_HOST,
    {
        TRAIN: "blob:a74f24be4b3d21cd066b7f727bc51f260fb03bd3",
        EVAL: "blob:aec9a12a6c90cb71a9f365dee792e50ff50d5a1f",
    },
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


# --- HuffPost -------------------------------------------------------------------------------------

FULL, PREFIX = "News_Category_Dataset_v2.json", "News_Category_Dataset_v2.prefix.json.gz"
INSTRUCTIONS = (
    "its host requires a login. Get News_Category_Dataset_v2.json from the Kaggle data set "
    "rmisra/news-category-dataset "
    "(version 2) and put it where HEED_MIRROR points to, as news/News_Category_Dataset_v2.json; "
    "heed checks its hash"
)
HUFFPOST_FILES = (
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
HEADLINES_HOST = (
    f"{GITHUB}/dinglei0801/Beyond-Soft-Prompts/f88580ce9a288f1e549ce5f48a5778294691dc88"
    "/data/HuffPost/few_shot/01"
)
HEADLINES_FILES = _files(
    "news/few_shot_01",
    HEADLINES_HOST,
    {
        "train.json": "blob:e470175c094f65b15ca1324ffbbd95b938b4cf91",
        "valid.json": "blob:32a88763586efd3f9750e70b6b77e8b2126787f4",
        "test.json": "blob:b3a0300474b3300cae0cfec2b12851ca59afc03b",
    },
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
JOINED = 5  # headlines in a text of `news-headlines-joined`


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


def read_headlines(raw: Path) -> Documents:
    """Yield the headlines of all three files, without their split, which is by class."""
    for file in HEADLINES_FILES:
        path = require_file(raw, file.name)
        for number, row in read_published_lines(path):
            category = merge_category(text_field(path, number, row, "class_name").upper())
            if category is not None:
                text = text_field(path, number, row, "sentence")
                yield Document(f"{path.stem}/{number}", text, {"category": category})


def read_joined_headlines(raw: Path) -> Documents:
    """Yield texts of JOINED headlines of a category each, in the order of the files.

    Headlines that are left over in the end are left out. The texts are longer, and still about one
    category: for the question whether self-attention needs longer texts.
    """
    waiting: dict[str, list[str]] = {}
    number = 0
    for document in read_headlines(raw):
        texts = waiting.setdefault(str(document.labels["category"]), [])
        texts.append(str(document.text))
        if len(texts) == JOINED:
            yield Document(f"joined/{number}", " ".join(texts), document.labels)
            number += 1
            texts.clear()


# --- movies ---------------------------------------------------------------------------------------

MOVIES_ARCHIVE = "movies.tar.gz"
MOVIES_FILE = File(
    MOVIES_ARCHIVE,
    f"eraser_movies/{MOVIES_ARCHIVE}",
    (
        # the official archive
        "sha256:66e18d4e6c9df9e9f5544572b0bfe92a39673f74ecbfc3859b46cedb2f5b2dee",
        # a rebuilt archive, whose train.jsonl has the reviews of val.jsonl too
        "sha256:e880e04bbe0fc9fd15dcfa5f781fe3b4ddd8aac9080a004925123817b458c920",
    ),
    f"https://www.eraserbenchmark.com/zipped/{MOVIES_ARCHIVE}",
)
MOVIES_SPLITS = {"val": "validation", "test": "test", "train": "train"}


def read_movies(raw: Path) -> Documents:
    """Yield the reviews with the official split; those of val are not in train.

    A span of evidence goes from the first to the last word of a phrase; words are what white space
    separates. 20 phrases of the test part have no word and are left out.

    Raises:
        HeedError: the archive is missing or broken, or lacks a file.

    """
    # not at the top: tarfile takes longer to import than all declarations together
    from heed.corpora.archive import read_members

    path = require_file(raw, MOVIES_ARCHIVE)
    texts: dict[str, str] = {}
    annotations: dict[str, bytes] = {}
    for name, content in read_members(path):
        match PurePosixPath(name).parts:
            case (_, "docs", file):
                texts[file] = content.decode("utf-8", errors="replace")
            case (_, file) if file.removesuffix(".jsonl") in MOVIES_SPLITS:
                annotations[file.removesuffix(".jsonl")] = content
    for part in MOVIES_SPLITS:
        if part not in annotations:
            raise HeedError(
                f"{path}: there is no {part}.jsonl in it. Run: heed download {raw.name}"
            )
    read: set[str] = set()
    for part, split in MOVIES_SPLITS.items():
        for row in _annotations(path, part, annotations[part]):
            id_ = row["annotation_id"]
            if id_ not in read:
                read.add(id_)
                yield Document(
                    id_,
                    texts[id_],
                    {"sentiment": SENTIMENT[row["classification"]]},
                    split=split,
                    evidence=tuple(_phrases(texts[id_], row["evidences"])),
                )


def _annotations(path: Path, part: str, content: bytes) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(content.splitlines(), 1):
        try:
            yield json.loads(line)
        except ValueError as error:
            raise HeedError(f"{path}: {part}.jsonl:{number}: not a JSON object ({error})") from None


def _phrases(text: str, phrases: list[list[dict[str, Any]]]) -> list[Span]:
    """Return the characters of the phrases, each span once, in the order of the text."""
    words = [match.span() for match in re.finditer(r"\S+", text)]
    ranges = {(phrase["start_token"], phrase["end_token"]) for group in phrases for phrase in group}
    return [(words[start][0], words[end - 1][1]) for start, end in sorted(ranges) if start < end]


# --- SST-Wiki -------------------------------------------------------------------------------------

SST_HOST = (
    f"{GITHUB}/danishpruthi/deceptive-attention/8c8823efab5a65ea85a9c04130b3622711d2fac5"
    "/src/classification_tasks/data/sst-wiki"
)
SST_SPLITS = {"train": "train", "dev": "validation", "test": "test"}
SST_HASHES = {
    "train.txt": "a2fd9ae461438e7497ebd329dfa4d2220bdb1015d2af7a31001d65c48a9191eb",
    "train.block": "aad97aeba169e9a80caaa067aab40852008451f720d30563005be33afbe984d3",
    "dev.txt": "fdeb09c33c2577c7e6ec0dbfc6a3f02dcce059bd7093f3422b1213abdd78ceae",
    "dev.block": "b43defeb7731d8d811fcac9de2b13db2ac7ed4e6f58172d9c33e3d941589c49d",
    "test.txt": "ffb5d36e27b8aa134553b07a5286c196e6f253eadb35d9c97e827f9bf64288e5",
    "test.block": "3c8e4373e069110cdedd79c741837f03b9512ee57f92fb7588d09c89d6c7f92b",
}
SST_FILES = tuple(
    # upstream the marks of train.txt are in train.txt.block
    File(
        name,
        f"sst_wiki/{name}",
        (f"sha256:{digest}",),
        f"{SST_HOST}/{name.replace('.block', '.txt.block')}",
    )
    for name, digest in SST_HASHES.items()
)
REVIEW, WIKIPEDIA = "1", "0"  # the marks of the words


def read_sst_wiki(raw: Path) -> Documents:
    """Yield the texts with their split; the words of the review's sentence are the evidence.

    Raises:
        HeedError: a file is missing; a line has no label, or another number of marks than words.

    """
    for part, split in SST_SPLITS.items():
        path, marks_path = (require_file(raw, f"{part}{end}") for end in (".txt", ".block"))
        lines, marks = (
            each.read_text(encoding="utf-8", errors="replace").removesuffix("\n").split("\n")
            for each in (path, marks_path)
        )
        for number, (line, line_marks) in enumerate(zip_longest(lines, marks, fillvalue=""), 1):
            label, _, text = line.partition("\t")
            if label not in ("0", "1"):
                raise HeedError(
                    f"{path}:{number}: expected 0 or 1, a tab and a text, found {line[:40]!r}"
                )
            yield Document(
                f"{part}/{number}",
                text,
                {"sentiment": SENTIMENT[label]},
                split=split,
                evidence=tuple(_marked(f"{marks_path}:{number}", text, line_marks.split())),
            )


def _marked(location: str, text: str, marks: list[str]) -> list[Span]:
    """Return the characters of each run of words that are marked as the review's."""
    words = [match.span() for match in re.finditer(r"\S+", text)]
    if len(marks) != len(words) or not {*marks} <= {REVIEW, WIKIPEDIA}:
        raise HeedError(
            f"{location}: expected a mark, 0 or 1, for each of {len(words)} words, found "
            f"{' '.join(marks)[:40]!r} ({len(marks)} marks)"
        )
    runs = re.finditer(f"{REVIEW}+", "".join(marks))
    return [(words[run.start()][0], words[run.end() - 1][1]) for run in runs]


# --- The Federalist Papers ------------------------------------------------------------------------

GUTENBERG_FILE = "1404.txt"
FEDERALIST_FILES = _files(
    "federalist",
    f"{GITHUB}/GITenberg/The-Federalist-Papers_1404/7effe9c7518aa38e80f23664419a3e28b7993127",
    {GUTENBERG_FILE: ("sha256:64dd04d805964a7c8f946072fcc8ba11d01613c8e6faf908511a28930dcb28e1")},
)
PAPERS = 85
JAY = {2, 3, 4, 5, 64}
JOINT = {18, 19, 20}  # Madison's, with material of Hamilton's
DISPUTED = {*range(49, 59), 62, 63}  # both claimed them; Madison's, by Mosteller and Wallace
MADISON = {10, 14, *range(37, 49)}
VALIDATION_PAPERS = {8, 16, 24, 32, 40, 48, 72, 80}  # of split `given`: every eighth paper
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


def read_federalist(raw: Path, corpus: "Corpus") -> Documents:
    """Yield the paragraphs of Hamilton's and Madison's papers; Jay's and the joint ones are not.

    With split `given` the undisputed papers are for training and validation and the disputed ones
    for test, with Madison as their author; any other split is of the undisputed papers alone.
    """
    is_given = corpus.split.kind == "given"
    for number, paragraphs in read_papers(require_file(raw, GUTENBERG_FILE)):
        is_disputed = number in DISPUTED
        if number in JAY | JOINT or (is_disputed and not is_given):
            continue
        author = "Madison" if number in MADISON or is_disputed else "Hamilton"
        part = "test" if is_disputed else "validation" if number in VALIDATION_PAPERS else "train"
        for place, text in enumerate(paragraphs, 1):
            split = part if is_given else ""
            yield Document(f"{number}/{place}", text, {"author": author}, str(number), split)


# --- Multi30k -------------------------------------------------------------------------------------

CAPTIONED = ("en", "de", "fr")
CAPTION_SPLITS = {"train": "train", "val": "validation", "test_2016_flickr": "test"}
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
CAPTION_FILES = _files(
    "multi30k",
    f"{GITHUB}/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw",
    {name: f"sha256:{digest}" for name, digest in CAPTION_HASHES.items()},
)


def read_captions(raw: Path) -> Documents:
    """Yield the captions in all three languages, with the split that they were published with.

    Raises HeedError when a file is missing or broken, or the languages differ in their lines.
    """
    for name, split in CAPTION_SPLITS.items():
        lines = [_read_lines(require_file(raw, f"{name}.{language}.gz")) for language in CAPTIONED]
        if len({*map(len, lines)}) > 1:
            counts = ", ".join(
                f"{name}.{language}.gz {len(texts):,}"
                for language, texts in zip(CAPTIONED, lines, strict=True)
            )
            raise HeedError(f"{raw}: the files differ in their number of lines: {counts}")
        for number, texts in enumerate(zip(*lines, strict=True), 1):
            yield Document(
                f"{name}/{number}", texts=dict(zip(CAPTIONED, texts, strict=True)), split=split
            )


def _read_lines(path: Path) -> list[str | bytes]:
    """Return the lines of a .gz file as bytes, without their ends."""
    # not at the top: tarfile takes longer to import than all declarations together
    from heed.corpora.archive import open_compressed

    with open_compressed(path) as file:
        return [line.rstrip(b"\r\n") for line in file]


# --- what is registered ---------------------------------------------------------------------------

IMDB = SourceKind(name="imdb", files=(IMDB_FILE,), size=84e6)
LETTERS = SourceKind(name="letters", files=LETTERS_FILES, size=60e6)
HUFFPOST = SourceKind(name="huffpost", files=HUFFPOST_FILES, size=88e6)
HEADLINES = SourceKind(name="few-shot-01", files=HEADLINES_FILES, size=7e6)
MOVIES = SourceKind(name="movies", files=(MOVIES_FILE,), size=3.9e6)
SST_WIKI = SourceKind(name="sst-wiki", files=SST_FILES, size=3.3e6)
FEDERALIST = SourceKind(name="federalist", files=FEDERALIST_FILES, size=1.2e6)
MULTI30K = SourceKind(name="multi30k", files=CAPTION_FILES, size=2e6)
OF_LETTERS = ("author", "language")
KINDS = (  # tokens of a document of HuffPost: a guess from the headlines
    Kind(
        name="imdb", source=IMDB, read=lambda raw, _: read_imdb(raw),
        splits=("given", "random", "folds"), labels=("sentiment",), documents=50_000,
        learned=25_000, tokens_per_document=269,
    ),
    Kind(
        name="letters", source=LETTERS, read=lambda raw, _: read_train_and_eval(raw),
        splits=("given",), labels=OF_LETTERS, documents=43_958, tokens_per_document=62,
    ),
    Kind(  # the 4,881 pieces of the eval file, without a split
        name="letters-pieces", source=LETTERS,
        read=lambda raw, _: read_pieces(require_file(raw, EVAL)), grouped=True, labels=OF_LETTERS,
        documents=4_881, tokens_per_document=62,
    ),
    Kind(
        name="news", source=HUFFPOST,
        read=lambda raw, corpus: read_capped_articles(raw, corpus.split.seed),
        labels=("category",), documents=64_000, tokens_per_document=32,
    ),
    Kind(
        name="news-big", source=HUFFPOST, read=lambda raw, _: read_articles(raw),
        labels=("category",), documents=199_700, tokens_per_document=32,
    ),
    Kind(
        name="news-headlines", source=HEADLINES, read=lambda raw, _: read_headlines(raw),
        labels=("category",), documents=36_000, tokens_per_document=11,
    ),
    Kind(
        name="news-headlines-joined", source=HEADLINES,
        read=lambda raw, _: read_joined_headlines(raw), labels=("category",),
        documents=36_000 // JOINED, tokens_per_document=11 * JOINED,
    ),
    Kind(  # no other split: test is marked by another rule than train and validation
        name="movies", source=MOVIES, read=lambda raw, _: read_movies(raw), splits=("given",),
        labels=("sentiment",), evidence="human", documents=1_999, learned=1_800, validated=200,
        tokens_per_document=774,
    ),
    Kind(
        name="sst-wiki", source=SST_WIKI, read=lambda raw, _: read_sst_wiki(raw),
        splits=("given", "random", "folds"), labels=("sentiment",), evidence="passage",
        documents=9_613, learned=7_792, validated=872, tokens_per_document=42,
    ),
    Kind(
        name="federalist", source=FEDERALIST, read=read_federalist,
        splits=("given", "random", "folds"), grouped=True, labels=("author",), documents=922,
        learned=922, added=157, tokens_per_document=181,
    ),
    Kind(
        name="multi30k", source=MULTI30K, read=lambda raw, _: read_captions(raw), parallel=True,
        languages=CAPTIONED, splits=("given", "random", "folds"), documents=31_014,
        learned=30_014, validated=1_014, tokens_per_document=40,
    ),
)  # fmt: skip
