"""Queries that `tidegate sql` refuses before Spark starts, shown as `tidegate compile` shows a model's mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.calling import Call
from tests.lake.conftest import write_table as write_table
from tidegate.compiler import bind_adhoc
from tidegate.config import load_settings
from tidegate.datatypes import parse_type
from tidegate.lake import EmbeddedCatalog, Pointer
from tidegate.lake.iceberg_types import relation_of
from tidegate.lake.metadata import read_metadata
from tidegate.names import TableName
from tidegate.operations import query as query_operation
from tidegate.operations.query_result import QueryResult

CASES = Path(__file__).parents[1] / "cases" / "sql" / "errors.txt"
ORDERS = TableName("shop", "silver", "orders")
COLUMNS = (("id", "long"), ("amount", "decimal(18, 2)"), ("placed_at", "timestamptz"))


def cases() -> list[tuple[str, str, str]]:
    _, *parts = re.split(r"^=== (.+)\n", CASES.read_text(), flags=re.MULTILINE)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return [(name, *body.split("\n---\n", 1)) for name, body in pairs]  # type: ignore[misc]


@pytest.fixture
def orders(project: Path, write_table: Callable[..., Pointer]) -> Pointer:
    fields = [{"id": n, "name": name, "required": False, "type": kind} for n, (name, kind) in enumerate(COLUMNS, 1)]
    pointer = write_table((1, None, "append", {}), schemas=[{"schema-id": 0, "fields": fields}])
    catalog = EmbeddedCatalog(project / ".tidegate/catalog.db", project / ".tidegate/warehouse")
    catalog.create_branch("b")
    catalog.restore("b", ORDERS, pointer)
    catalog.publish("b", [ORDERS])
    return pointer


@pytest.mark.parametrize(("name", "sql", "shown"), cases(), ids=[name for name, *_ in cases()])
def test_a_query_that_cannot_be_run_is_shown_with_its_place(
    orders: Pointer, tidegate: Call, name: str, sql: str, shown: str
) -> None:
    told = tidegate("sql", sql)
    assert (told.code, told.out) == (1, "")
    assert told.err.rstrip("\n") == shown.rstrip("\n")


def test_programs_get_the_place_too(orders: Pointer, tidegate: Call) -> None:
    document = tidegate("sql", "--json", "SELECT idd FROM silver.orders").document
    assert document["failure_kind"] == "QueryRejected"
    assert [(d["code"], d["span"]["line"], d["span"]["col"]) for d in document["diagnostics"]] == [
        ("UnknownColumn", 1, 8)
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT _row_id, _last_updated_sequence_number, _file FROM silver.orders",
        "SELECT o.`_row_id` FROM silver.orders o",
        "SELECT gone FROM silver.orders VERSION AS OF 1",
        "SELECT id, id FROM silver.orders",
        "WITH t AS (SELECT sum(amount) AS s FROM silver.orders) SELECT s FROM t",
    ],
)
def test_what_spark_would_run_is_not_refused(orders: Pointer, project: Path, sql: str) -> None:
    relation = relation_of(read_metadata(orders).fields)
    assert relation.columns[0].type == parse_type("bigint")
    assert bind_adhoc(sql, load_settings(project), {ORDERS: orders}, columns_of=lambda table: relation).sql


LONG = "x" * 59 + "yz"


def test_long_values_are_cut_and_the_way_to_see_them_is_named(
    project: Path, tidegate: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = QueryResult((("text", "string"),), ({"text": LONG}, {"text": "short"}))
    monkeypatch.setattr(query_operation, "query", lambda *args, **options: result)
    cut = tidegate("sql", "SELECT text FROM silver.notes").out.splitlines()
    assert cut[2:] == [
        "x" * 59 + "…",
        "short",
        "2 rows",
        "1 value cut at 60 characters: --full or --json shows all of them.",
    ]
    whole = tidegate("sql", "--full", "SELECT text FROM silver.notes").out.splitlines()
    assert whole[2:] == [LONG, "short", "2 rows"]
