"""Write the tokens of a corpus: one pass over its documents, which become a table, then arrays.

The documents are read and cleaned into a table on disk, with a column of texts, or one for each
language of a parallel corpus. For all documents at once, only labels, groups and digests of texts
are in memory: the split and the duplicates follow from these. Then each column of texts is
tokenised by chunks into arrays that grow on disk.
"""

import dataclasses
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd

from heed.corpora.kinds import KINDS, read_documents
from heed.corpora.publication import SPLITS, RawDocument
from heed.files import HeedError, digest_folder, verify_checksums, write_json, writing_folder
from heed.progress import progress_bar
from heed.records import as_json
from heed.terminal import print_line
from heed.tokens.arrays import ALIGNMENTS, REFERENCES, REPEATS, mark_rationale
from heed.tokens.meta import Language, Meta, NearDuplicates, Rationale, Tokenizer, format_summary
from heed.tokens.splits import (
    LABEL,
    DocumentLabels,
    SplitCorpus,
    describe_missing_values,
    digest,
    find_near_duplicates,
    number_texts,
    require_text,
    split_corpus,
)
from heed.tokens.tokenizer import PATTERNS, TREATMENTS, Chunk, clean, clean_spans, tokenize_chunks
from heed.tokens.writer import Cell, CleanedTable, WrittenTokens, write_documents, write_vectors

if TYPE_CHECKING:
    from heed.corpora.sections import Corpus

DOCUMENTS = "documents.parquet"
CLEANED = ".cleaned.arrow"  # the table of cleaned documents, in the folder of the tokens
# A pair with an empty or a cut text is not a translation: it is dropped and counted.
DROPPED = {"empty": "dropped_empty", "cut": "dropped_long"}
BEYOND = 1 << 32  # more than the characters of any text


def tokenize(name: str, corpus: "Corpus", raw: Path, folder: Path, processes: int) -> None:
    """Write data/tokens/NAME (docs/internals/contracts.md); with any number of processes.

    Raises HeedError for broken files, nothing to learn, no such split, alignments that do not fit.
    """
    verify_checksums(raw, f"heed download {raw.name}")
    is_parallel = KINDS[corpus.kind].parallel
    hidden = {"split", "rationale", "links", "references"} | ({"group"} if is_parallel else set())
    with writing_folder(folder, checksums=True) as out:
        with CleanedTable(out / CLEANED) as table:
            labels, texts, cleaned = _clean_documents(name, corpus, raw, table)
            try:
                split = split_corpus(corpus, labels, list(texts.values()))
            except HeedError as error:
                raise HeedError(f"corpus {name}: {error}") from None
            tokens = {}
            for language in texts:
                chunks = _tokenize_texts(name, corpus, table, split.rows, language, processes)
                tokens[language] = WrittenTokens(out / language, chunks, not language)
            columns = [key for key in table.columns if key not in hidden]
            of_first, of_others = _of_first_repeat(corpus, split.columns)
            write_documents(table.chunks(columns, split.rows), of_first, out / DOCUMENTS)
            spans = table.entries("rationale", split.rows)
            alignments = _write_pair_files(out, name, table, split.rows, tokens)
        meta = _describe(name, corpus, labels, split, tokens)
        if not is_parallel:
            first_column = next(iter(split.columns.values()))
            # the name of 0.2.0: names are part of the digest of tokens
            spans.to_parquet(out / "evidence.parquet", index=False)
            rationale = _measure_rationale(corpus, spans, tokens[""], first_column)
            vectors = write_vectors(raw, out, tokens[""], first_column, f"{name}: word vectors")
            meta = dataclasses.replace(meta, rationale=rationale, vectors=vectors)
        meta = dataclasses.replace(
            meta, digest=digest_folder(out), alignments=alignments, cleaned=cleaned
        )
        if of_others:  # no part of the digest: the runs of the first repeat stay as they are
            pd.DataFrame(of_others).to_parquet(out / REPEATS, index=False)
        write_json(out / "meta.json", as_json(meta))
    missing = describe_missing_values(labels, split.columns, split.rows)
    print_line("\n".join([format_summary(meta), *(f"{name}: {line}" for line in missing)]))


