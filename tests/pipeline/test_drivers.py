"""DVC and Snakemake run the same stages: after one, the other has nothing left to do."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from heed.files import HeedError
from heed.pipeline import check_up_to_date, read_lock
from tests.pipeline import makers

EVALUATED = sorted(["code", *makers.SCORED, "report"])


def test_after_snakemake_neither_driver_has_anything_to_do(toy):
    assert toy.executed(*makers.DVC) == toy.executed(*makers.SNAKEMAKE) == []
    output = toy.run("snakemake", "-n")
    assert "all 16 stages are up to date" in output and "Job" not in output
    for stage in ("compare", "report"):
        assert (toy.path / f"logs/{stage}.log").exists()
        _, of_children = (toy.path / f"logs/{stage}.times").read_text().splitlines()
        assert re.fullmatch(r"\d+m[\d.]+s \d+m[\d.]+s", of_children)


def test_results_of_another_params_yaml_are_not_published(toy):
    check_up_to_date(toy.path)
    toy.change("dropout: 0.2", "dropout: 0.3")
    with pytest.raises(HeedError, match=r"not up to date: code, compare\. The results are older"):
        check_up_to_date(toy.path)


def test_a_second_snakemake_is_refused_and_the_first_runs_exactly_the_stages_below_a_change(toy):
    old, new, expected = makers.CHANGES["the title of the study"]
    toy.change(old, new)
    toy.log.write_text("")
    with makers.held(toy, makers.SNAKEMAKE, "compare") as (first, resume):
        code, output = toy.try_(*makers.SNAKEMAKE)
        assert code == 1 and "heed: another snakemake is running" in output
        assert "Traceback" not in output and "may run" in toy.run("snakemake", "-n")
        resume()
        output = first.communicate()[0]
    assert first.returncode == 0, output
    assert makers.stages_printed(output) == 2  # `code` runs first
    assert "heed: 1 of 2 stages are done" in output and toy.logged() == expected
    assert toy.is_up_to_date()


@pytest.mark.parametrize(
    ("what", "driver"), makers.by_driver(makers.CHANGES, {("one more seed", "dvc")})
)
def test_a_change_runs_exactly_the_stages_below_it(toy, driver, what):
    old, new, expected = makers.CHANGES[what]
    toy.change(old, new)
    assert toy.executed(*driver) == expected
    if driver == makers.SNAKEMAKE:
        assert toy.is_up_to_date()
    else:
        # Snakemake would move the results of the model away, and then run these stages
        again = ["compare", "report", "score@feelings"]
        assert makers.planned(toy) == (again if what == "one model less" else [])


def edit_evaluation(toy: makers.Toy) -> None:
    """Add a value to a module that scores import and nothing else does."""
    named: dict[bool, set[str]] = {True: set(), False: set()}
    for path in (toy.path / "results/code").rglob("*.json"):
        named[path.parent.name == "score"] |= {*json.loads(path.read_text())["files"]}
    alone = (path for path in named[True] - named[False] if "__init__" not in path)
    makers.add_to(min(alone), "\nADDED = 1\n")(toy)


TEMPLATE, UNUSED = "src/heed/report/page/index.html.jinja", "src/heed/models/unused.py"
# edit: (the function that makes it, the commands that must run)
EDITS: dict[str, tuple[Callable[[makers.Toy], None], list[str]]] = {
    "a comment": (makers.add_to(makers.ATTENTION, "\n# a comment\n"), ["code"]),
    "a value of the models": (makers.add_to(makers.ATTENTION, "\nADDED = 1\n"), makers.TRAINED),
    "a template": (makers.add_to(TEMPLATE, "<!-- added -->"), ["code", "report"]),
    "the evaluation alone": (edit_evaluation, EVALUATED),
    "a module that nothing imports": (makers.add_to(UNUSED, "ADDED = 1\n"), ["code"]),
    "a comment in params.yaml": (makers.add_to("params.yaml", "# a comment\n"), []),
}  # fmt: skip


@pytest.mark.parametrize(("what", "driver"), makers.by_driver(EDITS, set()))
def test_an_edit_of_the_code_runs_exactly_the_stages_that_run_it(toy, driver, what):
    edit, expected = EDITS[what]
    edit(toy)
    if expected == ["code"]:
        assert makers.planned(toy) == ["code"]  # a dry run computes the digests
    assert toy.executed(*driver) == expected
    assert toy.is_up_to_date() if driver == makers.SNAKEMAKE else makers.planned(toy) == []


@pytest.mark.slow
def test_a_stage_that_fails_says_why_once_and_k_finishes_the_others(toy):
    edit_evaluation(toy)
    toy.log.write_text("")
    code, output = toy.try_(*makers.SNAKEMAKE, "--keep-going", TOY_FAIL="score feelings")
    assert code == 1
    message = "score feelings fails, by TOY_FAIL\n"
    assert output.count(message) == 1 and f"\nheed: score@feelings failed: {message}" in output
    assert "CalledProcessError" not in output
    left = ["report", "score feelings"]
    assert toy.logged() == [command for command in EVALUATED if command not in left]
    assert toy.executed(*makers.SNAKEMAKE) == left


@pytest.mark.slow
def test_a_dry_run_names_what_may_run_and_changes_nothing(toy):
    toy.change("heads: 2", "heads: 4")
    toy.change("[1, 2]", "[1]")
    unwatched = {".heed", ".snakemake", "__pycache__", "tmp"}

    def files() -> list[Path]:
        return [path for path in sorted(toy.path.rglob("*")) if not unwatched & {*path.parts}]

    before, stages = files(), makers.planned(toy)
    assert files() == before and {"recipe@feelings", "score@feelings"} <= {*stages}
    assert "download@one" not in stages


@pytest.mark.slow
def test_results_that_the_study_no_longer_has_are_moved_and_nothing_made_by_hand(toy):
    by_hand = toy.path / "results/train/by-hand/7/model.safetensors"
    by_hand.parent.mkdir(parents=True)
    by_hand.write_text("mine")
    old, new, commands = makers.CHANGES["one model less"]
    toy.change(old, new)
    removed = "results/train/feelings-self-attention"
    assert {stage.replace("@", " ") for stage in makers.planned(toy)} >= {*commands}
    assert (toy.path / removed).exists()
    assert toy.executed(*makers.SNAKEMAKE) == commands and not (toy.path / removed).exists()
    assert (toy.path / ".heed/removed" / removed / "1/model.safetensors").exists()
    assert by_hand.exists()
    toy.change(new, old)
    # the model comes from the cache; a search, and so its recipe, is never there
    assert toy.executed(*makers.SNAKEMAKE) == ["code", "recipe feelings"]
    assert (toy.path / removed).exists()


@pytest.mark.parametrize("driver", [
    pytest.param(makers.DVC, id="dvc"),
    pytest.param(makers.SNAKEMAKE, id="snakemake", marks=pytest.mark.slow),
    pytest.param(["dvc", "checkout"], id="checkout", marks=pytest.mark.slow),
])  # fmt: skip
def test_deleted_outputs_come_back_from_the_cache(toy, driver):
    trained = "results/train/author-last-state"
    times = trained.replace("results", "results/timing")
    for name in (trained, times, "results/reference_models", "reports"):
        shutil.rmtree(toy.path / name)
    assert toy.executed(*driver) == []
    reference_models = "results/reference_models/feelings/reference_models.json"
    files = (
        f"{trained}/1/model.safetensors", f"{times}/1.json", reference_models, "reports/index.html",
    )  # fmt: skip
    assert all((toy.path / name).exists() for name in files)


@pytest.mark.slow
def test_a_training_that_gives_the_same_run_again_repeats_the_report_alone(toy):
    """Its time is another one, and an output of its own."""
    stage, before = "train@author-last-state", runs_of(toy)
    lock = read_lock(toy.path)
    times = lock.pop(stage)["outs"]  # else heed keeps the runs, by DVC's cache
    (toy.path / "dvc.lock").write_text(yaml.safe_dump({"schema": "2.0", "stages": lock}))
    trained = toy.executed("dvc", "repro", "--quiet", "--no-run-cache", "--single-item", stage)
    assert trained == ["train author-last-state 1 2"]
    assert read_lock(toy.path)[stage]["outs"] != times and runs_of(toy) == before
    assert toy.executed(*makers.DVC) == ["report"]


def runs_of(toy: makers.Toy) -> dict[str, list]:
    """Return the outputs of each stage in dvc.lock, without the code and without times."""
    return {
        key: [out for out in entry["outs"] if "timing/" not in out["path"]]
        for key, entry in read_lock(toy.path).items()
        if key not in ("code", "report")
    }


@pytest.mark.slow
def test_dvc_reads_no_folder_that_other_users_can_write(toy):
    toy.run("dvc", "status")
    assert (toy.path / ".heed").stat().st_mode & 0o777 == 0o700
    assert [*(toy.path / ".heed/dvc/repo").glob("*")]
    toy.run(*makers.SNAKEMAKE)
    local = (toy.path / ".dvc/config.local").read_text()
    assert f"site_cache_dir = {toy.path}/.heed/dvc\n" in local  # for `dvc exp run --temp`


@pytest.mark.slow
def test_dvcs_plots_show_curves_confusions_and_differences(toy):
    toy.run("dvc", "plots", "show", "--out", "plots")
    text = (toy.path / "plots/index.html").read_text()
    for title in ("BLEU on the validation split", "Confusion matrix", "Differences with their"):
        assert title in text
    assert '"row": {"field": "model"' in text  # heed's own templates
