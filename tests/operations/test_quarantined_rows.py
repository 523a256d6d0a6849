"""Refused rows of models and of contracts, counted and shown from the published tables without a JVM."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.projects import ProjectFolder
from tidegate.cli.main import run_cli
from tidegate.contracts import OpenDataContractStandard
from tidegate.spark.session import child_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FAILURE = "struct<stage:string,column:string,rule:string,message:string,value:string>"
OF_A_CONTRACT = f"""
CREATE TABLE shop.silver.orders__quarantine (
  id STRING, email STRING, amount STRING, _reasons ARRAY<STRING>, _columns ARRAY<STRING>, _run_id STRING,
  _quarantined_at TIMESTAMP, _stage STRING, _failures ARRAY<{FAILURE}>, _source_file STRING, _source_row BIGINT,
  _contract_id STRING, _contract_version STRING, _op STRING, _commit_time TIMESTAMP, _sequence STRING
) USING iceberg TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read',
  'tidegate.quarantine' = 'shop.silver.orders')
"""
CAST = "named_struct('stage','cast','column','amount','rule','type','message','''{0}'' is not a number','value','{0}')"
MAIL = "named_struct('stage','{1}','column','email','rule','{2}','message','{0} is wrong','value','{0}')"


def refused(row: str, run: str, stage: str, *failures: str) -> str:
    given = f"array({', '.join(failures)})"
    reasons = f"transform({given}, f -> concat(f.rule, ': ', f.message)), transform({given}, f -> f.column)"
    return (
        f"INSERT INTO shop.silver.orders__quarantine SELECT {row}, {reasons}, '{run}',"
        f" TIMESTAMP '2026-01-0{run[-1]} 10:00:00', '{stage}', {given},"
        " 'orders/a.csv', 3, 'orders', '1.0.0', 'read', TIMESTAMP '2026-01-01 00:00:00', '1'"
    )


def call(shop: ProjectFolder, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run_cli([*words, "--project", str(shop.root), "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def text(shop: ProjectFolder, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    run_cli([*words, "--project", str(shop.root)])
    return "".join(capsys.readouterr())


def test_refused_rows_of_models_and_contracts_are_counted_by_rule_and_shown(
    shop: ProjectFolder, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(shop, capsys, "quarantine", "list")["quarantine"] == []
    rows = "SELECT * FROM VALUES (1, 'a@b.c', 5), (2, NULL, -1), (3, 'd@e.f', -2) AS t(id, email, n)"
    rules = "-- @constraint: not_null(email)\n-- @constraint: compare(n, >, 0)\n-- @quarantine: true\n"
    shop.file("models/silver/people.sql", rules + rows + "\n")
    run_id = shop.run().run_id
    session = child_session(spark, shop.catalog.spark_conf("main"), shop.catalog.spark_catalog("main"))
    session.sql(OF_A_CONTRACT)
    bad_mail = MAIL.format("clear-1", "constraint", "pattern")
    statements = (
        refused("'1', 'x', 'abc'", "run-1", "cast", CAST.format("abc")),
        refused("'2', 'x', 'def'", "run-2", "cast", CAST.format("def")),
        refused("'3', 'clear-1', '5'", "run-2", "constraint", bad_mail, MAIL.format("clear-1", "constraint", "length")),
        refused("'4', 'clear-1', '5'", "run-2", "constraint", bad_mail),
    )
    for statement in statements:
        session.sql(statement)
    session.sql("DELETE FROM shop.silver.orders__quarantine WHERE id = '4'")

    document = call(shop, capsys, "quarantine", "list")
    found = [
        tuple(entry[key] for key in ("table", "stage", "column", "rule", "rows", "run"))
        for entry in document["quarantine"]
    ]
    assert found == [
        ("silver.orders", "cast", "amount", "type", 2, "run-2"),
        ("silver.orders", "constraint", "email", "length", 1, "run-2"),
        ("silver.orders", "constraint", "email", "pattern", 1, "run-2"),
        ("silver.people", "constraint", "email", "not_null(email)", 1, run_id),
        ("silver.people", "constraint", "n", "compare(n, >, 0)", 2, run_id),
    ]
    assert document["tables"] == [
        {"table": "silver.orders", "rows": 3, "open": 3, "replayed": 0, "waived": 0},
        {"table": "silver.people", "rows": 2, "open": 2, "replayed": 0, "waived": 0},
    ]
    assert "5 open rows in the quarantine of 2 tables" in text(shop, capsys, "quarantine", "list")
    assert len(call(shop, capsys, "quarantine", "list", "people")["tables"]) == 1

    def ids(*options: str, table: str = "silver.orders") -> list[Any]:
        return sorted(row["id"] for row in call(shop, capsys, "quarantine", "show", table, *options)["rows"])

    assert ids() == ["1", "2", "3"]
    assert ids("--stage", "cast") == ["1", "2"]
    assert ids("--stage", "cast", "--run", "run-1") == ["1"]
    assert ids("--column", "EMAIL") == ["3"]
    assert ids("--stage", "quality") == []
    assert ids("--column", "n", table="people") == [2, 3]
    assert ids("--rule", "length") == ["3"]
    assert ids("--rule", "compare(n, >, 0)", table="people") == [2, 3]
    assert ids("--file", "orders/b.csv") == []
    assert ids("--status", "waived") == []
    assert ids("--status", "all") == ["1", "2", "3"]
    assert ids("--stage", "landing", table="people") == []
    assert call(shop, capsys, "quarantine", "show", "orders", "--limit", "2")["more"] is True
    shown = text(shop, capsys, "quarantine", "show", "silver.orders", "--stage", "cast")
    assert "type: 'abc' is not a number" in shown
    assert "Did you mean silver.orders?" in text(shop, capsys, "quarantine", "show", "silver.order")
    assert "'silver.people' has no published quarantine" not in text(shop, capsys, "quarantine", "show", "people")

    # Only rows of a contract can be replayed or waived. To count them changes nothing.
    for words in (("replay",), ("waive", "--note", "no")):
        refusal = text(shop, capsys, "quarantine", *words, "silver.people")
        assert "silver.people is not made by a contract" in refusal
        assert "tidegate run silver.people" in refusal
    assert "no contract of the project makes silver.orders" in text(shop, capsys, "quarantine", "replay", "orders")
    counted = call(shop, capsys, "quarantine", "waive", "orders", "--stage", "cast", "--dry-run")
    assert (counted["rows"], counted["waived"], counted["dry_run"]) == (2, 0, True)
    assert "Nothing to waive" in text(shop, capsys, "quarantine", "waive", "orders", "--run", "run-9")

    # Hidden values are hidden wherever they stand; what has none is shown as it is.
    shop.file("models/silver/orders.sql", "-- @column: email: [pii]\nSELECT '1' AS id, 'x' AS email, '1' AS amount\n")
    for words in (("quarantine", "show", "silver.orders"), ("preview", "silver.orders__quarantine")):
        hidden = call(shop, capsys, *words)
        assert "clear-1" not in json.dumps(hidden)
        (row,) = [row for row in hidden["rows"] if row["id"] == "3"]
        assert (row["email"], row["_failures"][0]["value"], row["_failures"][0]["rule"]) == ("***", "***", "pattern")
        assert row["_reasons"] == ["***", "***"]
        assert "'abc' is not a number" in json.dumps(hidden)

    # A contract is scaffolded from a table of the lake, by its metadata.
    made = call(shop, capsys, "contract", "scaffold", "silver.people", "--key", "id", "--output", "-")["text"]
    assert OpenDataContractStandard.from_string(made).validate_for_silver() is True
    silver = yaml.safe_load(made)["schema"][1]["properties"]
    assert [(column["name"], column["physicalType"]) for column in silver] == [
        ("id", "int"),
        ("email", "string"),
        ("n", "int"),
    ]
