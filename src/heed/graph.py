"""The graph of the pipeline, a node for each kind of stage: `heed graph`.

dvc.yaml declares the kinds, and what each reads and writes; the study says how many stages of a
kind there are. Snakemake's and DVC's own graphs draw one node for each stage.
"""

import dataclasses
import itertools
import re
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import networkx as nx

from heed.study import Params
from heed.study.reader import read_text
from heed.study.syntax import read_yaml

PIPELINE = Path("dvc.yaml")
NAME_IN_PATH = re.compile(r"\$\{[^}]*\}")  # DVC's ${item.corpus}


@dataclasses.dataclass(frozen=True)
class Kind:
    """The stages that dvc.yaml declares together, one for each key of a section of params.yaml.

    In `deps` and `outs`, paths from the top folder of the clone, a `*` stands for a name.
    """

    stages: int
    deps: list[str]
    outs: list[str]


def read_kinds(pipeline: Path, params: Params) -> dict[str, Kind]:
    """Return the kinds of stages of `pipeline`, a dvc.yaml, in its order.

    Raises HeedError if the file cannot be read.
    """
    kinds: dict[str, Kind] = {}
    for name, declared in read_yaml(read_text(pipeline), pipeline)[1]["stages"].items():
        stage = declared.get("do", declared)
        section = declared.get("foreach")  # ${models}: a stage for each key
        stages = len(attrgetter(section[2:-1])(params)) if section else 1
        if name == "search":  # heed has all searches in one section
            stages -= len(params.later_searches)
        deps, outs = (list(_patterns(stage.get(key, []))) for key in ("deps", "outs"))
        kinds[name] = Kind(stages, deps, outs)
    return kinds


def _patterns(entries: list[Any]) -> Iterator[str]:
    """Yield the paths of a stage's deps or outs; an out with options is a mapping of its path."""
    for entry in entries:
        yield NAME_IN_PATH.sub("*", entry if isinstance(entry, str) else next(iter(entry)))


def link_kinds(kinds: dict[str, Kind]) -> list[tuple[str, str]]:
    """Return (kind, kind that reads from it), less the pairs that follow from others."""
    graph = nx.DiGraph()
    graph.add_nodes_from(kinds)
    graph.add_edges_from(
        (written, read)
        for written, read in itertools.permutations(kinds, 2)
        if any(_overlap(out, dep) for out in kinds[written].outs for dep in kinds[read].deps)
    )
    order = list(kinds)
    return sorted(nx.transitive_reduction(graph).edges, key=lambda link: [*map(order.index, link)])


def _overlap(out: str, dep: str) -> bool:
    """Whether one path is the other, or lies in it, for some names."""
    return all(
        _matches(first, second) or _matches(second, first)
        for first, second in zip(out.split("/"), dep.split("/"), strict=False)
    )


def _matches(part: str, pattern: str) -> bool:
    """Whether a part of a path is one of a pattern, in which a `*` stands for a name (no dot)."""
    return bool(re.fullmatch(re.escape(pattern).replace(r"\*", "[a-z0-9*-]+"), part))


def draw_mermaid(kinds: dict[str, Kind]) -> str:
    """Return the graph as text that GitHub and other viewers of Markdown draw as a figure."""
    lines = ["flowchart TD"]
    lines += [f'    {name}["{name}<br>{_count(kind)}"]' for name, kind in kinds.items()]
    lines += [f"    {written} --> {read}" for written, read in link_kinds(kinds)]
    return "\n".join(lines)


def draw_dot(kinds: dict[str, Kind]) -> str:
    """Return the graph as Graphviz reads it."""
    nodes = [f'    {name} [label="{name}\\n{_count(kind)}"]' for name, kind in kinds.items()]
    links = [f"    {written} -> {read}" for written, read in link_kinds(kinds)]
    return "\n".join(["digraph {", "    node [shape=box]", *nodes, *links, "}"])


def _count(kind: Kind) -> str:
    """Return how many stages of the kind the study has, in words."""
    return f"{kind.stages or 'no'} stage{'s' * (kind.stages != 1)}"
