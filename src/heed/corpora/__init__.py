"""Corpora: documents with labels, read from their published files. `tokens` makes arrays of them.

There is a module for each publication (`imdb`, `letters`, `huffpost`, `few_shot`), one for
generated text (`sample`) and one for a file of the user's own (`table`). Each declares its kinds
(`publication` has the classes) and has an entry in `kinds`, the registry. `source` and `archive`
download the files, verify them and unpack them.
"""
