"""What is particular to a catalog on PostgreSQL; what all catalogs do is in test_branches.py."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from tests.services.cutting import cut_at
from tests.sources.postgres import Postgres
from tidegate.config import Secret
from tidegate.config.database_url import parse_database_url
from tidegate.errors import FailureKind, LakeError, LakeUnavailableError
from tidegate.lake.branch_catalog import Pointer, PointerKind
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.catalogs.jdbc import JdbcCatalog, PostgresDatabase
from tidegate.names import TableName

ORDERS = TableName("shop", "silver", "orders")
FIRST = Pointer(PointerKind.TABLE, "file:/w/o1.metadata.json")


@pytest.fixture
def catalog(postgres_url: str, tmp_path: Path) -> JdbcCatalog:
    return JdbcCatalog(parse_database_url(postgres_url), tmp_path / "warehouse")


def test_spark_is_told_all_and_the_password_only_where_it_is_redacted(catalog: JdbcCatalog, postgres_url: str) -> None:
    url = parse_database_url(postgres_url)
    conf = catalog.spark_conf("run-1")
    prefix = "spark.sql.catalog.run_1"
    assert conf[f"{prefix}.uri"] == f"jdbc:postgresql://127.0.0.1:{url.port}/{url.database}?ApplicationName=tidegate"
    assert conf[f"{prefix}.jdbc.user"] == url.user
    assert conf[f"{prefix}.jdbc.schema-version"] == "V1"
    assert conf[f"{prefix}.table-override.gc.enabled"] == "false"
    assert [key for key, value in conf.items() if "pass:" in value] == [f"{prefix}.jdbc.password"]


def test_what_the_settings_leave_open_is_as_libpq_finds_it(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.execute("DROP DATABASE IF EXISTS open_lake", "CREATE DATABASE open_lake")
    monkeypatch.setenv("PGUSER", "postgres")
    url = parse_database_url(f"postgresql://127.0.0.1:{postgres.port}/open_lake")
    conf = JdbcCatalog(url, tmp_path / "warehouse").spark_conf("main")
    assert conf["spark.sql.catalog.main.jdbc.user"] == "postgres"
    assert "spark.sql.catalog.main.jdbc.password" not in conf


def test_many_may_open_a_new_database_at_once(postgres_url: str) -> None:
    databases = [PostgresDatabase(parse_database_url(postgres_url)) for _ in range(4)]

    def opened(database: PostgresDatabase) -> tuple[str, ...]:
        with database.read() as db:
            found: tuple[str, ...] = db.execute("SELECT value FROM tidegate_lake").fetchone()
            return found

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(opened, databases))) == 1


def test_a_catalog_begun_by_an_older_iceberg_is_taken_over(catalog: JdbcCatalog, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(
            "CREATE TABLE iceberg_tables(catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL,"
            " table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000),"
            " previous_metadata_location VARCHAR(1000), PRIMARY KEY (catalog_name, table_namespace, table_name))"
        )
        db.execute("INSERT INTO iceberg_tables VALUES ('main', 'shop.silver', 'orders', 'file:/w/o1.metadata.json')")
    assert catalog.head() == {ORDERS: FIRST}
    catalog.create_branch("run-1")
    assert catalog.changed_tables("run-1") == ()


def test_nobody_else_writes_while_pointers_are_compared_and_swapped(postgres_url: str) -> None:
    database = PostgresDatabase(parse_database_url(postgres_url))
    with database.read(), psycopg.connect(postgres_url, autocommit=True) as iceberg:
        iceberg.execute("SET lock_timeout = '100ms'")
        iceberg.execute("INSERT INTO iceberg_tables VALUES ('main', 'shop.silver', 'orders', 'file:/w/1')")
        with database.write():
            assert iceberg.execute("SELECT count(*) FROM iceberg_tables").fetchone() == (1,)
            with pytest.raises(psycopg.errors.LockNotAvailable):
                iceberg.execute("UPDATE iceberg_tables SET metadata_location = 'file:/w/2'")
        iceberg.execute("UPDATE iceberg_tables SET metadata_location = 'file:/w/2'")


def test_a_lock_held_for_ever_is_named(catalog: JdbcCatalog, postgres_url: str) -> None:
    catalog.create_branch("run-1")
    impatient = PostgresDatabase(parse_database_url(postgres_url), lock_seconds=0.1)
    with psycopg.connect(postgres_url) as other:
        other.execute("LOCK TABLE iceberg_tables IN SHARE ROW EXCLUSIVE MODE")
        with pytest.raises(LakeUnavailableError, match="lock timeout") as caught, impatient.write():
            pass
        assert len(catalog.list_branches()) == 1
    assert caught.value.kind is FailureKind.TIMEOUT
    assert "another process" in str(caught.value.remedy)


def test_sessions_that_the_server_ended_are_opened_again(
    catalog: JdbcCatalog, postgres: Postgres, postgres_url: str
) -> None:
    catalog.create_branch("run-1")
    name = parse_database_url(postgres_url).user
    postgres.execute(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '{name}'")
    catalog.heartbeat("run-1")
    assert len(catalog.list_branches()) == 1


def test_a_transaction_that_the_server_broke_off_changes_nothing(
    catalog: JdbcCatalog, postgres: Postgres, postgres_url: str
) -> None:
    name = parse_database_url(postgres_url).user

    def broken_off() -> None:
        with PostgresDatabase(parse_database_url(postgres_url)).write() as db:
            db.execute("INSERT INTO iceberg_tables VALUES ('main', 'shop.silver', 'orders', 'file:/w/1')")
            postgres.execute(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '{name}'")

    with pytest.raises(LakeUnavailableError, match="terminating connection") as caught:
        broken_off()
    assert "nothing was changed" in str(caught.value.remedy)
    assert catalog.head() == {}


@pytest.mark.parametrize("forwarded", [True, False])
def test_a_connection_that_breaks_in_the_commit_is_asked_about_later(
    postgres: Postgres, postgres_url: str, tmp_path: Path, forwarded: bool
) -> None:
    url = parse_database_url(postgres_url)
    direct = JdbcCatalog(url, tmp_path / "warehouse")
    direct.create_branch("run-1")
    direct.restore("run-1", ORDERS, FIRST)
    with cut_at(b"COMMIT\0", postgres.port, forwarded) as port:
        broken = JdbcCatalog(replace(url, port=port), tmp_path / "warehouse")
        if forwarded:
            assert [change.table for change in broken.publish("run-1", [ORDERS])] == [ORDERS]
        else:
            with pytest.raises(LakeUnavailableError):
                broken.publish("run-1", [ORDERS])
    assert direct.head() == ({ORDERS: FIRST} if forwarded else {})


@pytest.mark.parametrize(
    ("changes", "kind", "says"),
    [
        ({"password": Secret("wrong")}, FailureKind.AUTH_FAILED, "password"),
        ({"user": "nobody"}, FailureKind.AUTH_FAILED, "password"),
        ({"user": "postgres", "database": "no_such_lake"}, FailureKind.NOT_FOUND, "does not exist"),
        ({"port": 1}, FailureKind.CONNECTION_FAILED, "refused"),
    ],
)
def test_a_server_that_refuses_is_named_with_a_remedy_and_without_secrets(
    postgres_url: str, tmp_path: Path, changes: dict[str, object], kind: FailureKind, says: str
) -> None:
    url = replace(parse_database_url(postgres_url), **changes)  # type: ignore[arg-type]
    with pytest.raises(LakeUnavailableError, match=says) as caught:
        JdbcCatalog(url, tmp_path / "warehouse").head()
    assert caught.value.kind is kind
    assert caught.value.where == url.address
    assert caught.value.remedy
    told = f"{caught.value} {caught.value.where} {caught.value.remedy} {url!r}"
    assert "wrong" not in told
    assert "pass:" not in told


def test_a_warehouse_of_another_catalog_is_refused_since_its_sweep_would_take_our_files(
    catalog: JdbcCatalog, tmp_path: Path
) -> None:
    EmbeddedCatalog(tmp_path / "catalog.db", tmp_path / "warehouse").create_branch("run-1")
    with pytest.raises(LakeError, match="belongs to another catalog") as caught:
        catalog.create_branch("run-1")
    assert "[lake] warehouse" in str(caught.value.remedy)
    with pytest.raises(LakeError, match="belongs to another catalog"):
        catalog.spark_conf("main")
