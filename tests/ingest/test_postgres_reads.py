"""Tables of a real PostgreSQL, while others write to them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.ingest.sql_projects import KilledError, Landing, kill_at, source_settings, table_contract
from tests.services.ports import free_port
from tests.sources.postgres import Postgres
from tidegate.config import ZoneSettings
from tidegate.errors import FailureKind, SourceError
from tidegate.project.landing_files import ZoneFile
from tidegate.transform.landing.bronze_read import read_bronze
from tidegate.transform.landing.delivery import Delivery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PASSWORD = "pg-hunter22"
BATCHED = {
    "filtering_column": "updated_at",
    "ordering_columns": ("updated_at",),
    "batched": True,
    "batch_size": 3,
}
_numbers = count(1)


@pytest.fixture(scope="module")
def role(postgres: Postgres) -> Iterator[str]:
    postgres.execute(f"CREATE ROLE ingest LOGIN PASSWORD '{PASSWORD}'", "CREATE SCHEMA ingest AUTHORIZATION ingest")
    yield "ingest"
    postgres.execute("DROP SCHEMA ingest CASCADE", "DROP ROLE ingest")


class Shop:
    def __init__(self, server: Postgres, root: Path, session: SparkSession) -> None:
        self.server, self.session = server, session
        self.table = f"ingest.orders{next(_numbers)}"
        self.settings = source_settings(
            root,
            f'kind = "database"\nurl = "postgresql://127.0.0.1:{server.port}/postgres"\nuser = "ingest"',
            PASSWORD,
        )
        self.execute("CREATE TABLE {t} (id bigint, updated_at timestamp, note text)")
        self.execute("GRANT SELECT ON {t} TO ingest")

    def execute(self, *statements: str) -> None:
        self.server.execute(*(statement.replace("{t}", self.table) for statement in statements))

    def insert(self, *rows: tuple[int, str | None]) -> None:
        values = ", ".join(f"({id}, {'NULL' if at is None else repr(at)}, 'n{id}')" for id, at in rows)
        self.execute(f"INSERT INTO {{t}} VALUES {values}")

    def landing(self, **rules: Any) -> Landing:
        return Landing(table_contract("postgres", self.table, **rules), self.settings, self.session)


@pytest.fixture
def shop(postgres: Postgres, role: str, tmp_path: Path, spark: SparkSession) -> Shop:
    return Shop(postgres, tmp_path, spark)


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for row in rows]


@pytest.mark.parametrize(
    ("point", "times"),
    [
        ("after_bounds", 1),
        ("before_batch", 1),
        ("after_batch", 2),
        ("after_batch_recorded", 1),
        ("after_batch_recorded", 2),
        ("before_ingest_complete", 1),
        ("after_ingest_complete", 1),
    ],
)
def test_a_batched_read_that_is_killed_is_continued_to_the_same_bound(
    point: str, times: int, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows share values at the end of a batch and at the bound, and some have none."""
    rows = [(1, None), (2, "2024-01-01"), (3, "2024-01-02"), (4, "2024-01-02"), (5, "2024-01-02"), (6, "2024-01-02")]
    shop.insert(*rows, (7, "2024-01-03 00:00:00.000001"), (8, "2024-01-04"), (9, "2024-01-04"), (10, None))
    landing = shop.landing(**BATCHED)
    with monkeypatch.context() as patch:
        kill_at(patch, point, times)
        with pytest.raises(KilledError):
            landing.land()
    shop.insert((11, "2024-01-05"))
    if point != "after_ingest_complete":
        continued = landing.land()
        assert continued.bounds.upper == "2024-01-04 00:00:00"
        assert continued.batches == 3
    assert ids(landing.read()) == [11]
    assert sorted(ids(landing.zone_rows())) == list(range(1, 12))


