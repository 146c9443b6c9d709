"""Download and verify the files of a source, from HEED_MIRROR or else from their published URLs."""

import errno
import hashlib
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from heed.corpora.kinds import SOURCE_KINDS
from heed.corpora.publication import File
from heed.files import HeedError, write_checksums, writing
from heed.paths import WORK
from heed.progress import progress_bar

if TYPE_CHECKING:
    import requests

    from heed.study import Source

TRIES, WAIT = 5, 1.0  # tries per file; seconds before the second try, doubled each time
TIMEOUT = (10.0, 30.0)  # seconds to connect, and between two blocks
BLOCK = 1 << 14  # bytes


def download(name: str, source: "Source", folder: Path) -> None:
    """Write the verified files of source `name` into `folder` (data/raw/NAME), and no others.

    Raises:
        HeedError: a file cannot be downloaded, or is not the published one.

    """
    kind = SOURCE_KINDS[source.kind]
    if kind.make:
        names = [kind.make(name, source, folder)]
    else:
        files = _select_files(name, source)
        names = [file.name for file in files]
        for file in files:
            _fetch(name, file, folder / file.name)
    for path in folder.iterdir():
        if path.name not in names:
            path.unlink()
    write_checksums(folder)


def _select_files(name: str, source: "Source") -> list[File]:
    """Return the files of a source, or those that params.yaml names."""
    files = {file.name: file for file in SOURCE_KINDS[source.kind].files}
    if source.files is None:
        return [file for file in files.values() if not file.on_request]
    for file in source.files:
        if file not in files:
            raise HeedError(
                f"params.yaml: sources.{name}.files: there is no {file}. Known: {', '.join(files)}"
            )
    return [files[file] for file in source.files]


def _fetch(name: str, file: File, path: Path) -> None:
    """Write one verified file: from the mirror when it has the file, or else from its URL."""
    if path.is_file() and not file.mismatch(path):
        print(f"{path}: already there, verified")
        return
    mirror = os.environ.get("HEED_MIRROR", "").rstrip("/")
    if mirror.startswith(("http://", "https://")):
        url = f"{mirror}/{file.mirror}"
    elif mirror and (Path(mirror) / file.mirror).is_file():
        _copy(Path(mirror) / file.mirror, file, path)
        return
    else:
        url = file.url
    if not url:
        missing = f"{Path(mirror) / file.mirror}: not there; " if mirror else ""
        raise HeedError(
            f"{path}: cannot be downloaded: {missing}{file.instructions}. Then run again: "
            f"heed download {name}"
        )
    _download_file(url, file, path, f"heed download {name}")


def _copy(original: Path, file: File, path: Path) -> None:
    """Copy one file of the mirror. Raises HeedError when it is not the published one."""
    if mismatch := file.mismatch(original):
        raise HeedError(f"{original}: not the published file: {mismatch}. Replace it in the mirror")
    with writing(path) as temporary:
        shutil.copyfile(original, temporary)
        if mismatch := file.mismatch(temporary):
            raise HeedError(f"{original}: changed while it was copied: {mismatch}")
    print(f"{path}: from the mirror, verified")


def _download_file(url: str, file: File, path: Path, command: str) -> None:
    """Download and verify one file; what an earlier try has fetched is kept and continued.

    Raises:
        HeedError: no try succeeded, or the file is not the published one.

    """
    work = WORK / f"download-{hashlib.sha256(url.encode()).hexdigest()[:16]}"
    partial = work / file.name
    work.mkdir(parents=True, exist_ok=True)
    problem = ""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(WAIT * 2 ** (attempt - 1))
        problem, is_final = _try_download(url, partial)
        if not problem:
            if not (mismatch := file.mismatch(partial)):
                with writing(path) as temporary:
                    shutil.copyfile(partial, temporary)
                shutil.rmtree(work)
                print(f"{path}: downloaded from {url}, verified")
                return
            partial.unlink()
            problem, is_final = f"not the published file: {mismatch}", attempt > 0
        print(f"{url}: {problem}", file=sys.stderr)
        if is_final:
            break
    kept = (
        f" {partial.stat().st_size:,} bytes are kept, and the next download continues after them."
        if partial.exists()
        else ""
    )
    raise HeedError(
        f"{path}: cannot be downloaded from {url}: {problem}.{kept} Run again: {command}, or put "
        f"the file into the folder that HEED_MIRROR names, as {file.mirror}"
    )


def _try_download(url: str, partial: Path) -> tuple[str, bool]:
    """Append the missing bytes to `partial`.

    Return the problem ("" for none) and whether another try is useless.
    """
    import requests

    size = partial.stat().st_size if partial.exists() else 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={size}-"} if size else {})
    try:
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
            # no bytes after those of `partial`: it is complete, or longer than the published file
            if response.status_code == 416:
                return "", False
            if response.status_code >= 400:
                return (
                    f"HTTP {response.status_code} {response.reason}",
                    response.status_code < 500 and response.status_code != 429,
                )
            return _write_body(response, partial, size), False
    except requests.exceptions.ChunkedEncodingError:
        return f"the connection broke; {partial.stat().st_size:,} bytes came", False
    except requests.Timeout:
        return f"no answer within {TIMEOUT[1]:.0f} s", False
    except requests.ConnectionError:
        return "no connection (is there a network?)", False
    except requests.RequestException as error:
        return f"{type(error).__name__}: {error}", False
    except OSError as error:
        if error.errno == errno.ENOSPC:
            return "no space left on the disk; free some", True
        raise HeedError(f"{partial}: cannot be written: {error.strerror}") from error


def _write_body(response: "requests.Response", partial: Path, size: int) -> str:
    """Write the body of a response, after the `size` bytes of `partial` where the server resumes.

    Return the problem, "" for none.
    """
    is_resumed = response.status_code == 206
    start = size if is_resumed else 0
    total = int(response.headers.get("Content-Length", 0)) + start
    completed = start
    with (
        partial.open("ab" if is_resumed else "wb") as out,
        progress_bar(partial.name, in_bytes=True) as bar,
    ):
        for block in response.iter_content(BLOCK):
            out.write(block)
            completed += len(block)
            bar.update(completed, total)
    if total > start and completed < total:
        return f"cut off after {completed:,} of {total:,} bytes"
    return ""
