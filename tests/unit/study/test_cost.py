"""A study's cost is estimated before it starts: sizes of corpora, speeds of models, the table."""

import re
import shutil
from pathlib import Path

import pytest

from heed import study
from heed.files import HeedError
from heed.study import cost
from heed.study.corpus_size import corpus_size
from heed.study.cost import (
    LONGER,
    RAY,
    Cost,
    ModelCost,
    estimate_cost,
    format_cost,
    format_number,
)
from tests.conftest import ROOT

STUDIES = sorted((ROOT / "workflow/studies").glob("*.yaml"))
SAMPLE = (ROOT / "tests/studies/small.yaml").read_text()
TINY = f"encoders: {{tiny: {{folder: tiny, sha256: {'a' * 64}}}}}"


@pytest.fixture(autouse=True)
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "workflow/studies", tmp_path / "workflow/studies")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def own_study(split: str = "{kind: random, test: 0.2}", columns: str = "", more: str = "") -> str:
    """Return a study whose corpora are a table of the user's own, table.csv."""
    table = f"sample: {{kind: table, path: table.csv, sha256: {'a' * 64}}}"
    text = re.sub(r"sample: \{kind: sample, [^}]*\}", table, SAMPLE)
    kind = f"kind: table, text_column: text, label_column: label, {columns}split: {split}{more}}}"
    text = re.sub(r"kind: sample-(sentiment|letters), split: \{[^}]*\}\}", kind, text)
    return re.sub(r"label: (sentiment|author)", "label: label", text)


def write_table(rows: int = 100, name: str = "table.csv") -> None:
    """Write a table: texts of 10 words, four classes, a tenth of the rows to test."""
    lines = (
        f"{' '.join(f'w{i}' for _ in range(10))},c{i % 4},{'test' if i % 10 == 0 else 'train'}\n"
        for i in range(rows)
    )
    Path(name).write_text("text,label,part\n" + "".join(lines))


# --- sizes ----------------------------------------------------------------------------------------


def test_the_size_of_a_published_corpus_is_that_of_its_kind(clone: Path) -> None:
    size = corpus_size(study.load(clone / "workflow/studies/imdb.yaml"), "imdb")
    assert (size.documents, size.test) == (50_000, 25_000)
    assert size.validation == pytest.approx(2500)
    assert size.mean_length == pytest.approx(269, rel=0.02)
    folds = corpus_size(study.load(clone / "workflow/studies/letters.yaml"), "letters-pieces")
    assert folds.test == pytest.approx(4881 / 5) and folds.folds == 5 * 2  # repeats
    # published parts, validation among them (MANIFEST.csv of the corpora)
    for name, corpus, parts in (
        ("translation", "multi30k", (29_000, 1_014, 1_000)),
        ("explanation", "sst-wiki", (6_920, 872, 1_821)),
        ("explanation", "movies", (1_600, 200, 199)),
    ):
        size = corpus_size(study.load(clone / f"workflow/studies/{name}.yaml"), corpus)
        assert (size.train, size.validation, size.test) == pytest.approx(parts), corpus


def test_documents_of_a_given_split_alone_are_counted_there(clone: Path) -> None:
    text = (clone / "workflow/studies/federalist.yaml").read_text()
    assert corpus_size(study.parse(text), "federalist").documents == 922
    disputed = re.sub(r"split: \{kind: folds[^}]*\}", "split: {kind: given}", text)
    size = corpus_size(study.parse(disputed), "federalist")
    assert (size.documents, round(size.test)) == (1079, 157)


def test_classes_that_are_not_known_are_about_ten(clone: Path) -> None:
    text = re.sub(r"(kind: sample-letters, split: \{[^}]*)\}", r"\1, train_per_class: 20}", SAMPLE)
    assert corpus_size(study.parse(text), "sample-letters").train == 200


def test_the_size_of_a_table_of_ones_own_is_read_from_its_file() -> None:
    write_table()
    size = corpus_size(study.parse(own_study()), "sample-letters")
    assert (size.documents, size.test, size.mean_length) == (100, 20, 10)
    assert size.values == {"label": 4}
    given = own_study("{kind: given}", columns="split_column: part, ")
    assert corpus_size(study.parse(given), "sample-letters").test == pytest.approx(10)
    sampled = own_study(more=", sample: 50")
    assert corpus_size(study.parse(sampled), "sample-letters").test == pytest.approx(10)
    spaces = own_study(columns="tokenizer: whitespace, ")
    assert corpus_size(study.parse(spaces), "sample-letters").mean_length == 10


def test_the_size_of_several_files_is_that_of_all_and_their_names_are_parts() -> None:
    for name, rows in {"train": 60, "dev": 20, "test": 40}.items():
        write_table(rows, f"{name}.csv")
    paths = ", ".join(f"{name}: {name}.csv" for name in ("train", "dev", "test"))
    hashes = ", ".join(f"{name}: {'a' * 64}" for name in ("train", "dev", "test"))
    files = f"paths: {{{paths}}}, hashes: {{{hashes}}}"
    text = own_study("{kind: given}").replace(f"path: table.csv, sha256: {'a' * 64}", files)
    size = corpus_size(study.parse(text), "sample-letters")
    assert (size.train, size.validation, size.test) == (60, 20, 40)
    fewer = text.replace("{kind: given}", "{kind: given, train_per_class: 5}")
    assert corpus_size(study.parse(fewer), "sample-letters").train == 4 * 5


