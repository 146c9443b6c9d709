"""A search without a model tunes each model that names it: one space, one budget, own winners."""

import itertools
import json
import random
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pytest
import yaml

from heed.files import HeedError, write_yaml
from heed.recipe import read_model_recipe
from heed.search.candidates import find_candidates
from heed.search.results import BUDGET, read_search, write_search
from heed.search.trials import Job, _Suggester
from heed.study import parse
from heed.study.recipes import write_recipes
from heed.study.rules import search_space
from tests.conftest import cases, run_heed
from tests.unit.search.makers import STUDY, planned
from tests.unit.search.test_search import write_results

CASES = cases(__file__)
EACH = (
    STUDY.replace("    model: tiny-self-attention\n", "")
    .replace("search: none", "search: hunt")
    .replace("scheduler: none", "trainings: 3")
    .replace("trials: 4", "trials: 12")
    .replace("epochs: 5", "epochs: 6, patience: 0")
)
BOTH = ["tiny-last-state", "tiny-self-attention"]
UNIFORM = "  tiny-equal-weights: {experiment: tiny, search: hunt, attention: uniform}\n"


def job(text: str = EACH, model: str = "tiny-self-attention") -> Job:
    params, setup = parse(text), planned(text, model=model)
    return Job(setup, find_candidates(params, "hunt", setup))


def test_the_models_that_name_a_search_are_searched_each_in_what_has_an_effect():
    params = parse(EACH)
    assert params.searched_models("hunt") == BOTH, "the parameter-matched one follows another"
    assert [*search_space(params, "hunt", "tiny-last-state")] == ["learning_rate", "hidden_size"]
    assert [*search_space(params, "hunt", "tiny-self-attention")][-1] == "heads"
    assert params.winner("tiny-parameter-matched") == "hunt/tiny-self-attention"
    assert parse(STUDY).winner("tiny-self-attention") == "hunt"


@pytest.mark.parametrize(("right", "wrong", "key", "message"), CASES["wrong"])
def test_a_mistake_is_named_by_its_key(right, wrong, key, message):
    text = EACH.replace(right, wrong).replace("heads: 3", "heads: 3, epochs: 4")
    with pytest.raises(HeedError) as caught:
        parse(text)
    lines = str(caught.value).splitlines()
    assert any(f"searches.{key}: " in line and message in line for line in lines), lines


def test_the_first_configuration_is_the_models_own(study):
    setup = planned(EACH, model="tiny-self-attention")
    own, *drawn = find_candidates(parse(EACH), "hunt", setup).drawn
    assert own == {"learning_rate": 0.01, "hidden_size": 6, "heads": 3}
    assert len(drawn) == 11 and own not in drawn


@pytest.mark.parametrize("seed", range(5))
def test_no_search_uses_more_than_its_budget_and_the_models_own_trial_runs_to_its_end(study, seed):
    jobs, chance = {model: job(model=model) for model in BOTH}, random.Random(seed)
    suggester, running, done, starts = _Suggester(jobs), {}, {}, []
    while (suggested := suggester.suggest(f"t{len(starts)}")) != "FINISHED" or running:
        if isinstance(suggested, dict):
            starts.append((suggested["trial"]["model"], suggested["trial"]["number"]))
            running[f"t{len(starts) - 1}"] = starts[-1]
            if len(running) < 4:
                continue
        name = chance.choice([*running])
        model, number = running[name]
        done[model, number] = done.get((model, number), 0) + 1
        goes_on = jobs[model].budget.report(number, done[model, number])
        is_bad = chance.random() < 0.6 and not jobs[model].is_kept(number)
        if not goes_on or is_bad or done[model, number] == 3:
            assert goes_on or number, "the model's own trial is never cut"
            del running[name]
            suggester.on_trial_complete(name, {"best": 0.5})
    assert starts[:4] == [*itertools.product(BOTH, (0,)), *itertools.product(BOTH, (1,))]
    for model in BOTH:
        assert done[model, 0] == 3
        used = sum(epochs for (name, _), epochs in done.items() if name == model)
        assert used <= 9 and (used == 9 or max(n for m, n in starts if m == model) == 11)


