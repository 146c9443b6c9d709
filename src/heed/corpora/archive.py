"""Read an untrusted archive as a stream: nothing is unpacked to disk."""

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from heed.files import HeedError

# limits for the whole archive: far above any corpus here, far below a decompression bomb
MAX_BYTES, MAX_MEMBERS = 2 << 30, 1_000_000


def read_members(
    path: Path, max_bytes: int = MAX_BYTES, max_members: int = MAX_MEMBERS
) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of each regular file of a .tar.gz archive.

    Raises:
        HeedError: a member has an absolute path, leads out of the folder, or is a link or a
            device; the archive is too large or broken.

    """
    size = 0
    try:
        # gzip and tarfile apart: tarfile alone reads a truncated stream without an error
        with gzip.open(path) as content, tarfile.open(fileobj=content, mode="r|") as archive:
            for count, member in enumerate(archive, 1):
                name = PurePosixPath(member.name)
                if name.is_absolute() or ".." in name.parts:
                    raise HeedError(
                        f"{path}: refused: member {member.name!r} leads out of the archive's folder"
                    )
                if member.isdir():
                    continue
                if not member.isreg():
                    raise HeedError(
                        f"{path}: refused: member {member.name!r} is a link or a device, not a file"
                    )
                size += member.size
                if size > max_bytes or count > max_members:
                    raise HeedError(
                        f"{path}: refused: more than {max_bytes:,} bytes or {max_members:,} members"
                    )
                file = archive.extractfile(member)
                assert file is not None
                yield member.name, file.read()
            while content.read(1 << 20):
                pass
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise HeedError(
            f"{path}: not a whole archive ({error}). Remove it and run the download again"
        ) from None