def test_a_cell_with_several_labels_counts_each_once() -> None:
    Path("table.csv").write_text("text,label\na b,x;y\nc d,y;z\ne f,x\n")
    text = own_study(columns='label_separator: ";", ')
    text = text.replace("task: classification", "task: multilabel").replace(
        "defaults:\n  classification:", "defaults:\n  multilabel:"
    )
    assert corpus_size(study.parse(text), "sample-letters").values == {"label": 3}
    entry = f"{TINY}\npretrained: {{sample-letters: {{encoder: tiny, explain: 5}}}}\nsearches:"
    with pytest.raises(HeedError, match=r"letters\.explain: none of its experiments can be"):
        study.parse(text.replace("searches:", entry, 1))


def test_a_text_without_spaces_is_counted_by_characters() -> None:
    Path("table.csv").write_text(
        "text,label\n" + "".join(f"{'字' * 40},{i % 2}\n" for i in range(9))
    )
    assert corpus_size(study.parse(own_study()), "sample-letters").mean_length == 40


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "table.csv: not there"),
        (b"", "empty: expected rows"),
        (b"text,label\n", "no row"),
        (b"other,label\na,b\n", "there is no column 'text'"),
        (b"text,label\n\xff\xff,b\n", "not utf-8"),
        (b"text,label\na,b,c\n", "expected 2 fields"),
    ],
)
def test_where_a_file_cannot_be_read_the_table_says_so(content: bytes | None, reason: str) -> None:
    if content is not None:
        Path("table.csv").write_bytes(content)
    text = " ".join(format_cost(study.parse(own_study())).split())
    assert "Without corpus sample-sentiment and its models" in text and reason in text


# --- arithmetic -----------------------------------------------------------------------------------


def cost_of(*models: float) -> Cost:
    costs = [ModelCost(f"m{i}", 1, each, each, 1.0) for i, each in enumerate(models)]
    return Cost(2, costs, {"searches": 600.0}, 0.0, 0.0, {}, {})


def test_the_time_of_a_study_is_divided_among_cores_but_not_a_training() -> None:
    cost = cost_of(60, 180)
    assert cost.minutes(2, 1) == pytest.approx((600 + 2 * 240) / 60)
    assert cost.minutes(2, 4) == pytest.approx((600 + 2 * 240) / 4 / 60)
    assert cost.minutes(2, 1000) == pytest.approx(180 / 60)


@pytest.mark.parametrize("cores", [1, 2, 16])
def test_a_budget_is_enough_for_its_seeds_and_not_for_one_more(cores: int) -> None:
    cost = cost_of(60, 180, 30)
    seeds = cost.seeds_within(60, cores)
    assert cost.minutes(seeds, cores) <= 60 < cost.minutes(seeds + 1, cores)
    assert cost.seeds_within(1, cores) == 0


def test_the_longer_trainings_cost_two_trainings_of_each_model_once() -> None:
    params = study.parse(SAMPLE.replace("longer_training: false", "longer_training: true"))
    longer, without = estimate_cost(params), estimate_cost(study.parse(SAMPLE))
    trainings = sum(model.training for model in without.models)
    for seeds in (1, 3):
        more = longer.seconds(seeds) - without.seconds(seeds)
        assert more == pytest.approx(2 * trainings)
    assert longer.minutes(1, 1000) == pytest.approx(
        2 * max(model.training for model in longer.models) / 60
    )
    assert longer.seeds_within(10, 2) < without.seeds_within(10, 2)
    text = " ".join(format_cost(params, cores=2).split())
    assert "21 trainings (7 models x 3 seeds) and 7 longer ones" in text
    assert "once: longer trainings (2 x the epochs)" in text
    assert LONGER not in without.once


def test_twice_the_seeds_are_twice_the_trainings_and_a_cap_makes_them_cheaper(clone: Path) -> None:
    text = (clone / "workflow/studies/talk.yaml").read_text()
    four = estimate_cost(study.parse(text))
    eight = estimate_cost(study.parse(text.replace("[1, 2, 3, 4]", "[1, 2, 3, 4, 5, 6, 7, 8]")))
    assert four.seconds(8) == pytest.approx(eight.seconds(8), rel=0.1)
    assert (four.seeds, eight.seeds) == (4, 8)
    short = study.parse(text.replace("max_tokens: 1000", "max_tokens: 50"))
    assert estimate_cost(short).seconds(4) < four.seconds(4) / 2


def test_explanations_and_adversarial_models_are_in_the_cost_of_a_seed(clone: Path) -> None:
    text = (clone / "workflow/studies/explanation.yaml").read_text()
    whole = estimate_cost(study.parse(text))
    alone = estimate_cost(study.parse(text[: text.index("\n# differ:")]))
    plain = estimate_cost(study.parse(text[: text.index("\nexplain:")]))
    assert plain.seed == 0 and alone.seed == 4 * 60 and whole.seed > alone.seed