def test_rows_that_change_while_they_are_read_are_left_to_the_next_run(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidegate.ingest.sql.sql_table._AT_ONCE", 1)
    shop.insert(*((number, f"2024-01-{number:02}") for number in range(1, 10)))
    landing = shop.landing(**BATCHED)
    looks = count()

    def others() -> None:
        """A row that was read, and one that was not, change; another arrives; one goes."""
        if next(looks) == 0:
            shop.execute("UPDATE {t} SET updated_at = '2024-02-01', note = 'new' WHERE id IN (1, 9)")
            shop.execute("DELETE FROM {t} WHERE id = 8")
            shop.insert((10, "2024-02-01"))

    assert ids(landing.read(others)) == [1, 2, 3, 4, 5, 6, 7]
    assert {row["id"]: row["note"] for row in landing.read()} == {1: "new", 9: "new", 10: "n10"}
    assert landing.read() == []


def test_a_query_takes_what_lies_between_the_bounds(shop: Shop) -> None:
    landing = shop.landing(filtering_column="updated_at")
    assert landing.read() == []
    shop.insert((1, "2024-01-01"), (2, None), (3, "2024-01-03"), (4, "2024-01-03"))
    assert sorted(ids(landing.read())) == [1, 2, 3, 4]
    shop.insert((5, "2024-01-03 00:00:00.000001"), (6, "2023-01-01"))
    assert ids(landing.read()) == [5]


def test_a_snapshot_is_read_whole_each_time(shop: Shop) -> None:
    shop.insert(*((number, None) for number in range(1, 8)))
    single, batched = (
        shop.landing(full_snapshot=True, **rules)
        for rules in ({}, {"batched": True, "ordering_columns": ("updated_at", "note"), "batch_size": 2})
    )
    for _ in range(2):
        assert sorted(ids(single.read())) == list(range(1, 8))
        assert ids(batched.read()) == list(range(1, 8))
    shop.execute("DELETE FROM {t}")
    assert single.read() == batched.read() == []
    assert single.last is not None
    assert single.last.files  # so bronze gets its columns


def test_values_are_landed_as_they_are(shop: Shop) -> None:
    shop.execute(
        "ALTER TABLE {t} ADD price numeric(10,2), ADD exact numeric, ADD seen timestamptz, ADD day date, ADD raw bytea,"
        " ADD body jsonb, ADD ok boolean, ADD ratio double precision, ADD hour time",
        "INSERT INTO {t} VALUES (1, '2024-03-31 02:30:00.123456', 'é', 1.10,"
        " 123456789012345678901234567890.12345678901, '2024-03-31 02:30:00+02', '0001-01-01', '\\x00ff',"
        " '{\"a\": [1]}', true, 0.1, '10:00:00.123456')",
    )
    (row,) = shop.landing(full_snapshot=True).read()
    assert row == {
        "id": 1,
        "updated_at": datetime(2024, 3, 31, 2, 30, 0, 123456),
        "note": "é",
        "price": Decimal("1.10"),
        "exact": "123456789012345678901234567890.12345678901",
        "seen": datetime(2024, 3, 31, 0, 30, tzinfo=UTC),
        "day": date(1, 1, 1),
        "raw": b"\x00\xff",
        "body": '{"a": [1]}',
        "ok": True,
        "ratio": 0.1,
        "hour": "10:00:00.123456",
    }


@pytest.mark.parametrize("file_format", ["csv", "tsv", "json", "jsonl"])
def test_texts_are_in_bronze_as_those_of_parquet(file_format: str, shop: Shop) -> None:
    shop.execute(
        "ALTER TABLE {t} ADD seen timestamptz, ADD exact numeric, ADD ratio float8, ADD raw bytea, ADD tags text[]",
        "INSERT INTO {t} VALUES (1, '2024-03-31 02:30:00.123456', '  pad ', '2024-03-31 02:30:00.000001+02', 1.10,"
        r" 'NaN', '\x00ff', '{a,NULL}'), (2, '9999-12-31 23:59:59.999999', E'\t', '0001-01-01', NULL, '-0',"
        " NULL, '{}'), (3, NULL, '', NULL, NULL, NULL, NULL, NULL), (4, NULL, NULL, NULL, -0.00, 1e-320, NULL, NULL),"
        r""" (5, '2024-01-01', E'cr\r "q" \\ lf\n', NULL, 1, 'Infinity', NULL, NULL)""",
    )
    rules = {"full_snapshot": True, "batched": True, "ordering_columns": ("id",)}
    expected, landing = shop.landing(**rules), shop.landing(**rules, format=file_format)
    assert bronze_texts(landing) == bronze_texts(expected)


def bronze_texts(landing: Landing) -> list[tuple[str | None, ...]]:
    landing.land()
    folder = landing.settings.landing.root / landing.ingestion.source.zone
    files = [
        ZoneFile(path.relative_to(folder).as_posix(), path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(folder.glob("run-*/*"))
    ]
    source = landing.ingestion.source
    settings = ZoneSettings(format=source.format, raw=True, bad_records="quarantine", by_name=True)
    delivery = Delivery("run-1", datetime.now(UTC))
    frame = read_bronze(landing.session, folder, files, settings, None, True, delivery).frame
    rows = frame.select(*(name for name in sorted(frame.columns) if name[0] != "_")).collect()
    return sorted((tuple(row) for row in rows), key=repr)


def test_a_null_that_a_csv_file_cannot_hold_ends_the_read(shop: Shop) -> None:
    shop.execute("ALTER TABLE {t} DROP id, DROP updated_at", "INSERT INTO {t} VALUES ('a'), (NULL)")
    with pytest.raises(SourceError, match="has a blank line for each NULL of its only column 'note'") as caught:
        shop.landing(full_snapshot=True, format="csv").land()
    assert "parquet or json" in str(caught.value.remedy)
    shop.execute("DELETE FROM {t} WHERE note IS NULL", "INSERT INTO {t} VALUES ('')")
    assert bronze_texts(shop.landing(full_snapshot=True, format="csv")) == [("",), ("a",)]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("timestamptz", ("2024-01-01", "infinity", "2025-01-01")),
        ("float8", ("1", "NaN", "2")),
        ("numeric", ("1", "NaN", "2")),
    ],
)
def test_infinity_is_read_once_and_is_no_bound(kind: str, values: tuple[str, ...], shop: Shop) -> None:
    shop.execute(
        f"ALTER TABLE {{t}} ADD mark {kind}",
        *(f"INSERT INTO {{t}} VALUES ({id}, NULL, NULL, '{value}')" for id, value in enumerate(values[:2])),
    )
    landing = shop.landing(filtering_column="mark")
    assert sorted(ids(landing.read())) == [0, 1]
    assert landing.last is not None
    (note,) = landing.last.notes
    assert "has rows with infinity or NaN in 'mark', which only the first read takes" in note
    shop.execute(f"INSERT INTO {{t}} VALUES (2, NULL, NULL, '{values[2]}')")
    assert ids(landing.read()) == [2]
    assert landing.read() == []


