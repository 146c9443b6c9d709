"""Download and verify the files of a source, from HEED_MIRROR or else from their published URLs."""

import concurrent.futures
import dataclasses
import errno
import hashlib
import os
import re
import shutil
import threading
import time
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.corpora.kinds import SOURCE_KINDS
from heed.corpora.publication import File
from heed.corpora.user_files import copy_vectors
from heed.files import HeedError, write_checksums, writing
from heed.paths import WORK
from heed.progress import progress_bar
from heed.terminal import print_line

if TYPE_CHECKING:
    import requests

    from heed.corpora.declared import Source

TRIES, WAIT = 5, 1.0  # tries per file; seconds before the second try, doubled each time
TIMEOUT = (10.0, 30.0)  # seconds to connect, and between two blocks
BLOCK = 1 << 16  # bytes
MINUTES = 120.0  # for one file, all tries together, unless HEED_DOWNLOAD_MINUTES says otherwise
MAX_REDIRECTS = 5
SIZE_FACTOR = 2  # a file may be so many times as large as all files that its source declares


@dataclasses.dataclass(frozen=True)
class Limits:
    """What the download of one file may take: its bytes, and the time at which it ends."""

    max_bytes: int
    minutes: float
    end: float  # of time.monotonic()

    @property
    def seconds_left(self) -> float:
        """The seconds until the end, 0 after it."""
        return max(0.0, self.end - time.monotonic())

    @property
    def too_slow(self) -> tuple[str, bool]:
        """The problem of a download that reached the end; another try is useless."""
        minutes = f"{self.minutes:g} minutes"
        return f"not complete after {minutes} (HEED_DOWNLOAD_MINUTES allows more)", True


def download(name: str, source: "Source", folder: Path) -> None:
    """Write the verified files of source `name` into `folder` (data/raw/NAME), and no others.

    Raises:
        HeedError: a file cannot be downloaded, or is not the published one.

    """
    kind = SOURCE_KINDS[source.kind]
    if kind.make:
        names = kind.make(name, source, folder)
    else:
        files = _select_files(name, source)
        names = [file.name for file in files]
        for file in files:
            _fetch(name, file, folder / file.name, int(SIZE_FACTOR * kind.size))
    names = [*names, *copy_vectors(name, source, folder)]
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


def _fetch(name: str, file: File, path: Path, max_bytes: int) -> None:
    """Write one verified file: from the mirror when it has the file, or else from its URL."""
    if path.is_file() and not file.mismatch(path):
        print_line(f"{path}: already there, verified")
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
    minutes = _read_minutes()
    limits = Limits(max_bytes, minutes, time.monotonic() + 60 * minutes)
    _download_file(url, file, path, limits, f"heed download {name}")


def _read_minutes() -> float:
    """Return HEED_DOWNLOAD_MINUTES. Raises HeedError if it is not a number above 0."""
    text = os.environ.get("HEED_DOWNLOAD_MINUTES", str(MINUTES))
    if not re.fullmatch(r"\d{1,6}(\.\d+)?", text) or not float(text):
        raise HeedError(f"HEED_DOWNLOAD_MINUTES: expected a number above 0, found {text!r}")
    return float(text)


def _copy(original: Path, file: File, path: Path) -> None:
    """Copy one file of the mirror. Raises HeedError when it is not the published one."""
    if mismatch := file.mismatch(original):
        raise HeedError(f"{original}: not the published file: {mismatch}. Replace it in the mirror")
    with writing(path) as temporary:
        shutil.copyfile(original, temporary)
        if mismatch := file.mismatch(temporary):
            raise HeedError(f"{original}: changed while it was copied: {mismatch}")
    print_line(f"{path}: from the mirror, verified")


def _download_file(url: str, file: File, path: Path, limits: Limits, command: str) -> None:
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
            time.sleep(min(WAIT * 2 ** (attempt - 1), limits.seconds_left))
        problem, is_final = _try_in_time(url, partial, limits)
        if not problem:
            if not (mismatch := file.mismatch(partial)):
                with writing(path) as temporary:
                    shutil.copyfile(partial, temporary)
                shutil.rmtree(work)
                print_line(f"{path}: downloaded from {url}, verified")
                return
            partial.unlink()
            problem, is_final = f"not the published file: {mismatch}", attempt > 0
        print_line(f"{url}: {problem}", error=True)
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


