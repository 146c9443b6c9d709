"""Tokenise parallel text, and write the arrays of each language (docs/contracts.md)."""

import dataclasses
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from heed.corpora.kinds import KINDS, read_parallel_documents
from heed.corpora.publication import Links, ParallelDocument
from heed.files import HeedError, digest_folder, write_json, writing_folder
from heed.terminal import print_line
from heed.tokens.arrays import ALIGNMENTS, Side
from heed.tokens.chunks import tokenize_texts
from heed.tokens.cleaned import CLEANED, CleanedDocuments
from heed.tokens.cleaning import TREATMENTS, clean
from heed.tokens.documents import write_documents
from heed.tokens.facts import DocumentFacts, TextDigests
from heed.tokens.kept import KeptDocuments, keep_documents
from heed.tokens.meta import Language, Meta, NearDuplicates, format_summary
from heed.tokens.near_duplicates import find_near_duplicates
from heed.tokens.reading import read_sample
from heed.tokens.splits import PARTS, require_parts
from heed.tokens.writer import TokenWriter, tokenize_column

if TYPE_CHECKING:
    from heed.study import Corpus

# Half a text is no translation, nor is none: documents with one are dropped, and counted as these.
DROPPED = {"cut": "dropped_long", "empty": "dropped_empty"}


def tokenize_sentences(texts: list[str], tokenizer: str) -> Side:
    """Return texts of one language, cleaned, and their tokens, as a corpus has them."""
    cleaned = [clean(text)[0] for text in texts]
    arrays = tokenize_texts(cleaned, tokenizer)
    return Side(
        arrays.ids, arrays.starts, arrays.ends, arrays.offsets, arrays.lexicon, lambda: cleaned
    )


@dataclasses.dataclass
class _Aligned:
    """The gold links of a document."""

    id: str
    alignments: dict[str, Links]  # by "SOURCE-TARGET"
    words: dict[str, int]  # language → words of the text, which white space separates


@dataclasses.dataclass
class _Documents:
    """What is known of all documents after they were cleaned."""

    facts: DocumentFacts
    texts: dict[str, TextDigests]  # by language
    aligned: dict[int, _Aligned]  # by row, where links are known
    treated: dict[str, int]  # the counts of treatments


def tokenize_parallel(name: str, corpus: "Corpus", raw: Path, folder: Path, processes: int) -> None:
    """Write data/tokens/NAME of a parallel corpus; the same bytes for any number of processes.

    Raises:
        HeedError: a raw file is missing or broken, the corpus has no documents or not those that
            its alignments need, the split cannot be drawn.

    """
    with writing_folder(folder, checksums=True) as out:
        sides: dict[str, TokenWriter] = {}
        with CleanedDocuments(out / CLEANED) as cleaned:
            documents = _clean_documents(name, corpus, raw, cleaned)
            try:
                texts = [digests.numbers() for digests in documents.texts.values()]
                kept = keep_documents(corpus, documents.facts, texts)
                require_parts(kept.columns)
            except HeedError as error:
                raise HeedError(f"corpus {name}: {error}") from None
            for language in documents.texts:
                (out / language).mkdir()
                column, title = f"text_{language}", f"{name}: tokenizing {language}"
                tokenizer = corpus.tokenizer_of(language)
                with TokenWriter(out / language, with_sentences=False) as sides[language]:
                    for chunk in tokenize_column(
                        cleaned, kept.rows, column, tokenizer, processes, title
                    ):
                        sides[language].append(chunk)
            write_documents(cleaned, kept.rows, kept.columns, out / "documents.parquet")
        alignments = _write_alignments(out, name, documents.aligned, kept.rows, sides)
        meta = _describe(name, corpus, sides, kept)
        meta = dataclasses.replace(
            meta,
            digest=digest_folder(out),
            treated=documents.treated,
            alignments=alignments,
        )
        write_json(out / "meta.json", dataclasses.asdict(meta))
    print_line(format_summary(meta))


def _describe(
    name: str, corpus: "Corpus", sides: dict[str, TokenWriter], kept: KeptDocuments
) -> Meta:
    """Return what the arrays and the split columns say of a corpus."""
    first_column = next(iter(kept.columns.values()))
    languages = {
        language: Language(corpus.tokenizer_of(language), len(side.ids), len(side.lexicon))
        for language, side in sides.items()
    }
    return Meta(
        digest="",
        corpus=name,
        kind=corpus.kind,
        tokenizer=corpus.tokenizer,
        folds=corpus.split.k or 0,
        labels={},
        documents=len(first_column),
        tokens=sum(language.tokens for language in languages.values()),
        types=sum(language.types for language in languages.values()),
        parts={part: int((first_column == part).sum()) for part in PARTS},
        reduced=corpus.sample is not None or kept.left_out > 0,
        generated=KINDS[corpus.kind].generated,
        duplicates=kept.duplicates,
        near_duplicates=_count_near_duplicates(name, sides, kept.columns),
        treated={},
        left_out=kept.left_out,
        languages=languages,
    )


