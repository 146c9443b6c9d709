"""Corpora: documents with labels, or with texts in several languages, read from published files.

`tokens` makes arrays of them. `published` has the corpora of others as data with their readers;
`sample`, `sample_classification` and `sample_translation` generate text; `table` reads files of the
user's own, which `formats` looks at, `rows` reads and `user_files` brings. Each declares its kinds
(`publication` has the classes) and has an entry in `kinds`, the registry. `source` downloads and
verifies the files. `declared` has the sections of params.yaml on corpora.
"""
