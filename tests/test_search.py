"""Searches: spaces are checked before Ray starts, draws depend on the seed, winners are real."""

import csv
import importlib.util
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from heed.cli import stages, studies
from heed.files import CHECKSUMS, HeedError, write_json, write_yaml
from heed.recipe import read_model_recipe
from heed.search.adopt import adopt
from heed.search.cluster import AUTOSCALER, _temporary_folder, kill_autoscaler, read_address
from heed.search.outcome import (
    ASHA,
    FAILED,
    FINISHED,
    Trial,
    expected_best,
    explain_no_expected_best,
    summarize,
    winner,
)
from heed.search.space import Space, draw
from heed.search.stage import run_search
from heed.search.trainable import read_reports
from heed.study import Dimension, Search, load, parse
from heed.study.rules import is_valid_configuration
from heed.study.search_rules import search_space
from heed.study.searches import GROUPS
from heed.training.machine import machine_kind
from tests.conftest import ROOT

SPACE = (
    "{learning_rate: {loguniform: [0.001, 0.05]}, hidden_size: {integer: [2, 9]}, heads: {choice: "
    "[1, 2, 3, 4]}}"
)
STUDY = f"""study: {{name: tiny, title: Tiny}}
seeds: [1, 2]
sources: {{tiny: {{kind: table, path: tiny.csv, sha256: {"a" * 64}}}}}
corpora: {{tiny: {{source: tiny, kind: table, text_column: text, label_column: kind,
    split: {{kind: random, test: 0.2}}}}}}
experiments: {{tiny: {{task: classification, corpus: tiny, data: {{label: kind}}, title: Tiny}}}}
searches:
  hunt: # for heads that fit
    corpus: tiny
    experiment: tiny
    model: tiny-attention
    after: none
    trials: 4
    epochs: 3
    scheduler: none
    space: {SPACE}
defaults: {{classification: {{vocabulary_size: 50, max_tokens: 12, embedding_dim: 8, hidden_size: 6,
    linear_size: 5, pooling: mean, epochs: 5, batch_size: 8, learning_rate: 0.01, device: cpu,
    dropout: 0.2}}}}
models:
  tiny-baseline: {{experiment: tiny, corpus: tiny, variant: baseline, tuned_by: none,
      match: tiny-baseline}}
  # the one that is searched
  tiny-attention: {{experiment: tiny, corpus: tiny, variant: attention, tuned_by: hunt,
      match: tiny-attention, attention: multi-head, heads: 3}}
  tiny-wide: {{experiment: tiny, corpus: tiny, variant: wide, tuned_by: hunt,
      match: tiny-attention}}
"""


def heed(*command: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "heed.cli", *command],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


@pytest.fixture
def study(workplace: Path) -> Path:
    """A folder with the corpus `tiny`, a study that searches on it."""
    Path("params.yaml").write_text(STUDY)
    return workplace


# --- the space ------------------------------------------------------------------------------------

