"""Each mistake in params.yaml is one line: file, line, key, what was found, what is allowed."""

import itertools
import json
import re

import pytest

from heed import study
from heed.files import HeedError
from heed.study.corpora import file_splits
from heed.study.reference import json_schema, reference
from heed.tasks.classification.recipe import Options, Target
from tests.conftest import ROOT

SAMPLE = (ROOT / "tests/studies/small.yaml").read_text()


def error_message(text: str) -> str:
    with pytest.raises(HeedError) as caught:
        study.parse(text)
    return str(caught.value)


def line_of(fragment: str, text: str) -> int:
    return text[: text.index(fragment)].count("\n") + 1


# the prefixes of keys
D = "defaults.classification"
S = "searches.sample-author-searched"
M = "models.sample-sentiment"
C = "corpora.sample-sentiment"
E = "experiments.sample-author"
WRONG = [
    ("hidden_size: 32", "hiden_size: 32", D + ".hiden_size", "did you mean hidden_size?"),
    ("epochs: 6", "epochs: -1", D + ".epochs", "greater than 0, found -1"),
    ("epochs: 6", "epochs: eight", D + ".epochs", "valid integer, found 'eight'"),
    ("epochs: 6", 'epochs: "8"', D + ".epochs", "valid integer"),
    ("epochs: 6", "epochs: 2.5", D + ".epochs", "integer"),
    ("epochs: 6", "epochs: true", D + ".epochs", "integer"),
    ("embedding_dim: 32", "embedding_dim: 0", D + ".embedding_dim", "greater than 0, found 0"),
    ("dropout: 0.2", "dropout: 1.0", D + ".dropout", "less than 1, found 1.0"),
    ("learning_rate: 0.01", "learning_rate: 0", D + ".learning_rate", "greater than 0"),
    ("pooling: mean", "pooling: average", D + ".pooling",
     "'attention' or 'max-attention', found 'average'"),
    ("heads: 4", "heads: 5", M + "-attention.heads", "5 heads do not divide 64"),
    ("corpus: sample-sentiment, data", "corpus: sample-sentimant, data",
     "experiments.sample-sentiment.corpus", "did you mean sample-sentiment?"),
    ("seeds: [1, 2, 3]", "seeds: []", "seeds", "at least 1"),
    ("seeds: [1, 2, 3]", "seeds: [1, 1]", "seeds", "each seed once"),
    ("seeds: [1, 2, 3]", "seeds: [0]", "seeds", "from 1"),
    ("seeds: [1, 2, 3]", "seeds: 3", "seeds", "valid list, found 3"),
    ("source: sample,", "source: simple,", C + ".source", "did you mean sample?"),
    ("kind: sample-letters", "kind: imdb", "corpora.sample-letters.source",
     "made from a source of kind imdb, found sample"),
    ("test: 0.25", "test: 1.5", C + ".split", "share below 1"),
    ("kind: random, test: 0.25", "kind: folds", C + ".split", "needs `k`"),
    ("kind: random, test: 0.25", "kind: folds, k: 2", "seeds", "multiple of 2, found 3"),
    ("search: sample-author-searched", "search: nine", "models.sample-author-searched.search",
     "no search nine"),
    ("sample-author-mean: {experiment: sample-author}",
     "sample-author-parameter-matched: "
     "{experiment: sample-author, match_parameters_of: sample-author-baselin}",
     "models.sample-author-parameter-matched.match_parameters_of",
     "did you mean sample-author-baseline?"),
    ("attention: multi-head, heads: 4", "attention: none", M + "-attention.variant",
     "needs attention (multi-head, single-head)"),
    ("pooling: last}", "pooling: max-attention}", M + "-baseline.pooling",
     "without attention, found max-attention"),
    ("pooling: last}", "pooling: last, skip: true}", M + "-baseline.skip", "does not go with skip"),
    ("pooling: last}", "pooling: last, encoder: embeddings}", M + "-baseline.pooling",
     "encoder embeddings has none"),
    ("attention: multi-head, heads: 4", "encoder: transformer, heads: 4, pooling: last",
     M + "-attention.pooling", "encoder transformer has none"),
    ("pooling: last}", "pooling: mean, encoder: transformer}", M + "-baseline.encoder",
     "variant baseline is without attention, found transformer"),
    ("attention: multi-head, heads: 4", "encoder: transformer, heads: 3", M + "-attention.heads",
     "3 heads do not divide 32"),
    ("pooling: last}", "pooling: mean, encoder: none}", M + "-baseline.encoder",
     "tfidf_branch is none"),
    ("pooling: last}", "pooling: last, patience: 2, monitor: last}", M + "-baseline.patience",
     "does not look for"),
    ("attention: multi-head, heads: 4",
     "attention: multi-head, heads: 4, encoder: none, tfidf_branch: words",
     M + "-attention.encoder", "no states to attend to"),
    ("attention: multi-head, heads: 4", "pooling: attention, score: adittive",
     M + "-attention.score", "'additive', 'concat'"),
    ("attention: multi-head, heads: 4",
     "attention: multi-head, heads: 4, skip: true, embedding_dim: 33", M + "-attention.heads",
     "4 heads do not divide 97"),
    ("pooling: last}", "pooling: last, attention: multi-head}", M + "-baseline.attention",
     "without attention"),
    ("documents: 1600, ", "", "sources.sample", "needs documents"),
    ("seed: 1,", "seed: 1, path: x,", "sources.sample", "does not take path"),
    ("  sample: {kind", "  Sample_1: {kind", "sources.Sample_1", "lower-case letters"),
    ("  title: Does", "  titel: Does", "study.titel", "did you mean title?"),
    ("study:\n", "studdy:\n", "studdy", "did you mean study?"),
    ("name: sample\n", "name: [sample]\n", "study.name", "valid string"),
    ("sha256: 488bc1", "sha256: 488BC1", "sources.sample.sha256", "pattern"),
    ("documents: 1600", "documents: 1_600.5", "sources.sample.documents", "valid integer"),
    ("kind: sample, documents", "kind: samples, documents", "sources.sample.kind",
     "found 'samples'"),
    ("validation: 0.15", "validation: 0", C + ".split.validation", "greater than 0"),
    ("validation: 0.15", "validation: 15%", C + ".split.validation", "valid number"),
    ("{kind: random, test: 0.25, validation: 0.15}", "random", C + ".split", "valid dictionary"),
    ("{label: sentiment}", "{lable: sentiment}", "experiments.sample-sentiment.data.lable",
     "did you mean label?"),
    ("batch_size: 32", "batch_size: .inf", D + ".batch_size", "valid integer"),
    ("learning_rate: 0.01", "learning_rate: .inf", D + ".learning_rate", "finite"),
    ("learning_rate: 0.01", "learning_rate: 0,01", D + ".learning_rate", "valid number"),
    ("learning_rate: 0.01", "learning_rate:", D + ".learning_rate", "valid number, found None"),
    ("trials: 6", "trials: -6", S + ".trials", "greater than or equal to 0"),
    ("choice: [16, 24, 32]", "choice: [16, 24, 0]", S + ".space.hidden_size", "found 0"),
    ("  sample-author-searched:\n    exp", "  none:\n    exp", "searches.none", "taken"),
    ("{label: author}", "{label: autor}", E + ".data.label",
     "corpus sample-letters has no label autor; did you mean author? Known: author, language"),
    ("{label: author}", "{label: sentiment}", E + ".data.label", "Known: author, language"),
    ("{label: author}", "{label: author, source: de}", E + ".data.source",
     "unknown key. Allowed: label"),
    ("{label: author}", "author", E + ".data", "found 'author'"),
    ("{task: classification, corpus: sample-letters",
     "{task: clasification, corpus: sample-letters", E + ".task",
     "input should be 'classification' or 'multilabel' or 'translation', found 'clasification'"),
    ("  classification:\n", "  clasification:\n", "defaults.clasification",
     "did you mean classification?"),
    ("  classification:\n", "  epochs: 6\n  classification:\n", "defaults.epochs",
     "is now defaults.classification.epochs"),
    ("source: sample, kind: sample-letters",
     "source: sample, encoding: latin-1, kind: sample-letters", "corpora.sample-letters.encoding",
     "is now encoding of the corpus's source, in `sources`"),
    ("trials: 6", "trials: 6\n    address: 10.0.0.1:6379", S + ".address",
     "is now HEED_RAY_ADDRESS in the environment, or `heed search sample-author-searched --ad"),
]  # fmt: skip