def write_reports(number: int, reports: Iterable[int]) -> Path:
    folder = job().setup.trial_folder(number)
    folder.mkdir(parents=True)
    lines = (json.dumps({"report": each, "score": 0.5, "best": 0.5}) for each in reports)
    (folder / "reported.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def test_what_a_killed_search_has_used_counts(study):
    write_reports(0, [3])
    write_reports(1, [2])
    again = job()
    assert again.budget.spent == {0: 3, 1: 2}
    assert [again.budget.promise(number) for number in range(2, 8)] == [True] * 4 + [False] * 2
    assert not job(EACH.replace("trainings: 3", "trainings: 0")).budget.total < float("inf")


def test_what_had_ended_before_a_search_was_killed_is_read_again_though_the_budget_is_spent(study):
    for number, last in enumerate((3, 1, 3, 2)):
        (write_reports(number, range(1, last + 1)) / "ended").touch()
    again = job()
    assert sum(again.budget.spent.values()) == again.budget.total == 9
    assert [again.budget.promise(number) for number in range(5)] == [True] * 4 + [False]
    assert again.budget.report(1, 1) and not again.budget.cut


@pytest.mark.parametrize("epochs", ["    epochs: 3\n", ""])
def test_each_model_takes_its_own_winner(study, epochs):
    text = EACH.replace("    epochs: 3\n", epochs)
    Path("params.yaml").write_text(text)
    for model, rate in zip(BOTH, (0.02, 0.03), strict=True):
        folder = Path("results/search/tiny/hunt", model)
        write_results(folder)
        best = {"learning_rate": rate, "epochs": round(100 * rate), "monitor": "accuracy"}
        write_yaml(folder / "best.yaml", best)
    write_recipes(parse(text), "tiny", Path("data/tokens/tiny"))
    for model, rate in zip(BOTH, (0.02, 0.03), strict=True):
        assert read_model_recipe(model).hyperparameters.learning_rate == rate
    assert read_model_recipe("tiny-parameter-matched").hyperparameters.learning_rate == 0.03


def test_models_are_tuned_alike_by_one_space_and_one_budget():
    params = parse(EACH + UNIFORM.replace("search: hunt, ", ""))
    first, second, matched, untuned = (params.tuning(model) for model in params.models)
    assert first == second != "" and matched == "foreign" and untuned == ""
    assert parse(STUDY).tuning("tiny-last-state") == ""
    own = parse(STUDY).tuning("tiny-self-attention")
    assert own not in ("", "foreign", second), "its first trial is no configuration of its own"
    other = UNIFORM.replace("uniform}", "uniform, dropout: 0.9}")
    *_, changed = (each.tuning("tiny-equal-weights") for each in (params, parse(EACH + other)))
    assert changed not in ("", "foreign", first), "what was not searched differs"
    assert parse(EACH + UNIFORM).tuning("tiny-equal-weights") == first
    borrowed = parse(STUDY.replace("search: none", "search: hunt"))
    assert borrowed.tuning("tiny-last-state") == "foreign"


@pytest.mark.slow
def test_both_models_are_searched_on_one_ray_within_their_budget(study):
    Path("params.yaml").write_text(EACH.replace("trials: 12", "trials: 6"))
    done = run_heed("recipe", "tiny", HEED_THREADS="2")
    assert done.returncode == 0, done.stderr
    assert "hunt: 6 trials of each of 2 models on this machine, 2 cores" in done.stdout
    assert [*Path(".heed/work").iterdir()] == []
    for model in BOTH:
        folder = Path("results/search/tiny/hunt", model)
        table, search = pd.read_csv(folder / "trials.csv"), read_search(folder, "tiny")
        assert table["epochs"].sum() <= 9 and search.training == 3 and search.trainings <= 3
        assert table["epochs"][0] == 3, "the model's own configuration ran to its end"
        assert search.best.score >= table["score"][0]
        assert {*table["stop"]} <= {"finished", "stopped by asha", BUDGET}
        best = yaml.safe_load((folder / "best.yaml").read_text())
        assert ("heads" in best) == (model == "tiny-self-attention")
        write_search(folder, search)
    timing = json.loads(Path("results/timing/search/hunt.json").read_text())
    assert {trial["model"] for trial in timing["trials"]} == {*BOTH}
