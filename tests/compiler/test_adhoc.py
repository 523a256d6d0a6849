"""Queries that a person types: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.compiler import bind_adhoc
from tidegate.compiler.adhoc import AsOf
from tidegate.config import Settings, load_settings
from tidegate.errors import QueryError
from tidegate.names import TableName

TABLES = (TableName("shop", "silver", "orders"), TableName("shop", "gold", "orders"))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "tidegate.toml").write_text('[project]\nname = "shop"\n')
    return load_settings(tmp_path)


@pytest.mark.parametrize("clause", ["VERSION AS OF 7", "TIMESTAMP AS OF '2026-01-01'"])
def test_a_table_may_be_read_as_it_was(settings: Settings, clause: str) -> None:
    bound = bind_adhoc(f"SELECT o.id, _row_id FROM silver.orders {clause} AS o", settings, TABLES)
    assert bound.sql == f"SELECT o.id, _row_id FROM {TABLES[0].quoted} {clause} AS o"


def test_a_table_as_it_was_beside_its_namesake_needs_a_name_of_its_own(settings: Settings) -> None:
    joined = "silver.orders VERSION AS OF 7 JOIN gold.orders ON silver.orders.id = gold.orders.id"
    with pytest.raises(QueryError, match=r"silver\.orders AS OF is named like another") as refused:
        bind_adhoc(f"SELECT silver.orders.id FROM {joined}", settings, TABLES)
    assert refused.value.remedy == "give it a name of its own: silver.orders VERSION AS OF … AS t"


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DELETE FROM silver.orders", "only a query"),
        ("SELECT 1; SELECT 2", "more than one statement"),
        ("SELECT * FROM silver.orders VERSION AS OF 7, IDENTIFIER('silver.orders')", "hides which table"),
        ("SELECT * FROM silver.order VERSION AS OF 7", "no table silver.order on main"),
    ],
)
def test_anything_but_one_query_over_known_tables_is_refused(settings: Settings, sql: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        bind_adhoc(sql, settings, TABLES)


@pytest.mark.parametrize(
    "clause",
    [
        "VERSION AS OF 7",
        "FOR VERSION AS OF 7",
        "VERSION AS OF '7'",
        "TIMESTAMP AS OF '2026-01-01'",
        "FOR SYSTEM_TIME AS OF '2026-01-01'",
        "TIMESTAMP AS OF TIMESTAMP '2026-01-01 00:00:00'",
        "timestamp as of current_timestamp() - INTERVAL 1 DAY",
        "TIMESTAMP AS OF date_sub(current_date(), 1)",
        "TIMESTAMP AS OF (current_timestamp() - INTERVAL 1 DAY)",
        "TIMESTAMP AS OF current_timestamp",
    ],
)
@pytest.mark.parametrize("rest", ["", " AS o WHERE o.id > 1", " o JOIN gold.orders TIMESTAMP AS OF '2025-01-01' g"])
def test_another_snapshot_takes_the_place_of_the_clause(settings: Settings, clause: str, rest: str) -> None:
    asked: list[str] = []

    def settled(table: TableName, found: AsOf) -> int | None:
        asked.append(f"{table.layer} {found.kind} {found.value}")
        return 42 if table.layer == "silver" else None

    bound = bind_adhoc(f"SELECT 1 FROM silver.orders {clause}{rest}", settings, TABLES, settled)
    later = rest.replace("gold.orders", TABLES[1].quoted)
    assert bound.sql == f"SELECT 1 FROM {TABLES[0].quoted} VERSION AS OF 42{later}"
    assert asked[0].partition(" ")[2].lower() in clause.lower().replace(" as of", "").replace(
        "system_time", "timestamp"
    )
    assert asked[1:] == (["gold TIMESTAMP '2025-01-01'"] if "gold" in rest else [])
