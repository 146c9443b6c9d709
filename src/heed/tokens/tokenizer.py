"""From documents to token arrays on disk: cleaning, spaCy, and the files of docs/contracts.md.

The only user of spaCy.
"""

import dataclasses
import functools
import json
import multiprocessing
import multiprocessing.connection
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from heed.corpora.kinds import KINDS, read_documents
from heed.corpora.publication import Document
from heed.files import (
    HeedError,
    digest_folder,
    verify_checksums,
    write_json,
    write_text,
    writing_folder,
)
from heed.progress import progress_bar
from heed.tokens.arrays import Tokens
from heed.tokens.cleaning import TREATMENTS, clean
from heed.tokens.meta import Meta
from heed.tokens.splits import split_columns

if TYPE_CHECKING:
    from heed.study import Corpus

CHUNK = 500  # documents a task: large enough to hide the hand-over, small enough to share evenly
MAX_CHUNK_CHARACTERS = 2_000_000

# What one chunk becomes: words of its own small lexicon, and the arrays with ids into it.
Chunk = tuple[list[str], np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@functools.cache
def _tokenizer(name: str) -> Any:
    """Return the tokenizer of a blank spaCy pipeline: no model, nothing to download."""
    import spacy
    from spacy.tokens import Doc

    pipeline = spacy.blank("xx" if name == "whitespace" else name)
    if name == "whitespace":  # tokenised already: split at white space and nowhere else
        return _Whitespace(pipeline.vocab, lambda text: Doc(pipeline.vocab, *_at_spaces(text)))
    return pipeline.tokenizer


class _Whitespace:
    """Splits at white space; like spaCy's tokenizers it has a vocab and is called with a text."""

    def __init__(self, vocab: Any, split: Callable[[str], Any]) -> None:
        self.vocab, self._split = vocab, split

    def __call__(self, text: str) -> Any:
        return self._split(text)


@functools.cache
def _sentence_ends(name: str) -> np.ndarray:
    """Return the string ids of the tokens that end a sentence: spaCy's list, of some 100
    scripts.
    """
    from spacy.pipeline import Sentencizer

    strings = _tokenizer(name).vocab.strings
    return np.asarray(
        [strings.add(character) for character in Sentencizer.default_punct_chars], np.uint64
    )


def sentence_starts(enders: np.ndarray, punctuation: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return where spaCy's Sentencizer begins a sentence, for many documents at once (it took 30%
    of the time).

    A token begins one when it is neither an ender nor punctuation, and an ender stood after the
    last such token.

    Args:
        enders: whether a token is one of the Sentencizer's characters, (tokens,)
        punctuation: whether spaCy calls it punctuation, (tokens,)
        first: the first token of each document, (documents,)

    """
    starts = np.zeros(len(enders), bool)
    seen = np.cumsum(enders)
    words = np.flatnonzero(~enders & ~punctuation)
    starts[words[1:]] = np.diff(seen[words]) > 0
    document = np.zeros(len(enders), np.int64)
    document[first] = 1
    document = np.cumsum(document)
    if len(words):
        # the first word of a document has none before it: an ender counts from the document's own
        # start
        leads = np.flatnonzero(np.diff(document[words], prepend=-1))
        begin = first[document[words[leads]] - 1]
        starts[words[leads]] = seen[words[leads]] > seen[begin] - enders[begin]
    starts[first] = True
    return starts


def _at_spaces(text: str) -> tuple[list[str], list[bool]]:
    """Return spaCy's words and spaces so that joined they give `text` back: white space beyond one
    blank is a word.
    """
    words: list[str] = []
    spaces: list[bool] = []
    for part in _pieces(text):
        if part == " " and words and not spaces[-1]:
            spaces[-1] = True
        else:
            words.append(part)
            spaces.append(False)
    return words, spaces


def _pieces(text: str) -> Iterator[str]:
    start = 0
    for i in range(1, len(text) + 1):
        if i == len(text) or text[i].isspace() or text[i - 1].isspace():
            yield text[start:i]
            start = i


def tokenize_text(text: str, tokenizer: str) -> tuple[str, Tokens]:
    """Return a text, cleaned as a corpus is, and its tokens as a corpus of one document."""
    cleaned, _ = clean(text)
    lexicon, ids, _, _, counts, sentences, sentence_counts = _tokenize_chunk(([cleaned], tokenizer))
    ends = [np.asarray([0, int(count[0])], np.int64) for count in (counts, sentence_counts)]
    meta = Meta(
        digest="", corpus="", kind="", tokenizer=tokenizer, folds=0, labels={}, documents=1,
        tokens=len(ids), types=len(lexicon), parts={}, reduced=False, generated=False,
        duplicates={}, treated={},
    )  # fmt: skip
    return cleaned, Tokens(Path(), meta, ids, ends[0], lexicon, sentences, ends[1])


def _tokenize_chunk(task: tuple[list[str], str]) -> Chunk:
    """Tokenise some cleaned texts: lexicon, ids, starts, ends, tokens by document, sentences,
    sentences by document.
    """
    from spacy.attrs import IDX, IS_PUNCT, IS_SPACE, LENGTH, ORTH

    texts, name = task
    tokenizer = _tokenizer(name)
    tables = [
        tokenizer(text).to_array([ORTH, IDX, LENGTH, IS_SPACE, IS_PUNCT]).reshape(-1, 5)
        for text in texts
    ]
    flat = np.concatenate(tables)
    document = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    first = np.flatnonzero(np.diff(document, prepend=-1))
    enders = np.isin(flat[:, 0], _sentence_ends(name))
    # before white space goes, as spaCy has it
    sentence = np.cumsum(sentence_starts(enders, flat[:, 4] == 1, first))
    keep = flat[:, 3] == 0
    flat, document, sentence = flat[keep], document[keep], sentence[keep]
    counts = np.bincount(document, minlength=len(texts))
    begins = np.flatnonzero(np.diff(sentence, prepend=-1))
    offsets = np.cumsum(counts) - counts
    sentences = begins - offsets[document[begins]]
    sentence_counts = np.bincount(document[begins], minlength=len(texts))
    ids, orths = pd.factorize(flat[:, 0])  # in order of first occurrence
    strings = tokenizer.vocab.strings
    lexicon = [strings[orth] for orth in orths.tolist()]
    begin = flat[:, 1].astype(np.int32)
    end = (flat[:, 1] + flat[:, 2]).astype(np.int32)
    return (
        lexicon, ids.astype(np.int32), begin, end, counts, sentences.astype(np.int32),
        sentence_counts,
    )  # fmt: skip


def tokenize(name: str, corpus: "Corpus", raw: Path, into: Path, processes: int) -> None:
    """Write data/tokens/NAME (docs/contracts.md); the same bytes for any number of processes.

    Raises:
        HeedError: a raw file is missing or broken, the corpus is empty, the split cannot be drawn.

    """
    verify_checksums(raw, f"heed download {raw.name}")
    documents, treated = _cleaned(corpus, raw)
    if not documents:
        raise HeedError(f"{raw}: corpus {name} has no documents")
    labels = {
        key: sorted({document.labels[key] for document in documents}) for key in documents[0].labels
    }
    columns, dropped, duplicates = _split(corpus, documents)
    documents = [document for document, drop in zip(documents, dropped, strict=True) if not drop]
    columns = {key: column[~dropped] for key, column in columns.items()}
    texts = [str(document.text) for document in documents]
    with writing_folder(into, checksums=True) as out:
        lexicon, tokens = _write_arrays(out, texts, corpus.tokenizer, processes, name)
        frame = pd.DataFrame(
            {"id": [d.id for d in documents], "text": texts, "group": [d.group for d in documents]}
        )
        for key in labels:
            frame[f"label_{key}"] = [document.labels[key] for document in documents]
        frame.assign(**columns).to_parquet(out / "documents.parquet", index=False)
        spans = [
            (row, start, end)
            for row, document in enumerate(documents)
            for start, end in document.evidence
        ]
        evidence = pd.DataFrame(spans, columns=["document", "start", "end"], dtype=np.int64)
        evidence.to_parquet(out / "evidence.parquet", index=False)
        folds = corpus.split.k or 0
        first = columns["split_0" if folds else "split"]
        meta = Meta(
            digest=digest_folder(out),
            corpus=name,
            kind=corpus.kind,
            tokenizer=corpus.tokenizer,
            folds=folds,
            labels=labels,
            documents=len(documents),
            tokens=tokens,
            types=len(lexicon),
            parts={part: int((first == part).sum()) for part in ("train", "validation", "test")},
            reduced=corpus.sample is not None,
            generated=KINDS[corpus.kind].generated,
            duplicates=duplicates | {"dropped": int(dropped.sum())},
            treated={key: treated[key] for key in TREATMENTS},
        )
        write_json(out / "meta.json", dataclasses.asdict(meta))
    print(
        f"{name}: {len(documents):,} documents, {tokens:,} tokens, {len(lexicon):,} types; "
        f"{json.dumps(meta.parts)}"
    )
    if shared := duplicates["test_texts_in_train"]:
        print(
            f"{name}: {shared:,} test texts stand in the training part too (drop_duplicates: true "
            "drops those)"
        )


def _cleaned(corpus: "Corpus", raw: Path) -> tuple[list[Document], Counter[str]]:
    """Return the corpus's documents with clean text, reduced where params say so, and what cleaning
    did.
    """
    treated: Counter[str] = Counter()
    documents = list(read_documents(corpus, raw))
    if corpus.sample is not None and corpus.sample < len(documents):
        generator = np.random.default_rng(corpus.split.seed)
        documents = [
            documents[i] for i in np.sort(generator.permutation(len(documents))[: corpus.sample])
        ]
    cleaned = []
    for document in documents:
        text, counts = clean(document.text, corpus.max_characters)
        if document.evidence and counts - Counter(empty=1):
            raise HeedError(
                f"{raw}: document {document.id}: planted evidence in a text that is not clean"
            )
        treated += counts
        cleaned.append(
            Document(
                document.id,
                text,
                document.labels,
                document.group,
                document.split,
                document.evidence,
            )
        )
    return cleaned, treated


def _split(
    corpus: "Corpus", documents: list[Document]
) -> tuple[dict[str, np.ndarray], np.ndarray, dict[str, int]]:
    """Return the split columns, which documents to drop, and the counts of exact duplicates."""
    strata = np.asarray(
        ["\x1f".join(document.labels.values()) for document in documents], object
    ).astype(str)
    groups = np.asarray([document.group for document in documents])
    given = np.asarray([document.split for document in documents])
    columns = split_columns(corpus.split, strata, groups, given)
    texts = pd.Series([str(document.text) for document in documents])
    shared, dropped = 0, np.zeros(len(texts), bool)
    for column in columns.values():
        held_out = texts[column != "train"]
        in_train = (column == "train") & texts.isin(held_out).to_numpy()
        shared = max(shared, int((texts[column == "test"].isin(texts[column == "train"])).sum()))
        if corpus.drop_duplicates and corpus.split.kind != "folds":
            dropped |= in_train
    if (
        corpus.drop_duplicates and corpus.split.kind == "folds"
    ):  # every document is tested once: keep the first of equals
        dropped = texts.duplicated().to_numpy()
    return columns, dropped, {"texts": int(texts.duplicated().sum()), "test_texts_in_train": shared}


def _write_arrays(
    out: Path, texts: list[str], tokenizer: str, processes: int, name: str
) -> tuple[list[str], int]:
    """Tokenise in parallel and write the arrays; return the complete lexicon and the number of
    tokens.
    """
    tasks = [(chunk, tokenizer) for chunk in _chunks(texts)]
    lexicon: dict[str, int] = {}
    parts: list[list[np.ndarray]] = [[] for _ in range(6)]
    with progress_bar(f"{name}: tokenizing") as bar:
        for done, (words_of_chunk, ids, *others) in enumerate(_results(tasks, processes), 1):
            index = np.asarray(
                [lexicon.setdefault(word, len(lexicon)) for word in words_of_chunk], np.int32
            )
            for part, array in zip(parts, [index[ids] if len(ids) else ids, *others], strict=True):
                part.append(array)
            bar.update(done, len(tasks))
    ids, starts, ends, counts, sentences, sentence_counts = (np.concatenate(part) for part in parts)
    np.save(out / "ids.npy", ids)
    np.save(out / "starts.npy", starts)
    np.save(out / "ends.npy", ends)
    np.save(out / "offsets.npy", np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
    np.save(out / "sentences.npy", sentences)
    np.save(
        out / "sentence_offsets.npy",
        np.concatenate([[0], np.cumsum(sentence_counts)]).astype(np.int64),
    )
    write_text(out / "lexicon.txt", "".join(f"{word}\n" for word in lexicon))
    return list(lexicon), len(ids)


def _chunks(texts: list[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    size = 0
    for text in texts:
        chunk.append(text)
        size += len(text)
        if len(chunk) == CHUNK or size > MAX_CHUNK_CHARACTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _results(tasks: list[tuple[list[str], str]], processes: int) -> Iterator[Chunk]:
    """Yield the chunks in their order, whatever process made them."""
    if min(processes, len(tasks)) < 2:
        yield from map(_tokenize_chunk, tasks)
        return
    # Not multiprocessing.Pool: it waits for ever for what a killed process was to return.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        min(processes, len(tasks)), context, initializer=_end_with_parent
    ) as pool:
        try:
            yield from pool.map(_tokenize_chunk, tasks)
        except BrokenProcessPool:
            raise HeedError(
                "a process that tokenised was killed; the system does that when memory runs out. "
                "Run the same command again, "
                "with fewer processes (HEED_THREADS=1) if it is memory"
            ) from None


def _end_with_parent() -> None:
    """End this process when the one that started it is killed; it would wait for work for ever."""

    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