def of_default(key: str, value: object) -> tuple[str, str]:
    """Return a text of SAMPLE, and its replacement, which sets a default hyperparameter."""
    return "  classification:\n", f"  classification:\n    {key}: {value}\n"


# what a key sizes or seeds: (text of SAMPLE, its replacement, the key, what is allowed)
UNBOUNDED = {
    "a seed of runs": ("[1, 2, 3]", f"[1, 2, {2**64}]", "seeds", "from 1 to 2147483647"),
    "a seed that only 64 bits hold": ("[1, 2, 3]", "[1, 2, 2147483648]", "seeds", "to 2147483647"),
    "a seed of a source": ("seed: 1,", f"seed: {2**64},", "sources.sample.seed", "2147483647"),
    "a negative seed": ("seed: 1,", "seed: -1,", "sources.sample.seed", "equal to 0"),
    "a seed of a split": ("test: 0.25,", f"test: 0.25, seed: {2**32},", C + ".split.seed",
                          "2147483647"),
    "a seed of a search": ("trials: 6", f"seed: {2**64}\n    trials: 6", S + ".seed", "2147483647"),
    **{
        key: (*of_default(key, 1_000_000_000), f"{D}.{key}", "less than or equ")
        for key in (
            "vocabulary_size", "max_tokens", "bigram_buckets", "character_buckets", "heads",
            "tfidf_buckets", "patience",
        )
    },
    **{
        key: (f"    {key}: {value}\n", f"    {key}: 1000000000\n", f"{D}.{key}", "less than")
        for key, value in {
            "hidden_size": 32, "embedding_dim": 32, "linear_size": 32, "epochs": 6,
            "batch_size": 32,
        }.items()
    },
    "hidden_size: 1e9": ("hidden_size: 32\n", "hidden_size: 1e9\n", D + ".hidden_size",
                         "valid integer, found 1000000000.0"),
    **{
        f"search {key}": ("trials: 6", f"trials: 6\n    {key}: 1000000000", f"{S}.{key}", "less")
        for key in ("concurrent", "cpu", "retries", "reports", "reduction_factor", "minutes")
    },
    "trials": ("trials: 6", "trials: 1000000000", S + ".trials", "less"),
    "a value of a space": ("choice: [16, 24, 32]", "choice: [16, 24, 1000000000]",
                           S + ".space.hidden_size",
                           "less than or equal to 65536, found 1000000000"),
    "cores": ("pooling: last}", "threads: 10000}", M + "-baseline.threads", "4096"),
    "GPUs": ("pooling: last}", "gpus: 100000}", M + "-baseline.gpus", "1024"),
    "documents": ("documents: 1600", "documents: 1000000000", "sources.sample.documents", "less"),
    "a sample": ("kind: sample-letters, ", "kind: sample-letters, sample: 1000000000, ",
                 "corpora.sample-letters.sample", "less than or equal"),
    "a name": ("  sample: {kind", f"  {'a' * 101}: {{kind", f"sources.{'a' * 101}", "at most 100"),
    "a share that leaves nothing to train on": (
        "validation: 0.15", "validation: 0.9999", C + ".split",
        "of 1,600 documents 400 are for the test, 1,200 for validation"),
    "a test split of all documents": ("test: 0.25", "test: 1600", C + ".split",
                                     "leaves nothing to train on"),
    "more folds than documents": (
        "split: {kind: random, test: 0.25, validation: 0.15}",
        "sample: 2, split: {kind: folds, k: 3}", C + ".split", "of 2 documents"),
}  # fmt: skip


