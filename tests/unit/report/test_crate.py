"""`heed publish --crate` writes a crate that the profile's own validator accepts; codemeta.json."""

import json
import shutil
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from heed.cli import commands
from heed.files import HeedError, write_json, write_text
from heed.records import as_json
from heed.report import crate
from heed.report.provenance_page import write_provenance
from heed.report.publish import PublishedReport
from tests.conftest import ROOT
from tests.fixtures.git import commit_all
from tests.fixtures.report import made_up

VALIDATOR = ROOT / ".heed/validator/bin/python"  # made by `make test-slow`
MODEL = "sample-author-mean"
TIME = {
    "seconds": 9, "cpu_seconds": 9, "code": "c0de", "device": "cpu", "host": "here", "torch": "2",
    "ended": "2026-01-02T03:04:05+0000",
}  # fmt: skip


def out(path: str, digit: str) -> dict[str, object]:
    return {"path": path, "hash": "md5", "md5": digit * 32, "size": 7}


def stage(cmd: str, deps: list[object], outs: list[object]) -> dict[str, object]:
    return {"cmd": cmd, "deps": deps, "params": {"params.yaml": {"seeds": [1]}}, "outs": outs}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with dvc.lock of a study, of which a folder is the published report."""
    recipe, run = out(f"results/recipe/{MODEL}.yaml", "1"), out(f"results/train/{MODEL}", "2")
    stages = {
        f"train@{MODEL}": stage(f"heed train {MODEL}", [recipe], [run]),
        "train@elsewhere": stage("heed train elsewhere", [], []),  # of another study
        "compare": stage("heed compare", [run], [out("results/compare", "3")]),
    }
    for name in ("CITATION.cff", "LICENSE", "codemeta.json", "dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    write_json(tmp_path / f"results/timing/train/{MODEL}/1.json", TIME)
    write_json(tmp_path / f"results/train/{MODEL}/1/run.json", {"machine_kind": "x86_64 AVX512"})
    lock = yaml.safe_dump({"schema": "2.0", "stages": stages})
    write_text(tmp_path / "dvc.lock", lock)
    edition = tmp_path / "docs/studies/sample"
    for name in ("README.md", "index.html", "metrics.json", "results.csv", "tables/answer.txt"):
        write_text(edition / name, f"Attention helps: {name}")
    shutil.copy(tmp_path / "params.yaml", edition)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    report = PublishedReport("0.2.0", commit_all(tmp_path), ["dvc.lock"])
    write_json(edition / "edition.json", as_json(report))
    return tmp_path


def make_crate(clone: Path) -> Path:
    pytest.importorskip("rocrate", reason=f"rocrate is not installed: {crate.INSTALL}")
    return crate.write_crate(clone, clone / "docs/studies/sample", made_up.study("sample"))


def ids(value: object) -> list[str]:
    return [each["@id"] for each in (value if isinstance(value, list) else [value])]


def test_a_crate_has_the_stages_of_the_study_with_commands_hashes_and_machine(clone):
    path = make_crate(clone)
    assert path == clone / "reports/sample.crate.zip"
    with zipfile.ZipFile(path) as archive:
        names = {*archive.namelist()}
        text = archive.read("ro-crate-metadata.json").decode()
    assert {"CITATION.cff", "codemeta.json", "dvc.yaml", "results.csv", "tables/answer.txt"} < names
    graph = {each["@id"]: each for each in json.loads(text)["@graph"]}
    assert not any("elsewhere" in key for key in graph) and str(clone) not in text
    train = graph[f"#stage/train@{MODEL}"]
    assert train["description"] == f"heed train {MODEL}" and train["location"] == "x86_64 AVX512"
    assert train["endTime"] == "2026-01-02T03:04:05+00:00"
    assert ids(train["object"]) == [f"#file/results/recipe/{MODEL}.yaml", "params.yaml"]
    (written,) = ids(train["result"])
    assert written in ids(graph["#stage/compare"]["object"])
    assert (graph[written]["md5"], graph[written]["contentSize"]) == ("2" * 32, "7")
    root = graph["./"]
    assert root["name"] == made_up.study("sample").study.title
    assert root["description"].endswith("Attention helps: tables/answer.txt")
    assert (
        root["mainEntity"]["@id"] == "dvc.yaml"
        and graph["#run"]["instrument"] == root["mainEntity"]
    )
    assert root["license"]["@id"] == "https://spdx.org/licenses/Apache-2.0"
    assert graph[root["author"]["@id"]]["name"] == "The heed team"
    assert graph["#heed"]["version"] == "0.2.0" and len(graph["#heed"]["identifier"]) == 40
    assert "`dvc.lock` differed" in graph["#heed"]["description"]


@pytest.mark.slow
def test_the_profiles_own_validator_finds_nothing_that_is_required(clone, tmp_path):
    if not VALIDATOR.exists():
        pytest.skip("the validator is not installed: make test-slow")
    script, found = ROOT / "tests/fixtures/validate_crate.py", tmp_path / "found.json"
    for severity, allowed in (("REQUIRED", set()), ("RECOMMENDED", RECOMMENDED)):
        command = [VALIDATOR, "-I", script, make_crate(clone), severity, found]
        subprocess.run(command, check=True, capture_output=True)
        result = json.loads(found.read_text())
        print(f"{severity}: {len(result['checks'])} checks, issues:", *result["issues"], sep="\n  ")
        assert len(result["checks"]) > 90
        assert {issue.partition(": ")[2] for issue in result["issues"]} <= allowed


RECOMMENDED = {  # what nobody has noted: times of short stages, addresses of tools and of the team
    "The Action SHOULD have an endTime in ISO 8601 format",
    "The Application SHOULD have a url",
    "The SoftwareApplication id SHOULD be an absolute URI",
    "The `publisher` property of a `Root Data Entity` SHOULD be an `Organization`",
    "The organization SHOULD have a URL.",
}


def test_the_provenance_page_has_the_same_stages(clone):
    write_provenance(clone, clone / "page.html", made_up.study("sample"))
    page = (clone / "page.html").read_text()
    assert "2 stages of" in page and "elsewhere" not in page
    assert f"<code>heed train {MODEL}</code>" in page and f"<code>{'2' * 32}</code>" in page


def test_without_rocrate_it_is_one_message_that_names_the_extra(clone, monkeypatch):
    monkeypatch.setattr("heed.report.crate.find_spec", lambda _: None)
    monkeypatch.chdir(clone)
    message = r"^--crate: rocrate is not installed.*pip install -e '\.\[crate\]'$"
    with pytest.raises(HeedError, match=message):
        commands.publish(crate=True)  # before it asks git and DVC


def test_authors_are_persons_or_organizations():
    person = {"given-names": "Ada", "family-names": "Lovelace", "orcid": "https://orcid.org/0"}
    assert crate.authors({"authors": [person, {"name": "A team"}]}) == [
        {"@id": "https://orcid.org/0", "@type": "Person", "name": "Ada Lovelace"},
        {"@id": "#author-2", "@type": "Organization", "name": "A team"},
    ]


@pytest.mark.parametrize(("given", "names"), [("MIT", ["MIT"]), (["MIT", "0BSD"],) * 2], ids=str)
def test_a_citation_has_one_license_or_several(given, names):
    assert crate.licenses({"license": given}) == [
        {"@id": f"https://spdx.org/licenses/{name}", "@type": "CreativeWork", "name": name}
        for name in names
    ]


def test_a_broken_citation_is_one_message(tmp_path):
    write_text(tmp_path / "CITATION.cff", "title: heed\n")
    with pytest.raises(HeedError, match=r"CITATION\.cff: cannot be read \(needs title, license"):
        crate.read_citation(tmp_path / "CITATION.cff")


def test_a_file_that_an_archive_needs_is_missed_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(crate, "find_spec", lambda name: name)
    shutil.copy(ROOT / "CITATION.cff", tmp_path)
    with pytest.raises(HeedError, match=r"^codemeta\.json: missing, .* git checkout codemeta"):
        crate.check_crate(tmp_path)


def test_codemeta_has_what_the_citation_and_the_project_say(request):
    citation = crate.read_citation(ROOT / "CITATION.cff")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    expected = {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": citation["title"],
        "identifier": project["name"],
        "description": citation["abstract"],
        "version": citation["version"],
        "datePublished": citation["date-released"],
        "license": f"{crate.LICENSES}/{citation['license']}",
        "author": crate.authors(citation),
        "programmingLanguage": "Python",
        "runtimePlatform": f"Python {project['requires-python']}",
        "operatingSystem": "Linux",
        "softwareRequirements": project["dependencies"],
    }
    path = ROOT / "codemeta.json"
    if request.config.getoption("update_snapshots"):
        write_json(path, expected)
    assert json.loads(path.read_text()) == expected, "make snapshots"
    assert project["license"] == {"text": citation["license"]}
