"""Corpora: where text comes from. What is made of it, arrays of numbers, is in `tokens`.

A module for each publication (`imdb`, `letters`, `huffpost`, `few_shot`), one for generated text
(`sample`) and one for a file of the user's own (`table`). Each declares its kinds (`publication`
says how) and has an entry in `kinds`, the registry. `source` and `archive` fetch the files, verify
them and unpack them.
"""
