"""Inputs: the arrays of a corpus as what a model reads.

`vocabulary`, `batches`, and the features `ngrams` and `tfidf`. Nothing here opens a file or knows
what is learned.
"""
