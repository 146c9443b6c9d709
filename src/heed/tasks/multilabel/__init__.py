"""Multi-label classification: any number of classes a document, with a logistic output each."""

BASE = "classification"
