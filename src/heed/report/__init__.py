"""Report: the only room that knows HTML and LaTeX."""
