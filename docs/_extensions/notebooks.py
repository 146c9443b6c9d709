"""Show a notebook as it was saved: its texts, its code and its outputs. Nothing is executed.

The tests execute the notebooks; to show one, Jupyter and its packages are not needed.
"""

import base64
import json
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

IMAGES = ("image/png", "image/svg+xml")


def join(text: str | list[str]) -> str:
    """Return a text of a notebook, which is one string or a list of lines."""
    return text if isinstance(text, str) else "".join(text)


def fence(text: str, language: str = "text") -> str:
    """Return a block of code."""
    return f"````{language}\n{text.rstrip()}\n````"


def show_output(output: dict[str, Any]) -> str:
    """Return an output of a cell as Markdown: HTML, an image, or text."""
    data = output.get("data", {})
    if "text/html" in data:
        return join(data["text/html"])
    for kind in IMAGES:
        if kind in data:
            image = join(data[kind])
            if kind == "image/svg+xml":
                image = base64.b64encode(image.encode()).decode()
            return f"![Output of the cell above](data:{kind};base64,{image.strip()})"
    return fence(join(output.get("text") or data.get("text/plain") or output.get("traceback", "")))


def to_markdown(notebook: dict[str, Any]) -> str:
    """Return a notebook (format 4, as parsed JSON) as Markdown."""
    parts = []
    for cell in notebook["cells"]:
        text = join(cell["source"])
        if cell["cell_type"] == "code":
            commands = re.search("^[!%]", text, re.MULTILINE)  # of IPython: no Python to color
            parts.append(fence(text, "text" if commands else "python"))
            parts += [show_output(output) for output in cell["outputs"]]
        else:
            parts.append(text)
    return "\n\n".join(parts) + "\n"


def read_notebook(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace a notebook's JSON by Markdown (an event of Sphinx)."""
    if Path(app.env.doc2path(docname)).suffix == ".ipynb":
        source[0] = to_markdown(json.loads(source[0]))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", read_notebook)
    return {"parallel_read_safe": True}
