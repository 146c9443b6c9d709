"""Read an untrusted archive as a stream: nothing is unpacked to disk."""

import contextlib
import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from heed.files import HeedError

# limits for the whole archive: far above any corpus here, far below a decompression bomb
MAX_BYTES, MAX_MEMBERS = 2 << 30, 1_000_000
# decompressed bytes for each compressed one, above the first 16 MiB: text has up to 10, zeros 1000
MAX_RATIO, FREE_BYTES = 100, 16 << 20
MAX_HEADER = 1 << 20  # bytes before the content of a member: long names and PAX headers
BROKEN_GZIP = (EOFError, OSError, zlib.error)
BROKEN_TAR = (tarfile.TarError, ValueError, ArithmeticError, LookupError, RecursionError)


class _Decompressed(io.RawIOBase):
    """The content of the .gz file `path`; reading more than `allowed` bytes raises HeedError."""

    def __init__(self, path: Path, file: gzip.GzipFile, max_bytes: int) -> None:
        """Allow all bytes within the limits."""
        self._path, self._file, self.bytes_read = path, file, 0
        self.limit = min(max_bytes, max(FREE_BYTES, MAX_RATIO * path.stat().st_size))
        self.allowed = self.limit

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read the next bytes into `buffer`; return their number."""
        block = self._file.read(len(buffer))
        buffer[: len(block)] = block
        self.bytes_read += len(block)
        self.check(self.bytes_read)
        if self.bytes_read > self.allowed:
            raise HeedError(
                f"{self._path}: refused: more than {MAX_HEADER:,} bytes before a member's content"
            )
        return len(block)

    def check(self, size: int) -> None:
        """Raise HeedError if `size` bytes are more than the limit."""
        if size > self.limit:
            raise HeedError(
                f"{self._path}: refused: more than {self.limit:,} bytes when it is decompressed"
            )


@contextlib.contextmanager
def open_compressed(path: Path, max_bytes: int = MAX_BYTES) -> Iterator[io.BufferedReader]:
    """Open a .gz file for reading.

    Raises:
        HeedError: the file is broken; its content is too large, or far larger than the file.

    """
    with _broken_is_one_message(path, BROKEN_GZIP), gzip.open(path) as file:
        yield io.BufferedReader(_Decompressed(path, file, max_bytes))


def read_members(
    path: Path, max_bytes: int = MAX_BYTES, max_members: int = MAX_MEMBERS
) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of each regular file of a .tar.gz archive.

    Raises:
        HeedError: a member has an absolute path, leads out of the folder, or is a link, a device or
            a sparse file; the archive is too large or broken.

    """
    # gzip and tarfile apart: tarfile alone reads a truncated stream without an error
    with _broken_is_one_message(path, BROKEN_GZIP + BROKEN_TAR), gzip.open(path) as file:
        content = _Decompressed(path, file, max_bytes)
        content.allowed = MAX_HEADER
        with tarfile.open(fileobj=content, mode="r|") as archive:
            for count, member in enumerate(archive, 1):
                archive.members.clear()  # type: ignore[attr-defined]  # it keeps all members
                if count > max_members:
                    raise HeedError(f"{path}: refused: more than {max_members:,} members")
                _check_member(path, member)
                content.check(content.bytes_read + member.size)
                content.allowed = content.bytes_read + member.size + MAX_HEADER
                if member.isreg() and (member_file := archive.extractfile(member)):
                    yield member.name, member_file.read()
        content.allowed = content.limit
        while content.read(1 << 20):
            pass


def _check_member(path: Path, member: tarfile.TarInfo) -> None:
    """Raise HeedError unless a member is a file or folder, within the archive's folder."""
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts:
        raise HeedError(
            f"{path}: refused: member {member.name!r} leads out of the archive's folder"
        )
    if not (member.isdir() or member.isreg()) or member.issparse() or member.size < 0:
        raise HeedError(
            f"{path}: refused: member {member.name!r} is a link, a device or a sparse file, not a "
            "plain file"
        )


@contextlib.contextmanager
def _broken_is_one_message(path: Path, errors: tuple[type[Exception], ...]) -> Iterator[None]:
    """Raise HeedError for these errors of gzip and tarfile."""
    try:
        yield
    except errors as error:
        raise HeedError(
            f"{path}: not a whole archive ({error}). Remove it and run the download again"
        ) from None
