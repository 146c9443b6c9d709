"""Corpora: where text comes from. One module a publication; `source` fetches and verifies."""
