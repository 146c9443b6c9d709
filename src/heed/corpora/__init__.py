"""Corpora: documents with labels, or with texts in several languages, read from published files.

`tokens` makes arrays of them. `published` has the corpora of others as data with their readers;
`sample`, `sample_truths` and `sample_translation` generate text; `table` and `parallel` read files
of the user's own, which `formats` looks at and `rows` reads. Each declares its kinds (`publication`
has the classes) and has an entry in `kinds`, the registry. `declared` has the sections of
params.yaml. `source` and `archive` download the files, verify them and unpack them.
"""
