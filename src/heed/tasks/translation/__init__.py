"""Translation: one sentence for another, and the alignment of their words."""
