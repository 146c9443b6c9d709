"""Translation from end to end: from a generated pair of languages to a comparison."""

import contextlib
import hashlib
import json
import pickle
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sacrebleu
from sklearn.decomposition import PCA

import heed
from heed.cli import stages
from heed.evaluation.tested import evaluate
from heed.explanation import adversarial_weights
from heed.explanation.stage import write_explanations
from heed.files import HeedError
from heed.models.size import count_parameters
from heed.paths import TOKENS, recipe_file
from heed.prediction import load_predictor, write_predictions
from heed.recipe import read_model_recipe
from heed.study import load
from heed.study.recipes import resolve
from heed.task import task_module
from heed.tasks.translation import learning
from heed.tasks.translation.explanation import MISSING, NO_GOLD
from heed.tasks.translation.figures import project
from heed.tasks.translation.metrics import COUNTS, corpus_counts, error_rate, parse_links
from heed.tasks.translation.recipe import Hyperparameters
from heed.tasks.translation.rules import variant_contradictions
from heed.tasks.translation.texts import translate
from heed.tokens.arrays import Side, load_tokens
from heed.tokens.meta import read_meta
from heed.training.run import read_run
from tests.conftest import ROOT, train

pytestmark = pytest.mark.xdist_group("translation")  # one worker trains the models

MODELS = {
    "baseline": "decoder: last-state",
    "attention": "decoder: output",
    "input": "decoder: input, score: additive, recurrence: gru",
    "literal": "decoder: input-literal, score: concat-tanh",
    "concatenate": "decoder: concatenate, max_source_tokens: 30",
    "uniform": "decoder: output, score: uniform",
    "deep": "decoder: output, encoder_layers: 3, decoder_layers: 2, residual: true",
    "pieces": "decoder: output, segmentation: bpe, source_vocabulary: 90, target_vocabulary: 90, "
    "tied_readout: true",
    "transformer": "encoder: transformer, decoder: transformer, heads: 2, feed_forward_size: 16",
}
STUDY = """
study: {name: pair, title: A pair, attention: [attention, input]}
seeds: [1, 2]
sources: {pair: {kind: sample-translation, documents: 140, seed: 3}}
corpora:
  pair: {source: pair, kind: sample-translation, split: {kind: given}, tokenizer: whitespace}
experiments:
  pair:
    task: translation
    corpus: pair
    data: {source: norvic, target: soldan, tokenize: none}
    title: A pair of languages
searches: {}
defaults:
  translation: {embedding_dim: 8, hidden_size: 8, epochs: 2, batch_size: 16, beam: 2}
models:
"""
MODEL = (
    "  pair-{0}: {{experiment: pair, corpus: pair, variant: {0}, search: none, "
    "match_parameters_of: pair-{0}, {1}}}\n"
)
PARAMS = STUDY + "".join(MODEL.format(*model) for model in MODELS.items())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the tokenised pair, and with the recipes of all models."""
    folder = tmp_path_factory.mktemp("pair")
    (folder / "params.yaml").write_text(PARAMS)
    with contextlib.chdir(folder):
        stages.download("pair")
        stages.tokenize("pair")
        for variant in MODELS:
            stages.recipe(f"pair-{variant}")
    return folder


@pytest.fixture(scope="module")
def trained(made: Path) -> Path:
    """Return the folder with both runs of baseline, attention and pieces, and with predictions."""
    with contextlib.chdir(made):
        for variant in ("baseline", "attention", "pieces"):
            for seed in (1, 2):
                train(f"pair-{variant}", seed)
            write_predictions(f"pair-{variant}", [1, 2])
            evaluate(f"pair-{variant}", [1, 2])
    return made


@pytest.fixture
def pair(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the test in a copy of the folder, without runs."""
    shutil.copytree(made, tmp_path / "pair", ignore=shutil.ignore_patterns("train", "predict"))
    monkeypatch.chdir(tmp_path / "pair")
    return tmp_path / "pair"


