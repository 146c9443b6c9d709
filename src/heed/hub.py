"""Files of the hub of Hugging Face, or of a mirror: answers are checked, and have a time limit."""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.digests import require_installed
from heed.files import HeedError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

SECONDS = 60  # for an answer, and beyond what a file may take
BYTES_A_SECOND = 20_000  # of a file, at least
HASH = "0123456789abcdef"


@contextlib.contextmanager
def connect(address: str, otherwise: str, seconds: float | None = None) -> "Iterator[HfApi]":
    """Yield the interface of the hub; whatever it raises is one HeedError about an address.

    It ends with what to do `otherwise`. All answers together may take `seconds`.
    """
    require_installed(["huggingface_hub"], address)
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    try:
        with _time_limit(seconds or SECONDS):
            yield HfApi()
    except GatedRepoError:
        raise HeedError(
            f"{address}: the hub gives it only to those who accept its terms. Accept them "
            "on its page, run hf auth login, then run the same again"
        ) from None
    except RepositoryNotFoundError:
        raise HeedError(
            f"{address}: the hub has nothing of this name, or it is not public. Write its "
            "whole name, OWNER/NAME"
        ) from None
    except Exception as error:  # its HTTP library raises errors without a common class
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        message = f"{address}: cannot be read from the hub ({reason})."
        raise HeedError(f"{message} {otherwise}") from None


def fetch(address: str, otherwise: str, **place: Any) -> Path:
    """Return a file of the hub at a commit, from the hub's own cache or downloaded.

    `place`: repo_id, filename, revision, and repo_type of a data set. Raises HeedError: the hub's
    library would write to any path that an ETag names, and wait for ever.
    """
    name = place["filename"]
    with connect(address, otherwise) as hub:
        import huggingface_hub

        if isinstance(known := huggingface_hub.try_to_load_from_cache(**place), str):
            return Path(known)
        found = hub.get_hf_file_metadata(url=huggingface_hub.hf_hub_url(**place))
        etag, size = found.etag or "", found.size
        if len(etag) not in (40, 64) or not {*etag} <= {*HASH}:  # of git, or SHA-256
            raise ValueError(f"the ETag of {name} is not a hash: {etag!r}")
        if size is None:
            raise ValueError(f"it does not say how many bytes {name} has")
    with connect(address, otherwise, SECONDS + size / BYTES_A_SECOND) as hub:
        return Path(hub.hf_hub_download(**place, tqdm_class=_make_bar(size)))


def _make_bar(size: int) -> Any:
    """Return the class of a progress bar that stops a download with more bytes than its size."""
    from huggingface_hub.utils import tqdm

    class Bar(tqdm):
        seen = 0.0

        def update(self, n: float | None = 1) -> bool | None:
            self.seen += n or 0
            if self.seen > size:
                raise ValueError(f"it sends more than the {size:,} bytes that it has announced")
            return super().update(n)

    return Bar


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise HeedError within the block where it takes longer; in the main thread alone."""

    def stop(*_: object) -> None:
        raise HeedError(f"no whole answer in {seconds:,.0f} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)  # again, where a library takes it for its own
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