WRONG = [
    (
        "learning_rate: {loguniform",
        "learning_rte: {loguniform",
        "space.learning_rte",
        "did you mean learning_rate?",
    ),
    (
        "loguniform: [0.001, 0.05]",
        "loguniform: [0, 0.05]",
        "space.learning_rate",
        "needs numbers above 0, found [0",
    ),
    (
        "loguniform: [0.001, 0.05]",
        "loguniform: [0.05, 0.001]",
        "space.learning_rate",
        "from a smaller to a larger number",
    ),
    (
        "loguniform: [0.001, 0.05]",
        "loguniform: [0.001]",
        "space.learning_rate.loguniform",
        "at least 2 items",
    ),
    (
        "loguniform: [0.001, 0.05]",
        "logunifrom: [0.001, 0.05]",
        "space.learning_rate.logunifrom",
        "did you mean loguniform?",
    ),
    (
        "loguniform: [0.001, 0.05]",
        "integer: [1, 5]",
        "space.learning_rate",
        "use uniform or loguniform",
    ),
    ("{loguniform: [0.001, 0.05]}", "[0.001, 0.05]", "space.learning_rate", "found [0.001, 0.05]"),
    (
        "{loguniform: [0.001, 0.05]}",
        "{}",
        "space.learning_rate",
        "exactly one of uniform, loguniform, integer, choice; found none",
    ),
    (
        "{loguniform: [0.001, 0.05]}",
        "{uniform: [0.1, 0.2], choice: [1, 2]}",
        "space.learning_rate",
        "found uniform and choice",
    ),
    ("integer: [2, 9]", "uniform: [2, 9]", "space.hidden_size", "use integer or choice"),
    ("integer: [2, 9]", "integer: [0, 9]", "space.hidden_size", "greater than 0, found 0"),
    ("integer: [2, 9]", "choice: [2, 2]", "space.hidden_size", "names a value twice"),
    ("integer: [2, 9]", "choice: [2, big]", "space.hidden_size", "valid integer, found 'big'"),
    (
        "hidden_size: {integer: [2, 9]}",
        "dropout: {uniform: [0.5, 1.0]}",
        "space.dropout",
        "less than 1, found 1.0",
    ),
    (
        "hidden_size: {integer",
        "epochs: {integer",
        "space.epochs",
        "the winner's best epoch is kept",
    ),
    (
        "hidden_size: {integer",
        "precision: {integer",
        "space.precision",
        "it is a property of the machine",
    ),
    (
        "hidden_size: {integer: [2, 9]}",
        "attention: {choice: [none, multi-head]}",
        "space.attention",
        "needs attention",
    ),
    (
        "model: tiny-attention",
        "model: tiny-baseline",
        "space.heads",
        "has no effect: model tiny-baseline has attention: none",
    ),
    (
        "model: tiny-attention",
        "model: tiny-wide",
        "model",
        "takes its hyperparameters from tiny-attention",
    ),
    ("model: tiny-attention", "model: tiny-atention", "model", "did you mean tiny-attention?"),
    (
        "    experiment: tiny",
        "    experiment: other",
        "experiment",
        "model tiny-attention has experiment tiny, found other",
    ),
    (
        "    corpus: tiny\n",
        "    corpus: other\n",
        "corpus",
        "tiny follows from the rest, found other: remove `corpus`",
    ),
    ("after: none", "after: hunt", "after", "stands in the section `later_searches`: move hunt"),
    ("    epochs: 3", "    seed: 2", "seed", "the study's seeds are [1, 2]"),
    ("    epochs: 3", "    gpu: 2", "gpu", "less than or equal to 1"),
    ("scheduler: none", "scheduler: halving", "scheduler", "'asha' or 'none'"),
    (
        "scheduler: none",
        "grace_period: 4",
        "grace_period",
        "at most the epochs of a trial, 3, found 4",
    ),
    (
        "scheduler: none",
        "reports: 4\n    grace_period: 0.3",
        "grace_period",
        "a multiple of 1/reports of an epoch, 1/4, found 0.3",
    ),
    ("scheduler: none", "reports: 0", "reports", "greater than 0"),
    ("trials: 4", "trails: 4", "trails", "did you mean trials?"),
    ("trials: 4", "trials: -1", "trials", "greater than or equal to 0"),
    (f"    space: {SPACE}\n", "", "space", "nothing to search"),
    (
        "{learning_rate:",
        "{vectors: {choice: [none, tuned]}, learning_rate:",
        "space.vectors",
        "tuned, and sources.tiny has no word vectors",
    ),
    (
        "{learning_rate:",
        "{vectors: {choice: [none, tuned]}, embedding_dim: {choice: [4, 8]}, learning_rate:",
        "space",
        "vectors and embedding_dim together",
    ),
    (f"    space: {SPACE}\n", "    groups: [group-3]\n", "groups.0", "'group-1' or 'group-2'"),
]


@pytest.mark.parametrize(
    ("right", "wrong", "key", "message"), WRONG, ids=[f"{w[2]}: {w[1]}"[:60] for w in WRONG]
)
def test_a_mistake_in_a_search_is_named_with_line_and_key(right, wrong, key, message):
    assert right in STUDY
    text = STUDY.replace(right, wrong, 1)
    with pytest.raises(HeedError) as caught:
        parse(text)
    first = next(
        line
        for line in str(caught.value).splitlines()
        if f": searches.hunt.{key}: " in line and message in line
    )
    line = text.splitlines()[int(first.split(":")[1]) - 1]
    assert key.split(".")[1 if key.startswith("space.") else 0] in line or "hunt:" in line, first


def test_compared_variants_get_the_same_budget():
    other = (
        "  other: {corpus: tiny, experiment: tiny, model: tiny-baseline, after: none, trials: 8, "
        "epochs: 3, "
        "scheduler: none, space: {dropout: {uniform: [0, 0.5]}}}\n"
    )
    text = STUDY.replace("defaults:", other + "defaults:")
    with pytest.raises(
        HeedError,
        match=(
            r"searches.other.trials: compared variants get the same budget: 8 here, 4 in search "
            r"hunt"
        ),
    ):
        parse(text)
    assert parse(text.replace("trials: 8", "trials: 4"))
    with pytest.raises(
        HeedError, match=r"searches.other.epochs: .*: 5 here, 3 in search hunt"
    ):  # the model's own epochs
        parse(text.replace("trials: 8, epochs: 3", "trials: 4"))


