"""A pretrained reference model stands in the tables of its experiment alone, with its encoder."""

import dataclasses

import pytest

from heed.evaluation.results import Comparison, parse_comparison
from heed.hyperparameters.pretrained import EncoderFacts
from heed.records import as_json
from heed.report.chapters import experiment as beginning
from heed.report.results import Results
from tests.fixtures.report import made_up
from tests.unit.report.conftest import read_made_up

FACTS = EncoderFacts(
    name="tiny", kind="bert", parameters=22_713_216, size=384, pooling="mean", normalized=True,
    max_tokens=128, licence="",
)  # fmt: skip


def with_pretrained(data: Comparison) -> Comparison:
    """Return a made-up comparison whose first experiment has a pretrained reference model."""
    result = next(iter(data.experiments.values()))
    models = result.reference_models
    models["pretrained"] = dataclasses.replace(models["linear"], encoder=FACTS)
    result.comparisons["attention"]["pretrained"] = result.comparisons["attention"]["linear"]
    return data


@pytest.fixture
def results(tmp_path) -> Results:
    data = with_pretrained(made_up.comparison("sample"))
    return read_made_up(made_up.study("sample"), data, tmp_path)


def test_the_row_has_the_encoders_parameters_and_a_note_what_it_is(results):
    first, *others = results.experiments
    (table,) = beginning.scores(results, first)
    keys = [column.key for column in table.columns]
    name, parameters = keys.index("variant"), keys.index("parameters")
    rows = {row.cells[name].value: row.cells[parameters].value for row in table.rows}
    assert rows["pretrained"] == 22_713_216 and rows["linear"] is None
    ((note,),) = table.notes
    expected = "the encoder tiny (bert), trained on other text and used as it is, reads the first"
    assert expected in note and note.endswith("128 pieces of a document; its licence: not known.")
    assert not [each for other in others for each in beginning.scores(results, other)[0].notes]


def test_a_comparison_has_an_encoder_where_there_is_one_and_else_the_bytes_of_before():
    data = with_pretrained(made_up.comparison("sample"))
    written = as_json(data)
    assert parse_comparison(written) == data
    models = next(iter(written["experiments"].values()))["reference_models"]
    assert models["pretrained"]["encoder"]["kind"] == "bert" and "encoder" not in models["linear"]
