"""One study is active; edits are not overwritten, nor does a study from elsewhere harm."""

import copy
import dataclasses
import json
import re
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from heed import study
from heed.cli import commands, stages
from heed.evaluation.results import NOT_CONVERGED, write_comparison
from heed.files import HeedError
from heed.study.reader import note_looks, require_looked, set_seeds
from heed.study.studies import activate_study, format_studies
from tests.conftest import ROOT, run_heed
from tests.fixtures.report import made_up
from tests.makers.hostile_names import NAMES, with_name
from tests.makers.hostile_names import PARAMS as TOY


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "clone"
    shutil.copytree(ROOT / "workflow/studies", root / "workflow/studies")
    shutil.copy(root / "workflow/studies/sample.yaml", root / "params.yaml")
    monkeypatch.chdir(root)
    return root


def test_the_sample_study_is_what_params_yaml_holds_as_committed() -> None:
    paths = ("params.yaml", "workflow/studies/sample.yaml")
    active, sample = ((ROOT / path).read_text() for path in paths)
    if "name: sample" not in active:
        pytest.skip("another study is active in this clone")
    assert active.split("\n")[1:] == sample.split("\n")[1:], "but for the path of the schema"


def test_every_study_is_listed_and_the_active_one_is_marked(clone: Path) -> None:
    listed = format_studies().splitlines()[1:]
    assert sorted(line.strip("* ").split()[0] for line in listed) == [
        "amounts", "encoder", "explanation", "explanation-sample", "federalist",
        "federalist-weights", "headlines", "imdb", "joined", "lectures", "letters", "sample",
        "scores-match", "talk", "translation", "translation-sample", "yelp",
    ]  # fmt: skip
    assert [line.split()[1] for line in listed if line.startswith("*")] == ["sample"]


ONE_LINE = re.compile(r"# +(letters: \{source: letters, kind: letters, .*\})\n")


def test_one_line_gives_the_talk_the_published_letters(tmp_path, monkeypatch) -> None:
    """With files of their form; the published train file is not where this runs."""
    text = (ROOT / "workflow/studies/talk.yaml").read_text()
    published = ONE_LINE.findall(text)[0]
    pieces = r"(?m)^  letters: \{source: letters, kind: letters-pieces.*$"
    changed = re.sub(pieces, f"  {published}", text)
    assert sum(a != b for a, b in zip(text.split("\n"), changed.split("\n"), strict=True)) == 1
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(changed)
    params = study.load()
    assert params.files_of("letters") is None, "both"
    assert study.parse(text).files_of("letters") == ["classifier_data_eval.json"]
    raw = Path("data/raw/letters")
    raw.mkdir(parents=True)
    for name, count in (("classifier_data_train.json", 60), ("classifier_data_eval.json", 20)):
        same = {"year": "1900", "lang": "de"}
        texts = [(f"{name} {n}", f"{n}.json", "ab"[n % 2]) for n in range(count)]
        rows = (same | dict(zip(("text", "file", "author"), row, strict=True)) for row in texts)
        (raw / name).write_text("\n".join(map(json.dumps, rows)))
    stages.tokenize("letters")
    splits = pd.read_parquet("data/tokens/letters/documents.parquet")
    assert Counter(splits["split"]) == {"train": 57, "validation": 3, "test": 20}
    assert splits.query("split == 'test'")["id"].str.startswith("classifier_data_eval/").all()


def test_activating_a_study_validates_it_and_returns_its_cost(clone: Path) -> None:
    message = activate_study("talk", force=False)
    assert "talk is active now" in message
    assert "111 trainings (18 models of 2 to 10 seeds)" in " ".join(message.split())
    assert study.load().study.name == "talk"
    first = (clone / "params.yaml").read_text().partition("\n")[0]
    assert first == "# yaml-language-server: $schema=docs/params.schema.json"
    assert activate_study("talk", force=False).startswith("talk is active already")
    activate_study("sample", force=False)  # nothing was edited: no --force
    assert sorted(path.name for path in clone.iterdir()) == [".heed", "params.yaml", "workflow"]


def with_epochs(sample: str, epochs: int) -> str:
    return sample.replace("defaults: {}", f"defaults: {{classification: {{epochs: {epochs}}}}}")


def test_hand_edits_are_kept_as_a_study_and_with_a_mistake_not_without_force(clone: Path) -> None:
    sample = (clone / "params.yaml").read_text()
    (clone / "params.yaml").write_text(with_epochs(sample, 99))
    assert "studies/sample-edited.yaml: " in activate_study("talk", force=False)
    assert "epochs: 99" in (clone / "studies/sample-edited.yaml").read_text()
    wrong = with_epochs(sample, -1)
    (clone / "params.yaml").write_text(wrong)
    with pytest.raises(HeedError, match=r"epochs: (.|\n)*overwrite it: heed study talk --force"):
        activate_study("talk", force=False)
    assert (clone / "params.yaml").read_text() == wrong
    activate_study("talk", force=True)
    assert study.load().study.name == "talk" and len([*clone.glob("studies/*")]) == 1
    (clone / "params.yaml").unlink()
    activate_study("sample", force=False)
    assert study.load().study.name == "sample"


