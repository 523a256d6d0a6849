"""Changes from a look-alike of SQL Server's change data capture."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.ingest.sql_projects import Landing, table_contract
from tests.ingest.test_sqlserver_reads import h2_settings
from tests.services.h2 import CAPTURED, H2Database, H2Server, capture
from tidegate.errors import FailureKind, SourceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_numbers = count(1)


class Log:
    """What the capture job of a server writes."""

    def __init__(self, database: H2Database) -> None:
        self.database = database

    def commit(self, lsn: int, at: str, *changes: tuple[int, int, str]) -> None:
        """Each change: operation, id, name. `at`: an expression, or a time."""
        time = at if at.startswith("DATEADD") else f"CAST('{at}' AS datetime2(7))"
        rows = [
            f"({hexed(lsn)}, NULL, {hexed(number)}, {operation}, 0x01, {i}, '{name}')"
            for number, (operation, i, name) in enumerate(changes, 1)
        ]
        self.database.execute(
            f"INSERT INTO cdc.lsn_time_mapping VALUES ({hexed(lsn)}, NULL, {time}, 0x01)",
            *(f"INSERT INTO cdc.[dbo_Orders_CT] VALUES {row}" for row in rows),
        )


def hexed(lsn: int) -> str:
    return f"0x{lsn:020X}"


@pytest.fixture
def log(h2: H2Server, spark: SparkSession) -> Log:
    database = h2.database(f"captured{next(_numbers)}", spark)
    database.execute(*CAPTURED, *capture("Orders", "[id] INT, [name] NVARCHAR(20)"))
    return Log(database)


def landing(log: Log, root: Path, **properties: Any) -> Landing:
    contract = table_contract("sqlserver_cdc", "dbo.Orders", properties=properties)
    return Landing(contract, h2_settings(log.database.url, root), log.database.session)


def changes(rows: list[dict[str, Any]]) -> list[tuple[str, int, str]]:
    return [(row["_op"], row["id"], row["name"]) for row in sorted(rows, key=lambda row: row["_sequence"])]


def test_changes_are_read_once_in_the_order_of_the_log(log: Log, tmp_path: Path) -> None:
    log.commit(10, "2024-01-01 00:00:00.0033333", (2, 1, "a"), (2, 2, "b"))
    log.commit(11, "2024-01-01 00:00:00.0033333", (3, 1, "a"), (4, 1, "A"))
    log.commit(12, "2024-01-01 00:00:00.0066667", (1, 2, "b"))
    orders = landing(log, tmp_path)
    rows = orders.read()
    assert changes(rows) == [("insert", 1, "a"), ("insert", 2, "b"), ("update", 1, "A"), ("delete", 2, "b")]
    assert [*rows[0]] == ["id", "name", "_op", "_commit_time", "_sequence"]
    assert {row["_commit_time"] for row in rows} == {
        datetime(2024, 1, 1, 0, 0, 0, 3333),
        datetime(2024, 1, 1, 0, 0, 0, 6666),
    }
    assert min(row["_sequence"] for row in rows) == f"{10:020X}-{1:020X}-2"
    assert orders.checkpoint == "2024-01-01 00:00:00.0066667"
    assert orders.read() == []
    log.commit(13, "2024-01-01 00:00:00.0100000", (2, 3, "c"))
    assert changes(orders.read()) == [("insert", 3, "c")]


def test_a_young_tick_waits_for_the_next_run(log: Log, tmp_path: Path) -> None:
    """Another transaction may still get the same time."""
    orders = landing(log, tmp_path)
    assert orders.read() == []
    log.commit(10, "2024-01-01", (2, 1, "a"))
    log.commit(11, "DATEADD(hour, 1, GETDATE())", (2, 2, "b"))
    assert changes(orders.read()) == [("insert", 1, "a")]
    assert orders.read() == []
    log.database.execute("UPDATE cdc.lsn_time_mapping SET tran_end_time = '2024-01-02' WHERE tran_end_time > GETDATE()")
    log.commit(12, "2024-01-02", (2, 3, "c"))
    assert changes(orders.read()) == [("insert", 2, "b"), ("insert", 3, "c")]


def test_many_transactions_are_read_in_parts(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.ingest.sql.sqlserver_cdc._FEW_TRANSACTIONS", 1)
    for number in range(1, 8):
        log.commit(number, f"2024-01-0{number}", (2, number, "a"))
    orders = landing(log, tmp_path)
    assert [i for _, i, _ in changes(orders.read())] == [1, 2, 3, 4, 5, 6, 7]
    assert orders.last is not None
    assert len(orders.last.files) == 4


@pytest.mark.parametrize("cleaned", ["the instance", "the log"])
def test_changes_that_the_server_has_forgotten_fail_the_run(cleaned: str, log: Log, tmp_path: Path) -> None:
    log.commit(10, "2024-01-01", (2, 1, "a"))
    orders = landing(log, tmp_path)
    orders.read()
    log.commit(11, "2024-01-02", (2, 2, "b"))
    log.commit(12, "2024-01-03", (2, 3, "c"))
    if cleaned == "the instance":
        log.database.execute(f"UPDATE cdc.change_tables SET start_lsn = {hexed(12)}")
    else:
        log.database.execute(f"DELETE FROM cdc.lsn_time_mapping WHERE start_lsn <= {hexed(11)}")
    with pytest.raises(SourceError, match=r"changes of table dbo.Orders after 2024-01-01 .* are lost") as caught:
        orders.read()
    assert caught.value.kind is FailureKind.NOT_FOUND
    assert caught.value.remedy is not None


def test_a_table_that_is_not_captured_is_reported(log: Log, tmp_path: Path) -> None:
    log.commit(10, "2024-01-01", (2, 1, "a"))
    with pytest.raises(SourceError, match="has no capture instance 'sales_Orders'") as caught:
        landing(log, tmp_path, capture_instance="sales_Orders").read()
    assert caught.value.remedy is not None
    assert "sp_cdc_enable_table" in caught.value.remedy