def test_the_groups_hold_every_value_that_the_talk_chose():
    columns = {"lstm_hidden": "hidden_size"}
    with (ROOT / "data/published/talk_results.csv").open() as file:
        rows = list(csv.DictReader(file))
    dimensions = {key: dimension for group in GROUPS.values() for key, dimension in group.items()}
    checked = 0
    for row in rows:
        for column, value in row.items():
            if (dimension := dimensions.get(columns.get(column, column))) is None:
                continue
            if column == "heads" and value == "0":  # without attention
                continue
            low, high = min(dimension.values), max(dimension.values)
            assert low <= float(value) <= high, (column, value)
            assert dimension.kind != "choice" or float(value) in dimension.values, (column, value)
            checked += 1
    assert checked > 80


def test_a_group_offers_heads_only_where_there_are_some():
    study = parse(
        STUDY.replace(
            f"space: {SPACE}",
            "groups: [group-1, group-2]\n    space: {dropout: {choice: [0.1, 0.2]}}",
        )
    )
    dimensions = search_space(study, "hunt")
    assert {*dimensions} == {*GROUPS["group-1"], *GROUPS["group-2"]}
    assert dimensions["dropout"].kind == "choice", "`space` overrides the groups"
    plain = study.searches["hunt"].model_copy(update={"model": "tiny-baseline"})
    of_baseline = study.model_copy(update={"searches": {"hunt": plain}})
    assert "heads" not in search_space(of_baseline, "hunt")


def any_configuration(configuration) -> bool:
    return True


def test_the_same_seed_draws_the_same_and_more_trials_begin_with_the_same():
    dimensions = parse(STUDY).searches["hunt"].space
    ten = draw(dimensions, 10, 1000, any_configuration)
    assert draw(dimensions, 10, 1000, any_configuration) == ten
    assert draw(dimensions, 4, 1000, any_configuration) == ten[:4]
    assert draw(dimensions, 10, 1001, any_configuration) != ten
    for configuration in ten:
        assert [*configuration] == ["learning_rate", "hidden_size", "heads"]
        assert 0.001 <= configuration["learning_rate"] <= 0.05
        assert configuration["learning_rate"] == float(f"{configuration['learning_rate']:.4g}")
        assert configuration["hidden_size"] in range(2, 10)
    yaml_and_back = yaml.safe_load(yaml.safe_dump(ten))
    assert yaml_and_back == ten, "best.yaml says what was tried, to the last digit"


def test_every_kind_of_dimension_covers_its_span():
    space = {
        "learning_rate": Dimension(loguniform=[0.001, 1.0]),
        "dropout": Dimension(uniform=[0.0, 0.5]),
        "heads": Dimension(integer=[1, 3]),
    }
    drawn = pd.DataFrame(draw(space, 300, 7, any_configuration))
    assert {*drawn["heads"]} == {1, 2, 3}
    thirds = np.histogram(np.log10(drawn["learning_rate"]), bins=[-3, -2, -1, 0])[0]
    assert thirds.sum() == 300
    assert thirds.min() > 70, "each order of magnitude as often"
    assert np.histogram(drawn["dropout"], bins=5, range=(0, 0.5))[0].min() > 35


def test_heads_always_divide_the_states_and_each_number_of_heads_comes_as_often():
    study = parse(STUDY.replace("choice: [1, 2, 3, 4]", "choice: [1, 7, 8]"))
    space = study.searches["hunt"].space | {"hidden_size": Dimension(integer=[4, 60])}
    drawn = draw(space, 150, 3, lambda c: is_valid_configuration(study, "tiny-attention", c))
    assert all(2 * c["hidden_size"] % c["heads"] == 0 for c in drawn)
    counts = [sum(c["heads"] == heads for c in drawn) for heads in (1, 7, 8)]
    assert min(counts) > 30, counts


def test_configurations_are_different_and_a_space_that_has_too_few_is_one_line(study):
    space = {"heads": Dimension(choice=[1, 2]), "batch_size": Dimension(choice=[4, 8])}
    assert len({json.dumps(c) for c in draw(space, 4, 1, any_configuration)}) == 4
    with pytest.raises(HeedError, match=r"too few configurations: 4 found of 5 trials"):
        draw(space, 5, 1, any_configuration)
    text = STUDY.replace("integer: [2, 9]", "choice: [6, 12]").replace(
        "choice: [1, 2, 3, 4]", "choice: [5, 7]"
    )
    with pytest.raises(
        HeedError,
        match=r"^params.yaml: searches.hunt.space: the space has too few configurations: 0 found",
    ):
        run_search(parse(text), "hunt", Path("results/search/tiny"), Path("data/tokens/tiny"), 1)


# --- the results of a search ----------------------------------------------------------------------


