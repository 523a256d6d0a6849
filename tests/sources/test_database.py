"""A database as a source, asked on a real PostgreSQL."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.services.ports import free_port
from tests.sources.postgres import Postgres
from tidegate.config import DatabaseSource, Secret, Settings, load_settings
from tidegate.datatypes import Column, parse_type
from tidegate.errors import FailureKind, SourceError
from tidegate.sources.database_source import DatabaseDiscoverer
from tidegate.sources.source_catalogs import readable
from tidegate.sources.source_errors import as_source_error

CASES = Path(__file__).parents[1] / "cases" / "sources" / "postgres_types.txt"
PASSWORD = "hunter22"


@pytest.fixture(scope="session")
def shop(postgres: Postgres) -> DatabaseSource:
    """A database of its own, and a user who may read most of it."""
    postgres.execute(
        "CREATE DATABASE shop", f"CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'", "CREATE ROLE idle LOGIN PASSWORD 'x'"
    )
    postgres.execute(
        "CREATE SCHEMA sales",
        "CREATE SCHEMA hidden",
        'CREATE TABLE sales.orders (id bigint PRIMARY KEY, amount numeric(10,2) NOT NULL, "At" timestamptz, note text)',
        "ALTER TABLE sales.orders DROP COLUMN note",
        "CREATE VIEW sales.open_orders AS SELECT id, amount * 2 AS twice FROM sales.orders",
        "CREATE MATERIALIZED VIEW sales.totals AS SELECT sum(amount) AS total FROM sales.orders",
        "CREATE TABLE sales.events (at date NOT NULL, what text) PARTITION BY RANGE (at)",
        "CREATE TABLE sales.events_2026 PARTITION OF sales.events FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')",
        "CREATE TABLE sales.salaries (name text, amount int)",
        "CREATE TABLE sales.people (id int, name text, ssn text)",
        "CREATE TABLE sales.no_columns ()",
        "CREATE TABLE public.notes (id int)",
        "CREATE TABLE hidden.secrets (id int)",
        "GRANT USAGE ON SCHEMA sales TO app",
        "GRANT SELECT ON ALL TABLES IN SCHEMA sales, public, hidden TO app",
        "REVOKE SELECT ON sales.salaries FROM app",
        "REVOKE SELECT ON sales.people FROM app",
        "GRANT SELECT (id, name) ON sales.people TO app",
        database="shop",
    )
    return DatabaseSource(
        "crm", "127.0.0.1", postgres.port, "shop", "app", Secret(PASSWORD), timeout=timedelta(seconds=20)
    )


def failure_of(source: DatabaseSource) -> SourceError:
    with pytest.raises(SourceError) as caught:
        DatabaseDiscoverer(source).discover()
    failure = as_source_error(caught.value, source)
    ping = DatabaseDiscoverer(source).ping()
    assert ping.failure is not None
    assert (str(ping.failure), ping.failure.kind) == (str(failure), failure.kind)
    return failure


def test_what_the_user_may_read_is_found_with_its_columns(shop: DatabaseSource) -> None:
    found = {str(table.table): table.relation for table in DatabaseDiscoverer(shop).discover()}
    assert sorted(found) == [
        "crm.public.notes",
        "crm.sales.events",
        "crm.sales.events_2026",
        "crm.sales.open_orders",
        "crm.sales.orders",
        "crm.sales.people",
        "crm.sales.totals",
    ]
    orders = found["crm.sales.orders"]
    assert [(c.name, str(c.type), c.nullable) for c in orders.columns] == [
        ("id", "bigint", False),
        ("amount", "decimal(10,2)", False),
        ("At", "timestamp", True),
    ]
    assert [column.name for column in found["crm.sales.people"].columns] == ["id", "name"]
    assert found["crm.sales.totals"].columns[0].type == parse_type("decimal(38,18)")
    assert all(relation.complete for relation in found.values())


def test_types_are_those_of_sparks_own_reader(postgres: Postgres) -> None:
    cases = [line.rsplit(None, 1) for line in CASES.read_text().splitlines() if not line.startswith("#")]
    postgres.execute("CREATE DATABASE typed")
    columns = sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(f"c{n}"), sql.SQL(written)) for n, (written, _) in enumerate(cases)
    )
    postgres.execute(
        "CREATE TYPE mood AS ENUM ('good', 'bad')",
        "CREATE TYPE addr AS (street text, number int)",
        "CREATE DOMAIN posint AS integer CHECK (value > 0)",
        "CREATE DOMAIN hundred AS numeric(7,3)",
        "CREATE DOMAIN thousand AS hundred",
        "CREATE DOMAIN pos_arr AS integer[]",
        sql.SQL("CREATE TABLE t ({})").format(columns),
        database="typed",
    )
    source = DatabaseSource("typed", "127.0.0.1", postgres.port, "typed", "postgres")
    (table,) = DatabaseDiscoverer(source).discover()
    found = [str(column.type) for column in table.relation.columns]
    assert dict(zip((written for written, _ in cases), found, strict=True)) == dict(cases)


def test_a_domain_that_refuses_null_makes_a_column_that_has_none(postgres: Postgres) -> None:
    postgres.execute("CREATE DATABASE strict")
    postgres.execute(
        "CREATE DOMAIN key AS int NOT NULL",
        "CREATE DOMAIN inner_key AS key",
        "CREATE TABLE t (a key, b inner_key, c int)",
        database="strict",
    )
    (table,) = DatabaseDiscoverer(DatabaseSource("s", "127.0.0.1", postgres.port, "strict", "postgres")).discover()
    assert [column.nullable for column in table.relation.columns] == [False, False, True]


def test_only_the_named_schemas_are_looked_at(shop: DatabaseSource) -> None:
    tables = DatabaseDiscoverer(replace(shop, schemas=("public",))).discover()
    assert [(table.table.layer, table.table.name) for table in tables] == [("public", "notes")]
    assert tables[0].relation.columns == (Column("id", parse_type("int"), True),)


def test_a_misspelt_schema_is_told_with_the_nearest(shop: DatabaseSource) -> None:
    failure = failure_of(replace(shop, schemas=("public", "slaes")))
    assert failure.kind is FailureKind.NOT_FOUND
    assert "'slaes'" in failure.message
    assert "did you mean 'sales'?" in str(failure.remedy)


def test_a_schema_that_the_user_may_not_use_is_not_there_for_it(shop: DatabaseSource) -> None:
    assert failure_of(replace(shop, schemas=("hidden",))).kind is FailureKind.NOT_FOUND


def test_a_ping_says_what_answered(shop: DatabaseSource) -> None:
    ping = DatabaseDiscoverer(shop).ping()
    assert ping.ok
    assert f"127.0.0.1:{shop.port}/shop as app" in ping.detail


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"password": Secret("not-it-at-all")}, FailureKind.AUTH_FAILED, "password authentication failed"),
        ({"password": None}, FailureKind.AUTH_FAILED, "no password supplied"),
        ({"user": "nobody"}, FailureKind.AUTH_FAILED, "password authentication failed"),
        ({"database": "shops"}, FailureKind.NOT_FOUND, 'database "shops" does not exist'),
        ({"host": "no-such-host.invalid"}, FailureKind.CONNECTION_FAILED, "no-such-host.invalid"),
        ({"parameters": {"sslmode": "require"}}, FailureKind.CONNECTION_FAILED, "SSL"),
    ],
)
def test_why_a_database_refuses_is_told(
    shop: DatabaseSource, change: dict[str, object], kind: FailureKind, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSFILE", "/dev/null")
    monkeypatch.delenv("PGPASSWORD", raising=False)
    failure = failure_of(replace(shop, **change))  # type: ignore[arg-type]
    assert failure.kind is kind
    assert words in failure.message
    assert failure.message.startswith("source 'crm': ")
    assert "[sources.crm]" in str(failure.where)
    assert failure.remedy
    shown = f"{failure!r} {failure} {failure.where} {failure.remedy}"
    assert PASSWORD not in shown
    assert "not-it-at-all" not in shown


def test_a_server_that_does_not_run_is_told(shop: DatabaseSource) -> None:
    failure = failure_of(replace(shop, port=free_port()))
    assert failure.kind is FailureKind.CONNECTION_FAILED
    assert "Connection refused" in failure.message


@contextmanager
def silent_server() -> Iterator[int]:
    """Takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_statement_that_takes_too_long_is_given_up(shop: DatabaseSource, postgres: Postgres) -> None:
    address = f"host=127.0.0.1 port={postgres.port} user=postgres dbname=shop"
    with psycopg.connect(address) as holder:
        holder.execute("LOCK TABLE pg_catalog.pg_namespace IN ACCESS EXCLUSIVE MODE")
        source = replace(shop, user="postgres", password=None, timeout=timedelta(seconds=1))
        with pytest.raises(SourceError) as caught:
            DatabaseDiscoverer(source).discover()
    assert caught.value.kind is FailureKind.TIMEOUT
    assert "in time" in caught.value.message


