"""The summary of `heed adversaries` (docs/contracts.md): means over documents, and reasons."""

from typing import Any

import numpy as np
import pandas as pd

from heed.explanation.adversary_judgement import RANKINGS

# measures of the adversary by document; those of EVIDENCE need known evidence
MEASURES = (
    "prediction_change", "divergence", "mean_divergence", "permutation_change_base",
    "permutation_change",
)  # fmt: skip
EVIDENCE = ("evidence_weight_base", "evidence_weight")
NO_EVIDENCE = "no document of the test has known evidence"
ONLY_EVIDENCE = "the units of each document are all evidence, or their evidence is not read"


def mean_row(test: str, measure: str, weights: str, values: np.ndarray) -> dict[str, Any]:
    """Return a row of the summary with the mean of `values` (documents,)."""
    row = {"test": test, "measure": measure, "weights": weights, "documents": len(values)}
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return row | {"mean": float(np.mean(values)), "std": deviation}


def reason_row(test: str, measure: str, weights: str, reason: str) -> dict[str, Any]:
    """Return a row of the summary for what is not defined."""
    return {"test": test, "measure": measure, "weights": weights, "reason": reason}


def summarize_documents(documents: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of the test `adversary` that are means over the documents drawn."""
    columns = [(measure, "", measure) for measure in (*MEASURES, *EVIDENCE)]
    columns += [("auc", ranking, f"auc_{ranking}") for ranking in RANKINGS]
    rows = []
    for measure, weights, column in columns:
        values = documents[column].dropna().to_numpy() if column in documents else np.empty(0)
        if len(values):
            rows.append(mean_row("adversary", measure, weights, values))
        else:
            has_evidence = EVIDENCE[0] in documents
            reason = ONLY_EVIDENCE if has_evidence else NO_EVIDENCE
            rows.append(reason_row("adversary", measure, weights, reason))
    return rows