@pytest.mark.drill("params.yaml: a size that takes all memory, a seed that no generator has")
@pytest.mark.parametrize("what", UNBOUNDED)
def test_what_sizes_memory_or_seeds_a_generator_is_bounded(what):
    right, wrong, key, expected = UNBOUNDED[what]
    assert right in SAMPLE
    lines = error_message(SAMPLE.replace(right, wrong, 1)).splitlines()
    assert [line for line in lines if f": {key}: " in line and expected in line], lines
    assert all(len(line) < 300 for line in lines)


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in itertools.pairwise("abcdefghi")
)
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{b}: &{b} {{<<: [{', '.join([f'*{a}'] * 10)}]}}\n" for a, b in itertools.pairwise("abcdefghi")
)


@pytest.mark.drill("params.yaml: YAML that nests deeply, expands aliases, holds half a character")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: " + "[" * 5000, "params.yaml:1: nested more than 20 levels deep"),
        (f"a: {'[' * 60}{']' * 60}", "params.yaml:1: nested more than 20 levels deep"),
        (
            "".join(f"{' ' * depth}a:\n" for depth in range(500)),
            "params.yaml:1: nested more than 20",
        ),
        (LAUGHS, "params.yaml:5: more than 100,000 values, each counted as often as aliases"),
        (MERGES, "params.yaml:6: more than 100,000 values"),
        ("a: &a [*a]", "params.yaml:1: more than 100,000 values"),
        (
            SAMPLE.replace("title: Does", 'title: "\\ud800" # Does', 1),
            "params.yaml:5: not valid YAML: an escape of half a character",
        ),
        (SAMPLE.replace("name: sample", '"\\udfff": sample', 1), "an escape of half a character"),
        (f"seeds: [{'9' * 5000}]", "params.yaml:1: not valid YAML: Exceeds the limit"),
    ],
    ids=["open", "closed", "block", "laughs", "merges", "itself", "value", "key", "number"],
)
def test_yaml_that_no_study_needs_is_an_error_of_one_line(text, expected):
    message = error_message(text)
    assert expected in message
    assert len(message.splitlines()) == 1
    assert len(message) < 300


