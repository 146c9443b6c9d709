"""The rows of each table: its CSV file has the cells of every edition so far."""

import pytest

from heed.report.tables import DECLARED, build_tables, csv_table
from tests.unit.report.conftest import read_study

TABLES = {"sample": "", "talk": "summary verdicts talk scores cost", "translation": ""}


@pytest.mark.parametrize("name", TABLES)
def test_every_file_has_the_cells_that_it_had(tmp_path, snapshot, name):
    made = read_study(name, tmp_path)
    tables = build_tables(made)
    wanted = TABLES[name].split()
    texts = {
        table.key: csv_table(table)
        for found in tables.values()
        for table in found
        if "csv" in table.files and (not wanted or table.key in wanted)
    }
    snapshot(f"{name}_tables", "\n".join(f"{key}.csv\n{texts[key]}" for key in sorted(texts)))


def test_every_declaration_has_columns_and_a_function():
    for name, declared in DECLARED.items():
        assert declared["columns"] and declared["rows"].count(".") == 1, name
        assert "title" in declared or declared["files"] == ["csv"], name