def _clean_documents(
    name: str, corpus: "Corpus", raw: Path, cleaned: CleanedDocuments
) -> _Documents:
    """Clean the documents, or a sample of them, into `cleaned`; return what is known of all.

    A document with an empty text, or one of more than `max_characters`, is dropped and counted. A
    text of `optional_languages` may be empty.

    Raises HeedError when no document is left, or params.yaml names a language that is not there.
    """
    names = [DROPPED.get(treatment, treatment) for treatment in TREATMENTS]
    treated = Counter(dict.fromkeys(names, 0))
    facts, digests, aligned = DocumentFacts(), dict[str, TextDigests](), dict[int, _Aligned]()
    for document in read_sample(name, corpus, raw, read_parallel_documents):
        texts: dict[str, str] = {}
        counts: Counter[str] = Counter()
        for language, text in document.texts.items():
            cleaned_text, treatments = clean(text, corpus.max_characters)
            if treatments["empty"] and language in (corpus.optional_languages or ()):
                cleaned_text, treatments = "", Counter()
            texts[language] = cleaned_text
            counts.update(treatments)
            _require_same_words(raw, document, language, cleaned_text)
        if reason := next((DROPPED[each] for each in ("empty", "cut") if counts[each]), None):
            treated[reason] += 1
            continue
        treated.update(counts)
        if document.alignments:
            words = {language: len(text.split()) for language, text in texts.items()}
            aligned[len(facts)] = _Aligned(document.id, document.alignments, words)
        facts.append(document)
        columns = {f"text_{language}": text for language, text in texts.items()}
        cleaned.append({"id": document.id, **columns})
        for language, text in texts.items():
            digests.setdefault(language, TextDigests()).append(text or None)
    cleaned.finish()
    if not len(facts):
        raise HeedError(f"{raw}: corpus {name} has no document with a text in each language")
    _require_languages(name, corpus, list(digests))
    return _Documents(facts, digests, aligned, dict(treated))


def _require_languages(name: str, corpus: "Corpus", languages: list[str]) -> None:
    """Raise HeedError when params.yaml names a language that the corpus does not have."""
    for key in ("tokenizers", "optional_languages"):
        if unknown := {*(getattr(corpus, key) or ())} - {*languages}:
            raise HeedError(
                f"params.yaml: corpora.{name}.{key}: no language {min(unknown)}. The languages of "
                f"the corpus: {', '.join(languages)}"
            )


def _require_same_words(raw: Path, document: ParallelDocument, language: str, cleaned: str) -> None:
    """Raise HeedError when cleaning changed the number of words that the links of a text count."""
    text = document.texts[language]
    if not any(language in pair.split("-") for pair in document.alignments):
        return
    original = text.decode(errors="replace") if isinstance(text, bytes) else text
    if len(original.split()) != len(cleaned.split()):
        raise HeedError(
            f"{raw}: {document.id}: cleaning changed the number of words of the {language} text, "
            "which its alignment counts. Remove control characters and HTML from it"
        )


def _write_alignments(
    out: Path,
    name: str,
    aligned: dict[int, _Aligned],
    kept: np.ndarray,
    sides: dict[str, TokenWriter],
) -> list[str]:
    """Write alignment.parquet if any document has gold links; return the pairs of languages."""
    rows = []
    tokens = {language: np.diff(side.offsets) for language, side in sides.items()}
    new_row = np.cumsum(kept) - 1
    for old_row, document in aligned.items():
        if not kept[old_row]:
            continue
        row = int(new_row[old_row])
        for pair, links in document.alignments.items():
            counts = {language: int(tokens[language][row]) for language in pair.split("-")}
            try:
                _check_links(document, pair, links, counts)
            except HeedError as error:
                raise HeedError(f"corpus {name}: {document.id}: {error}") from None
            rows += [(row, pair, *link, True) for link in links.sure]
            rows += [(row, pair, *link, False) for link in links.possible]
    if not rows:
        return []
    names = ["document", "languages", "source_word", "target_word", "is_sure"]
    table = pd.DataFrame(rows, columns=names)
    table.astype({"source_word": np.int32, "target_word": np.int32}).to_parquet(
        out / ALIGNMENTS, index=False
    )
    return sorted({pair for _, pair, *_ in rows})


def _check_links(document: _Aligned, pair: str, links: Links, tokens: dict[str, int]) -> None:
    """Raise HeedError unless the links are of words of the texts, and each token is a word.

    Args:
        document: with the words of its cleaned texts.
        pair: the two languages.
        links: of their words.
        tokens: how many the text has, in either language.

    """
    words = [document.words[language] for language in tokens]
    for language, count in zip(tokens, words, strict=True):
        if tokens[language] != count:
            raise HeedError(
                f"an alignment counts words, which white space separates: the {language} text has "
                f"{count}, but {tokens[language]} tokens. Set `tokenizers: {{{language}: "
                "whitespace}` of the corpus in params.yaml"
            )
    for source, target in (*links.sure, *links.possible):
        if source >= words[0] or target >= words[1]:
            raise HeedError(
                f"the alignment {pair} links the words {source} and {target} (counted from 0) of "
                f"texts with {words[0]} and {words[1]} words. Correct it, or alignment_base in "
                "params.yaml"
            )


def _count_near_duplicates(
    name: str, sides: dict[str, TokenWriter], columns: dict[str, np.ndarray]
) -> NearDuplicates:
    """Return how many test documents have a near duplicate in train in any language."""
    results = [
        find_near_duplicates(
            side.ids, side.offsets, side.lexicon, columns, f"{name}: near duplicates {language}"
        )
        for language, side in sides.items()
    ]
    by_column = zip(*(documents for documents, _ in results), strict=True)
    counts = [int(np.logical_or.reduce(documents).sum()) for documents in by_column]
    return NearDuplicates(counts, complete=all(is_complete for _, is_complete in results))
