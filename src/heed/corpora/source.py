"""Fetch and verify the files of a source: what is there, then HEED_MIRROR, then the published
address.
"""

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
from heed.progress import progress_bar

if TYPE_CHECKING:
    from heed.study import Source

WORK = Path(".heed/work")
TRIES, WAIT = 5, 1.0  # tries a file, seconds before the second (doubled each time)
TIMEOUT = (10.0, 30.0)  # seconds to connect, and between two pieces
BLOCK = 1 << 14


def download(name: str, source: "Source", into: Path) -> None:
    """Fill `into` (data/raw/NAME) with the source's files, each verified before it gets its name.

    Raises:
        HeedError: a file cannot be had, or is not the published one.

    """
    kind = SOURCE_KINDS[source.kind]
    if kind.make:
        wanted = [kind.make(name, source, into)]
    else:
        files = _chosen(name, source)
        wanted = [file.name for file in files]
        for file in files:
            _fetch(name, file, into / file.name)
    for path in into.iterdir():
        if path.name not in wanted:
            path.unlink()
    write_checksums(into)


def _chosen(name: str, source: "Source") -> list[File]:
    known = {file.name: file for file in SOURCE_KINDS[source.kind].files}
    if source.files is None:
        return [file for file in known.values() if not file.on_request]
    for file in source.files:
        if file not in known:
            raise HeedError(
                f"params.yaml: sources.{name}.files: there is no {file}. Known: {', '.join(known)}"
            )
    return [known[file] for file in source.files]


def _fetch(name: str, file: File, path: Path) -> None:
    if path.is_file() and not file.fault(path):
        print(f"{path}: already there, verified")
        return
    mirror = os.environ.get("HEED_MIRROR", "").rstrip("/")
    if mirror.startswith(("http://", "https://")):
        address = f"{mirror}/{file.mirror}"
    elif mirror and (Path(mirror) / file.mirror).is_file():
        _copy(Path(mirror) / file.mirror, file, path)
        return
    else:
        address = file.url
    if not address:
        where = f"{Path(mirror) / file.mirror}: not there; " if mirror else ""
        raise HeedError(
            f"{path}: cannot be fetched: {where}{file.by_hand}. Then run again: heed download "
            f"{name}"
        )
    _from_web(address, file, path, f"heed download {name}")


def _copy(origin: Path, file: File, path: Path) -> None:
    if fault := file.fault(origin):
        raise HeedError(f"{origin}: not the published file: {fault}. Replace it in the mirror")
    with writing(path) as temporary:
        shutil.copyfile(origin, temporary)
        if fault := file.fault(temporary):
            raise HeedError(f"{origin}: changed while it was copied: {fault}")
    print(f"{path}: from the mirror, verified")


def _from_web(address: str, file: File, path: Path, command: str) -> None:
    work = WORK / f"download-{hashlib.sha256(address.encode()).hexdigest()[:16]}"
    partial = work / file.name
    work.mkdir(parents=True, exist_ok=True)
    last = ""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(WAIT * 2 ** (attempt - 1))
        problem, final = _attempt(address, partial)
        if not problem:
            if not (fault := file.fault(partial)):
                with writing(path) as temporary:
                    shutil.copyfile(partial, temporary)
                shutil.rmtree(work)
                print(f"{path}: fetched from {address}, verified")
                return
            partial.unlink()
            problem, final = f"not the published file: {fault}", attempt > 0
        last = problem
        print(f"{address}: {problem}", file=sys.stderr)
        if final:
            break
    kept = (
        f" {partial.stat().st_size:,} bytes are kept, and fetching goes on after them."
        if partial.exists()
        else ""
    )
    raise HeedError(
        f"{path}: cannot be fetched from {address}: {last}.{kept} Run again: {command}, or put "
        "the file below a folder "
        f"that HEED_MIRROR names, as {file.mirror}"
    )


def _attempt(address: str, partial: Path) -> tuple[str, bool]:
    """Fetch what is missing of `partial`.

    Return the problem ("" for none) and whether trying again is useless.
    """
    import requests

    have = partial.stat().st_size if partial.exists() else 0
    headers = (
        {"Range": f"bytes={have}-", "Accept-Encoding": "identity"}
        if have
        else {"Accept-Encoding": "identity"}
    )
    try:
        with requests.get(address, headers=headers, stream=True, timeout=TIMEOUT) as response:
            # nothing after what we have: whole, or longer than the published file
            if response.status_code == 416:
                return "", False
            if response.status_code >= 400:
                return (
                    f"HTTP {response.status_code} {response.reason}",
                    response.status_code < 500 and response.status_code != 429,
                )
            resumed = response.status_code == 206
            start = have if resumed else 0
            total = int(response.headers.get("Content-Length", 0)) + start
            done = start
            with (
                partial.open("ab" if resumed else "wb") as out,
                progress_bar(partial.name, in_bytes=True) as bar,
            ):
                for block in response.iter_content(BLOCK):
                    out.write(block)
                    done += len(block)
                    bar.update(done, total)
            if total > start and done < total:
                return f"cut off after {done:,} of {total:,} bytes", False
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
    return "", False