def _clean_documents(
    name: str, corpus: "Corpus", raw: Path, table: CleanedTable
) -> tuple[DocumentLabels, dict[str, np.ndarray], dict[str, int]]:
    """Clean the documents into the table; return their labels, texts and counts of treatments.

    The texts are a number for each, by language, as `find_duplicates` takes it. A parallel document
    with an empty or a cut text is dropped and counted. Raises HeedError when no document is left,
    or none has text.
    """
    dropped, what = dict[str, str](), "s"
    if KINDS[corpus.kind].parallel:
        dropped, what = DROPPED, " with a text in each language"
    cleaned = Counter(dict.fromkeys(map(dropped.get, TREATMENTS, TREATMENTS), 0))
    digests: defaultdict[str, list[bytes]] = defaultdict(list)
    with progress_bar(f"{name}: reading and cleaning") as bar:
        for number, document in enumerate(read_documents(corpus, raw), 1):
            bar.update(number, text=f"{number:,} documents")
            texts, counts = _clean_texts(document)
            if reasons := [reason for key, reason in dropped.items() if counts[key]]:
                cleaned[reasons[0]] += 1
                continue
            cleaned.update(counts)
            table.append(_make_row(document, texts, raw))
            for language, text in texts.items():
                digests[language].append(digest(text))
    table.finish()
    if not digests:
        raise HeedError(f"{raw}: corpus {name} has no document{what}")
    labels = _read_labels(table)
    if cleaned["empty"] == len(labels.strata):
        raise HeedError(f"{raw}: no document of corpus {name} has text")
    numbers = dict(zip(digests, map(number_texts, digests.values()), strict=True))
    return labels, numbers, dict(cleaned)


def _read_labels(table: CleanedTable) -> DocumentLabels:
    columns = [key for key in table.columns if key.startswith(("group", "split", LABEL))]
    return DocumentLabels(table.read(columns).to_pandas())


def _clean_texts(document: RawDocument) -> tuple[dict[str, str], Counter[str]]:
    """Return the cleaned texts of a document, by language, and the counts of treatments."""
    texts, counts = dict[str, str](), Counter[str]()
    for language, text in (document.texts or {"": document.text}).items():
        texts[language], treatments = clean(text)
        counts += treatments
    return texts, counts


def _as_read(text: str | bytes) -> str:
    """Return a text as its file has it; what cannot be UTF-8 is U+FFFD."""
    if isinstance(text, bytes):
        return text.decode(errors="replace")
    return PATTERNS["surrogates"][0].sub("\ufffd", text)


def _make_row(document: RawDocument, texts: dict[str, str], raw: Path) -> dict[str, Cell]:
    """Return a document's row of the table. Raises HeedError as `clean_spans`."""
    row: dict[str, Cell] = {"id": document.id}
    row |= {text_column(language): text for language, text in texts.items()}
    row["group"] = document.group
    row |= {f"{LABEL}{key}": label for key, label in document.labels.items()}
    row |= {"split": document.split, "rationale": (), "links": ()}
    row["references"] = tuple(
        (language, raw_text)
        for language, text in document.texts.items()
        if texts[language] and texts[language] != (raw_text := _as_read(text))
    )
    if document.rationale:
        location = f"{raw}: document {document.id}"
        row["rationale"] = clean_spans(str(document.text), document.rationale, texts[""], location)
    row["links"] = tuple(
        (pair, *link, is_sure)
        for pair, links in document.alignments.items()
        for is_sure, group in ((True, links.sure), (False, links.possible))
        for link in group
    )
    return row


def text_column(language: str) -> str:
    """Return the name of a language's column of texts; "" is the language of labelled texts."""
    return f"text_{language}" if language else "text"


def _tokenize_texts(
    name: str, corpus: "Corpus", table: CleanedTable, selected: np.ndarray, language: str,
    processes: int,
) -> Iterator[Chunk]:  # fmt: skip
    """Yield the tokens of the selected texts of a language. HeedError: a process was killed."""
    column, total = text_column(language), len(table.starts) - 1
    chunks = (rows[column].to_pylist() for rows in table.chunks([column], selected) if len(rows))
    with progress_bar(f"{name}: tokenizing {language}".rstrip()) as bar:
        tokenizer = cast(Tokenizer, corpus.tokenizer_of(language))
        for done, chunk in enumerate(tokenize_chunks(chunks, tokenizer, min(processes, total)), 1):
            bar.update(done, total)
            yield chunk