def test_aliases_and_merges_of_a_usual_size_are_read():
    text = SAMPLE.replace("split: {kind", "split: &split {kind", 1)
    text = re.sub(r"(sample-letters, split: )\{[^}]*\}", r"\1*split", text)
    params = study.parse(text)
    assert params.corpora["sample-letters"].split == params.corpora["sample-sentiment"].split


def test_a_key_that_a_terminal_would_obey_is_escaped():
    message = error_message(SAMPLE.replace("seeds:", '"a\\e[31m\\nb": 1\nseeds:', 1))
    assert message == (
        "params.yaml:10: 'a\\x1b[31m\\nb': unknown key. Allowed: study, seeds, sources, corpora, "
        "experiments, searches, later_searches, defaults, models, explain, "
        "adversarial_attention"
    )


@pytest.mark.drill("params.yaml: one mistake, one line with file, line and key")
@pytest.mark.parametrize(
    ("right", "wrong", "key", "expected"), WRONG, ids=[case[1][:40] for case in WRONG]
)
def test_a_mistake_is_named_with_line_key_and_what_to_do(right, wrong, key, expected):
    assert right in SAMPLE
    text = SAMPLE.replace(right, wrong, 1)
    message = error_message(text)
    first = next(line for line in message.splitlines() if f": {key}: " in line and expected in line)
    assert len(message.splitlines()) == (2 if key == "searches.none" else 1), (
        "one mistake, one line"
    )
    number = int(first.split(":")[1])
    last_key = key.rsplit(".", 1)[-1]
    # a variant follows from the name of its model
    assert last_key == "variant" or last_key in text.splitlines()[number - 1]
    assert first.startswith("params.yaml:")
    assert "Traceback" not in message


