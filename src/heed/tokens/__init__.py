"""Tokens: a corpus as arrays of token ids on disk, written once from its documents.

The only package that imports spaCy. `corpus` is the pass: it reads the documents of heed.corpora,
cleans them into a table on disk (`writer`), splits them (`splits`) without their duplicates, and
turns each column of texts into arrays (`tokenizer`, `writer`), with the vectors of their types.
`arrays` reads the folder, and `meta` its description. Vocabularies and batches, which depend on the
model, are in `inputs`.
"""
