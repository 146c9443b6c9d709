"""Explanations of multi-label classifiers: no test is defined, and the tables say why."""

from typing import Any

import pandas as pd

from heed.explanation.registry import EXPLAINED
from heed.tasks.classification.explanation import no_documents

REASON = (
    "defined for one predicted class a document; a multi-label classifier decides on each class by "
    "itself"
)


def explain_run(*_: Any) -> tuple[dict[str, pd.DataFrame], dict[str, str]]:
    """Return tables without a row, and why each test is not defined."""
    return no_documents(), dict.fromkeys((test.name for test in EXPLAINED), REASON)
