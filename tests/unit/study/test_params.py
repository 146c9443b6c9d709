"""Each mistake in params.yaml is one line: file, line, key, what was found, what is allowed."""

import itertools
import json
import re

import pytest
from docs.params import json_schema, reference

from heed import study
from heed.files import HeedError
from tests.conftest import ROOT

SAMPLE = (ROOT / "tests/studies/small.yaml").read_text()
TABLE = re.sub(r"sample: \{kind: sample, [^}]*\}", "sample: {kind: table, FILES}", SAMPLE)


def error_message(text: str) -> str:
    with pytest.raises(HeedError) as caught:
        study.parse(text)
    return str(caught.value)


# the prefixes of keys
D = "defaults.classification"
S = "searches.sample-author-searched"
M = "models.sample-sentiment"
C = "corpora.sample-sentiment"
E = "experiments.sample-author"
HUGE = 1_000_000_000
# a text of the study, its replacement, the key of the mistake, a part of the message
SHA = "a" * 64
TINY = f"encoders: {{tiny: {{folder: tiny, sha256: {SHA}}}}}"
LETTERS = "sample-letters: {encoder: tiny}"

ENCODERS = [
    (TINY, "sample-letters: {encoder: tinny}", "pretrained.sample-letters.encoder", "mean tiny?"),
    (TINY, "sample-leters: {encoder: tiny}", "pretrained.sample-leters", "mean sample-letters?"),
    (TINY.replace("folder: tiny", "folder: tiny, hub: heed/tiny"), LETTERS, "encoders.tiny",
     "one of package, folder and hub says where it is, found folder, hub"),
    (TINY.replace("folder: tiny, ", ""), LETTERS, "encoders.tiny", "found none of them"),
    (TINY.replace("folder: tiny", "folder: tiny, revision: a"), LETTERS, "encoders.tiny.revision",
     "is that of a model on the hub"),
    (TINY.replace("}}", ", max_tokens: 4}}"), LETTERS, "encoders.tiny.max_tokens", "at least 8"),
    (TINY, "sample-letters: {encoder: tiny, epochs: 5}", "pretrained.sample-letters.epochs",
     "is of a tuned encoder: add `tune: true`"),
    (TINY, "sample-letters: {encoder: tiny, explain: 501}", "pretrained.sample-letters.explain",
     "at most 500"),
]  # fmt: skip
WRONG = [
    ("hidden_size: 32", "hiden_size: 32", f"{D}.hiden_size", "did you mean hidden_size?"),
    ("epochs: 6", "epochs: eight", f"{D}.epochs", "expected a whole number, "),
    ("epochs: 6", "epochs: true", f"{D}.epochs", "expected a whole number, "),
    ("epochs: 6", f"epochs: {HUGE}", f"{D}.epochs", "above 0, at most 100000, found 1000000000"),
    ("hidden_size: 32\n", "hidden_size: 1e9\n", f"{D}.hidden_size", "expected a whole number, "),
    ("dropout: 0.2", "dropout: 1.0", f"{D}.dropout", "0 or at least 1e-06, at most 0.95, "),
    ("learning_rate: 0.01", "learning_rate: 0,01", f"{D}.learning_rate", "found '0,01'"),
    ("learning_rate: 0.01", "learning_rate: .inf", f"{D}.learning_rate", "found inf"),
    ("learning_rate: 0.01", "learning_rate:", f"{D}.learning_rate", "found None"),
    ("pooling: mean", "pooling: average", f"{D}.pooling",
     "one of last, mean, max, attention, max-attention, found 'average'"),
    ("  classification:\n", "  clasification:\n", "defaults.clasification", "did you mean classif"),
    ("attention: multi-head, heads: 4", "pooling: attention, score: adittive",
     f"{M}-attention.score", "one of additive, concat"),
    ("seeds: [1, 2, 3]", "seeds: []", "seeds", "a list, of length at least 1"),
    ("seeds: [1, 2, 3]", "seeds: [1, 1]", "seeds", "each seed once"),
    ("seeds: [1, 2, 3]", f"seeds: [1, {2**64}]", "seeds.1", "at least 1, at most 2147483647"),
    ("seeds: [1, 2, 3]", "seeds: 3", "seeds", "expected a list, of"),
    ("documents: 1600, ", "", "sources.sample", "needs documents"),
    ("documents: 1600", f"documents: {HUGE}", "sources.sample.documents", "at most 1000000,"),
    ("seed: 1,", "seed: 1, path: x,", "sources.sample", "does not take path"),
    ("  sample: {kind", "  Sample_1: {kind", "sources.Sample_1", "lower-case letters"),
    ("  sample: {kind", f"  {'a' * 101}: {{kind", f"sources.{'a' * 101}", "at most 100"),
    ("sha256: 488bc1", "sha256: 488BC1", "sources.sample.sha256", "of the form ^[0-9a-f]{64}$"),
    ("kind: sample, documents", "kind: samples, documents", "sources.sample.kind", "'samples'"),
    ("  sample: {kind: sample,", "  sampel: {", "sources.sampel", "missing, and none follows"),
    ("kind: sample-sentiment, ", "", C, "kind: missing, and none follows"),
    ("source: sample,", "source: simple,", f"{C}.source", "did you mean sample?"),
    ("kind: sample-letters", "kind: imdb", "corpora.sample-letters.source",
     "made from a source of kind imdb, found sample"),
    ("test: 0.25", "test: 1.5", f"{C}.split", "a share from 0.0001 to 0.99 or a whole"),
    ("kind: random, test: 0.25", "kind: folds", f"{C}.split", "needs `k`"),
    ("kind: random, test: 0.25", "kind: folds, k: 2", "seeds",
     "as with the seeds 1 to 2 or to a multiple of 2; found [1, 2, 3]"),
    ("kind: random, test: 0.25", "kind: folds, k: 3, repeats: 2", "seeds",
     "3 folds, 6 in 2 repeats: each must have equally many seeds (seed s trains the fold (s - "
     "1) mod 6), as with the seeds 1 to 6 or"),
    ("kind: random, test", "kind: random, repeats: 2, test", f"{C}.split", "only for kind folds"),
    ("{kind: random, test: 0.25, validation: 0.15}", "random", f"{C}.split", "keys with values"),
    ("  title: Does", "  titel: Does", "study.titel", "did you mean title?"),
    ("study:\n", "studdy:\n", "studdy", "did you mean study?"),
    ("name: sample\n", "name: [sample]\n", "study.name", "a name: at most 100"),
    ("study:\n", "study:\n  attention: [atention]\n", "study.attention", "no variant atention"),
    ("corpus: sample-sentiment, data", "corpus: sample-sentimant, data",
     "experiments.sample-sentiment.corpus", "did you mean sample-sentiment?"),
    ("{label: sentiment}", "{lable: sentiment}", "experiments.sample-sentiment.data.lable",
     "did you mean label?"),
    ("{label: author}", "{label: autor}", f"{E}.data.label",
     "corpus sample-letters has no label autor; did you mean author? Known: author, language"),
    ("{label: author}", "{label: author, source: de}", f"{E}.data.source", "Allowed: label"),
    ("{label: author}", "{label: author}, metric: macro_f2", f"{E}.metric", "there is no metric"),
    ("{task: classification, corpus: sample-letters",
     "{task: clasification, corpus: sample-letters", f"{E}.task",
     "one of classification, translation, found 'clasification'"),
    ("{task: classification, corpus: sample-letters", "{corpus: sample-letters", f"{E}.task",
     "missing, and it has no default"),
    ("{label: author}", "{label: author}, suboptimal_of: sample-author", f"{E}.suboptimal_of",
     "names an experiment that is not degraded"),
    ("{label: author}", "{label: author}, suboptimal_of: sample-sentiment", f"{E}.suboptimal_of",
     "with the same task, corpus, data and metric"),
    ("{label: author}",
     "{label: author}, metric: macro_f1, published: {experiment: imdb, comparable: true}",
     f"{E}.published", "the talk's gain is one of accuracy"),
    ("search: sample-author-searched", "search: nine", "models.sample-author-searched.search",
     "no search nine"),
    ("sample-author-mean: {experiment: sample-author}",
     "sample-author-parameter-matched: "
     "{experiment: sample-author, match_parameters_of: sample-author-baselin}",
     "models.sample-author-parameter-matched.match_parameters_of",
     "did you mean sample-author-baseline?"),
    ("heads: 4", "heads: 5", f"{M}-attention.heads", "5 heads do not divide 64"),
    ("attention: multi-head, heads: 4", "attention: none", f"{M}-attention.variant",
     "needs attention (multi-head, single-head)"),
    ("pooling: last}", "pooling: max-attention}", f"{M}-baseline.pooling",
     "without attention, found max-attention"),
    ("pooling: last}", "pooling: last, encoder: embeddings}", f"{M}-baseline.pooling",
     "encoder embeddings has none"),
    ("pooling: last}", "patience: 2, monitor: last}", f"{M}-baseline.patience", "does not look"),
    ("pooling: last}", "thread: 4}", f"{M}-baseline.thread", "did you mean threads?"),
    ("sample-author-mean", "sample-author-linear", "models.sample-author-linear.variant",
     "linear is the name of a reference model"),
    ("trials: 6", "trials: -6", f"{S}.trials", "above 0"),
    ("trials: 6", "seed: 3\n    trials: 6", f"{S}.seed", "the study's seeds are [1, 2, 3]"),
    ("trials: 6", "address: 10.0.0.1:6379\n    trials: 6", f"{S}.address", "unknown key"),
    ("sample-author-mean", "sample-author-pretrained", "models.sample-author-pretrained.variant",
     "pretrained is the name of a reference model"),
    *(("searches:\n", f"{encoder}\npretrained: {{{entry}}}\nsearches:\n", key, message)
      for encoder, entry, key, message in ENCODERS),
    ("title: Sample letters by author", "seeds: [1, 1], title: Sample letters by author",
     "experiments.sample-author.seeds", "each seed once, found [1, 1]"),
    ("choice: [16, 24, 32]", "choice: [16, 24, 0]", f"{S}.space.hidden_size", "found 0"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("right", "wrong", "key", "expected"), WRONG, ids=[case[1][:40] for case in WRONG]
)
def test_a_mistake_is_named_with_line_key_and_what_to_do(right, wrong, key, expected):
    assert right in SAMPLE
    text = SAMPLE.replace(right, wrong, 1)
    (message,) = error_message(text).splitlines()
    assert message.startswith("params.yaml:") and f": {key}: " in message and expected in message
    line = text.splitlines()[int(message.split(":")[1]) - 1]
    last_key = key.rsplit(".", 1)[-1]
    # a variant follows from the name of its model
    assert last_key in line or last_key in ("variant", "task", "1")


# what heed 0.3.0 had: a text of the study, its replacement, the key, and whether its value is gone
GONE = [
    ("seeds:", "training: {logger: mlflow}\nseeds:", "training", "key"),
    ("seeds:", "later_searches: {}\nseeds:", "later_searches", "key"),
    ("trials: 6", "trials: 6\n    sampler: tpe", f"{S}.sampler", "key"),
    ("trials: 6", "trials: 6\n    groups: [group-1]", f"{S}.groups", "key"),
    ("trials: 6", "trials: 6\n    minutes: 5", f"{S}.minutes", "key"),
    ("trials: 6", "trials: 0", f"{S}.trials", "value"),
    ("dropout: 0.2", "dropout: 0.2\n    tfidf_branch: words", f"{D}.tfidf_branch", "key"),
    (
        "defaults:", "defaults:\n  translation: {min_count: 2}", "defaults.translation.min_count",
        "key",
    ),
    ("pooling: last}", "pooling: mean, encoder: none}", f"{M}-baseline.encoder", "value"),
    ("study:\n", "study:\n  language: de\n", "study.language", "key"),
    ("sample-author: {task: classification", "sample-author: {task: multilabel",
     "experiments.sample-author.task", "value"),
    ("sources:\n", "sources:\n  mine: {kind: table, path: a, sha256: " + "a" * 64
     + ", format: prodigy}\n", "sources.mine.format", "value"),
]  # fmt: skip


@pytest.mark.parametrize(("right", "wrong", "key", "what"), GONE, ids=[case[2] for case in GONE])
def test_what_an_earlier_version_had_is_refused_with_its_number(right, wrong, key, what):
    (message,) = error_message(SAMPLE.replace(right, wrong, 1)).splitlines()
    line, text = message.removeprefix("params.yaml:").split(": ", 1)
    assert line.isdigit()
    assert text == (
        f"{key}: heed 0.3.0 had this {what}, and this version has not: remove it, or use version "
        "0.3.0"
    )


def test_all_mistakes_are_reported_and_keys_that_a_terminal_would_obey_are_escaped():
    text = SAMPLE.replace("seeds:", '"a\\e[31m\\nb": 1\nseeds:', 1).replace(
        "epochs: 6", "epochs: x"
    )
    first, second = error_message(text).splitlines()
    assert first.startswith("params.yaml:42: defaults.classification.epochs: ")
    assert second.startswith(
        "params.yaml:10: 'a\\x1b[31m\\nb': unknown key. Allowed: study, seeds, "
    )


def bomb(line: str) -> str:
    """Return YAML in which each name stands for ten of the one before."""
    names = itertools.pairwise("abcdefghi")
    return "".join(
        f"{b}: &{b} {line.replace('NAMES', ', '.join([f'*{a}'] * 10))}\n" for a, b in names
    )


@pytest.mark.parametrize(("text", "expected"), [
    ("study: [", "params.yaml:1: not valid YAML"),
    ("study:\n  title: yes: no\n", "params.yaml:2: not valid YAML: mapping values are not"),
    ("a: 1\na: 2\n", 'params.yaml:2: not valid YAML: found duplicate key "a"'),
    ("", "expected sections"),
    ("- a", "expected sections (study, seeds, sources, ...), found list"),
    ("<<<<<<< HEAD\nstudy: 1\n=======\n", "params.yaml:1: a merge conflict: keep one side"),
    ('a: 1\nb: "\\ud800"\n', "params.yaml:2: not valid YAML: an escape of half a character"),
    ("a: " + "[" * 1500, "params.yaml:1: not valid YAML"),
    (
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + bomb("[NAMES]"), ":1: more than 100,000 values",
    ),
    ("a: &a {x: 1}\n" + bomb("{<<: [NAMES]}"), "params.yaml:1: more than 100,000 values"),
    ("a: &a [*a]", "params.yaml:1: more than 100,000 values"),
    (f"seeds: [{'9' * 5000}]", "params.yaml:1: not valid YAML: Exceeds the limit"),
])  # fmt: skip
def test_text_that_no_study_has_is_an_error_of_one_line(text, expected):
    (message,) = error_message(text).splitlines()
    assert expected in message and len(message) < 300


def table_study(columns: str) -> str:
    text = re.sub(r"kind: sample-(sentiment|letters),", f"kind: table, {columns},", TABLE)
    return text.replace("FILES", f"path: x.csv, sha256: {'a' * 64}")


@pytest.mark.parametrize(("columns", "known"), [
    ("text_column: t, label_column: sort", "sort"),
    ("text_columns: [t, u], label_columns: [sort, tone]", "sort, tone"),
])  # fmt: skip
def test_the_labels_of_a_table_have_the_names_of_their_columns(columns, known):
    text = re.sub(r"\{label: \w+\}", "{label: sort}", table_study(columns))
    assert study.parse(text)
    message = error_message(text.replace("{label: sort}", "{label: label}", 1))
    assert f".data.label: corpus sample-sentiment has no label label. Known: {known} (" in message


@pytest.mark.parametrize(("keys", "column", "is_valid"), [
    (("train", "test"), "", True),
    (("training_1", "testing_1"), "", True),
    (("file_1", "file_2"), ", split_column: p", True),
    (("train", "file_2"), "", False),
    (("train", "test"), ", split_column: p", False),
])  # fmt: skip
def test_a_column_or_the_keys_of_files_give_the_splits(keys, column, is_valid):
    paths, hashes = {key: f"{key}.csv" for key in keys}, dict.fromkeys(keys, "a" * 64)
    text = table_study(f"text_column: t, label_column: l{column}")
    text = re.sub(r"path: [^}]*\}", f"paths: {paths}, hashes: {hashes}}}", text)
    text = re.sub(r"\{label: \w+\}", "{label: l}", text)
    text = re.sub(r"split: \{[^}]*\}", "split: {kind: given}", text)
    if is_valid:
        assert study.parse(text)
    else:
        assert "split kind given needs either split_column, or a source" in error_message(text)


@pytest.mark.parametrize(("files", "message"), [
    ("path: a.csv", "a source of kind table needs path and sha256, or hashes and paths"),
    ("paths: {}, hashes: {}", "expected one file or more"),
    ("paths: {Train: a.csv}, hashes: {Train: HASH}", "expected the name of a file, "),
    ("paths: {one: a.csv}, hashes: {two: HASH}", "hashes: expected one for each of one"),
    (
        "paths: {train: a.csv, test: a.csv}, hashes: {train: HASH, test: HASH}",
        "a file is named twice: a.csv",
    ),
])  # fmt: skip
def test_the_files_of_a_table_are_declared_with_their_hashes(files, message):
    assert message in error_message(TABLE.replace("FILES", files.replace("HASH", "a" * 64)))


def test_a_missing_file_and_an_unknown_name_say_what_to_do(tmp_path):
    with pytest.raises(HeedError, match="heed study sample"):
        study.load(tmp_path / "params.yaml")
    with pytest.raises(HeedError, match=r"^params.yaml: corpora: there is no corpus x\. Known: "):
        study.parse(SAMPLE).section("corpora", "x")


def test_1e_minus_4_is_a_number_as_dvc_reads_it():
    params = study.parse(SAMPLE.replace("0.01\n", "1e-2\n"))
    assert params.hyperparameters("sample-author-mean").learning_rate == 0.01


@pytest.mark.parametrize(
    "path", sorted((ROOT / "workflow/studies").glob("*.yaml")), ids=lambda path: path.stem
)
def test_every_study_is_valid_and_named_as_its_file(path):
    loaded = study.load(path)
    assert loaded.study.name == path.stem
    for name in loaded.models:
        assert loaded.resolved(name, {}).epochs > 0


def test_the_documented_schema_is_the_one_in_the_code():
    assert (ROOT / "docs/params.md").read_text() == reference(), "run `make schema`"
    assert json.loads((ROOT / "docs/params.schema.json").read_text()) == json_schema(), (
        "run `make schema`"
    )


def test_a_parameter_matched_model_takes_its_hyperparameters_from_the_model_it_matches():
    name, match = "sample-author-parameter-matched", "sample-author-attention"
    line = f"  {name}: {{experiment: sample-author, match_parameters_of: {match}}}\n"
    loaded = study.parse(SAMPLE + line)
    assert loaded.resolved(name, {}) == loaded.resolved(match, {})
    assert loaded.resolved(name, {"epochs": 3}).epochs == 3
    for key in ("epochs: 3", "preset: small"):
        message = error_message(SAMPLE + line.replace("}", f", {key}}}"))
        assert f"takes its hyperparameters from {match}; remove {key.split(':')[0]}" in message
    assert "names the model" in error_message(SAMPLE + line.replace(match, name))