def trial(number: int, *scores: float, stop: str = FINISHED) -> Trial:
    rows = [
        {
            "epoch": i,
            "train_loss": 1.0,
            "validation_loss": 1 - s,
            "validation_accuracy": s,
            "validation_macro_f1": s,
        }
        for i, s in enumerate(scores, 1)
    ]
    return Trial(number, {"heads": number + 1}, rows, stop)


def test_the_winner_is_the_best_then_the_shortest_then_the_first():
    assert winner([trial(0, 0.5, 0.6), trial(1, 0.7, 0.2)], "accuracy").number == 1
    assert winner([trial(0, 0.5, 0.7), trial(1, 0.7, 0.2), trial(2, 0.7)], "accuracy").number == 1
    assert winner([trial(0, 0.5, 0.7), trial(1, 0.7)], "loss").number == 1
    assert trial(0, 0.5, 0.7, 0.7).best_epoch("accuracy") == 2, (
        "the earliest of equals, as training keeps it"
    )
    assert winner([trial(0, float("nan")), trial(1, 0.1), trial(2)], "accuracy").number == 1
    assert winner([trial(0)], "accuracy") is None


@pytest.mark.parametrize("metric", ["accuracy", "loss"])
def test_the_expected_best_is_the_mean_over_all_draws(metric):
    """Dodge et al. 2019: with N scores, the mean of the best over all N^n draws of n with
    replacement.
    """
    scores, best = [0.3, 0.9, 0.5, 0.6], max if metric == "accuracy" else min
    for n, expected in enumerate(expected_best(scores, metric), 1):
        assert expected == pytest.approx(
            np.mean([best(draws) for draws in itertools.product(scores, repeat=n)])
        )


def test_the_expected_best_is_given_only_where_its_assumption_holds():
    finished = [trial(0, 0.5), trial(1, 0.6)]
    assert summarize(finished, "accuracy", "random")["expected_best"] == {
        "scores": pytest.approx([0.55, 0.575])
    }
    for trials, sampler, reason in [
        (finished, "tpe", "no independent draws"),
        ([*finished, trial(2, 0.1, stop=ASHA)], "random", "1 of 3 trials did not run to their end"),
        ([*finished, trial(2, stop=FAILED)], "random", "1 of 3 trials"),
    ]:
        text, values = explain_no_expected_best(trials, sampler)
        assert reason in text.format(**values)
        assert summarize(trials, "accuracy", sampler)["expected_best"] == {
            "reason": text,
            "values": values,
        }


def test_after_a_kill_asha_gets_the_scores_reported_before(study):
    from heed.progress import Bar
    from heed.search.progress import SearchProgress
    from heed.search.stage import make_plan
    from heed.search.tuner import TrialMonitor, _scheduler

    params = parse(STUDY.replace("scheduler: none", "reduction_factor: 2"))
    plan = make_plan(params, "hunt", {}, Path("data/tokens/tiny"))
    for number, score in enumerate((0.9, 0.8)):
        plan.trial_folder(number).mkdir(parents=True)
        ended = trial(number, score, score, score)
        (plan.trial_folder(number) / "ended.json").write_text(
            json.dumps({"history": ended.history, "stop": FINISHED})
        )
        (plan.trial_folder(number) / "reported.jsonl").write_text(
            f"[1, {score}]\n[2, {score}]\n[3, {score}]\n[4, 0"
        )
    monitor = TrialMonitor(plan, [{"heads": n} for n in range(4)], 4, SearchProgress(Bar("hunt")))
    assert {*monitor.ended} == {0, 1}
    asha = _scheduler(params.searches["hunt"], monitor)

    def decision(score: float) -> str:
        late = type("", (), {"trial_id": f"late-{score}"})
        asha.on_trial_add(None, late)
        return asha.on_trial_result(None, late, {"report": 1, "score": score})

    assert decision(0.95) == "CONTINUE"
    assert decision(0.1) == "STOP", "without the earlier scores it would continue the first trials"


def test_after_a_kill_tpe_learns_from_trainings_that_diverged(study):
    from heed.progress import Bar
    from heed.search.progress import SearchProgress
    from heed.search.stage import make_plan
    from heed.search.tuner import TrialMonitor, _sampling

    params = parse(STUDY)
    plan = make_plan(params, "hunt", {}, Path("data/tokens/tiny"))
    search = params.searches["hunt"]
    space = search.space
    drawn = draw(space, 1, 1, lambda _: True)[0]
    for number, (history, stop) in enumerate([(trial(0, 0.9).history, FINISHED), ([], FAILED)]):
        plan.trial_folder(number).mkdir(parents=True)
        write_json(plan.trial_folder(number) / "configuration.json", drawn)
        write_json(plan.trial_folder(number) / "ended.json", {"history": history, "stop": stop})
    (plan.trial_folder(1) / "diverged.txt").write_text("the training diverged")
    monitor = TrialMonitor(plan, [drawn, drawn], 4, SearchProgress(Bar("hunt")))
    _, settings = _sampling(plan, search, Space(space, lambda _: True, None), monitor)
    assert [told.value for told in settings["search_alg"].study.trials] == [0.9, -1e30]


