"""Records of landing files that cannot be read: with `bad_records = "quarantine"` they go beside the table, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.projects import ProjectFolder, run_types
from tests.runs.test_killed import start
from tidegate.lake.arrival import arrival_order
from tidegate.names import TableName
from tidegate.runs.result import Materialization, RunResult

pytestmark = pytest.mark.spark

BAD = "SELECT _source_file, _line, _text, _reasons, _run_id FROM bronze.orders__quarantine"
TWO_FIELDS = "has 2 fields where 3 are expected"
BROKEN = "has broken quotes: ',' expected after '\"'"


def of(result: RunResult, name: str = "bronze.orders") -> Materialization:
    return next(m for m in result.materializations if m.model == name)


def bad(shop: ProjectFolder) -> Sequence[tuple[Any, ...]]:
    return shop.rows(BAD)


@pytest.fixture
def orders(shop: ProjectFolder) -> ProjectFolder:
    settings = (shop.root / "tidegate.toml").read_text()
    shop.file("tidegate.toml", settings + '\n[landing.orders]\nbad_records = "quarantine"\n')
    shop.model("bronze.orders", "SELECT * FROM {{ landing_zone('orders') }}", kind="append")
    shop.file("landing/orders/a.csv", 'id,name,day\n1,x,2024-01-01\n2,y\n3,"z" z,2024-01-03\n4,"w" ,2024-01-04\n')
    return shop


def test_bad_records_go_to_the_quarantine_once_and_the_rest_is_loaded(orders: ProjectFolder) -> None:
    first = orders.run()
    assert first.exit_code == 0
    assert (of(first).rows_written, of(first).rows_quarantined) == (2, 2)
    told = "2 records of landing files cannot be read and went to bronze.orders__quarantine: "
    assert any(f"{told}orders/a.csv:3 {TWO_FIELDS}; orders/a.csv:4 {BROKEN}" in line for line in first.warnings)
    assert [row[0] for row in orders.rows("SELECT id FROM bronze.orders")] == [1, 4]
    expected = [
        ("orders/a.csv", 3, "2,y", [TWO_FIELDS], first.run_id),
        ("orders/a.csv", 4, '3,"z" z,2024-01-03', [BROKEN], first.run_id),
    ]
    assert bad(orders) == expected

    orders.file("landing/orders/b.csv", "id,name,day\n5,v,2024-01-05\n6,u\n")
    second = orders.run()
    assert (of(second).rows_written, of(second).rows_quarantined) == (1, 1)
    assert bad(orders) == [*expected, ("orders/b.csv", 3, "6,u", [TWO_FIELDS], second.run_id)]
    assert run_types(orders.run()) == {"bronze.orders": "skip"}

    whole = orders.run(full_refresh=True, confirmed=True)
    assert (of(whole).rows_written, of(whole).rows_quarantined) == (3, 3)
    assert [row[:3] for row in bad(orders)] == [*(row[:3] for row in expected), ("orders/b.csv", 3, "6,u")]


def test_a_closed_gate_holds_back_both_tables_and_the_files_come_again(orders: ProjectFolder) -> None:
    orders.model("bronze.orders", "SELECT * FROM {{ landing_zone('orders') }}", kind="append", audit="row_count(>, 2)")
    assert orders.run().exit_code == 1
    assert orders.main.table(TableName("shop", "bronze", "orders")) is None
    assert orders.main.table(TableName("shop", "bronze", "orders__quarantine")) is None
    orders.file("landing/orders/b.csv", "id,name,day\n5,v,2024-01-05\n")
    assert orders.run().exit_code == 0
    assert (len(orders.rows("bronze.orders")), len(bad(orders))) == (3, 2)


def test_rows_that_break_constraints_and_bad_records_stand_in_one_table(orders: ProjectFolder) -> None:
    header = {"kind": "append", "quarantine": "true", "constraint": "compare(id, <, 4)"}
    orders.model("bronze.orders", "SELECT * FROM {{ landing_zone('orders') }}", **header)
    result = orders.run()
    assert (of(result).rows_written, of(result).rows_quarantined) == (1, 3)
    rows = orders.rows("SELECT id, _columns, _source_file FROM bronze.orders__quarantine")
    assert rows == [(4, ["id"], None), (None, [], "orders/a.csv"), (None, [], "orders/a.csv")]


def test_a_zone_that_is_only_looked_up_adds_each_bad_record_once(orders: ProjectFolder) -> None:
    orders.file("landing/names/a.csv", "id,more\n1,one\n")
    query = (
        "SELECT n.id, more, day FROM {{ landing_zone('names') }} n LEFT JOIN {{ landing_zone('orders') }} o USING (id)"
    )
    orders.model("bronze.orders", query, kind="append")
    assert of(orders.run()).rows_quarantined == 2
    orders.file("landing/names/b.csv", "id,more\n4,four\n")
    assert of(orders.run()).rows_quarantined == 0
    assert (len(orders.rows("bronze.orders")), len(bad(orders))) == (2, 2)


def test_the_text_of_a_bad_record_is_not_kept_where_columns_are_masked(orders: ProjectFolder) -> None:
    header = {"kind": "append", "column": "name: [hash_pii]"}
    orders.model("bronze.orders", "SELECT * FROM {{ landing_zone('orders') }}", **header)
    assert orders.run().exit_code == 0
    assert [row[:3] for row in bad(orders)] == [("orders/a.csv", 3, None), ("orders/a.csv", 4, None)]


def test_good_records_keep_their_order_of_arrival(orders: ProjectFolder) -> None:
    orders.file("landing/orders/b.csv", "id,name,day\n0,v,2024-01-05\n")
    orders.file("landing/orders/c.jsonl", '{"id": 9}\nnonsense\n{"id": 8}\n')
    assert of(orders.run()).rows_quarantined == 3
    metadata = orders.main.table(TableName("shop", "bronze", "orders"))
    assert metadata is not None
    rows = orders.rows(f"SELECT struct({arrival_order(metadata)} AS at, id) AS row FROM bronze.orders")
    assert [row["id"] for (row,) in sorted(rows, key=lambda each: each[0]["at"])] == [1, 4, 0, 9, 8]


def test_a_command_that_met_bad_records_ends_without_noise(orders: ProjectFolder) -> None:
    with start(orders.root) as process:
        output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    assert "2 quarantined" in output
    assert "Traceback" not in output
