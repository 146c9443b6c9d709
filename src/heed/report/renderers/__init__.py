"""Renderers: blocks as HTML, as LaTeX and as CSV. They know nothing of what a study is about."""
