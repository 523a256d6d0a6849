"""The types of silver columns, as a contract declares them, and what of it no stage evaluates."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.contracts.ingestion import SilverRules
from tidegate.contracts.read_ingestion import read_ingestion
from tidegate.contracts.stage_contract import StageContract

SOURCE = {
    "name": "raw_orders",
    "customProperties": [
        {"property": "connector", "value": "landing_push"},
        {"property": "landing_directory", "value": "orders"},
    ],
}


def silver(*columns: dict[str, Any], **keys: Any) -> SilverRules:
    schema = [SOURCE, {"name": "orders", "properties": list(columns), **keys}]
    ingestion = read_ingestion(StageContract({"id": "orders", "version": "1.0.0", "schema": schema}))
    assert ingestion is not None
    return ingestion.silver


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
    rules = silver({"name": "code", "physicalType": physical})
    assert [column.type for column in rules.columns] == [kind]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ({"logicalType": "array"}, "array<string>"),
        ({"logicalType": "array", "items": {"logicalType": "integer"}}, "array<bigint>"),
        ({"logicalType": "array", "items": {"physicalType": "varchar(3)"}}, "array<string>"),
        ({"logicalType": "object"}, "string"),
        ({"logicalType": "object", "physicalType": "string", "properties": [{"name": "a"}]}, "string"),
        (
            {
                "logicalType": "object",
                "properties": [
                    {"name": "zip", "logicalType": "string"},
                    {"name": "at", "logicalType": "array", "items": {"logicalType": "date"}},
                ],
            },
            "struct<zip:string,at:array<date>>",
        ),
        ({"logicalType": "object", "properties": [{"name": "a b", "logicalType": "date"}]}, "struct<`a b`: date>"),
    ],
)
def test_parts_of_objects_and_arrays_give_their_types(column: dict[str, Any], kind: str) -> None:
    assert [found.type for found in silver({"name": "x", **column}).columns] == [kind]


def test_what_is_not_evaluated_is_listed() -> None:
    text = {"logicalType": "string", "logicalTypeOptions": {"format": "iban"}}
    rules = silver(
        {"name": "account", **text, "quality": [{"type": "text", "description": "a real one"}]},
        {"name": "known", "logicalType": "string", "logicalTypeOptions": {"format": "email"}},
        {"name": "ratio", "physicalType": "double", "logicalTypeOptions": {"format": "f64"}},
        {"name": "codes", "physicalType": "array<varchar(3)>"},
        {"name": "raw", "logicalType": "object", "physicalType": "string", "properties": [{"name": "a"}]},
        {
            "name": "buyer",
            "logicalType": "object",
            "properties": [
                {"name": "account", **text, "unique": True, "transformLogic": "trim(account)"},
                {"name": "born", "logicalType": "date", "logicalTypeOptions": {"format": "dd.MM.yyyy"}},
            ],
        },
        {"name": "tags", "logicalType": "array", "items": {**text, "quality": [{"type": "sql", "query": "1"}]}},
        quality=[{"name": "fresh", "type": "custom"}],
    )
    assert rules.not_evaluated == (
        "quality rule fresh",
        "quality rule account quality 1",
        "format iban of account",
        "format f64 of ratio",
        "lengths inside array<varchar(3)> of codes",
        "properties of raw, which is JSON text",
        "format iban of buyer.account",
        "unique of buyer.account",
        "transformLogic of buyer.account",
        "format of buyer.born",
        "format iban of tags[]",
        "quality rule 1 of tags[]",
    )