def test_a_timestamp_that_spark_cannot_read_is_named(shop: Shop) -> None:
    shop.insert((1, "infinity"))
    with pytest.raises(
        SourceError, match="infinity as a timestamp without time zone, which Spark cannot read"
    ) as caught:
        shop.landing(full_snapshot=True).land()
    assert "view" in str(caught.value.remedy)


def test_a_column_without_values_gives_no_bound(shop: Shop) -> None:
    shop.insert((1, None))
    with pytest.raises(
        SourceError, match=r"every row of table .* has NULL or no finite value in 'updated_at'"
    ) as caught:
        shop.landing(filtering_column="updated_at").read()
    assert caught.value.kind is FailureKind.QUERY_REJECTED


def test_failures_name_the_source_and_the_table_and_no_secret(shop: Shop, tmp_path: Path) -> None:
    shop.insert((1, "2024-01-01"))

    def failure(settings: Any = None, **rules: Any) -> SourceError:
        landing = shop.landing(**{"filtering_column": "updated_at", **rules})
        landing.settings = settings or landing.settings
        with pytest.raises(SourceError) as caught:
            landing.read()
        shown = f"{caught.value} {caught.value.where} {caught.value.remedy} {caught.value.__cause__}"
        assert "source 'shop'" in shown
        assert shop.table in shown
        assert "hunter22" not in shown
        return caught.value

    missing = failure(filtering_column="updatet_at")
    assert missing.kind is FailureKind.NOT_FOUND
    assert missing.remedy is not None
    assert "did you mean updated_at?" in missing.remedy
    refused = source_settings(tmp_path, shop_lines(shop.server.port), "wrong-hunter22")
    assert failure(refused).kind is FailureKind.AUTH_FAILED
    down = source_settings(tmp_path, shop_lines(free_port()), PASSWORD)
    assert failure(down).kind is FailureKind.CONNECTION_FAILED
    shop.execute("DROP TABLE {t}")
    assert failure().kind is FailureKind.NOT_FOUND


def shop_lines(port: int) -> str:
    return f'kind = "database"\nurl = "postgresql://127.0.0.1:{port}/postgres"\nuser = "ingest"'
