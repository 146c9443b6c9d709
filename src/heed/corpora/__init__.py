"""Corpora: where text comes from. One module a publication, all of them in `kinds`; `source` fetches and verifies."""
