"""Download and verify the files of a source, from HEED_MIRROR or else from their published URLs."""

import concurrent.futures
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


def download(name: str, source: "Source", folder: Path) -> None:
    """Write the verified files of source `name` into `folder` (data/raw/NAME), and no others.

    Raises HeedError when a file cannot be downloaded, or is not the published one.
    """
    kind = SOURCE_KINDS[source.kind]
    if kind.make:
        names = kind.make(name, source, folder)
    else:
        files = _select_files(name, source)
        names = [file.name for file in files]
        for file in files:
            _fetch(name, file, folder / file.name, SIZE_FACTOR * kind.size)
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


def _fetch(name: str, file: File, path: Path, max_bytes: float) -> None:
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
    _Download(url, file, int(max_bytes)).write(path, f"heed download {name}")


def _copy(original: Path, file: File, path: Path) -> None:
    """Copy one file of the mirror. Raises HeedError when it is not the published one."""
    if mismatch := file.mismatch(original):
        raise HeedError(f"{original}: not the published file: {mismatch}. Replace it in the mirror")
    with writing(path) as temporary:
        shutil.copyfile(original, temporary)
        if mismatch := file.mismatch(temporary):
            raise HeedError(f"{original}: changed while it was copied: {mismatch}")
    print_line(f"{path}: from the mirror, verified")


def _read_minutes() -> float:
    """Return HEED_DOWNLOAD_MINUTES. Raises HeedError if it is not a number above 0."""
    text = os.environ.get("HEED_DOWNLOAD_MINUTES", str(MINUTES))
    if not re.fullmatch(r"\d{1,6}(\.\d+)?", text) or not float(text):
        raise HeedError(f"HEED_DOWNLOAD_MINUTES: expected a number above 0, found {text!r}")
    return float(text)


class _DownloadError(Exception):
    """Why a try failed; another one is useless after a final problem."""

    def __init__(self, text: str, is_final: bool = False) -> None:
        super().__init__(text)
        self.is_final = is_final


