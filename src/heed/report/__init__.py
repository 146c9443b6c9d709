"""The report: the only package that writes HTML and LaTeX."""
