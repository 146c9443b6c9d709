"""Tokenise documents with spaCy, and write the token arrays (docs/contracts.md)."""

import dataclasses
from array import array
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from heed.corpora.kinds import KINDS, read_documents
from heed.files import HeedError, digest_folder, verify_checksums, write_json, writing_folder
from heed.terminal import print_line
from heed.tokens.arrays import Tokens
from heed.tokens.chunks import tokenize_texts
from heed.tokens.cleaned import CLEANED, CleanedDocuments
from heed.tokens.cleaning import TREATMENTS, clean
from heed.tokens.documents import write_documents
from heed.tokens.evidence import EvidenceMeasure, clean_spans
from heed.tokens.facts import DocumentFacts, TextDigests
from heed.tokens.kept import KeptDocuments, keep_documents
from heed.tokens.meta import Meta, NearDuplicates, Tokenizer, format_summary
from heed.tokens.near_duplicates import count_near_duplicates
from heed.tokens.parallel import tokenize_parallel
from heed.tokens.reading import read_sample
from heed.tokens.splits import PARTS, require_learnable
from heed.tokens.vectors import write_vectors
from heed.tokens.writer import TokenWriter, tokenize_column

if TYPE_CHECKING:
    from heed.study import Corpus


def tokenize_in_memory(texts: list[str], tokenizer: Tokenizer) -> tuple[list[str], Tokens]:
    """Return the cleaned texts, and their tokens as a corpus that is in no file."""
    cleaned = [clean(text)[0] for text in texts]
    arrays = tokenize_texts(cleaned, tokenizer)
    meta = Meta(
        digest="", corpus="", kind="", tokenizer=tokenizer, folds=0, labels={},
        documents=len(texts),
        tokens=len(arrays.ids), types=len(arrays.lexicon), parts={}, reduced=False,
        generated=False, duplicates={}, near_duplicates=NearDuplicates([0], complete=True),
        treated={},
    )  # fmt: skip
    return cleaned, Tokens(
        Path(), meta, arrays.ids, arrays.offsets, arrays.lexicon, arrays.sentences,
        arrays.sentence_offsets,
    )  # fmt: skip


def tokenize(name: str, corpus: "Corpus", raw: Path, folder: Path, processes: int) -> None:
    """Write data/tokens/NAME (docs/contracts.md); the same bytes for any number of processes.

    Raises:
        HeedError: a raw file is missing or broken, the corpus is empty or has nothing to learn, the
            split cannot be drawn.

    """
    verify_checksums(raw, f"heed download {raw.name}")
    if KINDS[corpus.kind].parallel:
        tokenize_parallel(name, corpus, raw, folder, processes)
    else:
        _tokenize_labelled(name, corpus, raw, folder, processes)


def _tokenize_labelled(
    name: str, corpus: "Corpus", raw: Path, folder: Path, processes: int
) -> None:
    """Write data/tokens/NAME of a corpus whose documents have labels."""
    kind = KINDS[corpus.kind]
    with writing_folder(folder, checksums=True) as out:
        with CleanedDocuments(out / CLEANED) as cleaned:
            documents = _clean_documents(name, corpus, raw, cleaned)
            kept = _keep_documents(name, corpus, documents)
            first_column = next(iter(kept.columns.values()))
            spans = _write_evidence(out, documents.spans, kept.rows)
            evidence = EvidenceMeasure(kind.evidence, spans, first_column)
            with TokenWriter(out) as tokens:
                for chunk in tokenize_column(
                    cleaned, kept.rows, "text", corpus.tokenizer, processes, f"{name}: tokenizing"
                ):
                    tokens.append(chunk)
                    evidence.add(chunk)
            write_documents(cleaned, kept.rows, kept.columns, out / "documents.parquet")
        vectors = write_vectors(raw, out, tokens, first_column, f"{name}: word vectors")
        meta = Meta(
            digest=digest_folder(out),
            corpus=name,
            kind=corpus.kind,
            tokenizer=corpus.tokenizer,
            folds=corpus.split.k or 0,
            labels=documents.facts.values,
            multilabel=documents.facts.multilabel,
            documents=len(first_column),
            tokens=int(tokens.offsets[-1]),
            types=len(tokens.lexicon),
            parts={part: int((first_column == part).sum()) for part in PARTS},
            reduced=corpus.sample is not None or kept.left_out > 0,
            generated=kind.generated,
            duplicates=kept.duplicates,
            near_duplicates=count_near_duplicates(
                tokens.ids, tokens.offsets, tokens.lexicon, kept.columns, f"{name}: near duplicates"
            ),
            treated={key: documents.treated[key] for key in TREATMENTS},
            left_out=kept.left_out,
            evidence=evidence.result(),
            vectors=vectors,
        )
        write_json(out / "meta.json", dataclasses.asdict(meta))
    print_line(format_summary(meta))


@dataclasses.dataclass
class _Documents:
    """What is known of all documents after they were cleaned."""

    facts: DocumentFacts
    texts: TextDigests
    spans: np.ndarray  # document, start and end of each span of evidence, (spans, 3)
    treated: Counter[str]  # the counts of treatments


def _clean_documents(
    name: str, corpus: "Corpus", raw: Path, cleaned: CleanedDocuments
) -> _Documents:
    """Clean the documents, or a sample of them, into `cleaned`; return what is known of all.

    Raises HeedError when there are none, or none with text.
    """
    treated: Counter[str] = Counter()
    facts, texts, spans = DocumentFacts(), TextDigests(), array("q")
    has_text = False
    for row, document in enumerate(read_sample(name, corpus, raw, read_documents)):
        text, counts = clean(document.text, corpus.max_characters)
        treated += counts
        has_text = has_text or not counts["empty"]
        facts.append(document)
        texts.append(text)
        if document.evidence:
            location = f"{raw}: document {document.id}"
            for span in clean_spans(str(document.text), document.evidence, text, location):
                spans.extend((row, *span))
        labels = {f"label_{key}": label for key, label in document.labels.items()}
        cleaned.append({"id": document.id, "text": text, "group": document.group, **labels})
    cleaned.finish()
    if not len(facts):
        raise HeedError(f"{raw}: corpus {name} has no documents")
    if not has_text:
        raise HeedError(f"{raw}: no document of corpus {name} has text")
    return _Documents(facts, texts, np.asarray(spans, np.int64).reshape(-1, 3), treated)


def _write_evidence(out: Path, spans: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Write evidence.parquet; return the spans of the documents to keep, by their new rows."""
    spans = spans[kept[spans[:, 0]]]
    spans[:, 0] = (np.cumsum(kept) - 1)[spans[:, 0]]
    table = pd.DataFrame(spans, columns=["document", "start", "end"])
    table.to_parquet(out / "evidence.parquet", index=False)
    return spans


def _keep_documents(name: str, corpus: "Corpus", documents: _Documents) -> KeptDocuments:
    """Return the documents to keep. Raises HeedError when there is nothing to learn from them."""
    try:
        kept = keep_documents(corpus, documents.facts, [documents.texts.numbers()])
        labels = {key: label[kept.rows] for key, label in documents.facts.labels.items()}
        require_learnable(labels, kept.columns)
    except HeedError as error:
        raise HeedError(f"corpus {name}: {error}") from None
    return kept