class _Download:
    """The download of one file of at most `max_bytes`, within HEED_DOWNLOAD_MINUTES."""

    def __init__(self, url: str, file: File, max_bytes: int) -> None:
        self.url, self.file, self.max_bytes = url, file, max_bytes
        self.minutes = _read_minutes()
        self.end = time.monotonic() + 60 * self.minutes
        work = WORK / f"download-{hashlib.sha256(url.encode()).hexdigest()[:16]}"
        self.partial = work / file.name  # what an earlier try has fetched is kept and continued

    @property
    def size(self) -> int:
        """The bytes that are fetched."""
        return self.partial.stat().st_size if self.partial.exists() else 0

    @property
    def seconds_left(self) -> float:
        """The seconds until the end, 0 after it."""
        return max(0.0, self.end - time.monotonic())

    @property
    def too_slow(self) -> _DownloadError:
        """The problem of a download that reached the end."""
        minutes = f"{self.minutes:g} minutes"
        return _DownloadError(
            f"not complete after {minutes} (HEED_DOWNLOAD_MINUTES allows more)", True
        )

    def write(self, path: Path, command: str) -> None:
        """Download and verify the file.

        Raises HeedError when no try succeeded, or the file is not the published one.
        """
        self.partial.parent.mkdir(parents=True, exist_ok=True)
        problem = _DownloadError("")
        for attempt in range(TRIES):
            if attempt:
                time.sleep(min(WAIT * 2 ** (attempt - 1), self.seconds_left))
            try:
                self._try_in_time()
                if not (mismatch := self.file.mismatch(self.partial)):
                    with writing(path) as temporary:
                        shutil.copyfile(self.partial, temporary)
                    shutil.rmtree(self.partial.parent)
                    print_line(f"{path}: downloaded from {self.url}, verified")
                    return
                self.partial.unlink()
                problem = _DownloadError(f"not the published file: {mismatch}", attempt > 0)
            except _DownloadError as error:
                problem = error
            print_line(f"{self.url}: {problem}", error=True)
            if problem.is_final:
                break
        kept = f" {self.size:,} bytes are kept, and the next download continues after them."
        raise HeedError(
            f"{path}: cannot be downloaded from {self.url}: {problem}."
            f"{kept if self.partial.exists() else ''} Run again: {command}, or put the file into "
            f"the folder that HEED_MIRROR names, as {self.file.mirror}"
        )

    def _try_in_time(self) -> None:
        """Try to download, in a thread. Raises _DownloadError.

        A server that sends a byte now and then, or headers without end, never runs into a time-out
        of the socket.
        """
        outcome: concurrent.futures.Future[None] = concurrent.futures.Future()

        def run() -> None:
            try:
                self._try()
                outcome.set_result(None)
            except BaseException as error:
                outcome.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        try:
            outcome.result(self.seconds_left)
        except concurrent.futures.TimeoutError:
            raise self.too_slow from None

    def _try(self) -> None:
        """Append the missing bytes to `partial`. Raises _DownloadError."""
        import requests
        import urllib3

        try:
            with requests.Session() as session, self._request(session) as response:
                status = response.status_code
                # no bytes after those of `partial`: it is complete, or longer than the published
                if status == 416 and self.size:
                    return
                if status not in (200, 206):
                    is_final = status < 500 and status != 429
                    raise _DownloadError(f"HTTP {status} {response.reason[:80]}", is_final)
                self._write_body(response)
        except (requests.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
            raise _DownloadError(self._describe(error)) from None
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise _DownloadError("no space left on the disk; free some", True) from None
            reason = error.strerror or error
            raise HeedError(f"{self.partial}: cannot be written: {reason}") from error

    def _request(self, session: "requests.Session") -> "requests.Response":
        """Return the answer to a request of all missing bytes, with its body unread.

        Redirects are followed here: requests would read their bodies, of any length, into memory.
        """
        import requests

        url, headers = self.url, {"Accept-Encoding": "identity"}
        if self.size:
            headers["Range"] = f"bytes={self.size}-"
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

    def _describe(self, error: Exception) -> str:
        """Describe a failure between this machine and the server in a short text."""
        import requests
        from urllib3.exceptions import ProtocolError, ReadTimeoutError

        cause = error.args[0] if error.args else None
        if isinstance(error, requests.Timeout | ReadTimeoutError):
            return f"no answer within {TIMEOUT[1]:.0f} s"
        if isinstance(error, ProtocolError):
            return f"the connection broke; {self.size:,} bytes came"
        if isinstance(error, requests.ConnectionError) and not isinstance(cause, ProtocolError):
            return "no connection (is there a network?)"
        return f"no valid answer ({type(error).__name__}: {str(error)[:200]})"

    def _write_body(self, response: "requests.Response") -> None:
        """Write the body of a response, after the bytes of `partial` where the server resumes.

        They are written as they come: a Content-Encoding is not decoded, so that none expands.
        """
        is_resumed, size = response.status_code == 206, self.size
        content_range = response.headers.get("Content-Range", "")
        if is_resumed and not content_range.startswith(f"bytes {size}-"):
            self.partial.unlink(missing_ok=True)
            raise _DownloadError(f"another part than the one requested ({content_range[:80]!r})")
        completed = size if is_resumed else 0
        length = response.headers.get("Content-Length", "")
        total = completed + int(length) if re.fullmatch(r"[0-9]{1,18}", length) else 0
        limit = f"{self.max_bytes:,} bytes, {SIZE_FACTOR} times the declared size"
        too_large = _DownloadError(f"larger than {limit}", True)
        if total > self.max_bytes:
            raise too_large
        with (
            self.partial.open("ab" if is_resumed else "wb") as out,
            progress_bar(self.partial.name, in_bytes=True) as bar,
        ):
            while block := response.raw.read1(BLOCK, decode_content=False):
                if not self.seconds_left:
                    raise self.too_slow
                completed += len(block)
                if completed > self.max_bytes:
                    out.truncate(0)
                    raise too_large
                out.write(block)
                bar.update(completed, total)
        if completed < total:
            raise _DownloadError(f"cut off after {completed:,} of {total:,} bytes")
