"""Tokens: a corpus as arrays of numbers on disk, made once from its documents.

The only package that imports spaCy.

`cleaning`, `tokenizer` and `splits` write data/tokens/CORPUS; `arrays` opens it, and `meta` says
what is in it. What a model makes of the arrays, its vocabulary and its batches, is in `inputs`.
"""
