"""Tokenise documents with spaCy, and write the token arrays (docs/contracts.md)."""

import dataclasses
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from heed.corpora.kinds import KINDS, read_documents
from heed.corpora.publication import Document
from heed.files import HeedError, digest_folder, verify_checksums, write_json, writing_folder
from heed.terminal import print_line
from heed.tokens.arrays import Tokens
from heed.tokens.chunks import tokenize_texts
from heed.tokens.cleaning import TREATMENTS, clean
from heed.tokens.duplicates import find_duplicates
from heed.tokens.evidence import clean_spans, measure_evidence
from heed.tokens.meta import Meta, NearDuplicates, Tokenizer, format_summary
from heed.tokens.near_duplicates import count_near_duplicates
from heed.tokens.parallel import tokenize_parallel
from heed.tokens.splits import PARTS, draw_sample, require_learnable, split_documents

if TYPE_CHECKING:
    from heed.study import Corpus


def tokenize_text(text: str, tokenizer: Tokenizer) -> tuple[str, Tokens]:
    """Return the cleaned text, and its tokens as a corpus of one document."""
    cleaned, _ = clean(text)
    arrays = tokenize_texts([cleaned], tokenizer)
    meta = Meta(
        digest="", corpus="", kind="", tokenizer=tokenizer, folds=0, labels={}, documents=1,
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
    documents, treated = _read_clean_documents(corpus, raw)
    if not documents:
        raise HeedError(f"{raw}: corpus {name} has no documents")
    if not any(str(document.text).strip() for document in documents):
        raise HeedError(f"{raw}: no document of corpus {name} has text")
    labels = {
        key: sorted({document.labels[key] for document in documents}) for key in documents[0].labels
    }
    try:
        documents, columns, duplicates = _split_documents(corpus, documents)
    except HeedError as error:
        raise HeedError(f"corpus {name}: {error}") from None
    first_column, kind = next(iter(columns.values())), KINDS[corpus.kind]
    with writing_folder(folder, checksums=True) as out:
        texts = [str(document.text) for document in documents]
        arrays = tokenize_texts(texts, corpus.tokenizer, processes, f"{name}: tokenizing")
        arrays.write(out)
        _write_documents(out, documents, columns)
        meta = Meta(
            digest=digest_folder(out),
            corpus=name,
            kind=corpus.kind,
            tokenizer=corpus.tokenizer,
            folds=corpus.split.k or 0,
            labels=labels,
            documents=len(documents),
            tokens=len(arrays.ids),
            types=len(arrays.lexicon),
            parts={part: int((first_column == part).sum()) for part in PARTS},
            reduced=corpus.sample is not None,
            generated=kind.generated,
            duplicates=duplicates,
            near_duplicates=count_near_duplicates(
                arrays.ids, arrays.offsets, arrays.lexicon, columns
            ),
            treated={key: treated[key] for key in TREATMENTS},
            evidence=measure_evidence(kind.evidence, documents, arrays, first_column),
        )
        write_json(out / "meta.json", dataclasses.asdict(meta))
    print_line(format_summary(meta))


def _write_documents(out: Path, documents: list[Document], columns: dict[str, np.ndarray]) -> None:
    """Write documents.parquet, with the split `columns`, and evidence.parquet."""
    frame = pd.DataFrame(
        {
            "id": [document.id for document in documents],
            "text": [str(document.text) for document in documents],
            "group": [document.group for document in documents],
        }
    )
    for key in documents[0].labels:
        frame[f"label_{key}"] = [document.labels[key] for document in documents]
    frame.assign(**columns).to_parquet(out / "documents.parquet", index=False)
    spans = [
        (row, start, end)
        for row, document in enumerate(documents)
        for start, end in document.evidence
    ]
    evidence = pd.DataFrame(spans, columns=["document", "start", "end"], dtype=np.int64)
    evidence.to_parquet(out / "evidence.parquet", index=False)


def _read_clean_documents(corpus: "Corpus", raw: Path) -> tuple[list[Document], Counter[str]]:
    """Return the documents with cleaned text, or a sample of them, and the counts of treatments."""
    treated: Counter[str] = Counter()
    cleaned = []
    for document in draw_sample(corpus, list(read_documents(corpus, raw))):
        text, counts = clean(document.text, corpus.max_characters)
        treated += counts
        if document.evidence:
            location = f"{raw}: document {document.id}"
            spans = clean_spans(str(document.text), document.evidence, text, location)
            document = dataclasses.replace(document, evidence=spans)
        cleaned.append(dataclasses.replace(document, text=text))
    return cleaned, treated


def _split_documents(
    corpus: "Corpus", documents: list[Document]
) -> tuple[list[Document], dict[str, np.ndarray], dict[str, int]]:
    """Return the documents to keep, their split columns, and the counts of exact duplicates."""
    columns = split_documents(corpus.split, documents)
    dropped, duplicates = find_duplicates(
        corpus, [[str(document.text) for document in documents]], columns
    )
    documents = [document for document, drop in zip(documents, dropped, strict=True) if not drop]
    columns = {key: column[~dropped] for key, column in columns.items()}
    require_learnable(documents, columns)
    return documents, columns, duplicates
