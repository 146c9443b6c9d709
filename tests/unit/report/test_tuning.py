"""The report says how each variant was tuned, and where two of a comparison were not alike."""

import dataclasses

import pytest

from heed.report.results import read_source
from heed.report.rows.hyperparameters import tuning_values
from heed.search.results import ASHA, FINISHED, Best, Search, Trial

OWN = Trial(0, {"dropout": 0.2, "heads": 4}, 0.8, 2, 4.0, FINISHED, [0.7, 0.8, 0.8, 0.8])
DRAWN = Trial(1, {"dropout": 0.31, "heads": 4}, 0.9, 2, 2.0, ASHA, [0.7, 0.9])
SEARCH = Search(
    "hunt", "imdb-self-attention", "imdb", "imdb", "asha", 1000, {}, "accuracy",
    Best(1, 0.9, 2), {}, 6.0, [OWN, DRAWN], training=4,
)  # fmt: skip
KEPT = dataclasses.replace(SEARCH, best=Best(0, 0.8, 2))
TUNED = {"self-attention": SEARCH, "last-state": KEPT, "average": None}


def test_a_search_counts_full_trainings_and_names_what_it_changed():
    assert SEARCH.trainings == 1.5
    assert SEARCH.changed == {"dropout": (0.2, 0.31), "heads": (4, 4)}
    of_one = dataclasses.replace(SEARCH, training=None)
    assert (of_one.trainings, of_one.changed) == (0.0, {})


def test_the_file_has_a_row_for_each_hyperparameter_and_one_for_a_variant_without_search():
    rows = [{"variant": name} | row for name, each in TUNED.items() for row in tuning_values(each)]
    assert [(row["variant"], row["hyperparameter"]) for row in rows] == [
        ("self-attention", "dropout"), ("self-attention", "heads"), ("last-state", "dropout"),
        ("last-state", "heads"), ("average", ""),
    ]  # fmt: skip
    assert (rows[0]["declared"], rows[0]["chosen"], rows[0]["trainings"]) == ("0.2", "0.31", "1.50")


@pytest.mark.parametrize("folder", ["imdb/hunt", "imdb/hunt/imdb-self-attention"])
def test_the_source_of_a_search_is_its_stage_and_its_command(folder, tmp_path):
    path = tmp_path / "results/search" / folder / "search.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    source = read_source(path, tmp_path / "results")
    assert (source.path, source.command) == (
        f"results/search/{folder}/search.json", "heed recipe imdb"
    )  # fmt: skip
    assert source.stage == "recipe@imdb"
