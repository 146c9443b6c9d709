"""Scores are read from tables and from files of other tools, and what is wrong names its row."""

import json

import numpy as np
import pandas as pd
import pytest

from heed.cli import main
from heed.files import HeedError
from heed.verdict.command import judge_all
from heed.verdict.pairs import Asked
from heed.verdict.scores import read_scores
from tests.conftest import cases

CASES = cases(__file__)
MODELS = {"attention": [1, 1, 1, 0], "average": [1, 0, 1, 0]}


def table() -> pd.DataFrame:
    return pd.DataFrame([
        {"model": model, "seed": seed, "item": f"text {item}", "score": score}
        for model, scores in MODELS.items() for seed in (1, 2) for item, score in enumerate(scores)
    ])  # fmt: skip


def as_csv(folder):
    table().to_csv(folder / "scores.csv", index=False)
    return ["scores.csv"]


def as_tsv(folder):
    table().rename(columns=str.upper).to_csv(folder / "scores.tsv", index=False, sep="\t")
    return ["scores.tsv"]


def as_json_lines(folder):
    table().to_json(folder / "scores.jsonl", orient="records", lines=True)
    return ["scores.jsonl"]


def as_parquet(folder):
    table().astype({"score": bool}).assign(experiment="A").to_parquet(folder / "scores.parquet")
    return ["scores.parquet"]


def as_files_of_each_model(folder):
    for model, own in table().groupby("model"):
        own.drop(columns="model").to_csv(folder / f"{model}.csv", index=False)
    return [f"{model}={model}.csv" for model in MODELS]


def as_arrays(folder):
    for model, scores in MODELS.items():
        np.save(folder / f"{model}.npy", np.array([scores, scores], bool))
    return [f"{model}.npy" for model in MODELS]


def as_logs_of_the_harness(folder):
    """The fields, the names and the folder are those of lm-evaluation-harness 0.4.13."""
    name = "samples_aime_2024_2026-10-01T23-15-32.942677.jsonl"
    for model, scores in MODELS.items():
        lines = [
            {
                "doc_id": item, "doc": {"premise": "The tap ran."}, "target": " water flowed.",
                "resps": [[["-75.8", "False"]]], "filtered_resps": [["-75.8", "False"]],
                "filter": "none", "metrics": ["acc", "f1"], "doc_hash": "a\u20284",
                "acc": float(score), "f1": [1, 0],  # gold and predicted
            }
            for item, score in enumerate(scores)
        ]  # fmt: skip
        (folder / model).mkdir()
        texts = (json.dumps(line, ensure_ascii=False) for line in lines)
        (folder / model / name).write_text("".join(f"{text}\n" for text in texts))
    return [f"{model}/{name}" for model in MODELS]


def as_statistics_of_helm(folder):
    """HELM's own file has an entry of each instance for the metric, and one for what it counts."""
    for model, scores in MODELS.items():
        entries = [
            {"instance_id": f"id{item}", "train_trial_index": 0, "stats": [stat]}
            for item, score in enumerate(scores)
            for stat in (
                {"name": {"name": "exact_match", "split": "test"}, "count": 1, "mean": score},
                {"name": {"name": "training_co2_cost", "split": "test"}, "count": 0, "sum": 0},
            )
        ]
        run = folder / f"mmlu:subject=anatomy,model={model}"
        run.mkdir()
        (run / "per_instance_stats.json").write_text(json.dumps(entries))
    return [f"mmlu:subject=anatomy,model={model}/per_instance_stats.json" for model in MODELS]


FORMS = (
    as_csv, as_tsv, as_json_lines, as_parquet, as_files_of_each_model, as_arrays,
    as_logs_of_the_harness, as_statistics_of_helm,
)  # fmt: skip


@pytest.mark.parametrize("write", FORMS)
def test_each_form_has_the_same_scores(tmp_path, monkeypatch, write):
    monkeypatch.chdir(tmp_path)
    scores = read_scores(write(tmp_path))
    for _, run in scores.groupby("seed"):
        found = {model: [*own["score"]] for model, own in run.groupby("model")}
        assert found == MODELS
    assert {*scores["dataset"]} <= {"", "aime_2024", "mmlu:subject=anatomy"}


