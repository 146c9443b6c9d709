"""The columns of summary.csv, for the stages that compute it and for the one without a model."""

SUMMARY = ["test", "measure", "ranking", "class", "seed", "documents", "mean", "std", "reason"]
ADVERSARY_SUMMARY = ["test", "measure", "weights", "seed", "documents", "mean", "std", "reason"]