def test_the_reports_of_a_trial_are_read_up_to_a_truncated_line(tmp_path):
    assert read_reports(tmp_path) == {}
    (tmp_path / "reported.jsonl").write_text("[1, 0.5]\n[4, 0.75]\n[4, 0.75]\n[5, 0")
    assert read_reports(tmp_path) == {1: 0.5, 4: 0.75}


def test_tpe_draws_valid_configurations_and_resumes_the_trials_drawn_before_a_kill(study):
    from heed.search.sampler import Tpe
    from heed.search.stage import make_plan

    params = parse(STUDY)
    plan, search = make_plan(params, "hunt", {}, Path("data/tokens/tiny")), params.searches["hunt"]
    space = search.space | {"bigram_buckets": Dimension(integer=[0, 3])}

    def tpe(ended: dict[int, float | None]) -> Tpe:
        return Tpe(
            space,
            12,
            1000,
            lambda c: is_valid_configuration(params, "tiny-attention", c),
            plan.trial_folder,
            ended,
        )

    def drawn(sampler: Tpe, count: int) -> list[dict]:
        trials = []
        for _ in range(count):
            trial = sampler.suggest(f"t{len(sampler.drawn)}-{count}-{len(trials)}")["trial"]
            trials.append(trial)
            score = float(trial["configuration"]["learning_rate"])
            sampler.on_trial_complete([*sampler._ot_trials][-1], {"best": score})
        return trials

    first = drawn(tpe({}), 6)
    assert [trial["number"] for trial in first] == [*range(6)]
    for trial in first:
        c = trial["configuration"]
        assert 2 * c["hidden_size"] % c["heads"] == 0
        assert c["learning_rate"] == float(f"{c['learning_rate']:.4g}")
    again = tpe({0: 0.1, 1: 0.2, 3: None})
    assert drawn(again, 3) == [first[2], first[4], first[5]], (
        "trials that had not ended come first, unchanged"
    )
    more = drawn(again, 6)
    assert [trial["number"] for trial in more] == [*range(6, 12)]
    assert again.suggest("one too many") == "FINISHED"
    assert len({json.dumps(trial["configuration"]) for trial in first + more}) == 12


# --- real searches --------------------------------------------------------------------------------


def marked(mark: str) -> list[str]:
    """Return the command lines of all processes with this mark in their environment."""
    commands = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                commands.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return commands


def gone(mark: str, timeout: float = 20.0) -> bool:
    """Whether all processes with this mark end within `timeout` seconds."""
    end = time.monotonic() + timeout
    while marked(mark):
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


FILES = [CHECKSUMS, "best.yaml", "epochs.csv", "search.json", "trials.csv"]


def test_a_search_on_one_machine_finds_a_winner_that_is_real_and_leaves_nothing(study, tmp_path):
    home, temporary = tmp_path / "home", tmp_path / "t"
    home.mkdir()
    temporary.mkdir()
    mark = "HEED_MARK=one-machine"
    done = heed(
        "search",
        "hunt",
        HEED_MARK="one-machine",
        HEED_THREADS="2",
        HOME=str(home),
        TMPDIR=str(temporary),
    )
    assert done.returncode == 0, done.stderr
    assert gone(mark), marked(mark)
    assert [*home.iterdir()] == [], "no token, no statistics, no settings in the home folder"
    assert not [*temporary.glob("heed-ray-*")]
    assert [*Path(".heed/work").iterdir()] == [], "the work folder goes on success"
    assert "trial" in done.stdout
    # on a busy machine there are more lines of progress, one a minute
    lines = (done.stdout + done.stderr).splitlines()
    lines = [line for line in lines if not re.match(r"hunt: [0-3] of 4 trials ended", line)]
    assert len(lines) == 3, lines
    assert_results_are_those_of_four_trials(Path("results/search/tiny/hunt"))
    assert_the_winner_is_the_training_outside_ray(Path("results/search/tiny/hunt"))


