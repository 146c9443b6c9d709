"""Formulas as MathML, which browsers draw by themselves: no MathJax, which pages would load."""

from typing import Any

from docutils import nodes
from docutils.utils.math import pick_math_environment
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx


def write_inline(writer: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def write_block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula that stands alone."""
    formula = node.astext()
    begin, end = (f"\\{word}{{{pick_math_environment(formula)}}}" for word in ("begin", "end"))
    writer.body.append(tex2mathml(f"{begin}{formula}{end}", as_block=True))
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