def test_a_tuned_encoder_and_its_attention_cost_passes_over_their_documents() -> None:
    def seconds(keys: str) -> float:
        entry = f"{TINY}\npretrained: {{sample-letters: {{encoder: tiny{keys}}}}}\n"
        Path("params.yaml").write_text(SAMPLE.replace("searches:", f"{entry}searches:"))
        return estimate_cost(study.load()).once["pretrained"]

    frozen, ten, twenty = map(seconds, ("", ", explain: 10", ", explain: 20"))
    assert ten > frozen and twenty - ten == pytest.approx(ten - frozen)
    one, two = (seconds(f", tune: true, epochs: {epochs}") for epochs in (1, 2))
    three = seconds(", tune: true")
    assert two > one > 0 and three - two == pytest.approx(two - one)


def test_a_parameter_matched_control_is_estimated_as_large_as_its_match(clone: Path) -> None:
    wide = (
        "  author-parameter-matched: {experiment: author, pooling: mean, "
        "match_parameters_of: author-attention}\n"
    )
    params = study.parse((clone / "workflow/studies/letters.yaml").read_text() + wide)
    counts = {model.name: model.parameters for model in estimate_cost(params).models}
    matched, attention = (counts[f"author-{v}"] for v in ("parameter-matched", "attention"))
    assert matched == pytest.approx(attention, rel=0.001) and matched != attention


def test_a_search_of_each_model_costs_its_budget_for_each() -> None:
    text = (ROOT / "params.yaml").read_text()

    def seconds(search: str) -> float:
        changed = text.replace("    trials: 2\n", search)
        if "trainings" in search:
            changed = changed.replace("scheduler: none", "scheduler: asha")
        return estimate_cost(study.parse(changed)).once["searches"] - RAY

    once = seconds("    model: topic-attention\n    trials: 3\n")
    assert seconds("    trials: 99\n    trainings: 3\n") == pytest.approx(2 * once, rel=0.1)


# --- the table ------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_the_table_of_every_study_fits_80_columns_and_has_each_model(path: Path) -> None:
    params = study.load(path)
    lines = format_cost(params, cores=2).splitlines()
    assert max(map(len, lines[1:])) <= 80
    assert [line for line in lines if line != line.rstrip()] == []
    assert all(any(line.startswith(f"    {name} ") for line in lines) for name in params.models)


def test_the_table_says_what_a_stranger_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(format_cost(study.parse(SAMPLE), cores=2).split())
    assert "21 trainings (7 models x 3 seeds)" in text
    assert "file systems without reflink" in text and "snakemake --cores 2" in text
    assert re.search(
        r"about [\d.]+ minutes on 2 cores, and \d+ MB of disk.* 10 minutes: \d+;", text
    )
    monkeypatch.setattr(cost, "measure", lambda *_: (1, 1e4))
    slow = format_cost(study.parse(SAMPLE), cores=2)
    assert "10 minutes: 0;" in slow and " days on 2 cores" in slow


@pytest.mark.parametrize(
    ("split", "seeds", "found", "better", "is_coarse"),
    [
        ("random, test: 400", 3, "5.4", "with the seeds 1 to 13 (", True),
        ("random, test: 1200", 10, "2.9", "with the seeds 1 to 20 (", False),
        ("folds, k: 4", 4, "6.9", "with `repeats: 5` and the seeds 1 to 20 (", True),
        ("folds, k: 4", 40, "5.3", "with `repeats: 5` and the seeds 1 to 40 (", True),
        ("folds, k: 4", 24, "5.5", "with `repeats: 5` and the seeds 1 to 40 (", True),
        ("folds, k: 2, repeats: 60", 120, "5.1", "and the seeds 1 to 600 (", True),
    ],
)
def test_a_study_says_what_it_finds_and_what_more_would_cost(
    split: str, seeds: int, found: str, better: str, is_coarse: bool
) -> None:
    text = SAMPLE.replace("kind: random, test: 0.25", f"kind: {split}")
    text = text.replace("seeds: [1, 2, 3]", f"seeds: {[*range(1, seeds + 1)]}")
    told = " ".join(format_cost(study.parse(text), cores=2).split())
    assert (
        f"sample-author: a gain over the control that is found in 80% of cases is about {found} p"
        in told
        and better in told
    )
    assert ("Nothing below 3 points is found so often." in told) == is_coarse


def test_a_translation_says_what_it_finds_too() -> None:
    told = format_cost(study.load(Path("workflow/studies/translation.yaml")), cores=2)
    assert "found in 80% of cases is about 1.8 points" in " ".join(told.split())


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0001, "0.01"), (0.04, "0.04"), (0.5, "0.5"), (3.0, "3"), (3.14, "3.1"), (12.4, "12"),
     (99.6, "100"), (123.4, "120"), (98_765, "99,000"), (1_234_567, "1,200,000")],
)  # fmt: skip
def test_numbers_have_two_digits_at_most(number: float, text: str) -> None:
    assert format_number(number) == text
