"""Search: which hyperparameters, from data/tokens and params.yaml to results/search.

The only package that imports ray.

`stage` is the command, which starts or connects to Ray. `candidates` draws the configurations,
`trials` trains them there, and `results` writes and reads the outcome.
"""

import os

LOCAL = "local"
ADDRESS = "HEED_RAY_ADDRESS"  # environment: the cluster on which searches run


def read_address() -> str:
    """Return the cluster's address, by HEED_RAY_ADDRESS, or `local`.

    No file of a study holds it: connecting to a host of Ray runs code, on both sides.
    """
    return os.environ.get(ADDRESS) or LOCAL
