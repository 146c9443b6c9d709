"""`heed graph` draws a node for each kind of stage, as dvc.yaml and DVC itself say."""

import re
import shutil
import subprocess
import sys
from collections import Counter

import networkx as nx
import pytest

from heed.pipeline import PIPELINE, draw_mermaid, link_kinds, read_kinds
from heed.study import load
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "workflow"))
import engine_names as engine


@pytest.fixture(scope="module")
def kinds():
    return read_kinds(ROOT / PIPELINE, load(ROOT / "workflow/studies/sample.yaml"))


def test_the_arrows_of_the_graph_in_the_documentation_are_those_of_dvc_yaml(kinds):
    text = (ROOT / "docs/architecture.md").read_text()
    picture = text.partition("\n## The graph\n")[2].partition("\n## ")[0]
    drawn, expected = (
        {*re.findall(r"\w+ --> \w+", each)} for each in (picture, draw_mermaid(kinds))
    )
    assert drawn == expected


@pytest.mark.parametrize("study", ["sample", "talk"])
def test_stages_and_their_order_are_those_of_dvc(study, tmp_path, monkeypatch):
    for name in (".dvc/config", "dvc.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / f"workflow/studies/{study}.yaml", tmp_path / "params.yaml")
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    monkeypatch.chdir(tmp_path)  # DVC names stages relative to this folder
    repository = engine.open_repository(tmp_path)
    stages = {
        stage.addressing: engine.upstream(repository, stage) for stage in engine.stages(repository)
    }
    assert len(stages) <= 80
    kinds = read_kinds(ROOT / PIPELINE, load(tmp_path / "params.yaml"))
    counts = Counter(stage.partition("@")[0] for stage in stages)
    assert {name: each.stages for name, each in kinds.items() if each.stages} == counts
    links = {
        (up.partition("@")[0], kind.partition("@")[0]) for kind in stages for up in stages[kind]
    }
    links = {(written, read) for written, read in links if written != read}
    drawn = nx.DiGraph(link_kinds(kinds))
    assert links <= set(nx.transitive_closure(drawn).edges)
    # the sample study explains nothing
    assert {pair for pair in drawn.edges if {*counts} >= {*pair}} <= links


def test_no_line_is_drawn_that_follows_from_others(kinds):
    links = link_kinds(kinds)
    assert ("tokenize", "reference_models") in links and ("code", "download") in links
    assert ("code", "train") not in links and ("tokenize", "score") not in links
