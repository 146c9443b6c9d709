"""The table of T10 of one seed (docs/contracts.md, `recency.csv`)."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from heed.explanation.noise import NOISES
from heed.explanation.recency import TENTHS, Recency, tenths

MIDDLE, LAST = slice(4, 6), 9  # tenths
MIN_DOCUMENTS = 20  # with evidence in a tenth: the quotient of fewer is chance
MIN_SHARE = 0.05  # of the evidence: over less, importance that is spread evenly looks like a bias
COLUMNS = ["measure", "at", "documents", "mean", "std"]
Row = dict[str, object]


def positions_table(
    measured: Sequence[Recency], evidence: dict[int, np.ndarray], drawn: int
) -> pd.DataFrame:
    """Return importance and evidence by tenth, and the ratio of gradients.

    Args:
        measured: documents of at least TENTHS tokens.
        evidence: row → True for tokens of evidence, (tokens,), of documents that have some.
        drawn: the number of documents before short ones were left out.

    """
    known = [each for each in measured if each.importance is not None]
    importance = np.array([each.importance for each in known]).reshape(-1, TENTHS)
    rows = [_row("short", "", np.arange(drawn) >= len(measured))]
    rows += _by_tenth("importance", importance)
    rows.append(_row("last_minus_middle", "", importance[:, LAST] - importance[:, MIDDLE].mean(1)))
    with_evidence = [i for i, each in enumerate(known) if each.row in evidence]
    if with_evidence:
        shares = np.stack([evidence_by_tenth(evidence[known[i].row]) for i in with_evidence])
        rows += _by_tenth("evidence_share", shares)
        rows += _by_density(importance[with_evidence], shares)
    gradients = np.array([(each.end_gradient, each.middle_gradient) for each in measured])
    gradients = gradients.reshape(-1, 2)
    gradients = gradients[np.isfinite(gradients).all(1)]
    if len(gradients) and gradients[:, 1].any():
        # a ratio of means, as the authors have it: of one document the middle's may be 0
        ratio = gradients[:, 0].mean() / gradients[:, 1].mean()
        rows.append(
            {"measure": "vanishing_ratio", "at": "", "documents": len(gradients), "mean": ratio}
        )
    return _table(rows)


def evidence_by_tenth(evidence: np.ndarray) -> np.ndarray:
    """Return the share of a document's evidence (tokens,) in each tenth, (TENTHS,)."""
    counts = np.bincount(tenths(len(evidence))[evidence], minlength=TENTHS)
    return counts / counts.sum()


def _by_density(importance: np.ndarray, shares: np.ndarray) -> list[Row]:
    """Return the mean share of importance divided by that of evidence, 1 if it follows evidence.

    Both are (documents, TENTHS), and both are shares of a document here: else a document whose
    evidence is in many tenths would count for more above the line than below it. Tenths in which
    fewer than MIN_DOCUMENTS have evidence, or which have less than MIN_SHARE of it, have no row.
    """
    of_importance = importance / importance.sum(1, keepdims=True)
    documents = (shares > 0).sum(0)
    is_known = (documents >= MIN_DOCUMENTS) & (shares.mean(0) >= MIN_SHARE)
    return [
        {
            "measure": "importance_by_evidence", "at": str(tenth), "documents": documents[tenth],
            "mean": of_importance[:, tenth].mean() / shares[:, tenth].mean(),
        }
        for tenth in np.flatnonzero(is_known).tolist()
    ]  # fmt: skip


def places_table(evidence: dict[int, np.ndarray], right: dict[int, bool]) -> pd.DataFrame:
    """Return the accuracy by the tenth in which the mean position of a document's evidence lies.

    Args:
        evidence: row → True for tokens of evidence, (tokens,), of documents that have some.
        right: row → whether its prediction is right.

    """
    known = [row for row in evidence if row in right]
    places = np.array([mean_place(evidence[row]) for row in known])
    is_right = np.array([right[row] for row in known], bool)
    return _table(
        [
            _row("accuracy_by_place", str(tenth), is_right[places == tenth])
            for tenth in range(TENTHS)
        ]
    )


def mean_place(evidence: np.ndarray) -> int:
    """Return the tenth in which the mean position of the evidence (tokens,) lies."""
    middle = np.flatnonzero(evidence).mean() + 0.5
    return int(middle * TENTHS / len(evidence))


def noise_table(right: np.ndarray, unknown: np.ndarray) -> pd.DataFrame:
    """Return the accuracy with noise.

    Args:
        right: whether a prediction is right, (documents, NOISES)
        unknown: share of unknown words in a document's noise, (documents,)

    """
    rows = [_row("noise", name, right[:, i]) for i, name in enumerate(NOISES)]
    names = list(NOISES)
    before, after = (right[:, names.index(name)].astype(float) for name in ("none", "both 4"))
    rows.append(_row("accuracy_lost", "", before - after))
    return _table([*rows, _row("noise_unknown", "", unknown)])


def _by_tenth(measure: str, values: np.ndarray) -> list[Row]:
    """Return a row for each tenth of values (documents, TENTHS)."""
    return [_row(measure, str(tenth), values[:, tenth]) for tenth in range(TENTHS)]


def _row(measure: str, at: str, values: np.ndarray) -> Row:
    """Return the mean over documents; `documents` is 0 without any."""
    row: Row = {"measure": measure, "at": at, "documents": len(values)}
    if len(values):
        row |= {"mean": values.mean(), "std": pd.Series(values, dtype=float).std()}
    return row


def _table(rows: Iterable[Row]) -> pd.DataFrame:
    """Return the rows that have documents."""
    return pd.DataFrame([row for row in rows if row["documents"]]).reindex(columns=COLUMNS)