@pytest.fixture
def runs(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the test in a copy of the folder with runs and predictions."""
    shutil.copytree(trained, tmp_path / "runs")
    monkeypatch.chdir(tmp_path / "runs")
    return tmp_path / "runs"


def predictions(variant: str) -> pd.DataFrame:
    return pd.read_parquet(f"results/predict/pair-{variant}/predictions.parquet")


@pytest.mark.parametrize(
    ("variant", "found", "message"),
    [
        ("attention", {"decoder": "output", "score": "uniform"}, "a score that is learned"),
        ("uniform", {"decoder": "output", "score": "general"}, "found score: general"),
        ("uniform", {"decoder": "last-state", "score": "uniform"}, "decoder: last-state"),
        ("uniform", {"decoder": "input", "score": "uniform"}, ""),
        ("equal", {"decoder": "output", "score": "uniform"}, ""),
    ],
)
def test_a_variant_is_what_its_name_says_of_equal_weights(variant, found, message):
    messages = [text for _, text in variant_contradictions(variant, Hyperparameters(**found))]
    assert len(messages) == bool(message) and all(message in text for text in messages)


@pytest.mark.parametrize("variant", MODELS)
def test_every_decoder_trains_predicts_and_is_evaluated(pair, variant):
    model = f"pair-{variant}"
    info = train(model, 1)
    assert info.parameters > 0 and info.documents == {"train": 120, "validation": 6, "test": 14}
    write_predictions(model, [1])
    evaluate(model, [1])
    table = predictions(variant)
    assert (table["split"] == "test").sum() == 14 and (table["split"] == "validation").sum() == 6
    attends = read_model_recipe(model).hyperparameters.learns_weights
    summary = pd.read_csv(f"results/evaluate/{model}/summary.csv")
    assert (table["links"] != "").all() if attends else (table["links"] == "").all()
    assert (summary["aer"] < 1).all() if attends else (summary["aer"] == 1).all()
    test = table[table["split"] == "test"]
    expected = sacrebleu.corpus_bleu(
        test["hypothesis"].tolist(), [test["reference"].tolist()], tokenize="none", force=True
    )
    assert summary["bleu"][0] == pytest.approx(expected.score / 100, abs=1e-9)


@pytest.mark.parametrize("variant", ["attention", "transformer", "pieces"])
def test_a_killed_training_goes_on_and_ends_with_the_same_bytes(pair, variant, monkeypatch):
    model = f"pair-{variant}"
    train(model, 1)
    folder = Path(f"results/train/{model}/1")
    whole = {path.name: path.read_bytes() for path in folder.iterdir()}
    shutil.rmtree(folder)

    def kill(progress):
        if progress.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(model, 1, kill)
    assert not folder.exists()
    train(model, 1)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == whole


def test_a_training_reads_no_test_sentence(pair):
    tokens = load_tokens("data/tokens/pair")
    rows = {split: tokens.rows(split, 0) for split in ("train", "validation", "test")}
    for side in tokens.sides.values():
        known = np.concatenate(
            [
                side.ids[side.offsets[row] : side.offsets[row + 1]]
                for row in (*rows["train"], *rows["validation"])
            ]
        )
        for row in rows["test"]:
            split = slice(side.offsets[row], side.offsets[row + 1])
            assert set(side.ids[split].tolist()) & set(known.tolist())
    train("pair-pieces", 1)
    weights = Path("results/train/pair-pieces/1/model.safetensors").read_bytes()
    learning = task_module("translation", "learning")
    read: list[int] = []
    side = tokens.sides["norvic"]
    original = type(side).texts
    try:
        type(side).texts = lambda self, chosen: (read.extend(chosen), original(self, chosen))[1]
        recipe = read_model_recipe("pair-pieces")
        learning.make_learner(
            recipe, tokens, {k: rows[k] for k in ("train", "validation")}, 1, "cpu"
        )
    finally:
        type(side).texts = original
    assert read and not {*read} & {*rows["test"].tolist()} and weights


def test_how_it_is_searched_and_scored_repeats_no_training(pair):
    recipe = Path("results/recipe/pair-attention.yaml").read_bytes()
    settings = Path("results/recipe/pair-attention.prediction.yaml").read_text()
    assert "beam: 2" in settings and "tokenize: none" in settings
    text = Path("params.yaml").read_text()
    changed = text.replace("beam: 2", "beam: 3, length_penalty: 0.5").replace(
        "tokenize: none", "tokenize: 13a"
    )
    Path("params.yaml").write_text(changed)
    stages.recipe("pair-attention")
    assert Path("results/recipe/pair-attention.yaml").read_bytes() == recipe
    settings = Path("results/recipe/pair-attention.prediction.yaml").read_text()
    assert "beam: 3" in settings and "tokenize: 13a" in settings


def test_a_recipe_with_a_tokenizer_that_does_not_exist_is_refused(pair):
    path = recipe_file("pair-attention")
    text = path.read_text().replace("target_tokenizer: whitespace", "target_tokenizer: os")
    path.write_text(text)
    with pytest.raises(HeedError, match=r"data.target_tokenizer is none of xx, .*: 'os'"):
        read_model_recipe("pair-attention")


def test_the_same_sentences_are_shown_for_every_model(runs):
    shown = [
        pd.read_parquet(f"results/predict/pair-{variant}/sentences.parquet")
        for variant in ("baseline", "attention", "pieces")
    ]
    assert len(shown[0]) == 6 and all(list(t["id"]) == list(shown[0]["id"]) for t in shown)
    lengths = [len(words) for words in shown[0]["source_words"]]
    assert lengths == sorted(lengths) and lengths[0] < lengths[-1]
    weights = pd.read_parquet("results/predict/pair-attention/weights.parquet")
    sums = weights.groupby(["id", "target"])["weight"].sum()
    assert np.allclose(sums, 1, atol=1e-5)
    assert pd.read_parquet("results/predict/pair-baseline/weights.parquet").empty


def test_the_gradients_of_the_same_sentences_are_measured_for_every_model(runs):
    tables = {
        variant: pd.read_parquet(f"results/predict/pair-{variant}/gradients.parquet")
        for variant in ("baseline", "attention", "pieces")
    }
    tested = predictions("baseline").query("split == 'test'").drop_duplicates("id")
    for table in tables.values():
        assert set(table["id"]) == set(tested["id"]) and set(table["truncation"]) == {0, 8}
        means = table.groupby(["id", "truncation"])[["relative", "forward_relative"]].mean()
        assert np.allclose(means, 1)
    lengths = tables["attention"].groupby(["id", "truncation"])["position"].agg(["size", "max"])
    words = tested.set_index("id")["source_words"]
    assert (lengths["size"] == words.loc[lengths.index.get_level_values("id")].to_numpy()).all()
    assert (lengths["max"] == lengths["size"] - 1).all()
    truncated = tables["baseline"].query("truncation == 8")
    is_cut = truncated["position"] < (truncated["source_words"] - 1) // 8 * 8
    assert is_cut.any() and ((truncated["forward_norm"] == 0) == is_cut).all()
    assert (tables["attention"]["forward_norm"] > 0).all()


@pytest.mark.parametrize("shape", [(40, 8), (6, 16)])
def test_states_are_projected_as_by_scikit_learn(shape):
    states = np.random.default_rng(1).normal(size=shape)
    analysis = PCA(2, svd_solver="full")
    points, shares = project(states)
    assert np.allclose(points, analysis.fit_transform(states))
    assert np.allclose(shares, analysis.explained_variance_ratio_)


def test_the_states_of_sentences_of_all_lengths_are_written(runs):
    table = pd.read_parquet("results/predict/pair-attention/states.parquet")
    assert list(table.columns) == ["id", "source_words", "state"]
    assert np.stack(table["state"]).shape == (14, 8) and table["state"][0].dtype == np.float32
    assert list(table["source_words"]) == sorted(table["source_words"])


def test_the_study_of_docs_translation_reads_a_table_of_ones_own(tmp_path, monkeypatch):
    text = (ROOT / "docs/translation.md").read_text(encoding="utf-8")
    (study,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    pairs = [(f"Der Hund {n} schläft.", f"The dog {n} sleeps.") for n in range(40)]
    pd.DataFrame(pairs, columns=["german", "english"]).to_csv("pairs.csv", index=False)
    digest = hashlib.sha256(Path("pairs.csv").read_bytes()).hexdigest()
    Path("params.yaml").write_text(study.replace("SHA256", digest), encoding="utf-8")
    stages.download("mine")
    stages.tokenize("mine")
    for model in load().models:
        stages.recipe(model)
        recipe = read_model_recipe(model)
        assert (recipe.data.source, recipe.data.target) == ("de", "en")
    assert read_meta(Path("data/tokens/mine")).splits == {"train": 31, "validation": 3, "test": 6}


def test_gold_links_are_those_of_the_generator(runs):
    table = predictions("attention")
    tokens = load_tokens("data/tokens/pair")
    gold = tokens.alignment("norvic", "soldan")
    ids = tokens.documents(["id"])["id"]
    for id_, text in zip(table["id"], table["gold"], strict=True):
        known = gold[int(ids[ids == id_].index[0])]
        assert parse_links(text, "") == (set(known.sure), set(known.possible))
    summary = pd.read_csv("results/evaluate/pair-attention/summary.csv")
    assert (summary["aer_shifted"] > 0.8).all() and (summary["aer"] < 1).all()


def test_sentences_without_gold_links_among_others_that_have_them_are_not_counted(runs):
    predictor = load_predictor(read_run("pair-attention", 1), "cpu")
    table = predictions("attention").drop_duplicates("id").head(4)
    every = predictor.statistics(table)
    some = table.assign(gold=[table["gold"].iloc[0], None, *table["gold"].iloc[2:]])
    found = predictor.statistics(some)
    assert found["sure"].tolist() == [n * (i != 1) for i, n in enumerate(every["sure"])]
    assert every["sure"].iloc[1] > 0


def test_models_and_reference_models_are_compared_by_bleu(runs):
    params = load()
    text = STUDY.replace("[attention, input]", "[attention]")
    kept = ("baseline", "attention", "pieces")
    Path("params.yaml").write_text(text + "".join(MODEL.format(v, MODELS[v]) for v in kept))
    stages.reference_models("pair")
    stages.compare()
    comparison = json.loads(Path("results/compare/comparison.json").read_text())["experiments"]
    assert comparison["pair"]["metric"] == "bleu" and params.study.name == "pair"
    models, reference_models = comparison["pair"]["models"], comparison["pair"]["reference_models"]
    assert {*models} == {*kept} and list(reference_models) == ["copy", "statistical"]
    difference = comparison["pair"]["comparisons"]["attention"]["baseline"]
    gain = 100 * (
        models["attention"]["summary"]["bleu"]["mean"]
        - models["baseline"]["summary"]["bleu"]["mean"]
    )
    assert difference["mean_pp"] == pytest.approx(gain, abs=1e-9)
    assert difference["verdict"] and difference["interval_pp"][0] <= gain
    assert {*comparison["pair"]["comparisons"]["attention"]} >= {"copy", "statistical", "baseline"}
    metrics = json.loads(Path("metrics.json").read_text())["pair"]
    assert set(metrics) >= {"baseline", "attention", "pieces", "statistical", "gain_pp"}


def test_a_text_is_translated_as_its_stage_did_alone_and_among_others(runs):
    table = predictions("attention").query("seed == 1")
    run = heed.load_run("pair-attention", 1)
    texts = table["source"].tolist()
    together = run.translate(texts)
    assert [best[0].text for best in together] == table["hypothesis"].tolist()
    assert [best[0].score for best in together] == pytest.approx(table["score"].tolist(), abs=1e-5)
    for text, found in zip(texts[:4], together[:4], strict=True):
        alone = run.translate([text])[0][0]
        assert alone.text == found[0].text and alone.links == found[0].links
        assert alone.weights.shape == (len(alone.target_words), len(text.split()))
        assert np.allclose(alone.weights.sum(1), 1, atol=1e-5)
    kept = pickle.dumps(alone)
    assert len(kept) < 10_000 and b"Predictor" not in kept, "without the model"
    again = pickle.loads(kept)
    assert again == alone and (again.weights == alone.weights).all()


def test_a_given_translation_has_the_score_that_the_search_gave_it(runs):
    run = heed.load_run("pair-attention", 1)
    texts = predictions("attention")["source"][:3].tolist()
    for text, found in zip(texts, run.translate(texts, n_best=2), strict=True):
        assert found[0].score >= found[1].score and found[0].text != found[1].text
        for translation in found:
            (scored,) = run.score([text], [translation.text])
            assert scored.log_probability == pytest.approx(translation.log_probability, abs=1e-4)
            assert scored.links == translation.links
    with pytest.raises(ValueError, match="1 texts, and 2 translations"):
        run.score(["a"], ["b", "c"])


def test_the_links_of_pieces_are_links_of_words(runs):
    table = predictions("pieces").query("split == 'test'")
    for source, reference, links in zip(
        table["source"], table["reference"], table["links"], strict=True
    ):
        sure, _ = parse_links(links, "")
        assert {j for _, j in sure} == set(range(len(reference.split())))
        assert {i for i, _ in sure} <= set(range(len(source.split())))


def test_translations_are_printed_as_text_with_links_or_as_json_lines(runs):
    text = predictions("attention")["source"][0]
    Path("two.txt").write_text(f"{text}\n\n")
    (line, empty) = translate("pair-attention", "two.txt", "", 1, "text", None)
    assert line == predictions("attention")["hypothesis"][0] and isinstance(empty, str)
    (line,) = translate("pair-attention", text, "", 1, "pharaoh", 2)
    translation, score, links = line.split(" ||| ")
    assert float(score) < 0 and len(links.split()) == len(translation.split())
    first, second = map(json.loads, translate("pair-attention", text, "", 2, "json", 1))
    assert first["line"] == second["line"] == 0 and first["score"] >= second["score"]
    assert np.allclose(np.sum(first["weights"], 1), 1, atol=1e-3)
    (scored,) = map(json.loads, translate("pair-attention", text, translation, 1, "json", 2))
    assert scored["translation"] == translation
    assert scored["score"] == pytest.approx(float(score), abs=1e-3)
    (line,) = map(json.loads, translate("pair-baseline", text, "", 1, "json", None))
    assert line["weights"] is None and line["links"] == ""


def test_what_cannot_be_translated_is_one_clear_message(runs):
    with pytest.raises(HeedError, match=r"pair-attention has no run with seed 7\. Trained: 1, 2"):
        list(translate("pair-attention", "a", "", 1, "text", 7))
    with pytest.raises(HeedError, match=r"results/train/nothing: no trained run. Trained models: "):
        list(translate("nothing", "a", "", 1, "text", None))
    with pytest.raises(HeedError, match="1 lines to translate, and 2 translations"):
        list(translate("pair-attention", "a", "b\nc", 1, "text", None))


def test_a_share_of_the_pairs_is_the_same_for_both_models_and_within_a_larger_one(pair):
    learning = task_module("translation", "learning")
    rows = np.arange(100, 180)
    half, quarter = (set(learning._draw(rows, share, 5).tolist()) for share in (0.5, 0.25))
    assert len(half) == 40 and len(quarter) == 20 and quarter < half
    assert learning._draw(rows, 1.0, 5) is rows


def test_pairs_beyond_the_caps_are_left_out_and_counted(pair):
    params, meta = load(), read_meta(Path("data/tokens/pair"))
    recipe = resolve(params, "pair-attention", {"max_source_tokens": 15}, meta)
    tokens = load_tokens("data/tokens/pair")
    rows = {split: tokens.rows(split, 0) for split in ("train", "validation")}
    make_learner = task_module("translation", "learning").make_learner
    learner = make_learner(recipe, tokens, rows, 1, "cpu")
    lengths = np.diff(tokens.sides["norvic"].offsets)[rows["train"]]
    assert learner.items == (lengths <= 15).sum() < len(lengths)
    assert learner.left_out["long_source"] == (lengths > 15).sum()
    recipe = resolve(params, "pair-attention", {"max_source_tokens": 1}, meta)
    with pytest.raises(HeedError, match=r"pair-attention: no training pair .* Raise them"):
        make_learner(recipe, tokens, rows, 1, "cpu")


WRONG = {
    "a language": ("source: norvic", "source: norvik", "data.source: .*no language norvik"),
    "the same language twice": ("target: soldan", "target: norvic", "data.target: is the source"),
    "a key of classification": ("decoder: output}", "pooling: mean}", "pooling: is no hyperparam"),
    "a decoder": ("decoder: output}", "decoder: outputs}", "decoder: input should be"),
    "an encoder of classification": ("decoder: output}", "encoder: bilstm}", "encoder: input sho"),
    "half a transformer": ("decoder: output}", "decoder: transformer}", "a transformer has both"),
    "attention in the baseline": ("last-state", "output", "variant baseline is without attention"),
    "a variant of a reference model": (
        MODEL.format("deep", MODELS["deep"]),
        MODEL.format("copy", MODELS["deep"]),
        "copy is the name of a reference model",
    ),
    "a reference": ("tokenize: none", "references: [b]", "data.references: .*no language b"),
    "the target as a reference": (
        "tokenize: none",
        "references: [soldan]",
        "data.references: soldan is the target; name further languages",
    ),
    "an odd size": ("hidden_size: 8", "hidden_size: 7", "which must be even, found 7"),
    "a metric of classification": (" of languages", "\n    metric: accuracy", "metric: "),
}


@pytest.mark.parametrize(("right", "wrong", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_mistake_in_params_yaml_is_one_clear_message(tmp_path, right, wrong, message):
    text = (
        PARAMS.replace(right, wrong, 1)
        if "title" not in right
        else PARAMS.replace("none}, title: A pair}", "none}, title: A, metric: accuracy}")
    )
    assert text != PARAMS
    (tmp_path / "params.yaml").write_text(text)
    with pytest.raises(HeedError, match=rf"params.yaml:\d+: .*{message}"):
        load(tmp_path / "params.yaml")


def test_the_wide_control_is_as_large_as_the_model_that_it_matches(pair):
    wide = MODEL.format("parameter-matched", "decoder: last-state").replace(
        "pair-parameter-matched, d", "pair-input, d"
    )
    Path("params.yaml").write_text(PARAMS + wide)
    with pytest.raises(HeedError, match="variant parameter-matched takes every hyperparameter"):
        load()
    Path("params.yaml").write_text(PARAMS + wide.replace(", decoder: last-state", ""))
    stages.recipe("pair-parameter-matched")
    recipe = read_model_recipe("pair-parameter-matched")
    assert recipe.hyperparameters.decoder == "last-state" and not recipe.hyperparameters.attends
    sizes = learning.sizes(recipe.data, read_meta(TOKENS / recipe.corpus))
    wide, matched = (
        count_parameters(lambda h=each.hyperparameters: learning.build(h, sizes))
        for each in (recipe, read_model_recipe("pair-input"))
    )
    assert abs(wide - matched) / matched < 0.05


# What the weights explain


def explain(variant: str, *seeds: int) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Return the summary and the tables of `heed explain`, of ten sentences."""
    summary = write_explanations(f"pair-{variant}", [*seeds], 0.02, lambda *_: None)
    folder = Path(f"results/explain/pair-{variant}")
    return summary, {file.stem: pd.read_parquet(file) for file in folder.glob("*.parquet")}


@pytest.fixture(autouse=True)
def short_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search adversarial weights for a moment."""
    monkeypatch.setattr(adversarial_weights, "STEPS", 5)


def test_the_tables_of_an_explained_translator_fit_each_other(runs):
    summary, tables = explain("attention", 1, 2)
    assert set(tables) == {"documents", "units", "rankings", "seeds"}
    documents, units, seeds = (tables[name] for name in ("documents", "units", "seeds"))
    assert set(documents.groupby("id").size()) == {2}, "both seeds explain the same sentences"
    sizes = documents.set_index(["seed", "id"]).sort_index()[["units", "target_units"]]
    assert (units.groupby(["seed", "id"]).size() == sizes.prod(axis=1)).all()
    assert np.allclose(units.groupby(["seed", "id", "target"])["attention"].sum(), 1, atol=1e-5)
    steps = units.dropna(subset="gradient").groupby(["seed", "id", "target"])
    assert len(steps) == documents["steps"].sum() == 2 * len(seeds)
    assert np.allclose(steps["adversarial"].sum(min_count=1).dropna(), 1, atol=1e-5)
    assert seeds["divergence"].between(1e-9, np.log(2)).all()
    assert seeds["change"].between(MISSING, 1).all()
    measured = summary.dropna(subset="mean")
    assert set(measured["test"]) == {
        "correlation", "permutation", "adversarial_weights", "rationale", "conicity", "seeds",
    }  # fmt: skip
    row = measured[measured["measure"] == "permutation_change"].iloc[0]
    of_seed = documents[documents["seed"] == 1]["permutation_change"]
    assert row["mean"] == pytest.approx(of_seed.mean())
    reasons = summary[summary["mean"].isna()]
    assert reasons["reason"].notna().all()
    assert set(reasons["test"]) == {
        "uniform", "single_erasure", "erasure", "input_removal", "correlation", "recency",
    }  # fmt: skip


def test_the_alignment_error_of_attention_is_that_of_its_predicted_links(runs):
    summary, tables = explain("attention", 1)
    predicted = predictions("attention")
    predicted = predicted[predicted["seed"] == 1].set_index("id")
    rankings = tables["rankings"].set_index(["ranking", "id"])
    known = rankings.loc["attention"].dropna(subset=COUNTS)
    assert len(known) == 5, "those with leave-one-out"
    links = [parse_links(text, "")[0] for text in predicted.loc[known.index, "links"]]
    gold = [parse_links(text, "") for text in predicted.loc[known.index, "gold"]]
    counts = corpus_counts(links, gold)
    assert (known[[*COUNTS]].to_numpy() == counts).all()
    errors = summary[summary["measure"] == "aer"].set_index("ranking")["mean"]
    assert errors["attention"] == pytest.approx(error_rate(counts.sum(0)))
    units = tables["units"]
    for name, (sure, _) in zip(known.index, gold, strict=True):
        own = units[units["id"] == name]
        linked = own[own["rationale"]]
        assert {*zip(linked["unit"], linked["target"], strict=True)} == sure
        best = own.loc[own.groupby("target")["leave_one_out"].idxmax()]
        found = {*zip(best["unit"], best["target"], strict=True)}
        row = rankings.loc[("leave_one_out", name), [*COUNTS]]
        assert row.tolist() == corpus_counts([found], [(sure, sure)])[0].tolist()


def test_without_attention_leave_one_out_is_explained_and_all_else_has_its_reason(runs):
    summary, tables = explain("baseline", 1)
    by_test = summary.set_index("test")
    for test in ("permutation", "adversarial_weights", "seeds", "conicity"):
        assert "have no attention over the source" in by_test.loc[test, "reason"]
    auc = summary[summary["measure"] == "auc"].set_index("ranking")
    assert set(auc["mean"].dropna().index) == {"gradient", "leave_one_out", "random"}
    assert "no attention" in auc.loc["attention", "reason"]
    assert summary[summary["measure"] == "aer"]["ranking"].tolist() == ["leave_one_out"]
    assert tables["units"]["attention"].isna().all()
    assert tables["units"]["leave_one_out"].notna().any() and tables["seeds"].empty


def test_a_translator_reads_no_noise(runs):
    noisy = write_explanations("pair-baseline", [1], 0.02, lambda *_: None, "not-tokenised")
    assert noisy.equals(explain("baseline", 1)[0])


def test_explained_pieces_stand_where_their_words_do_and_are_linked_as_they_are(runs):
    _, tables = explain("pieces", 1)
    units, tokens = tables["units"], load_tokens("data/tokens/pair")
    ids = tokens.documents(["id"])["id"]
    for name, own in units.groupby("id"):
        (text,) = tokens.sides["norvic"].texts(np.flatnonzero(ids == name))
        spans = own[["start", "end"]].drop_duplicates().itertuples(index=False)
        assert [text[start:end] for start, end in spans] == text.split()
        assert (own.groupby(["target", "start"])["rationale"].nunique() == 1).all()
    assert units["rationale"].any() and units["unit"].max() > 0


def test_a_source_with_the_mark_of_a_blank_is_explained_too(runs, monkeypatch):
    texts = Side.texts
    monkeypatch.setattr(
        Side,
        "texts",
        lambda self, rows: [each.replace(" ", "\u2581") for each in texts(self, rows)],
    )
    _, tables = explain("pieces", 1)
    assert (tables["units"]["start"] == 0).all(), "one word"


def test_without_gold_links_their_test_has_a_reason(runs, monkeypatch):
    monkeypatch.setattr("heed.tasks.translation.explanation.gold_links", lambda *_: None)
    summary, tables = explain("baseline", 1)
    assert summary.set_index("test").loc["rationale", "reason"] == NO_GOLD
    assert not tables["units"]["rationale"].any()
    assert tables["documents"]["tau_ceiling"].notna().any()
