"""A study of the user's own: `heed corpus add` and `heed corpus remove`."""
