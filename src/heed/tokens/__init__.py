"""Tokens: a corpus as arrays of token ids on disk, written once from its documents.

The only package that imports spaCy.

`cleaning`, `tokenizer` and `splits` write data/tokens/CORPUS; `arrays` opens it, and `meta` reads
its description. Vocabularies and batches, which depend on the model, are in `inputs`.
"""
