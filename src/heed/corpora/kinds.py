"""The registry of all kinds of corpora and sources, which modules of this package declare.

The files of a source come verified from HEED_MIRROR, or else from their published URLs.
"""

import hashlib
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from heed.corpora import huffpost, published, sample, sample_translation, table
from heed.corpora.publication import Documents, File, Kind, SourceKind
from heed.corpora.user_files import copy_vectors
from heed.files import HeedError, remove, write_checksums, writing
from heed.paths import WORK
from heed.progress import progress_bar
from heed.terminal import print_line

if TYPE_CHECKING:
    from heed.corpora.sections import Corpus, Source

WAITS = (0.0, 1.0, 2.0, 4.0, 8.0)  # seconds before each try
TIMEOUT = (10.0, 30.0)  # seconds to connect, and between two blocks
BLOCK = 1 << 14  # bytes
SIZE_FACTOR = 2  # limit of a file: this times the size of all files that its source declares
PUBLICATIONS = (sample, published, huffpost, sample_translation, table)
KINDS: dict[str, Kind] = {kind.name: kind for module in PUBLICATIONS for kind in module.KINDS}
SOURCE_KINDS: dict[str, SourceKind] = {kind.source.name: kind.source for kind in KINDS.values()}


def read_documents(corpus: "Corpus", raw: Path) -> Documents:
    """Yield the documents of a corpus from the files in `raw`. Raises HeedError."""
    return KINDS[corpus.kind].read(raw, corpus)


def corpus_languages(corpus: "Corpus") -> tuple[str, ...]:
    """Return the languages of a corpus: of its kind, or of its columns; () without."""
    return KINDS[corpus.kind].languages or tuple(corpus.columns or {})


# --- download


def download(name: str, source: "Source", folder: Path) -> None:
    """Write the verified files of source `name` into `folder` (data/raw/NAME), and no others."""
    kind = SOURCE_KINDS[source.kind]
    if kind.make:
        names = kind.make(name, source, folder)
    else:
        files = {file.name: file for file in kind.files}
        names = source.files or [file.name for file in kind.files if not file.on_request]
        for file_name in names:
            _fetch(name, files[file_name], folder / file_name, SIZE_FACTOR * kind.size)
    names = [*names, *copy_vectors(name, source, folder)]
    for path in folder.iterdir():
        if path.name not in names:
            remove(path)
    write_checksums(folder)


def _fetch(name: str, file: File, path: Path, max_bytes: float) -> None:
    """Write one verified file: from the mirror when it has the file, or else from its URL."""
    if path.is_file() and not file.mismatch(path):
        print_line(f"{path}: already there, verified")
        return
    mirror = os.environ.get("HEED_MIRROR", "").rstrip("/")
    copy = f"{mirror}/{file.mirror}"
    is_local = bool(mirror) and Path(copy).is_file()
    origin = copy if is_local else file.url
    command = f"heed download {name}"
    with writing(path) as temporary:
        if is_local:
            shutil.copyfile(origin, temporary)
        else:
            put = f"put the file into the folder that HEED_MIRROR names, as {file.mirror}"
            _download(origin, path, temporary, max_bytes, f"Run again: {command}, or {put}")
        if mismatch := file.mismatch(temporary):
            replace = f" by {file.url}" * is_local
            raise HeedError(
                f"{path}: {origin} is not the published file: {mismatch}. Replace it{replace}, and "
                f"run again: {command}"
            )
    print_line(f"{path}: from {origin}, verified")


def _download(url: str, path: Path, target: Path, max_bytes: float, advice: str) -> None:
    """Download to `target`; bytes that came before are kept, and the next command continues."""
    import requests

    folder = WORK / f"download-{hashlib.sha256(url.encode()).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    partial, problem = folder / path.name, ""
    for wait in WAITS:
        time.sleep(wait)
        try:
            _append(url, partial, max_bytes)
            shutil.move(partial, target)
            folder.rmdir()
            return
        except requests.RequestException as error:
            is_unreachable = isinstance(error, requests.ConnectionError)
            problem = "no connection (is there a network?)" if is_unreachable else str(error)[:300]
            print_line(f"{url}: {problem}", error=True)
            status = 0 if error.response is None else error.response.status_code
            if 400 <= status < 500 and status != 429:
                break
    size = partial.stat().st_size if partial.exists() else 0
    raise HeedError(
        f"{path}: cannot be downloaded from {url}: {problem}. {size:,} bytes are kept. {advice}"
    )


def _append(url: str, partial: Path, max_bytes: float) -> None:
    import requests

    completed = partial.stat().st_size if partial.exists() else 0
    headers = {"Accept-Encoding": "identity"}
    headers |= {"Range": f"bytes={completed}-"} if completed else {}
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
        if response.status_code == 416 and completed:
            return  # nothing comes after these bytes
        response.raise_for_status()
        is_resumed = response.status_code == 206
        completed *= is_resumed
        total = completed + (response.raw.length_remaining or 0)
        with partial.open("ab" if is_resumed else "wb") as out, progress_bar(partial.name) as bar:
            for block in response.iter_content(BLOCK):
                out.write(block)
                completed += len(block)
                if completed > max_bytes:
                    out.truncate(0)
                    raise HeedError(f"{url}: larger than {max_bytes:,.0f} bytes")
                bar.update(completed, total)