def _write_pair_files(
    out: Path, name: str, table: CleanedTable, selected: np.ndarray,
    tokens: dict[str, WrittenTokens],
) -> list[str]:  # fmt: skip
    """Write texts that cleaning changed, and gold links; return the pairs of languages of these.

    Raises HeedError unless each token of texts with links is a word.
    """
    if len(references := table.entries("references", selected)):
        references.to_parquet(out / REFERENCES, index=False)
    links = table.entries("links", selected)
    if links.empty:
        return []
    ids = table.read(["id"], selected)["id"]
    for pair, group in links.groupby("languages"):
        rows = group["document"].to_numpy()
        for language in str(pair).split("-"):
            count = np.diff(tokens[language].offsets)[rows]
            words = _count_words(table, text_column(language), selected)[rows]
            for i in np.flatnonzero(words != count)[:1]:
                raise HeedError(
                    f"corpus {name}: {ids[int(rows[i])]}: an alignment counts words, which white "
                    f"space separates: the {language} text has {words[i]}, but {count[i]} tokens. "
                    f"Set `tokenizers: {{{language}: whitespace}}` of the corpus in params.yaml"
                )
    links.to_parquet(out / ALIGNMENTS, index=False)
    return sorted(links["languages"].unique())


def _count_words(table: CleanedTable, column: str, selected: np.ndarray) -> np.ndarray:
    texts = (rows[column].to_pylist() for rows in table.chunks([column], selected))
    return np.asarray([len(text.split()) for text in itertools.chain.from_iterable(texts)])


def _of_first_repeat(
    corpus: "Corpus", columns: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the split columns of the first repeat of folds, or of a fixed split, and the rest."""
    entries, count = [*columns.items()], corpus.split.k or 1
    return dict(entries[:count]), dict(entries[count:])


def _describe(
    name: str, corpus: "Corpus", labels: DocumentLabels, split: SplitCorpus,
    tokens: dict[str, WrittenTokens],
) -> Meta:  # fmt: skip
    """Return the description of a corpus, without what `tokenize` adds."""
    first_column = next(iter(split.columns.values()))
    if "" in tokens:
        require_text(np.diff(tokens[""].offsets), split.columns, f"corpus {name}: ")
    languages = {}
    for language, side in tokens.items():
        tokenizer = cast(Tokenizer, corpus.tokenizer_of(language))
        languages[language] = Language(tokenizer, len(side.array("ids")), len(side.lexicon))
    columns = _of_first_repeat(corpus, split.columns)[0]
    return Meta(
        digest="", corpus=name, kind=corpus.kind, tokenizer=cast(Tokenizer, corpus.tokenizer),
        folds=corpus.split.folds, repeats=corpus.split.repeats,
        labels={key: list(counts) for key, counts in labels.counts.items()},
        documents=len(first_column),
        tokens=sum(language.tokens for language in languages.values()),
        types=sum(language.types for language in languages.values()),
        splits={splits: int((first_column == splits).sum()) for splits in SPLITS},
        reduced=split.left_out > 0, generated=KINDS[corpus.kind].generated,
        duplicates=split.duplicates, cleaned={}, left_out=split.left_out,
        near_duplicates=_count_near_duplicates(name, tokens, columns),
        languages={language: entry for language, entry in languages.items() if language},
    )  # fmt: skip


def _count_near_duplicates(
    name: str, tokens: dict[str, WrittenTokens], columns: dict[str, np.ndarray]
) -> NearDuplicates:
    """Return the number of test documents with a near duplicate in train, in any language."""
    results = []
    for language, side in tokens.items():
        title = f"{name}: near duplicates {language}".rstrip()
        found = find_near_duplicates(side.array("ids"), side.offsets, side.lexicon, columns, title)
        results.append(found)
    by_column = zip(*(documents for documents, _ in results), strict=True)
    counts = [int(np.logical_or.reduce(documents).sum()) for documents in by_column]
    return NearDuplicates(counts, complete=all(is_complete for _, is_complete in results))


def _measure_rationale(
    corpus: "Corpus", spans: pd.DataFrame, tokens: WrittenTokens, splits: np.ndarray
) -> Rationale | None:
    """Return how much rationale each split has; None when no document has any.

    `spans` has document, first character and end of each span of rationale, sorted by document;
    `splits` the split of each document, (documents,).
    """
    kind = KINDS[corpus.kind].rationale
    if kind is None or spans.empty:
        return None
    rows = spans["document"].to_numpy()
    has_rationale = np.zeros(len(splits), bool)
    has_rationale[rows] = True
    # the documents are marked as one text: the characters of each follow those before it
    document = np.repeat(np.arange(len(splits)), np.diff(tokens.offsets))
    starts, ends = (tokens.array(name) + document * BEYOND for name in ("starts", "ends"))
    characters = spans[["start", "end"]].to_numpy() + rows[:, np.newaxis] * BEYOND
    marked = pd.Series(mark_rationale(starts, ends, characters))[has_rationale[document]]
    shares = marked.groupby(splits[document][has_rationale[document]]).mean()
    documents = {split: int((has_rationale & (splits == split)).sum()) for split in SPLITS}
    return Rationale(kind, documents, {split: float(shares.get(split, 0)) for split in SPLITS})
