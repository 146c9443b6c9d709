"""The words of the report on a regression: all else is as for every task."""

HAS_BROWSER = False
REFERENCE_MODELS = {"ridge": "Ridge on TF-IDF."}
VALUES = "Figures of a regression are means over seeds."
