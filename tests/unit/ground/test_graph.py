"""The picture of the pipeline in docs/architecture.md, beside the stages of DVC."""

import re
import shutil
import subprocess
import sys

import networkx as nx
import yaml

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "workflow"))
import engine_names as engine

STUDIES = ("sample", "explanation", "encoder", "headlines")  # which have stages of every kind


def test_the_arrows_in_the_documentation_are_those_of_dvc(tmp_path, monkeypatch):
    for name in (".dvc/config", "dvc.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    monkeypatch.chdir(tmp_path)  # DVC names stages relative to this folder
    links = nx.DiGraph()
    for study in STUDIES:
        shutil.copy(ROOT / f"workflow/studies/{study}.yaml", "params.yaml")
        repository = engine.open_repository(tmp_path)
        for stage in engine.stages(repository):
            read = stage.addressing.partition("@")[0]
            links.add_node(read)
            written = {up.partition("@")[0] for up in engine.upstream(repository, stage)} - {read}
            links.add_edges_from((each, read) for each in written)
    assert {*links} == {*yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]}
    text = (ROOT / "docs/architecture.md").read_text()
    picture = text.partition("\n## The graph\n")[2].partition("\n## ")[0]
    assert {*re.findall(r"(\w+) --> (\w+)", picture)} == {*nx.transitive_reduction(links).edges}
