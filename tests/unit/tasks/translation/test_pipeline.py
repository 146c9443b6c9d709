"""Translation from end to end: from a generated pair of languages to a comparison."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sacrebleu

import heed
from heed.cli import stages
from heed.evaluation.item_statistics import evaluate
from heed.files import HeedError
from heed.models.size import count_parameters
from heed.paths import TOKENS, recipe_file
from heed.prediction import load_predictor, write_predictions
from heed.recipe import read_model_recipe
from heed.report.figures.translation import alignment_picture
from heed.study import load
from heed.study.recipes import resolve
from heed.tasks.translation import learning
from heed.tasks.translation.metrics import read_links
from heed.tasks.translation.texts import translate, translations_to_draw
from heed.tokens.arrays import Side, load_tokens
from heed.tokens.meta import read_meta
from heed.training.run import read_run
from tests.conftest import train
from tests.unit.tasks.translation.conftest import MODEL, MODELS, PARAMS, STUDY, TRAINED, predicted

pytestmark = pytest.mark.xdist_group("translation")  # one worker trains the models


@pytest.mark.parametrize("variant", MODELS)
def test_every_decoder_trains_predicts_and_is_evaluated(pair, variant):
    model = f"pair-{variant}"
    info = train(model, 1)
    assert info.parameters > 0 and info.documents == {"train": 120, "validation": 6, "test": 14}
    write_predictions(model, [1])
    evaluate(model, [1])
    table = predicted(variant)
    test = table[table["split"] == "test"]
    assert len(test) == 14 and (table["split"] == "validation").sum() == 6
    attends = read_model_recipe(model).hyperparameters.learns_weights
    summary = pd.read_csv(f"results/evaluate/pair/{model}/summary.csv")
    assert ((table["links"] != "") == attends).all() and ((summary["aer"] < 1) == attends).all()
    hypotheses, references = test["hypothesis"].tolist(), [test["reference"].tolist()]
    expected = sacrebleu.corpus_bleu(hypotheses, references, tokenize="none", force=True)
    assert summary["bleu"][0] == pytest.approx(expected.score / 100, abs=1e-9)


def test_a_training_reads_no_test_sentence(pair, monkeypatch):
    tokens, read, texts = load_tokens("data/tokens/pair"), [], Side.texts
    rows = {split: tokens.rows(split, 0) for split in ("train", "validation")}
    monkeypatch.setattr(Side, "texts", lambda side, rows: read.extend(rows) or texts(side, rows))
    learning.make_learner(read_model_recipe("pair-pieces"), tokens, rows, 1, "cpu")
    assert read and not {*read} & {*tokens.rows("test", 0).tolist()}


def test_how_it_is_searched_and_scored_repeats_no_training(pair):
    recipe = Path("results/recipe/pair/pair-attention.yaml").read_bytes()
    settings = Path("results/recipe/pair/pair-attention.prediction.yaml")
    assert "beam: 2" in settings.read_text() and "tokenize: none" in settings.read_text()
    text = PARAMS.replace("beam: 2", "beam: 3, length_penalty: 0.5")
    Path("params.yaml").write_text(text.replace("tokenize: none", "tokenize: 13a"))
    stages.recipe("pair")
    assert Path("results/recipe/pair/pair-attention.yaml").read_bytes() == recipe
    assert "beam: 3" in settings.read_text() and "tokenize: 13a" in settings.read_text()


def test_a_recipe_with_a_tokenizer_that_does_not_exist_is_refused(pair):
    path = recipe_file("pair-attention")
    text = path.read_text().replace("target_tokenizer: whitespace", "target_tokenizer: os")
    path.write_text(text)
    with pytest.raises(HeedError, match=r"data.target_tokenizer: expected one of xx, .*'os'"):
        read_model_recipe("pair-attention")


def test_gold_links_are_the_generators_and_sentences_without_them_are_not_counted(runs):
    table, tokens = predicted("attention").query("seed == 1"), load_tokens("data/tokens/pair")
    known = tokens.alignment("norvic", "soldan")
    expected = [known[row] for row in tokens.rows_of(table["id"])]
    found = read_links(table.set_index("id")["gold"])
    assert found == expected
    summary = pd.read_csv("results/evaluate/pair/pair-attention/summary.csv")
    assert (summary["aer_shifted"] > 0.8).all() and (summary["aer"] < 1).all()
    predictor, few = load_predictor(read_run("pair-attention", 1), "cpu"), table.head(4)
    every = predictor.statistics(few)["sure"].tolist()
    gold = few["gold"].tolist()
    some = predictor.statistics(few.assign(gold=[gold[0], None, *gold[2:]]))["sure"].tolist()
    assert every[1] > 0 and some == [every[0], 0, *every[2:]]


def test_models_and_reference_models_are_compared_by_bleu(runs):
    text = STUDY.replace("[attention, input]", "[attention]")
    Path("params.yaml").write_text(text + "".join(MODEL.format(v, MODELS[v]) for v in TRAINED))
    stages.reference_models("pair")
    stages.compare()
    pair = json.loads(Path("results/compare/comparison.json").read_text())["experiments"]["pair"]
    models = pair["models"]
    assert pair["metric"] == "bleu" and {*models} == {*TRAINED}
    assert list(pair["reference_models"]) == ["copy", "statistical"]
    differences = pair["comparisons"]["attention"]
    first, second = (models[v]["summary"]["bleu"]["mean"] for v in ("attention", "last-state"))
    assert differences["last-state"]["mean_pp"] == pytest.approx(100 * (first - second), abs=1e-9)
    assert differences["last-state"]["verdict"] and {*differences} >= {"copy", "statistical"}
    metrics = json.loads(Path("metrics.json").read_text())["pair"]
    assert set(metrics) == {*TRAINED, "difference_pp"}


def test_a_text_is_translated_as_its_stage_did_alone_and_among_others(runs):
    table = predicted("attention").query("seed == 1")
    run = heed.load_run("pair-attention", 1)
    texts = table["source"].tolist()
    together = run.translate(texts)
    assert [best[0].text for best in together] == table["hypothesis"].tolist()
    assert [best[0].score for best in together] == pytest.approx(table["score"].tolist(), abs=1e-5)
    for text, found in zip(texts[:4], together[:4], strict=True):
        ((alone,),) = run.translate([text])
        assert alone.text == found[0].text and alone.links == found[0].links
        assert alone.weights.shape == (len(alone.target_words), len(text.split()))
        assert np.allclose(alone.weights.sum(1), 1, atol=1e-5)


def test_a_given_translation_has_the_score_that_the_search_gave_it(runs):
    run = heed.load_run("pair-attention", 1)
    texts = predicted("attention")["source"][:3].tolist()
    for text, found in zip(texts, run.translate(texts, n_best=2), strict=True):
        assert found[0].score >= found[1].score and found[0].text != found[1].text
        scored = run.score([text, text], [each.text for each in found])
        for given, searched in zip(scored, found, strict=True):
            assert given.log_probability == pytest.approx(searched.log_probability, abs=1e-4)
            assert given.links == searched.links
    with pytest.raises(ValueError, match="1 texts, and 2 translations"):
        run.score(["a"], ["b", "c"])


def test_the_links_of_pieces_are_links_of_words(runs):
    table = predicted("pieces").query("split == 'test' and seed == 1").set_index("id")
    texts = zip(table["source"], table["reference"], read_links(table["links"]), strict=True)
    for source, reference, (links, _) in texts:
        assert {j for _, j in links} == set(range(len(reference.split())))
        assert {i for i, _ in links} <= set(range(len(source.split())))


def test_translations_are_printed_as_text_with_links_or_as_json_lines(runs):
    text = predicted("attention")["source"][0]
    Path("two.txt").write_text(f"{text}\n\n")
    (line, empty) = translate("pair-attention", "two.txt", "", "text", None)
    assert line == predicted("attention")["hypothesis"][0] and empty == ""
    (line,) = translate("pair-attention", text, "", "pharaoh", 2)
    translation, score, links = line.split(" ||| ")
    assert float(score) < 0 and len(links.split()) == len(translation.split())
    (found,) = map(json.loads, translate("pair-attention", text, "", "json", 1))
    assert found["line"] == 1 and np.allclose(np.sum(found["weights"], 1), 1, atol=1e-3)
    (scored,) = map(json.loads, translate("pair-attention", text, translation, "json", 2))
    assert scored["translation"] == translation
    assert scored["score"] == pytest.approx(float(score), abs=1e-3)
    (line,) = map(json.loads, translate("pair-last-state", text, "", "json", None))
    assert line["weights"] is None and line["links"] == ""


def test_the_attention_between_given_sentences_is_one_picture(runs):
    table = predicted("attention").head(2)
    for name in ("source", "reference"):
        Path(f"{name}.txt").write_text("".join(f"{text}\n" for text in table[name]))
    arguments = ("pair-attention", "source.txt", "reference.txt")
    svg = alignment_picture("pair-attention", translations_to_draw(*arguments, 1))
    shown = re.findall(r"<text[^>]*>([^<]+)</text>", svg)
    for text in (*table["source"], *table["reference"]):
        assert not {*text.split()} - {*shown}
    assert svg.startswith('<svg role="img" aria-label="Which source words pair-attention reads')
    with pytest.raises(HeedError, match="draws 1 to 20 translations with attention, and here 0"):
        translations_to_draw("pair-last-state", "source.txt", "reference.txt", 1)


NOTHING = ["", "  \t", "\u200b\u2060\ufeff", "\u00ad \u200d", "\u2603 \ud55c\u2603"]


@pytest.mark.parametrize("variant", ["attention", "pieces"])
def test_a_text_of_which_nothing_is_known_has_an_empty_translation(runs, variant, capsys):
    text, model = predicted(variant)["source"][0], f"pair-{variant}"
    lines = [*NOTHING[:2], text, *NOTHING[2:]]
    Path("lines.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (known,) = translate(model, text, "", "text", None)
    found = [*translate(model, "./lines.txt", "", "text", None)]
    assert found == ["", "", known, "", "", ""] and known == predicted(variant)["hypothesis"][0]
    assert "5 of 6 lines have no word that" in capsys.readouterr().err
    for nothing in NOTHING:
        assert [*translate(model, nothing, "", "text", None)] == [""]
        assert "(the first is line 1)" in capsys.readouterr().err
        (line,) = translate(model, nothing, "", "json", None)
        assert json.loads(line)["translation"] == json.loads(line)["links"] == ""
        assert [*translate(model, nothing, "", "pharaoh", None)] == [" ||| 0.0000 ||| "]


@pytest.mark.parametrize(("model", "given", "seed", "message"), [
    ("pair-attention", "", 7, r"pair-attention has no run with seed 7\. Trained: 1, 2"),
    ("nothing", "", None, "results/train/nothing: no trained run. Trained models: "),
    ("pair-attention", "b\nc", None, "1 lines to translate, and 2 translations"),
])  # fmt: skip
def test_what_cannot_be_translated_is_one_clear_message(runs, model, given, seed, message):
    with pytest.raises(HeedError, match=message):
        list(translate(model, "a", given, "text", seed))


def test_a_share_of_the_pairs_is_the_same_for_both_models_and_within_a_larger_one():
    rows = np.arange(100, 180)
    half, quarter = (set(learning.draw_share(rows, share, 5).tolist()) for share in (0.5, 0.25))
    assert len(half) == 40 and len(quarter) == 20 and quarter < half


def test_pairs_beyond_the_caps_are_left_out_and_counted(pair):
    params, meta = load(), read_meta(Path("data/tokens/pair"))
    tokens = load_tokens("data/tokens/pair")
    rows = {split: tokens.rows(split, 0) for split in ("train", "validation")}
    recipe = resolve(params, "pair-attention", {"max_source_tokens": 15}, meta)
    learner = learning.make_learner(recipe, tokens, rows, 1, "cpu")
    lengths = np.diff(tokens.sides["norvic"].offsets)[rows["train"]]
    assert learner.items == (lengths <= 15).sum() < len(lengths)
    assert learner.left_out["long_source"] == (lengths > 15).sum()
    recipe = resolve(params, "pair-attention", {"max_source_tokens": 1}, meta)
    with pytest.raises(HeedError, match=r"pair-attention: no training pair .* Raise them"):
        learning.make_learner(recipe, tokens, rows, 1, "cpu")


def test_the_wide_control_is_as_large_as_the_model_that_it_matches(pair):
    wide = "  pair-parameter-matched: {experiment: pair, match_parameters_of: pair-input}\n"
    Path("params.yaml").write_text(PARAMS + wide)
    stages.recipe("pair")
    recipe = read_model_recipe("pair-parameter-matched")
    assert recipe.hyperparameters.decoder == "last-state" and not recipe.hyperparameters.attends
    sizes = learning.sizes(recipe.data, read_meta(TOKENS / recipe.corpus))
    wide, matched = (
        count_parameters(lambda h=each.hyperparameters: learning.build(h, sizes))
        for each in (recipe, read_model_recipe("pair-input"))
    )
    assert abs(wide - matched) / matched < 0.05
