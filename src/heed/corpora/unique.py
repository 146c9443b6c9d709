"""Whether each of many names is unique, in 16 bytes of memory for each."""

import hashlib

DIGEST_SIZE = 16  # bytes: two of a million different names have the same with p = 1.5e-27


class UniqueNames:
    """Names that should differ, kept as their digests."""

    def __init__(self) -> None:
        self._digests = bytearray()

    def append(self, name: str) -> None:
        """Add the next name."""
        self._digests += hashlib.blake2b(name.encode(), digest_size=DIGEST_SIZE).digest()

    def find_repeated(self) -> tuple[int, int] | None:
        """Return the numbers, from 0, of two equal names, the earliest second one; or None."""
        import numpy as np  # not at the top: the declarations are read without it

        digests = np.frombuffer(self._digests, np.uint64).reshape(-1, 2)
        order = np.lexsort(digests.T)  # stable: equal ones stay in their order
        is_repeated = (digests[order][1:] == digests[order][:-1]).all(axis=1)
        if not is_repeated.any():
            return None
        second = order[1:][is_repeated].min()
        equal = np.flatnonzero((digests == digests[second]).all(axis=1))
        return int(equal[0]), int(equal[1])