def _try_in_time(url: str, partial: Path, limits: Limits) -> tuple[str, bool]:
    """Try to download; return the problem ("" for none) and whether another try is useless.

    The try runs in a thread: a server that sends a byte now and then, or headers without end, never
    runs into a time-out of the socket.
    """
    outcome: concurrent.futures.Future[tuple[str, bool]] = concurrent.futures.Future()

    def run() -> None:
        try:
            outcome.set_result(_try_download(url, partial, limits))
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return outcome.result(limits.seconds_left)
    except concurrent.futures.TimeoutError:
        return limits.too_slow


def _try_download(url: str, partial: Path, limits: Limits) -> tuple[str, bool]:
    """Append the missing bytes to `partial`.

    Return the problem ("" for none) and whether another try is useless.
    """
    import requests
    import urllib3

    size = partial.stat().st_size if partial.exists() else 0
    try:
        with requests.Session() as session, _request(session, url, size) as response:
            status = response.status_code
            # no bytes after those of `partial`: it is complete, or longer than the published file
            if status == 416 and size:
                return "", False
            if status not in (200, 206):
                is_final = status < 500 and status != 429
                return f"HTTP {status} {response.reason[:80]}", is_final
            return _write_body(response, partial, size, limits)
    except (requests.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
        return _describe(error, partial), False
    except OSError as error:
        if error.errno == errno.ENOSPC:
            return "no space left on the disk; free some", True
        raise HeedError(f"{partial}: cannot be written: {error.strerror or error}") from error


def _request(session: "requests.Session", url: str, size: int) -> "requests.Response":
    """Return the answer to a request of all bytes after the first `size`, with its body unread.

    Redirects are followed here: requests would read their bodies, of any length, into memory.
    """
    import requests

    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={size}-"} if size else {})
    for _ in range(MAX_REDIRECTS + 1):
        request = session.prepare_request(requests.Request("GET", url, headers=headers))
        settings: Any = session.merge_environment_settings(request.url, {}, True, None, None)
        adapter = session.get_adapter(request.url or url)
        response = adapter.send(request, timeout=TIMEOUT, **settings)
        location = session.get_redirect_target(response)
        if not location:
            return response
        response.close()
        url = urllib.parse.urljoin(url, location)
    raise requests.TooManyRedirects(f"more than {MAX_REDIRECTS} redirects")


def _describe(error: Exception, partial: Path) -> str:
    """Return what went wrong between this machine and the server, as a short text."""
    import requests
    from urllib3.exceptions import ProtocolError, ReadTimeoutError

    cause = error.args[0] if error.args else None
    if isinstance(error, requests.Timeout | ReadTimeoutError):
        return f"no answer within {TIMEOUT[1]:.0f} s"
    if isinstance(error, ProtocolError):
        size = partial.stat().st_size if partial.exists() else 0
        return f"the connection broke; {size:,} bytes came"
    if isinstance(error, requests.ConnectionError) and not isinstance(cause, ProtocolError):
        return "no connection (is there a network?)"
    return f"no valid answer ({type(error).__name__}: {str(error)[:200]})"


def _write_body(
    response: "requests.Response", partial: Path, size: int, limits: Limits
) -> tuple[str, bool]:
    """Write the body of a response, after the `size` bytes of `partial` where the server resumes.

    The bytes are written as they come: a Content-Encoding is not decoded, so that none expands.
    Return the problem ("" for none) and whether another try is useless.
    """
    is_resumed = response.status_code == 206
    content_range = response.headers.get("Content-Range", "")
    if is_resumed and not content_range.startswith(f"bytes {size}-"):
        partial.unlink(missing_ok=True)
        return f"another part than the one requested ({content_range[:80]!r})", False
    completed = size if is_resumed else 0
    length = response.headers.get("Content-Length", "")
    total = completed + int(length) if re.fullmatch(r"[0-9]{1,18}", length) else 0
    problem = f"larger than {limits.max_bytes:,} bytes, {SIZE_FACTOR} times the declared size"
    if total > limits.max_bytes:
        return problem, True
    with (
        partial.open("ab" if is_resumed else "wb") as out,
        progress_bar(partial.name, in_bytes=True) as bar,
    ):
        while block := response.raw.read1(BLOCK, decode_content=False):
            if not limits.seconds_left:
                return limits.too_slow
            completed += len(block)
            if completed > limits.max_bytes:
                out.truncate(0)
                return problem, True
            out.write(block)
            bar.update(completed, total)
    if completed < total:
        return f"cut off after {completed:,} of {total:,} bytes", False
    return "", False
