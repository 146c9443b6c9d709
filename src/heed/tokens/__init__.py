"""Tokens: a corpus as arrays of token ids on disk, written once from its documents.

The only package that imports spaCy.

`tokenizer` and `parallel` write data/tokens/CORPUS by means of `cleaning`, `chunks`, `splits`,
`duplicates` and `near_duplicates`; `arrays` opens it, and `meta` reads its description.
Vocabularies and batches, which depend on the model, are in `inputs`.
"""
