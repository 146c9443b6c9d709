"""What a study trains, how long it takes once its corpora are tokenized, and what it finds."""

import re
from pathlib import Path

import pytest

from heed import study
from heed.hyperparameters import CorpusSizes
from heed.study.cost import format_cost, format_number, known_corpora, measure, training_times
from heed.tasks.classification.recipe import Hyperparameters
from heed.tasks.translation.recipe import Hyperparameters as TranslatorHyperparameters
from tests.conftest import ROOT, cases, write_meta

pytestmark = pytest.mark.usefixtures("folder")
CASES = cases(__file__)
SAMPLE = (ROOT / "tests/studies/small.yaml").read_text()
SECOND = 3e-4  # for each token of a document (conftest.py)


def tokenize(name: str, kind: str, labels: dict[str, list[str]], **changed: object) -> None:
    """Write what `heed tokenize` says of a corpus."""
    write_meta(Path("data/tokens") / name, kind=kind, labels=labels, **changed)


def tokenize_sample() -> None:
    tokenize("sample-sentiment", "sample-sentiment", {"sentiment": ["bad", "good"]})
    tokenize("sample-letters", "sample-letters", {"author": ["a", "b"], "language": ["c", "d"]})


def told(text: str) -> str:
    return " ".join(format_cost(study.parse(text), cores=2).split())


def test_before_corpora_are_tokenized_no_time_is_promised():
    text = told(SAMPLE)
    assert "21 trainings (7 models x 3 seeds). The same command says how long, once" in text
    assert "minutes" not in text and "snakemake --cores 2" in text
    tokenize("sample-letters", "sample-letters", {"author": ["a", "b"]})
    text = told(SAMPLE)
    assert "says how long, once" in text, "of one corpus it is not known yet"
    assert "sample-author-average" in text and "sample-sentiment-average" not in text


def test_the_time_is_that_of_all_epochs_of_all_models_and_seeds():
    tokenize_sample()
    training = 6 * 40 * SECOND * (1000 + 0.4 * 200)
    assert f"about {format_number(7 * 3 * training / 2 / 60)} minutes on 2 cores" in told(SAMPLE)
    longer = SAMPLE.replace("longer_training: false", "longer_training: true")
    text = told(longer)
    assert "21 trainings (7 models x 3 seeds) and 7 longer ones: about" in text
    assert f"about {format_number(7 * 5 * training / 2 / 60)} minutes on 2 cores" in text
    many = " ".join(format_cost(study.parse(longer), cores=1000).split())
    assert f"about {format_number(2 * training / 60)} minutes" in many, "a training has one core"


def test_long_documents_are_cut_and_tokens_of_another_corpus_are_not_taken():
    tokenize_sample()
    first = "embedding_dim: 32"
    short = study.parse(SAMPLE.replace(first, f"max_tokens: 10\n    {first}"))
    whole = study.parse(SAMPLE)
    known = known_corpora(whole)
    for name, seconds in training_times(short, known).items():
        assert seconds == pytest.approx(training_times(whole, known)[name] / 4)
    tokenize("sample-letters", "letters", {"author": ["a", "b"]})
    assert [*known_corpora(whole)] == ["sample-sentiment"]


@pytest.mark.parametrize(("split", "seeds", "found", "better", "is_coarse"), CASES["studies"])
def test_a_study_says_what_it_finds_and_what_more_finds(split, seeds, found, better, is_coarse):
    text = SAMPLE.replace("kind: random, test: 0.25", f"kind: {split}")
    text = text.replace("seeds: [1, 2, 3]", f"seeds: {[*range(1, seeds + 1)]}")
    if split.startswith("folds"):
        assert "tokenized: sample-sentiment, sample-author." in told(text)
        numbers = re.findall(r"k: (\d+)(?:, repeats: (\d+))?", split)[0]
        k, repeats = (int(each or 1) for each in numbers)
        sizes = {"train": 0, "validation": 0, "test": 1600 // k}
        folds = {"folds": k * repeats, "repeats": repeats, "splits": sizes}
        for name in ("sample-sentiment", "sample-letters"):
            tokenize(name, name, {"sentiment": ["a", "b"], "author": ["a", "b"]}, **folds)
    text = told(text)
    gain = "a gain over the control that is found in 80% of cases is about"
    assert f"sample-author: {gain} {found} p" in text and better in text
    assert ("Gains below 3 points are often missed." in text) == is_coarse


def test_power_counts_that_looks_share_the_level() -> None:
    text = SAMPLE.replace("kind: random, test: 0.25", "kind: random, test: 400")
    found = []
    for looks in ("", "\n  looks: [3, 10]"):
        own = text.replace("\nstudy:", f"\nstudy:{looks}", 1)
        assert study.parse(own).study.looks == ([3, 10] if looks else [])
        words = re.search(r"about ([\d.]+) points; with the seeds 1 to (\d+) ([\d.]+)\.", told(own))
        assert words
        found.append([float(each) for each in words.groups()])
    (one, _, _), (first, last, at_last) = found
    assert first > one > at_last
    assert last == 10


SMALL = {"embedding_dim": 6, "hidden_size": 4, "batch_size": 4}
OF_PAIRS = {"source_vocabulary": 40, "target_vocabulary": 50, "heads": 2, "feed_forward_size": 10}


def test_a_training_step_of_every_feature_of_a_document_is_measured() -> None:
    h = Hyperparameters(
        **SMALL, linear_size=3, vocabulary_size=40, hierarchical=True, character_buckets=9,
        pooling="attention",
    )  # fmt: skip
    assert measure("classification", h, CorpusSizes((38,), 2), 30) > 0


@pytest.mark.parametrize("name", ["input", "transformer", "concatenate"])
def test_a_training_step_of_translators_is_measured(name: str) -> None:
    encoder = "transformer" if name == "transformer" else "bidirectional"
    h = TranslatorHyperparameters(**SMALL, **OF_PAIRS, encoder=encoder, decoder=name)
    assert measure("translation", h, CorpusSizes((60, 70)), 30) > 0