OLD_EXPERIMENT = SAMPLE.replace(
    "{task: classification, corpus: sample-letters, data: {label: author}",
    "{corpus: sample-letters, label: author",
)
DEFAULTS = SAMPLE[SAMPLE.index("defaults:\n") : SAMPLE.index("\n\n# `mean`")]
OLD_DEFAULTS = SAMPLE.replace(
    DEFAULTS, DEFAULTS.replace("  classification:\n", "").replace("\n    ", "\n  ")
)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (OLD_EXPERIMENT, [E + ".label"], E + ".data.label, next to task: classification"),
        (
            OLD_DEFAULTS,
            [
                f"defaults.{key}"
                for key in (
                    "embedding_dim", "embedding_std", "hidden_size", "linear_size", "pooling",
                    "dropout", "epochs", "batch_size", "learning_rate",
                )
            ],
            D + ".{key}",
        ),
    ],
    ids=["label", "defaults"],
)  # fmt: skip
def test_the_error_of_a_renamed_key_has_its_new_name(text, old, new):
    """One line for each key, and none for the missing `task`, `data` or `classification`."""
    assert text != SAMPLE
    lines = error_message(text).splitlines()
    assert len(lines) == len(old)
    for line, key in zip(lines, old, strict=True):
        name = key.rsplit(".", 1)[-1]
        assert f": {key}: is now {new.format(key=name)}" in line
        assert f"{name}: " in text.splitlines()[int(line.split(":")[1]) - 1]


def test_the_error_of_an_experiment_without_a_task_has_its_line():
    text = SAMPLE.replace(
        "{task: classification, corpus: sample-letters", "{corpus: sample-letters"
    )
    line = line_of("sample-author: {corpus", text)
    assert (
        error_message(text)
        == f"params.yaml:{line}: experiments.sample-author.task: missing, and it has no default"
    )


@pytest.mark.parametrize("name", ["data", "classification", "split"])
def test_a_corpus_may_be_named_as_a_section(name):
    text = re.sub(r"(?<=[ {])sample-letters(?=[:,\n])", name, SAMPLE).replace(
        "kind: " + name, "kind: sample-letters"
    )
    assert name in study.parse(text).corpora
    text = text.replace(f"  {name}: {{source", f"  {name}: {{sorce")
    assert f"corpora.{name}.sorce: unknown key; did you mean source?" in error_message(text)


@pytest.mark.parametrize(
    ("columns", "known"),
    [
        ("text_column: t, label_column: sort", "sort"),
        ("text_columns: [t, u], label_columns: [sort, tone]", "sort, tone"),
    ],
)
def test_the_labels_of_a_table_have_the_names_of_their_columns(columns, known):
    table = f"sample: {{kind: table, path: x.csv, sha256: {'a' * 64}}}"
    text = re.sub(r"sample: \{kind: sample, [^}]*\}", table, SAMPLE)
    for kind in ("sample-sentiment", "sample-letters"):
        text = text.replace(f"kind: {kind},", f"kind: table, {columns},")
    text = re.sub(r"\{label: \w+\}", "{label: sort}", text)
    assert study.parse(text)
    message = error_message(text.replace("{label: sort}", "{label: label}", 1))
    assert f".data.label: corpus sample-sentiment has no label label. Known: {known} (" in message
    assert "labels have the names of their columns" in message


FILES = "paths: {{{0}: a.csv, {1}: b.csv}}, hashes: {{{0}: {2}, {1}: {2}}}"


