"""Draw the pages' flowcharts in Mermaid's language as SVG, without Mermaid.

Mermaid is a program of 3 MB that pages load; GitHub has it. Layers are the longest paths from the
first node; the nodes of a layer stand in the order of those that lead to them.
"""

import re
from html import escape
from itertools import pairwise
from statistics import mean
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

NODE = re.compile(r'^\s*(\w+)\["(.+)"\]$', re.MULTILINE)
EDGE = re.compile(r"^\s*(\w+) --> (\w+)$", re.MULTILINE)
WIDTH, HEIGHT, GAP_X, GAP_Y = 100, 44, 16, 34  # of a box, and between boxes; pixels


def assign_layers(names: list[str], edges: list[tuple[str, str]]) -> dict[str, int]:
    """Return the layer of each node: the length of the longest path that leads to it."""
    layers = dict.fromkeys(names, 0)
    for _ in names:
        for start, end in edges:
            layers[end] = max(layers[end], layers[start] + 1)
    return layers


def split_edges(edges: list[tuple[str, str]], layers: dict[str, int]) -> list[list[str]]:
    """Return each edge as a path with an empty place in every layer that it passes."""
    paths = []
    for start, end in edges:
        between = range(layers[start] + 1, layers[end])
        path = [start, *(f"{start}-{end}-{layer}" for layer in between), end]
        layers.update(zip(path[1:-1], between, strict=True))
        paths.append(path)
    return paths


def place(layers: dict[str, int], paths: list[list[str]]) -> dict[str, tuple[float, float]]:
    """Return the centre of each node and each empty place."""
    columns: dict[str, float] = {}
    rows = [[name for name in layers if layers[name] == i] for i in range(max(layers.values()) + 1)]
    widest = max(map(len, rows))
    for row in rows:
        parents = {
            name: [columns[a] for path in paths for a, b in pairwise(path) if b == name]
            for name in row
        }
        row.sort(key=lambda name: mean(parents[name]) if parents[name] else 0)
        start = (widest - len(row)) / 2
        columns |= {name: start + place + 0.5 for place, name in enumerate(row)}
    return {
        name: (x * (WIDTH + GAP_X), layers[name] * (HEIGHT + GAP_Y) + HEIGHT / 2 + 2)
        for name, x in columns.items()
    }


def draw_path(points: list[tuple[float, float]]) -> str:
    """Return the line through these centres, from the first box's foot to the last one's head."""
    (x, y), *others = points
    line = f"M {x:g} {y + HEIGHT / 2:g}"
    y += HEIGHT / 2
    for number, (next_x, next_y) in enumerate(others, 1):
        last = number == len(others)
        end = next_y - HEIGHT / 2 - (6 if last else 0)
        middle = (y + end) / 2
        line += f" C {x:g} {middle:g} {next_x:g} {middle:g} {next_x:g} {end:g}"
        if not last:
            line += f" V {next_y + HEIGHT / 2:g}"
        x, y = next_x, next_y + HEIGHT / 2
    tip = others[-1][1] - HEIGHT / 2
    head = f'<path class="head" d="M {x - 4:g} {tip - 7:g} h 8 L {x:g} {tip:g} z"/>'
    return f'<path d="{line}"/>{head}'


def draw(flowchart: str) -> str:
    """Return a flowchart as SVG."""
    labels = dict(NODE.findall(flowchart))
    edges = EDGE.findall(flowchart)
    layers = assign_layers(list(labels), edges)
    paths = split_edges(edges, layers)
    centres = place(layers, paths)
    parts = [draw_path([centres[name] for name in path]) for path in paths]
    for name, label in labels.items():
        x, y = centres[name]
        box = f'x="{x - WIDTH / 2:g}" y="{y - HEIGHT / 2:g}" width="{WIDTH}" height="{HEIGHT}"'
        parts.append(f'<rect {box} rx="4"/>')
        lines = label.split("<br>")
        for number, line in enumerate(lines):
            below = y + 5 + 16 * (number - (len(lines) - 1) / 2)
            parts.append(f'<text x="{x:g}" y="{below:g}">{escape(line)}</text>')
    width = max(x for x, _ in centres.values()) + WIDTH / 2 + GAP_X / 2
    height = max(y for _, y in centres.values()) + HEIGHT / 2 + 2
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    described = escape(", ".join(f"{start} to {end}" for start, end in edges))
    return (
        f'<svg class="flowchart" xmlns="http://www.w3.org/2000/svg" {size} role="img" '
        f'aria-label="Flowchart: {described}">{"".join(parts)}</svg>'
    )


def draw_flowcharts(app: Sphinx, doctree: nodes.document) -> None:
    """Replace the text of each flowchart by its drawing (an event of Sphinx)."""
    for block in list(doctree.findall(nodes.literal_block)):
        if block.get("language") == "mermaid":
            block.replace_self(nodes.raw("", draw(block.astext()), format="html"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-read", draw_flowcharts)
    return {"parallel_read_safe": True}
