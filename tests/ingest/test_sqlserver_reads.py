"""Tables of a SQL Server look-alike: the T-SQL of the connector, answered by H2."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.ingest.sql_projects import KilledError, Landing, kill_at, source_settings, table_contract
from tests.services.h2 import PASSWORD, H2Database, H2Server
from tidegate.config import Settings
from tidegate.errors import FailureKind, SourceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_numbers = count(1)


@pytest.fixture
def shop(h2: H2Server, spark: SparkSession) -> H2Database:
    shop = h2.database(f"shop{next(_numbers)}", spark)
    shop.execute(
        "CREATE TABLE dbo.Orders (id INT, updated_at DATETIME2(7), name NVARCHAR(20),"
        " amount DECIMAL(10,2), raw VARBINARY)",
        "CREATE TABLE dbo.Customers (id INT)",
    )
    return shop


def h2_settings(url: str, root: Path, password: str = PASSWORD) -> Settings:
    return source_settings(root, f'kind = "sqlserver"\nurl = "{url}"\nuser = "sa"', password)


def landing(shop: H2Database, root: Path, connector: str = "sqlserver", **rules: Any) -> Landing:
    table = "dbo.Orders" if connector == "sqlserver" else '"dbo"."Orders"'
    return Landing(table_contract(connector, table, **rules), h2_settings(shop.url, root), shop.session)


def insert(shop: H2Database, *rows: tuple[int, str | None, str | None]) -> None:
    shop.execute(
        *(f"INSERT INTO dbo.Orders VALUES ({i}, {text(at)}, {text(name)}, 1.10, 0x00FF)" for i, at, name in rows)
    )


def text(value: str | None) -> str:
    return "NULL" if value is None else f"N'{value}'"


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for row in rows]


@pytest.mark.parametrize("connector", ["sqlserver", "jdbc"])
def test_a_read_in_batches_takes_each_row_once(
    connector: str, shop: H2Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By text that may be NULL, and then by the key; ticks of 100 ns are told apart."""
    insert(
        shop,
        *((1, "2024-01-01", "b"), (2, "2024-01-02", None), (3, "2024-01-02", "é"), (4, "2024-01-02", None)),
        *((5, "2024-01-02 00:00:00.0000001", "b"), (6, None, "a"), (7, "2024-01-02 00:00:00.0000002", "b")),
    )
    rules = {"filtering_column": "UPDATED_AT", "ordering_columns": ("name",), "batched": True, "batch_size": 2}
    orders = landing(shop, tmp_path, connector, **rules)
    with monkeypatch.context() as patch:
        kill_at(patch, "after_batch_recorded", 2)
        with pytest.raises(KilledError):
            orders.land()
    insert(shop, (8, "2024-01-02 00:00:00.0000003", "new"), (9, None, "new"))
    rows = orders.read()
    assert sorted(ids(rows)) == [1, 2, 3, 4, 5, 6, 7]
    assert orders.last is not None
    assert orders.last.resumed
    assert orders.last.bounds.upper == "2024-01-02 00:00:00.0000002"
    first = next(row for row in rows if row["id"] == 1)
    assert first == {
        "id": 1,
        "updated_at": datetime(2024, 1, 1),
        "name": "b",
        "amount": Decimal("1.10"),
        "raw": b"\x00\xff",
    }
    assert ids(orders.read()) == [8]
    assert orders.read() == []


def test_a_query_reads_a_snapshot_or_what_is_new(shop: H2Database, tmp_path: Path) -> None:
    snapshot = landing(shop, tmp_path, full_snapshot=True)
    by_number = landing(shop, tmp_path, filtering_column="id")
    assert snapshot.read() == by_number.read() == []
    insert(shop, (1, None, "a"), (2, "2024-01-01", "b"))
    assert ids(by_number.read()) == [1, 2]
    insert(shop, (3, "2024-01-01", "c"))
    assert ids(by_number.read()) == [3]
    assert sorted(ids(snapshot.read())) == [1, 2, 3]


def test_rows_are_landed_in_the_format_of_the_contract(shop: H2Database, tmp_path: Path) -> None:
    shop.execute("ALTER TABLE dbo.Orders DROP COLUMN raw")
    shop.execute("INSERT INTO dbo.Orders VALUES (1, '2024-01-01', N'a,\"b\"', 1.10), (2, NULL, NULL, NULL)")
    expected = {
        "jsonl": '{"id":1,"updated_at":"2024-01-01T00:00:00","name":"a,\\"b\\"","amount":1.10}\n'
        '{"id":2,"updated_at":null,"name":null,"amount":null}\n',
        "csv": 'id,updated_at,name,amount\n1,2024-01-01T00:00:00,"a,""b""",1.10\n2,,,\n',
        "tsv": 'id\tupdated_at\tname\tamount\n1\t2024-01-01T00:00:00\t"a,""b"""\t1.10\n2\t\t\t\n',
    }
    for file_format, text in expected.items():
        orders = landing(shop, tmp_path, full_snapshot=True, format=file_format)
        (file,) = orders.land().files
        assert file.endswith(f".{file_format}")
        assert orders.path_of(file).read_text() == text
    rules = {"ordering_columns": ("updated_at",), "batched": True, "batch_size": 1, "format": "csv"}
    batched = landing(shop, tmp_path, filtering_column="id", **rules)
    run = batched.land()
    header, *lines = expected["csv"].splitlines(keepends=True)
    assert (run.batches, run.rows) == (2, 2)
    assert sorted(batched.path_of(file).read_text() for file in run.files) == sorted(header + line for line in lines)


def test_failures_name_the_source_and_the_table_and_no_secret(shop: H2Database, h2: H2Server, tmp_path: Path) -> None:
    def failure(url: str = shop.url, password: str = PASSWORD, **rules: Any) -> SourceError:
        contract = table_contract("sqlserver", "dbo.Orders", **{"full_snapshot": True, **rules})
        with pytest.raises(SourceError) as caught:
            Landing(contract, h2_settings(url, tmp_path, password), shop.session).read()
        shown = f"{caught.value} {caught.value.where} {caught.value.remedy} {caught.value.__cause__}"
        assert "source 'shop'" in shown
        assert "dbo.Orders" in shown
        assert "hunter22" not in shown
        return caught.value

    assert failure(password="wrong-hunter22").kind is FailureKind.AUTH_FAILED
    assert failure(url="jdbc:h2:tcp://127.0.0.1:1/mem:shop").kind is FailureKind.CONNECTION_FAILED
    missing = failure(full_snapshot=False, filtering_column="updated")
    assert missing.kind is FailureKind.NOT_FOUND
    assert missing.remedy is not None
    assert "the table has id, updated_at" in missing.remedy
    shop.execute("DROP TABLE dbo.Orders")
    gone = failure()
    assert gone.kind is FailureKind.NOT_FOUND
    assert gone.message == "source 'shop': table dbo.Orders cannot be read: Table \"Orders\" not found"


def test_a_source_that_is_no_database_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    settings = source_settings(tmp_path, 'kind = "jdbc"\nurl = "jdbc:h2:mem:x"', PASSWORD)
    contract = table_contract("sqlserver", "dbo.Orders", source="shpo")
    with pytest.raises(SourceError, match=r"\[sources.shpo\] is not in tidegate.toml") as caught:
        Landing(contract, settings, spark).read()
    assert caught.value.remedy is not None
    assert 'kind = "sqlserver"' in caught.value.remedy