def test_translations_have_the_corpus_scores_of_sacrebleu(tmp_path, monkeypatch):
    from sacrebleu import corpus_bleu, corpus_chrf

    monkeypatch.chdir(tmp_path)
    right = ["the cat sat on the mat today", "a dog barks at the small tree", "it rains again"]
    systems = {
        "one": ["the cat sat on a mat today", "a dog barks at the tree", "it rains"],
        "two": ["cat sat on the mat", "the dog barks at a small tree", "again it rains"],
    }
    for name, lines in (systems | {"right": right}).items():
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    scores = read_scores(["one.txt", "two.txt"], tmp_path / "right.txt")
    for metric, expected in (("bleu", corpus_bleu), ("chrf", corpus_chrf)):
        (found,) = judge_all(scores, Asked(), metric)
        for name, lines in systems.items():
            whole = scores.query("metric == @metric and model == @name")["score"]
            # the mean of the jackknife's values is the score but for their own small bias
            assert 100 * whole.mean() == pytest.approx(expected(lines, [right]).score, abs=12)
            assert found.scores[name] == pytest.approx(100 * whole.mean())


@pytest.mark.parametrize("what", CASES["wrong"])
def test_what_is_wrong_names_its_row(tmp_path, monkeypatch, what):
    monkeypatch.chdir(tmp_path)
    as_csv(tmp_path)
    old, new, message = CASES["wrong"][what]
    text = (tmp_path / "scores.csv").read_text()
    assert old in text
    (tmp_path / "scores.csv").write_text(text.replace(old, new, 1))
    with pytest.raises(HeedError) as error:
        read_scores(["scores.csv"])
    assert message in str(error.value)


@pytest.mark.parametrize("what", CASES["printed"])
def test_what_is_printed_of_a_small_table(tmp_path, monkeypatch, capsys, what):
    monkeypatch.chdir(tmp_path)
    options, text, said = CASES["printed"][what]
    (tmp_path / "table.csv").write_text(text.replace("/", "\n"))
    monkeypatch.setattr("sys.argv", ["heed", "verdict", *options, "table.csv"])
    try:
        main()
        printed = capsys.readouterr().out
    except SystemExit as error:
        printed = str(error)
    assert said in " ".join(printed.split())


def test_seeds_and_folds_are_the_same_as_numbers_and_as_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().astype({"seed": float}).to_parquet("scores.parquet")
    with pytest.raises(HeedError, match="a second score of the model attention, seed 1, item"):
        read_scores([*as_csv(tmp_path), "scores.parquet"])
    table().assign(seed=[[seed] for seed in table()["seed"]]).to_parquet("lists.parquet")
    with pytest.raises(
        HeedError, match=r"lists\.parquet: row 1: the column seed is to have a numb"
    ):
        read_scores(["lists.parquet"])
    table().assign(experiment="A").drop(columns="score").to_parquet("runs.parquet")
    with pytest.raises(HeedError, match=r"runs\.parquet: no column score"):
        read_scores(["runs.parquet"])
    (tmp_path / "a.json").write_text('[{"doc_id": 0, "filtered_resps": 0, "acc": 1}, {"acc": 1}]')
    with pytest.raises(HeedError, match=r"a\.json: not as its tool writes it .*'doc_id'"):
        read_scores(["a.json"])


def test_other_numbers_of_seeds_are_refused_but_of_one_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    three = pd.concat([table(), table().query("seed == 2").assign(seed=3)])
    three[~((three["model"] == "average") & (three["seed"] == 3))].to_csv("scores.csv")
    with pytest.raises(HeedError, match="the model average has 2 of 3 seeds: "):
        read_scores(["scores.csv"])
    whole = pd.concat([three.assign(fold=fold) for fold in (0, 1)])
    for gone, has in (("seed > 0", 0), ("seed == 3", 2)):  # a fold of a run that is not at its end
        whole[~whole.eval(f"fold == 1 and model == 'average' and {gone}")].to_csv("a.csv")
        with pytest.raises(HeedError, match=f"average has {has} of 3 seeds in the fold 1"):
            read_scores(["a.csv"])
    three[~((three["model"] == "average") & (three["seed"] > 1))].to_csv("scores.csv")
    assert len(read_scores(["scores.csv"])) == 16
