"""Corpora: documents with labels, or with texts in several languages, read from published files.

`published` has corpora of others, `sample…` generate text; `table` reads files of the user's own,
which `formats` looks at, `rows` reads and `user_files` brings. All are entries of `kinds`, which
downloads. `sections` has those of params.yaml. `tokens` makes arrays of documents.
"""