def assert_results_are_those_of_four_trials(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == FILES
    results = json.loads((folder / "search.json").read_text())
    params, trials = load(), pd.read_csv(folder / "trials.csv")
    space = params.searches["hunt"].space
    drawn = draw(space, 4, 1000, lambda c: is_valid_configuration(params, "tiny-attention", c))
    assert trials[[*space]].to_dict("records") == drawn
    assert (trials["epochs"] == 3).all()
    assert (trials["stop"] == FINISHED).all()
    assert len(results["expected_best"]["scores"]) == 4
    best = drawn[results["best"]["trial"]]
    best |= {"epochs": results["best"]["epoch"], "select": "accuracy"}
    assert yaml.safe_load((folder / "best.yaml").read_text()) == best
    timing = json.loads(Path("results/timing/search/hunt.json").read_text())
    assert {len(t["starts"]) for t in timing["trials"]} == {1}
    assert {t["starts"][0]["machine_kind"] for t in timing["trials"]} == {machine_kind("cpu")}
    workers = {t["starts"][0]["pid"] for t in timing["trials"]}
    assert len(workers) <= 2, (
        "two cores, at most two workers (a slow one may come too late), each for several trials"
    )


def assert_the_winner_is_the_training_outside_ray(folder: Path) -> None:
    """`heed train` with the winner's recipe and the search's seed gives the epochs of the trial."""
    winner = json.loads((folder / "search.json").read_text())["best"]
    best = yaml.safe_load((folder / "best.yaml").read_text())
    stages.recipe("tiny-attention")
    stages.recipe("tiny-wide")
    assert read_model_recipe("tiny-attention").as_dict()["hyperparameters"].items() >= best.items()
    assert read_model_recipe("tiny-wide").hyperparameters.learning_rate == best["learning_rate"]
    stages.train("tiny-attention", [1000])
    outside = pd.read_csv("results/train/tiny-attention/1000/history.csv")
    epochs = pd.read_csv(folder / "epochs.csv")
    inside = epochs[epochs["trial"] == winner["trial"]].drop(columns="trial")
    inside = inside.reset_index(drop=True)[: winner["epoch"]]
    pd.testing.assert_frame_equal(outside, inside, check_exact=True)
    assert outside["validation_accuracy"].iloc[-1] == winner["score"]
    run = json.loads(Path("results/train/tiny-attention/1000/run.json").read_text())
    assert run["best_epoch"] == winner["epoch"]


@pytest.mark.slow
@pytest.mark.drill("search: a trial whose training diverges", faults=2)
@pytest.mark.parametrize("settings", ["scheduler: none", "scheduler: asha\n    sampler: tpe"])
def test_a_trial_that_diverges_has_failed_and_the_search_goes_on(study, settings):
    space = "{learning_rate: {choice: [0.01, 1.0e+30]}, hidden_size: {choice: [3, 6]}}"
    text = STUDY.replace(SPACE, space).replace("scheduler: none", settings)
    Path("params.yaml").write_text(text)
    done = heed("search", "hunt", HEED_THREADS="2")
    assert done.returncode == 0, done.stderr
    trials = pd.read_csv("results/search/tiny/hunt/trials.csv")
    diverged = trials["learning_rate"] > 1
    assert diverged.sum() == 2
    assert (trials["stop"] == FAILED).tolist() == diverged.tolist()
    assert trials["score"].isna().tolist() == diverged.tolist()
    best = yaml.safe_load(Path("results/search/tiny/hunt/best.yaml").read_text())
    assert best["learning_rate"] < 1
    reasons = [line for line in done.stdout.splitlines() if "the training diverged" in line]
    assert len(reasons) == 2 and "learning rate 1e+30" in reasons[0]
    timing = json.loads(Path("results/timing/search/hunt.json").read_text())
    assert {len(trial["starts"]) for trial in timing["trials"]} == {1}, "it would diverge again"


@pytest.mark.slow
@pytest.mark.drill("search: a trial whose training diverges")
def test_a_search_whose_trials_all_diverge_is_one_message(study):
    only = SPACE.replace("loguniform: [0.001, 0.05]", "loguniform: [1.0e+30, 1.0e+31]")
    Path("params.yaml").write_text(STUDY.replace(SPACE, only))
    done = heed("search", "hunt", HEED_THREADS="2")
    assert done.returncode == 1 and "every trial failed; the first: model tiny" in done.stderr
    assert "Traceback" not in done.stderr


def test_with_0_trials_a_search_keeps_the_configured_hyperparameters(study):
    Path("params.yaml").write_text(STUDY.replace("trials: 4", "trials: 0"))
    done = heed("search", "hunt")
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(Path("results/search/tiny/hunt/best.yaml").read_text()) == {}
    assert not Path(".heed/work").exists()
    stages.recipe("tiny-attention")
    assert read_model_recipe("tiny-attention").hyperparameters.learning_rate == 0.01


def test_a_search_after_another_starts_from_its_winner(study):
    from heed.search.stage import make_plan

    second = (
        "later_searches:\n"
        "  second: {experiment: tiny, model: tiny-attention, after: hunt, trials: "
        "2, scheduler: none, space: {dropout: {uniform: [0, 0.5]}}}\n"
    )
    params = parse(STUDY.replace("defaults:", second + "defaults:"))
    before = {"learning_rate": 0.02, "epochs": 2, "select": "accuracy"}
    h = make_plan(params, "second", before, Path("data/tokens/tiny")).recipe.hyperparameters
    assert (h.learning_rate, h.epochs) == (0.02, 5), "its winner, but the epochs of this search"
    Path("results/search/tiny/hunt").mkdir(parents=True)
    write_yaml(Path("results/search/tiny/hunt/best.yaml"), before)
    none = parse(STUDY.replace("defaults:", second.replace("trials: 2", "trials: 0") + "defaults:"))
    run_search(none, "second", Path("results/search/tiny"), Path("data/tokens/tiny"), 1)
    assert yaml.safe_load(Path("results/search/tiny/second/best.yaml").read_text()) == before


def test_the_epochs_of_a_scheduled_learning_rate_stay(study):
    from heed.search.stage import epochs_and_select, make_plan

    best_in_epoch_2 = trial(0, 0.5, 0.7, 0.6)
    for extra, epochs in (("", 2), (", decay: linear", 3), (", warmup: 0.1", 3)):
        params = parse(STUDY.replace("dropout: 0.2}", f"dropout: 0.2{extra}}}"))
        plan = make_plan(params, "hunt", {}, Path("data/tokens/tiny"))
        assert epochs_and_select(plan, best_in_epoch_2)["epochs"] == epochs, (
            "fewer epochs would be another learning rate"
        )


def test_options_about_where_trials_run_do_not_restart_a_search(study):
    from heed.search.stage import make_plan

    def work_folder(text: str) -> Path:
        return make_plan(parse(text), "hunt", {}, Path("data/tokens/tiny")).work

    first = work_folder(STUDY)
    assert work_folder(STUDY.replace("trials: 4", "trials: 4\n    concurrent: 2")) == first
    for change in (
        ("trials: 4", "trials: 5"),
        ("[2, 9]", "[2, 8]"),
        ("epochs: 3", "epochs: 4"),
        ("linear_size: 5", "linear_size: 6"),
    ):
        assert work_folder(STUDY.replace(*change)) != first


def test_word_vectors_of_another_size_are_said_before_a_trial_starts(study):
    from heed.search.stage import make_plan

    text = STUDY.replace(
        "path: tiny.csv,", f"path: tiny.csv, vectors: v, vectors_sha256: {'a' * 64},"
    )
    text = text.replace("{learning_rate:", "{vectors: {choice: [none, tuned]}, learning_rate:")
    path = Path("data/tokens/tiny/meta.json")
    meta = json.loads(path.read_text())
    path.write_text(json.dumps(meta | {"vectors": {"size": 300, "types": 1.0, "tokens": {}}}))
    message = r"searches\.hunt\.space\.vectors: embedding_dim is \d+, and the word vectors .* 300"
    with pytest.raises(HeedError, match=message):
        make_plan(parse(text), "hunt", {}, Path("data/tokens/tiny"))


# --- heed adopt -----------------------------------------------------------------------------------


def write_results(folder: Path = Path("results/search/tiny/hunt")) -> dict:
    best = {"learning_rate": 0.02, "hidden_size": 8, "heads": 4, "epochs": 2, "select": "accuracy"}
    folder.mkdir(parents=True)
    write_yaml(folder / "best.yaml", best)
    trial = {"trial": 2, "configuration": {"heads": 4}, "score": 0.75, "stop": "finished"}
    results = {
        "search": "hunt", "model": "tiny-attention", "sampler": "random", "scheduler": "none",
        "seed": 1000, "space": {}, "metric": "accuracy",
        "best": {"trial": 2, "score": 0.75, "epoch": 2}, "epochs": 8, "trials": [trial] * 4,
        "expected_best": {},
    }  # fmt: skip
    (folder / "search.json").write_text(json.dumps(results))
    return best


def test_adopt_writes_the_winner_where_git_shows_it_and_changes_no_recipe(study, capsys):
    best = write_results()
    for model in ("tiny-attention", "tiny-wide"):
        stages.recipe(model)
    before = {path.name: path.read_bytes() for path in Path("results/recipe").iterdir()}
    studies.adopt("hunt")
    assert (
        "tiny-attention, tiny-wide took trial 2 of 4, validation accuracy 0.7500 of search hunt"
        in capsys.readouterr().out
    )
    text = Path("params.yaml").read_text()
    assert "# the one that is searched" in text
    assert "# for heads that fit" in text
    assert "# adopted from search hunt: trial 2 of 4" in text
    params = load()
    assert params.models["tiny-attention"].overrides() == {"attention": "multi-head"} | best
    assert params.models["tiny-attention"].tuned_by == params.models["tiny-wide"].tuned_by == "none"
    assert params.searches["hunt"].trials == 0
    for model in ("tiny-attention", "tiny-wide"):
        stages.recipe(model)
    assert {path.name: path.read_bytes() for path in Path("results/recipe").iterdir()} == before, (
        "no training is stale"
    )
    with pytest.raises(HeedError, match="trials is 0: there is no winner to adopt"):
        studies.adopt("hunt")


def test_the_winner_replaces_a_preset_and_so_it_does_when_adopted(study):
    text = STUDY.replace("heads: 3}", "preset: quick}").replace(
        "defaults: {", "defaults: {presets: {quick: {heads: 3, hidden_size: 9, dropout: 0.4}}, "
    )
    Path("params.yaml").write_text(text)
    assert load().hyperparameters("tiny-attention").hidden_size == 9
    best = write_results()
    recipes = []
    for _ in range(2):
        for model in ("tiny-attention", "tiny-wide"):
            stages.recipe(model)
        recipes.append([path.read_bytes() for path in sorted(Path("results/recipe").iterdir())])
        if len(recipes) == 1:
            studies.adopt("hunt")
    assert recipes[0] == recipes[1]
    recipe = yaml.safe_load(Path("results/recipe/tiny-attention.yaml").read_text())
    assert recipe["hyperparameters"].items() >= {**best, "dropout": 0.4}.items()
    wide = yaml.safe_load(Path("results/recipe/tiny-wide.yaml").read_text())["hyperparameters"]
    assert (wide["dropout"], wide["attention"]) == (0.4, "none")


def test_adopt_without_a_result_is_one_line_and_changes_nothing(study):
    for name, message in (("hunt", "Run: heed search hunt"), ("hnt", "did you mean hunt?")):
        with pytest.raises(HeedError, match=message.replace("?", r"\?")):
            adopt(name, Path("params.yaml"), Path("results/search"))
    assert Path("params.yaml").read_text() == STUDY


def test_only_the_folders_of_searches_that_have_ended_are_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="t", dir="/tmp"))  # short enough for Ray
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(folder))
    ended = subprocess.Popen(["true"])
    ended.wait()
    running, others = folder / f"heed-ray-{os.getpid()}-1", folder / "heed-ray-notes-2026"
    old = folder / f"heed-ray-{ended.pid}-1"
    try:
        for path in (running, others, old):
            path.mkdir()
        with _temporary_folder() as new:
            assert {*folder.iterdir()} == {running, others, Path(new)}
        assert {*folder.iterdir()} == {running, others}
    finally:
        shutil.rmtree(folder)


