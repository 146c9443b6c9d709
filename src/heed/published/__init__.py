"""Published studies, docs/studies/NAME: `heed publish` writes one, `heed verify` recomputes it."""