@pytest.mark.parametrize(
    ("keys", "column", "message"),
    [
        (("train", "test"), "", ""),
        (("training_1", "testing_1"), "", ""),
        (("file_1", "file_2"), ", split_column: p", ""),
        (
            ("train", "file_2"),
            "",
            "sentiment.split: split kind given needs split_column, or",
        ),
        (("file_1", "file_2"), "", "a source with `paths` whose keys are train and test"),
        (("train", "test"), ", split_column: p", "the keys of sources.sample.paths are splits too"),
    ],
)
def test_a_column_or_the_keys_of_files_give_the_parts(keys, column, message):
    files = FILES.format(*keys, "a" * 64)
    text = re.sub(r"sample: \{kind: sample, [^}]*\}", f"sample: {{kind: table, {files}}}", SAMPLE)
    for kind in ("sample-sentiment", "sample-letters"):
        table = f"kind: table, text_column: t, label_column: l{column},"
        text = text.replace(f"kind: {kind},", table)
    text = re.sub(r"\{label: \w+\}", "{label: l}", text)
    text = re.sub(r"split: \{[^}]*\}", "split: {kind: given}", text)
    if message:
        assert message in error_message(text)
    else:
        assert file_splits(study.parse(text).sources["sample"]) or column


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ("path: a.csv", "a source of kind table needs path and sha256, or hashes and paths"),
        ("paths: {}, hashes: {}", "expected one file or more"),
        ("paths: {Train: a.csv}, hashes: {Train: HASH}", "files and languages have names of lower"),
        ("paths: {one: a.csv}, hashes: {two: HASH}", "hashes: expected one for each of one"),
    ],
)
def test_the_files_of_a_table_are_declared_with_their_hashes(files, message):
    table = f"sample: {{kind: table, {files.replace('HASH', 'a' * 64)}}}"
    text = re.sub(r"sample: \{kind: sample, [^}]*\}", table, SAMPLE)
    assert message in error_message(text)


@pytest.mark.drill("params.yaml: no params file at all")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("study: [", "params.yaml:1: not valid YAML"),
        (
            "study:\n  title: yes: no\n",
            "params.yaml:2: not valid YAML: mapping values are not allowed here",
        ),
        ("a: 1\na: 2\n", 'params.yaml:2: not valid YAML: found duplicate key "a"'),
        ("\tx: 1", "not valid YAML"),
        ("", "expected sections"),
        ("- a", "expected sections (study, seeds, sources, ...), found list"),
        ("<<<<<<< HEAD\nstudy: 1\n=======\n", "params.yaml:1: a merge conflict: keep one side"),
        ("study: {name: x}\n", "study.title: missing"),
    ],
)
def test_invalid_yaml_is_an_error_of_one_line(text, expected):
    assert expected in error_message(text)


def test_a_missing_file_says_what_to_do(tmp_path):
    with pytest.raises(HeedError, match="heed study sample"):
        study.load(tmp_path / "params.yaml")


@pytest.mark.parametrize(
    ("kind", "singular"),
    [("sources", "source"), ("corpora", "corpus"), ("searches", "search"), ("models", "model")],
)
def test_what_is_not_in_params_is_named_in_the_singular(kind, singular):
    with pytest.raises(
        HeedError, match=rf"^params.yaml: {kind}: there is no {singular} nosuch\. Known: "
    ):
        study.load(ROOT / "workflow/studies/letters.yaml").section(kind, "nosuch")


def test_1e_minus_4_is_a_number_as_dvc_reads_it():
    defaults = study.parse(SAMPLE.replace("0.01\n", "1e-2\n")).defaults
    assert defaults.values["classification"]["learning_rate"] == 0.01


