"""Tables of sources outside the lake, read by models."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.projects import ProjectFolder, run_types
from tests.sources.postgres import Postgres, running_postgres
from tidegate.state import open_reader

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


def test_a_table_of_a_database_is_read_with_every_run(shop: ProjectFolder, postgres: Postgres) -> None:
    postgres.execute(
        "create schema erp",
        "create table erp.orders (id bigint primary key, amount numeric(10, 2), placed_at timestamptz)",
        "insert into erp.orders values (1, 1.50, '2024-01-01 00:00:00Z'), (2, 2.25, '2024-01-02 00:00:00Z')",
    )
    address = f"postgresql://postgres@127.0.0.1:{postgres.port}/postgres"
    shop.file("tidegate.toml", f'[project]\nname = "shop"\n[sources.erp]\nkind = "database"\nurl = "{address}"\n')
    shop.model(
        "silver.orders",
        "SELECT erp.erp.orders.id, o.amount FROM erp.erp.orders JOIN erp.erp.orders o ON orders.id = o.id",
        merge_strategy="incremental",
        unique_key="id",
    )
    result = shop.run()
    assert result.exit_code == 0, result.materializations
    assert [(i, str(a)) for i, a in shop.rows("silver.orders")] == [(1, "1.50"), (2, "2.25")]
    postgres.execute("update erp.orders set amount = 3 where id = 1", "insert into erp.orders values (3, 9, now())")
    result = shop.run()
    assert run_types(result)["silver.orders"] != "skip"
    assert "does not say whether it changed" in result.materializations[0].reason
    assert [(i, str(a)) for i, a in shop.rows("silver.orders")] == [(1, "3.00"), (2, "2.25"), (3, "9.00")]


@pytest.fixture(scope="module")
def other(module_shop: ProjectFolder) -> ProjectFolder:
    """A project that reads the lake of another."""
    shop, other = module_shop, ProjectFolder(module_shop.root.with_name("other"), module_shop.spark)
    shop.model("bronze.people", "SELECT id, id * 2 AS twice FROM range(3)")
    shop.model("silver.grown", "SELECT id + 18 AS id FROM bronze.people", materialized="view")
    result = shop.run()
    assert result.exit_code == 0, result.materializations
    lake = shop.root / ".tidegate"
    place = f'kind = "catalog"\ncatalog_path = "{lake}/catalog.db"\nwarehouse = "{lake}/warehouse"\n'
    other.file(
        "tidegate.toml",
        f'[project]\nname = "other"\n[sources.crm]\n{place}namespace = "shop"\n[sources.whole]\n{place}',
    )
    other.model("silver.people", "SELECT crm.bronze.people.id, twice FROM crm.bronze.people WHERE id > 0")
    other.model("gold.a", "SELECT id FROM crm.silver.grown")
    other.model("gold.b", "SELECT id FROM whole.`shop.silver`.grown")
    result = other.run()
    assert result.exit_code == 0, result.materializations
    return other


def test_a_table_of_another_lake_is_read(other: ProjectFolder) -> None:
    assert other.rows("silver.people") == [(1, 2), (2, 4)]


def test_a_view_of_another_lake_is_read_whether_its_namespace_is_left_out_or_not(other: ProjectFolder) -> None:
    assert other.rows("gold.a") == other.rows("gold.b") == [(18,), (19,), (20,)]


def test_a_run_reads_a_database_as_the_user_that_libpq_finds(
    shop: ProjectFolder, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.execute(
        "create role reader login password 'correct horse'",
        "create table public.mine (who text)",
        "insert into public.mine values ('yes')",
        "grant select on public.mine to reader",
    )
    monkeypatch.setenv("PGUSER", "reader")
    monkeypatch.setenv("PGPASSWORD", "correct horse")
    address = f"postgresql://127.0.0.1:{postgres.port}/postgres"
    shop.file("tidegate.toml", f'[project]\nname = "shop"\n[sources.erp]\nkind = "database"\nurl = "{address}"\n')
    shop.model("silver.mine", "SELECT who FROM erp.public.mine")
    result = shop.run()
    assert result.exit_code == 0, result.materializations
    assert shop.rows("silver.mine") == [("yes",)]


@pytest.mark.skipif(not os.environ.get("TIDEGATE_PROVE"), reason="a process with a Spark of its own: make prove")
def test_a_quality_test_may_read_a_source_that_no_model_reads(shop: ProjectFolder, postgres: Postgres) -> None:
    """In a process of its own: of a driver that comes to a running Spark one thread knows, and tests have theirs.

    It meets bad records too, which are read by code of its JVM, and must end without noise.
    """
    postgres.execute("create table public.limits (most bigint)", "insert into public.limits values (5)")
    address = f"postgresql://postgres@127.0.0.1:{postgres.port}/postgres"
    own = (shop.root / "tidegate.toml").read_text()
    shop.file("tidegate.toml", f'{own}[sources.erp]\nkind = "database"\nurl = "{address}"\n')
    with (shop.root / "tidegate.toml").open("a") as settings:
        settings.write('[landing.orders]\nbad_records = "quarantine"\n')
    shop.model("bronze.orders", "SELECT * FROM {{ landing_zone('orders') }}", kind="append")
    shop.file("landing/orders/a.csv", 'id,name\n1,x\n2\n3,"z" z\n')
    shop.file("models/silver/a/pipeline.sql", "SELECT 3L AS n\n")
    test = "SELECT n FROM {{ this }} JOIN erp.public.limits ON n > most\n"
    shop.file("models/silver/a/tests/quality/within_limits.sql", test)
    command = [sys.executable, "-m", "tidegate", "run", "--project", str(shop.root)]
    # A JVM with the driver has a class archive of its own, which takes longer to write than one start without it.
    environment = {**os.environ, "TIDEGATE_NO_CLASS_ARCHIVE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert "2 quarantined" in output
    assert "Traceback" not in output
    with open_reader(shop.settings.state.url) as reader:
        assert [check.status for check in reader.checks_of_model("silver.a")] == ["passed"]


def test_a_namesake_in_the_lake_does_not_make_a_model_skip(
    make_project: Callable[[str], ProjectFolder], postgres: Postgres
) -> None:
    """The table was once made by a model of the lake; the source took over its name."""
    shop = make_project("shop")
    shop.file("models/erp/public/rates.sql", "SELECT 1L AS rate\n")
    assert shop.run().exit_code == 0
    (shop.root / "models/erp/public/rates.sql").unlink()
    postgres.execute("create table public.rates (rate bigint)", "insert into public.rates values (10)")
    address = f"postgresql://postgres@127.0.0.1:{postgres.port}/postgres"
    shop.file("tidegate.toml", f'[project]\nname = "shop"\n[sources.erp]\nkind = "database"\nurl = "{address}"\n')
    shop.model("silver.rates", "SELECT rate FROM erp.public.rates")
    assert shop.run().exit_code == 0
    postgres.execute("update public.rates set rate = 20")
    assert shop.run().exit_code == 0
    assert shop.rows("silver.rates") == [(20,)]
