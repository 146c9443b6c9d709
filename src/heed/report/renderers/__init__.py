"""Renderers: blocks as HTML, as LaTeX and as CSV. They know blocks only, not studies."""