def add_max(experiment: str = "place") -> None:
    text = Path("params.yaml").read_text()
    line = f"  {experiment}-max: {{experiment: {experiment}, pooling: max}}\n"
    Path("params.yaml").write_text(re.sub(r"(?m)^models:.*\n", rf"\g<0>{line}", text))


def test_an_edited_study_of_heeds_is_kept_as_one_of_the_users(clone: Path) -> None:
    add_max()
    sample = (clone / "workflow/studies/sample.yaml").read_text().split("\n", 1)[1]
    assert "studies/sample-edited.yaml: " in activate_study("talk", force=False)
    kept = study.load("studies/sample-edited.yaml")
    assert kept.study.name == "sample-edited" and "place-max" in kept.models
    assert "news-max" not in kept.models
    activate_study("sample", force=False)
    assert Path("params.yaml").read_text().split("\n", 1)[1] == sample
    add_max()
    add_max("news")  # another edit of the same study is another file, the same one none
    assert "studies/sample-edited-2.yaml: " in activate_study("talk", force=False)
    activate_study("sample", force=False)
    add_max()
    add_max("news")
    assert "studies/sample-edited-2.yaml: " in activate_study("talk", force=False)
    assert len([*clone.glob("studies/*")]) == 2


def test_an_unknown_or_wrong_study_is_an_error_and_changes_nothing(clone: Path) -> None:
    before = (clone / "params.yaml").read_text()
    message = r"no such study. Known: amounts, encoder, explanation-sample, .*, headlines, imdb, jo"
    with pytest.raises(HeedError, match=message):
        activate_study("tlak", force=False)
    (clone / "workflow/studies/talk.yaml").write_text(with_epochs(before, -1))
    message = r"workflow/studies/talk.yaml:\d+: defaults.classification.epochs"
    with pytest.raises(HeedError, match=message):
        activate_study("talk", force=True)
    assert (clone / "params.yaml").read_text() == before


NESTED = "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefgh"))
HUNT, ADDRESS = with_name("searches", "hunt"), "trials: 2, address: '10.0.0.1:6379'"
MALICIOUS = {what: with_name("corpora", name) for what, name in NAMES.items()} | {
    "a size that takes all memory": TOY.replace("hidden_size: 8", "hidden_size: 1000000000"),
    "aliases that expand": f"{TOY}a: &a [x, x, x, x, x, x, x, x, x]\n{NESTED}",
    "a host of Ray": HUNT.replace("trials: 2", ADDRESS),
}


@pytest.mark.parametrize("what", MALICIOUS)
def test_a_malicious_study_leaves_params_yaml_untouched(clone: Path, what: str) -> None:
    before = (clone / "params.yaml").read_bytes()
    Path("../elsewhere.yaml").write_text(MALICIOUS[what])
    with pytest.raises(HeedError, match=r"^\.\./elsewhere.yaml:\d+: "):
        activate_study("../elsewhere.yaml", force=True)
    assert (clone / "params.yaml").read_bytes() == before
    left = {path.name for path in clone.iterdir()}
    assert left == {"params.yaml", "workflow", ".heed"}  # the last has the lock of params.yaml


def test_a_study_from_elsewhere_becomes_active_once_it_is_checked(clone: Path) -> None:
    Path("../elsewhere.yaml").write_text(TOY)
    assert activate_study("../elsewhere.yaml", force=False).startswith("toy is active now")
    assert TOY in (clone / "params.yaml").read_text()
    with pytest.raises(HeedError, match=r"nowhere\.yaml: not there"):
        activate_study("nowhere.yaml", force=False)
    assert re.match("toy is active already", activate_study("../elsewhere.yaml", force=False))
    assert "studies/toy-edited.yaml: " in activate_study("sample", force=False)


def test_an_encoding_without_a_character_stops_nothing(clone: Path) -> None:
    rows = [f"Wörter sind schön {i},{('Köln', 'Bonn')[i % 2]}\n" for i in range(60)]
    Path("grüße.csv").write_text("".join(["text,label\n", *rows]), encoding="utf-8")
    command = ["corpus", "add", "grüße.csv", "--title", "Hilft es — bei Grüßen?"]
    done = run_heed(*command, LC_ALL="C")
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert "gr\\xfc\\xdfe.csv: 60 texts" in done.stdout or "grüße.csv: 60 texts" in done.stdout
    params = study.load()
    assert params.study.title == "Hilft es — bei Grüßen?"
    assert next(iter(params.sources["grusse"].copied_files())).path == "grüße.csv"


