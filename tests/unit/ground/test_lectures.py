"""The notebook on the lectures prints what is stored in it."""

import contextlib
import io
import json

import torch

from tests.conftest import ROOT


def test_the_cells_of_the_lectures_notebook_print_what_is_stored() -> None:
    notebook = json.loads((ROOT / "docs/notebooks/lectures.ipynb").read_text())
    values: dict[str, object] = {}
    with torch.enable_grad(), torch.random.fork_rng():  # both are as before afterwards
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    exec("".join(cell["source"]), values)
                stored = "".join(line for output in cell["outputs"] for line in output["text"])
                assert printed.getvalue() == stored, cell["id"]
