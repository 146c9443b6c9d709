"""Corpora: documents with labels, or with texts in several languages, read from published files.

`tokens` makes arrays of them. There is a module for each publication (`imdb`, `letters`,
`huffpost`, `few_shot`, `multi30k`), for generated text (`sample`, `sample_translation`) and for
files of the user's own (`table`, `parallel`). Each declares its kinds (`publication` has the
classes) and has an entry in `kinds`, the registry. `source` and `archive` download the files,
verify them and unpack them.
"""
