"""Labels that look the same are one question, and labels that do not are none."""

import pandas as pd
import pytest

from heed.corpora.rows import Format, read_table
from heed.corpora.sections import Corpus, Split
from heed.corpora.table import DocumentReader, SimilarLabelsError, require_distinct
from heed.files import HeedError
from tests.conftest import cases

SAME, OTHER = cases(__file__).values()


def places(labels: tuple[str, ...]) -> dict[str, str]:
    return {label: f"t.csv:{row}" for row, label in enumerate(labels, 2)}


@pytest.mark.parametrize("labels", SAME.values(), ids=SAME)
def test_labels_that_look_the_same_are_named(labels):
    with pytest.raises(SimilarLabelsError, match=r"column 'y': .* would be 2 classes: t\.csv:2"):
        require_distinct(places((*labels, "neg")), "y")


@pytest.mark.parametrize("labels", OTHER.values(), ids=OTHER)
def test_labels_that_look_different_are_classes(labels):
    require_distinct(places(labels), "y")


@pytest.mark.parametrize("column", [{"label_column": "y"}, {"label_columns": ["z", "y"]}])
def test_a_corpus_of_such_labels_is_refused_unless_it_says_that_they_are_classes(tmp_path, column):
    table = pd.DataFrame({"text": ["a", "b"], "y": ["pos", "Pos"], "z": ["1", "2"]})
    table.to_csv(tmp_path / "t.csv", index=False)
    batches = {"t": read_table(tmp_path / "t.csv", Format()).to_batches()}
    settings = {"source": "s", "kind": "table", "split": Split(kind="random", test=0.2)}
    settings |= {"text_column": "text", **column}
    with pytest.raises(HeedError, match=r"t\.csv:2 'pos'.*`similar_labels: true` of the corpus"):
        [*DocumentReader(Corpus(**settings)).read(batches)]
    kept = DocumentReader(Corpus(**settings, similar_labels=True)).read(batches)
    assert [document.labels["y"] for document in kept] == ["pos", "Pos"]
