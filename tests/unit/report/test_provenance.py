"""reports/provenance.json names commit, versions and times."""

import json

from heed import __version__
from heed.files import write_json
from heed.pipeline import run_git
from heed.report.provenance import provenance
from tests.fixtures.git import commit_all


def test_provenance_names_commit_versions_and_times(tmp_path):
    times = {
        "seconds": 9999, "cpu_seconds": 3600, "code": "c0de", "device": "cpu", "host": "here",
        "torch": "2", "ended": "2026-01-02T03:04:05+0000",
    }  # fmt: skip
    for model, each in (("it", times), ("no-longer-there", {"seconds": 5})):
        write_json(tmp_path / f"results/timing/train/{model}/1.json", each)
    found = provenance(tmp_path, ["it", "not-trained"])
    assert (found["commit"], found["changed"]) == ("", [])
    run_git(tmp_path, "init", "--quiet")
    commit = commit_all(tmp_path)
    (tmp_path / "results/timing/train/it/1.json").write_text(json.dumps(times))
    found = provenance(tmp_path, ["it", "not-trained"])
    assert found["commit"] == commit and found["versions"]["heed"] == __version__
    assert found["changed"] == ["results/timing/train/it/1.json"] and found["machine"]["Python"]
    (one,) = found["trainings"].values()
    assert one["core_hours"] == 1 and one["seconds"] == 9999 and one["last"].startswith("2026-01-")
    assert "here" not in json.dumps(found), "no name of a host"