@pytest.mark.parametrize("way", ["variables", "file"])
def test_spark_reads_as_the_user_that_libpq_finds(
    shop: DatabaseSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("PGUSER", "app")
    if way == "variables":
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
    else:
        file = tmp_path / "pgpass"
        file.write_text(f"127.0.0.1:{shop.port}:shop:app:{PASSWORD}\n")
        file.chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(file))
    source = replace(shop, user=None, password=None)
    assert DatabaseDiscoverer(source).ping().detail.endswith(" as app")
    with readable(settings_with(tmp_path, source), ["crm"]) as conf:
        told = {key.rpartition(".")[2]: value for key, value in conf.items()}
    assert (told["user"], told["password"]) == ("app", PASSWORD)


def test_a_user_without_a_password_is_handed_on_without_one(shop: DatabaseSource, tmp_path: Path) -> None:
    source = replace(shop, user="postgres", password=None)
    with readable(settings_with(tmp_path, source), ["crm", "nobody"]) as conf:
        assert conf["spark.sql.catalog.crm.user"] == "postgres"
        assert "spark.sql.catalog.crm.password" not in conf


def test_what_the_settings_say_is_handed_on_without_asking(shop: DatabaseSource, tmp_path: Path) -> None:
    source = replace(shop, port=free_port())
    with readable(settings_with(tmp_path, source), ["crm"]) as conf:
        assert conf["spark.sql.catalog.crm.password"] == PASSWORD
    nobody = settings_with(tmp_path, replace(source, password=None))
    with pytest.raises(SourceError, match="source 'crm': the database cannot be reached"), readable(nobody, ["crm"]):
        pass


def test_a_server_that_says_nothing_is_given_up(shop: DatabaseSource, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ping that was too short for the source's own time-out does not advise a longer one."""
    monkeypatch.setattr("tidegate.sources.database_source.PING_SECONDS", 1.0)
    with silent_server() as port, ThreadPoolExecutor() as together:
        patient = replace(shop, port=port)
        hasty = replace(patient, timeout=timedelta(seconds=1))
        asked = together.submit(DatabaseDiscoverer(hasty).discover)
        slow, short = together.map(lambda source: DatabaseDiscoverer(source).ping().failure, (patient, hasty))
        failure = asked.exception()
    assert isinstance(failure, SourceError)
    assert failure.kind is FailureKind.TIMEOUT
    assert slow is not None
    assert short is not None
    assert "raise 'timeout'" not in str(slow.remedy)
    assert "raise 'timeout'" in str(short.remedy)


def settings_with(root: Path, source: DatabaseSource) -> Settings:
    (root / "tidegate.toml").write_text('[project]\nname = "shop"\n')
    return replace(load_settings(root, env={}), sources={source.name: source})