# --- the address of a cluster ---------------------------------------------------------------------


def test_the_address_of_a_cluster_is_in_the_environment_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HEED_RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")  # Ray's variable may be of other work
    assert read_address() == "local"
    monkeypatch.setenv("HEED_RAY_ADDRESS", "10.0.0.2:6379")
    assert read_address() == "10.0.0.2:6379"
    assert "address" not in Search.model_fields


@pytest.mark.parametrize(
    ("arguments", "environment", "instead"),
    [
        (("--address", "127.0.0.1:9"), {}, "leave out --address"),
        (("--address", "127.0.0.1:9"), {"HEED_RAY_ADDRESS": "127.0.0.1:8"}, "leave out --address"),
        ((), {"HEED_RAY_ADDRESS": "127.0.0.1:9"}, "unset HEED_RAY_ADDRESS"),
    ],
    ids=["argument", "both", "environment"],
)
@pytest.mark.slow
def test_the_address_of_the_command_line_goes_before_that_of_the_environment(
    study: Path, arguments: tuple[str, ...], environment: dict[str, str], instead: str
) -> None:
    done = heed("search", "hunt", *arguments, **environment)
    assert done.returncode == 1
    assert done.stderr.startswith("heed: no Ray cluster at 127.0.0.1:9 (")
    assert instead in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_of_a_processs_children_only_rays_autoscaler_is_killed() -> None:
    packages = Path(importlib.util.find_spec("ray").origin).parent.parent
    assert (packages / AUTOSCALER).exists(), "this version of Ray has its autoscaler elsewhere"
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    other, autoscaler = subprocess.Popen(sleep), subprocess.Popen([*sleep, packages / AUTOSCALER])
    try:
        kill_autoscaler()
        assert autoscaler.wait(10) == -signal.SIGKILL and other.poll() is None
    finally:
        for process in (other, autoscaler):
            process.kill()
            process.wait()
