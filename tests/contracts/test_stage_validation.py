"""Contracts that drive data: each property missing and wrong in turn, and all at once."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tidegate.contracts import ContractValidationError, OpenDataContractStandard
from tidegate.contracts.connectors import CONNECTORS

REST = {
    "connector": "rest",
    "source_system": "shop",
    "landing_directory": "orders",
    "landing_file_format": "json",
    "ingestion_read_strategy": "full_snapshot",
    "endpoint": "https://api.example.com/orders",
    "content_path": "results",
    "json_multiline": True,
}
SQL = {
    "connector": "sqlserver",
    "source_system": "erp",
    "landing_directory": "erp/orders",
    "landing_file_format": "parquet",
    "ingestion_read_strategy": "incremental",
    "sql_extraction_mode": "batched",
    "ingestion_filtering_column": "updatedAt",
    "ingestion_ordering_columns": ["updatedAt", "orderId"],
}
CDC = {
    "connector": "sqlserver_cdc",
    "source_system": "erp",
    "landing_directory": "erp/orders",
    "landing_file_format": "parquet",
    "ingestion_read_strategy": "incremental",
}
PUSH = {**CDC, "connector": "landing_push"}
DELETIONS = {"deletion_enabled": True, "deletion_detection": "explicit", "deletion_mode": "soft"}
INDICATOR = {"deletion_indicator_column": "status", "deletion_indicator_values": ["gone"]}


def custom(properties: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"property": name, "value": value} for name, value in properties.items()]


def contract(source: dict[str, Any], silver: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": "orders",
        "version": "1.0.0",
        "status": "active",
        "schema": [
            {
                "name": "orders_source",
                "properties": [
                    {"name": name, "logicalType": "string"} for name in ("orderId", "amount", "updatedAt", "status")
                ],
                "customProperties": custom(source),
            },
            {
                "name": "orders",
                "properties": [
                    {
                        "name": "order_id",
                        "logicalType": "integer",
                        "physicalType": "bigint",
                        "primaryKey": True,
                        "primaryKeyPosition": 1,
                        "required": True,
                        "transformSourceObjects": ["orders_source.orderId"],
                    },
                    {"name": "amount", "physicalType": "decimal(10,2)", "transformLogic": "trim(amount)"},
                    {"name": "status", "logicalType": "string"},
                ],
                "customProperties": custom(silver or {}),
                "quality": [{"type": "sql", "query": "SELECT count(*) FROM ${object} WHERE amount < 0", "mustBe": 0}],
            },
        ],
    }


def read(value: dict[str, Any]) -> OpenDataContractStandard:
    return OpenDataContractStandard.from_string(yaml.safe_dump(value, sort_keys=False))


def issues(value: dict[str, Any], stage: str) -> tuple[str, ...]:
    made = read(value)
    try:
        valid = getattr(made, f"validate_for_{stage}")()
    except ContractValidationError as error:
        return tuple(issue for issue in error.issues if issue in error.message)
    assert valid is True
    return ()


SOURCES = {"rest": REST, "sqlserver": SQL, "sqlserver_cdc": CDC, "landing_push": PUSH}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("stage", ["landing", "bronze", "silver"])
def test_a_complete_contract_is_valid(source: dict[str, Any], stage: str) -> None:
    deletions = DELETIONS if CONNECTORS[source["connector"]].reads_log else {**DELETIONS, **INDICATOR}
    assert issues(contract(source), stage) == ()
    assert issues(contract(source, deletions), stage) == ()


CASES = [(name, key) for name, source in SOURCES.items() for key in source]


@pytest.mark.parametrize(("name", "key"), CASES)
def test_each_property_that_landing_needs_is_reported_where_it_is_missing(name: str, key: str) -> None:
    source = {other: value for other, value in SOURCES[name].items() if other != key}
    (issue,) = issues(contract(source), "landing")
    assert f"the custom property '{key}' is missing" in issue
    assert "schema[0].customProperties" in issue


@pytest.mark.parametrize(("name", "key"), CASES)
@pytest.mark.parametrize("wrong", [17, None, ["a", 3]], ids=str)
def test_each_property_that_landing_needs_is_reported_where_it_is_wrong(name: str, key: str, wrong: Any) -> None:
    (issue, *others) = issues(contract({**SOURCES[name], key: wrong}), "landing")
    assert f"'{key}'" in issue
    assert all(f"'{key}'" in other for other in others)
    place = list(SOURCES[name]).index(key)
    assert f"schema[0].customProperties[{place}].value" in issue


@pytest.mark.parametrize("name", SOURCES)
def test_all_missing_properties_are_reported_at_once(name: str) -> None:
    source = SOURCES[name]
    needed = [key for key in source if not key.startswith("ingestion_") or key == "ingestion_read_strategy"]
    found = issues(contract({"connector": source["connector"]}), "landing")
    assert [key for key in needed if not any(f"'{key}' is missing" in issue for issue in found)] == ["connector"]


@pytest.mark.parametrize("name", SOURCES)
def test_all_wrong_properties_are_reported_at_once(name: str) -> None:
    source = SOURCES[name]
    wrong = {key: value if key == "connector" else 17 for key, value in source.items()}
    found = issues(contract(wrong), "landing")
    depends = ("ingestion_filtering_column", "ingestion_ordering_columns")
    for key in source:
        assert key in ("connector", *depends) or any(f"'{key}' must be" in issue for issue in found)


@pytest.mark.parametrize(("value", "is_valid"), [(0, True), (2.5, True), ("2", False), (-1, False), (True, False)])
def test_the_time_that_changes_are_held_back_is_a_number_of_seconds(value: Any, is_valid: bool) -> None:
    found = issues(contract({**CDC, "cdc_held_back_seconds": value}), "landing")
    assert [issue.partition("'cdc_held_back_seconds' ")[1] for issue in found] == (
        [] if is_valid else ["'cdc_held_back_seconds' "]
    )


def test_bronze_needs_the_source_and_its_files() -> None:
    assert len(issues(contract({}), "bronze")) == 3
    (issue,) = issues(contract({**REST, "bronze_table": "orders of today"}), "bronze")
    assert "'orders of today' is no name of a table" in issue


def change(value: dict[str, Any], column: int, **keys: Any) -> dict[str, Any]:
    changed = copy.deepcopy(value)
    changed["schema"][1]["properties"][column].update(keys)
    return changed


GOOD = contract(REST)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (contract(REST, {"silver_write_strategy": "merge"}), "'silver_write_strategy' must be one of"),
        (contract(REST, {"silver_table": "the orders"}), "'the orders' is no name of a table"),
        (contract(REST, {"deletion_enabled": "yes"}), "'deletion_enabled' must be true or false"),
        (contract(REST, {**DELETIONS, **INDICATOR, "deletion_mode": "lazy"}), "'deletion_mode' must be one of"),
        (contract(REST, {**DELETIONS, **INDICATOR, "deletion_max_ratio": 7}), "'deletion_max_ratio' must be"),
        (contract(CDC, {**DELETIONS, "deletion_detection": "inferred"}), "not inferred"),
        (contract(PUSH, {**DELETIONS, "deletion_detection": "inferred"}), "only where every read is complete"),
        (
            contract(REST, {**DELETIONS, "deletion_indicator_column": "status"}),
            "'deletion_indicator_values' is missing",
        ),
        (contract(REST, {**DELETIONS, "deletion_indicator_values": ["x"]}), "'deletion_indicator_column' is missing"),
        (change(GOOD, 0, transformSourceObjects=["orders_source.ordrId"]), "comes from 'orders_source.ordrId'"),
        (change(GOOD, 2, name="state"), "the source has no column of its name"),
        (change(GOOD, 1, transformLogic="trim(amount"), "is not Spark SQL"),
        (change(GOOD, 1, transformLogic="amount) AS y, (amount"), "must be one expression"),
        (change(GOOD, 1, transformLogic="amount, status"), "must be one expression"),
        (change(GOOD, 1, transformLogic="(SELECT 1)"), "must work on one row"),
        (
            change(GOOD, 1, transformLogic="CASE WHEN EXISTS (SELECT 1 FROM a) THEN 1 END"),
            "must work on one row",
        ),
        (change(GOOD, 1, transformLogic="cast(amount AS int)"), "must give a string"),
        (change(GOOD, 1, transformLogic="trim(price)"), "names 'price', which silver does not have"),
        (change(GOOD, 1, transformLogic="max(amount)"), "must work on one row"),
        (change(GOOD, 1, physicalType="money of the shop"), "is not one of Spark's"),
        (change(GOOD, 2, logicalType=None), "has neither a physicalType nor a logicalType"),
        (change(GOOD, 2, name="amount"), "is described twice"),
        (change(GOOD, 0, primaryKeyPosition=2), "must be 1 to 1"),
        (change(GOOD, 1, primaryKeyPosition=2), "has a primaryKeyPosition and is no primary key"),
        (
            change(contract(REST, {"silver_write_strategy": "history"}), 0, primaryKey=False, primaryKeyPosition=-1),
            "needs a primary key",
        ),
    ],
)
def test_what_silver_needs_is_reported(value: dict[str, Any], expected: str) -> None:
    value["schema"][1]["properties"] = [
        {key: part for key, part in column.items() if part is not None} for column in value["schema"][1]["properties"]
    ]
    found = issues(value, "silver")
    assert any(expected in issue for issue in found), found
    assert len(found) == 1


def test_gold_needs_a_generator_that_is_there(tmp_path: Path) -> None:
    value = contract({})
    for wrong, expected in (
        (None, "'generator_notebook' is missing"),
        (7, "must be the path of a file"),
        ("revenue.sql", "must end in .py or .ipynb"),
        ("notebooks/revenue.py", "is not there in"),
    ):
        value["customProperties"] = custom({} if wrong is None else {"generator_notebook": wrong})
        with pytest.raises(ContractValidationError, match="1 issue") as caught:
            read(value).validate_for_gold(workspace_path=str(tmp_path))
        assert expected in caught.value.message
    assert read(value).validate_for_gold() is True
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "revenue.py").write_text("")
    assert read(value).validate_for_gold(workspace_path=str(tmp_path)) is True


def test_a_file_that_is_no_contract_is_one_error_with_every_issue(tmp_path: Path) -> None:
    file = tmp_path / "orders.odcs.yml"
    file.write_text("kind: DataContract\nversion: 1.0\nschema:\n  - properties: [{name: 5}]\n    nmae: x\n")
    with pytest.raises(ContractValidationError) as caught:
        OpenDataContractStandard.from_file(str(file))
    assert str(file) in caught.value.message
    for expected in ("must have 'id'", "must have 'apiVersion'", "'version' must be text", "schema[0].nmae"):
        assert any(expected in issue for issue in caught.value.issues), expected


@pytest.mark.parametrize(
    "text",
    ["a: &a [*a]\n", "a: &a {b: *a}\n", "x: [1\n", "- a\n", "", "\ttab: 1\n", "a: !!python/object:os.system x\n"],
)
def test_broken_yaml_is_a_clear_error(text: str) -> None:
    with pytest.raises(ContractValidationError):
        OpenDataContractStandard.from_string(text)


def test_aliases_that_grow_without_end_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(ContractValidationError):
        OpenDataContractStandard.from_string("\n".join(lines))


def test_a_contract_made_in_python_is_validated_too() -> None:
    made = OpenDataContractStandard.model_validate(contract(REST))
    assert made.validate_for_landing() is True