def compared(verdicts: list[str]) -> None:
    """Write the comparison of the active study, with these verdicts of the primary comparisons."""
    params, made = study.load(), made_up.comparison("sample")
    result = next(result for result in made.experiments.values() if result.control)
    experiments = {}
    for name, verdict in zip(params.experiments, verdicts, strict=True):
        rows = copy.deepcopy(result.comparisons)
        for first, others in result.comparisons.items():
            for second, pair in others.items():
                if pair.family == "primary":
                    rows[first][second] = dataclasses.replace(pair, verdict=verdict)
        own = params.experiments[name].seeds
        experiments[name] = dataclasses.replace(result, comparisons=rows, seeds=own)
    written = dataclasses.replace(made, seeds=params.seeds, experiments=experiments)
    write_comparison(Path("results/compare/comparison.json"), written)


def test_only_what_is_undecided_at_a_declared_look_trains_further_seeds(clone: Path) -> None:
    params = Path("params.yaml")
    text = params.read_text().replace("  name: sample\n", "  name: sample\n  looks: [3, 5, 10]\n")
    params.write_text(text)
    count = len(study.load().experiments)
    compared(["better", NOT_CONVERGED] + ["undecided"] * (count - 2))
    first, *others = study.load().experiments
    message = set_seeds(params, 5)
    assert message.endswith(f"Decided, and not trained further: {first}")
    found = study.load()
    assert found.seeds_of(first) == [1, 2, 3]
    assert {len(found.seeds_of(name)) for name in others} == {5}
    with pytest.raises(HeedError, match=r"as many as one of study.looks, \[3, 5, 10\], found 7"):
        set_seeds(params, 7)


def test_seeds_that_are_raised_without_declared_looks_are_noted(clone: Path) -> None:
    text = (params := Path("params.yaml")).read_text()
    compared(["undecided"] * len(study.load().experiments))
    note_looks(study.load())
    set_seeds(params, 5)
    assert study.load().study.looked == [3]
    set_seeds(params, 10)
    assert study.load().study.looked == [3], "with five seeds nothing was compared"
    compared(["undecided"] * len(study.load().experiments))
    note_looks(study.load())
    Path("results/compare/comparison.json").unlink()  # that of another study takes its place
    set_seeds(params, 20)
    assert study.load().study.looked == [3, 10]
    params.write_text(text)
    set_seeds(params, 5)
    assert study.load().study.looked == [3], "with ten seeds it was compared later"


def test_seeds_that_are_raised_by_hand_have_to_be_noted(clone: Path) -> None:
    params = Path("params.yaml")
    require_looked(study.load())  # nothing was compared
    compared(["undecided"] * len(study.load().experiments))
    require_looked(study.load())
    text, raised = params.read_text(), "seeds: [1, 2, 3, 4, 5]\n"
    params.write_text(text.replace("seeds: [1, 2, 3]\n", raised))
    told = r"compared with 3 before.* Write looked: \[3\] below `study"
    for check in (lambda: require_looked(study.load()), commands.study):
        with pytest.raises(HeedError, match=told):
            check()
    noted = params.read_text().replace("  name: sample\n", "  name: sample\n  looked: [3]\n")
    set_seeds(params, 5)  # as the message says
    assert study.load().study.looked == [3]
    require_looked(study.load())
    params.write_text(noted)  # by hand
    require_looked(study.load())
    own = "    title: Cues in"
    params.write_text(text.replace(own, f"    seeds: [1, 2, 3, 4]\n{own}"))
    with pytest.raises(HeedError, match="compared with 3 before"):
        require_looked(study.load())
    params.write_text(noted.replace("looked: [3]", "looks: [3, 5]"))
    require_looked(study.load())  # a plan
    params.write_text(text.replace("seeds: [1, 2, 3]\n", "seeds: [1, 2]\n"))
    require_looked(study.load())
    params.write_text(text.replace("seeds: [1, 2, 3]\n", raised))
    Path("results/compare/comparison.json").write_text("{")
    require_looked(study.load())  # the stage `compare` makes it anew


def test_a_params_file_that_is_no_text_is_one_message(clone: Path) -> None:
    params = clone / "params.yaml"
    params.write_bytes(params.read_bytes() + b"\xff\xfe")
    for command in (format_studies, study.load, lambda: activate_study("headlines", force=False)):
        with pytest.raises(HeedError, match=r"params\.yaml: cannot be read: 'utf-8' codec can't"):
            command()


def test_a_command_sets_the_seeds_of_the_active_study(clone: Path) -> None:
    message = set_seeds(Path("params.yaml"), 7)
    assert message == "params.yaml: seeds 1 to 7, 3 before. Trained runs are kept"
    assert "\nseeds: [1, 2, 3, 4, 5, 6, 7]\n" in Path("params.yaml").read_text()
    assert "seeds 1 to 2, 7 before." in set_seeds(Path("params.yaml"), 2)
    assert study.load().seeds == [1, 2]
    commands.study(seeds=commands.make_parser().parse_args(["study", "--seeds", "4"]).seeds)
    assert study.load().seeds == [1, 2, 3, 4]
    assert "studies/sample-edited.yaml: " in activate_study("talk", force=False)
    with pytest.raises(HeedError, match="--seeds is for the active study"):
        commands.study("talk", seeds=4)
