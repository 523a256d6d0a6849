"""The types of silver columns, as a contract declares them."""

from __future__ import annotations

import pytest

from tidegate.contracts.read_ingestion import read_ingestion
from tidegate.contracts.stage_contract import StageContract


@pytest.mark.parametrize(
    ("physical", "kind"),
    [
        ("VARCHAR(3)", "varchar(3)"),
        ("char( 2 )", "char(2)"),
        ("string", "string"),
        ("decimal(10,2)", "decimal(10,2)"),
        ("numeric", "decimal(38,10)"),
        ("map<string,varchar(3)>", "map<string,string>"),
    ],
)
def test_text_keeps_the_length_that_it_may_have(physical: str, kind: str) -> None:
    source = {
        "name": "raw_orders",
        "customProperties": [
            {"property": "connector", "value": "landing_push"},
            {"property": "landing_directory", "value": "orders"},
        ],
    }
    silver = {"name": "orders", "properties": [{"name": "code", "physicalType": physical}]}
    contract = StageContract({"id": "orders", "version": "1.0.0", "schema": [source, silver]})
    ingestion = read_ingestion(contract)
    assert ingestion is not None
    assert [column.type for column in ingestion.silver.columns] == [kind]