@pytest.mark.parametrize(
    "path", sorted((ROOT / "workflow/studies").glob("*.yaml")), ids=lambda path: path.stem
)
def test_every_study_is_valid_and_named_as_its_file(path):
    loaded = study.load(path)
    assert loaded.study.name == path.stem
    for name in loaded.models:
        assert loaded.resolved(name, {}).epochs > 0


def test_the_documented_schema_is_the_one_in_the_code():
    assert (ROOT / "docs/params.md").read_text() == reference(), "run `heed schema`"
    assert json.loads((ROOT / "docs/params.schema.json").read_text()) == json_schema(), (
        "run `heed schema`"
    )


def test_the_sections_are_plain_dataclasses_as_their_packages_declare_them():
    params = study.parse(SAMPLE)
    corpus, experiment = params.corpora["sample-letters"], params.experiments["sample-author"]
    assert [type(each) for each in (params.sources["sample"], corpus, corpus.split)] == [
        study.Source, study.Corpus, study.Split,
    ]  # fmt: skip
    assert (experiment.data, experiment.options) == (Target("author"), Options("both"))
    assert type(params.models["sample-author-mean"]) is study.Model


def test_wide_takes_its_hyperparameters_from_the_model_it_matches():
    wide = (
        "  sample-author-parameter-matched: "
        "{experiment: sample-author, match_parameters_of: sample-author-attention}\n"
    )
    loaded = study.parse(SAMPLE + wide)
    assert loaded.resolved("sample-author-parameter-matched", {}) == loaded.resolved(
        "sample-author-attention", {}
    )
    assert loaded.resolved("sample-author-parameter-matched", {"epochs": 3}).epochs == 3
    assert "remove epochs" in error_message(SAMPLE + wide.replace("}", ", epochs: 3}"))
    assert "names the model" in error_message(
        SAMPLE
        + wide.replace(
            "match_parameters_of: sample-author-attention",
            "match_parameters_of: sample-author-parameter-matched",
        )
    )


def test_a_variant_cannot_be_named_as_an_reference_model():
    text = SAMPLE.replace("sample-author-mean", "sample-author-linear")
    assert (
        "models.sample-author-linear.variant: linear is the name of a reference model"
        in error_message(text)
    )


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("attention: [atention]", "study.attention: there is no variant atention; did you mean"),
        ("attention: []", "study.attention: "),
        ("equivalence_margin: 0", "study.equivalence_margin: "),
        ("convergence_pp: -1", "study.convergence_pp: "),
    ],
)
def test_the_question_of_a_study_names_variants_and_margins(key, message):
    with pytest.raises(HeedError, match=re.escape(message)):
        study.parse(SAMPLE.replace("study:\n", f"study:\n  {key}\n", 1))


def test_the_metric_of_an_experiment_is_one_of_its_task():
    text = SAMPLE.replace("data: {label: author}", "data: {label: author}, metric: macro_f1", 1)
    assert study.parse(text).experiments["sample-author"].metric == "macro_f1"
    with pytest.raises(
        HeedError, match=r"experiments\.sample-author\.metric: there is no metric of"
    ):
        study.parse(text.replace("macro_f1", "macro_f2"))


def test_experiments_are_compared_with_one_another_and_with_the_talk_by_one_figure():
    degraded = SAMPLE.replace(
        "data: {label: author}", "data: {label: author}, suboptimal_of: sample-sentiment", 1
    )
    study.parse(degraded)
    text = degraded.replace("suboptimal_of", "metric: macro_f1, suboptimal_of", 1)
    with pytest.raises(
        HeedError,
        match=r"sample-author\.metric: sample-sentiment is compared by accuracy, this by macro_f1",
    ):
        study.parse(text)
    talk = "published: {experiment: letters-author, comparable: true}"
    text = SAMPLE.replace("data: {label: author}", f"data: {{label: author}}, {talk}", 1)
    study.parse(text)
    with pytest.raises(HeedError, match=r"sample-author\.published: the talk's gain is one of"):
        study.parse(text.replace("published", "metric: macro_f1, published", 1))
