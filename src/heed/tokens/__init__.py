"""Tokens: a corpus as arrays of token ids on disk, written once from its documents.

The only package that imports spaCy.

`tokenizer` and `parallel` write data/tokens/CORPUS in two passes. Documents are read (`reading`)
and cleaned (`cleaning`) into a temporary file (`cleaned`); of all together only facts are in memory
(`facts`), from which `splits` and `duplicates` follow. Then the file is tokenised by `chunks` into
arrays that grow on disk (`writer`, `documents`), and these are searched for `near_duplicates`
(`shingles`). `arrays` opens the folder, and `meta` reads its description.
Vocabularies and batches, which depend on the model, are in `inputs`.
"""
