"""Tables of sources outside the lake, read by models."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.runs.conftest import ProjectFolder, run_types
from tests.sources.postgres import Postgres, running_postgres
from tidegate.errors import ProjectError, SourceError

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


def test_a_database_that_is_down_stops_the_run_before_any_work(shop: ProjectFolder, postgres: Postgres) -> None:
    postgres.execute("create table public.things (id bigint)")
    address = f"postgresql://postgres@127.0.0.1:{postgres.port}/postgres"
    config = '[project]\nname = "shop"\n[sources.erp]\nkind = "database"\nurl = "{}"\n'
    shop.file("tidegate.toml", config.format(address))
    shop.model("silver.things", "SELECT id FROM erp.public.things")
    result = shop.run()
    assert result.exit_code == 0, result.materializations
    shop.file("tidegate.toml", config.format("postgresql://postgres@127.0.0.1:1/postgres"))
    with pytest.raises((SourceError, ProjectError)):
        shop.run()


def test_a_table_of_another_lake_is_read(make_project: Callable[[str], ProjectFolder]) -> None:
    shop, other = make_project("shop"), make_project("other")
    shop.model("bronze.people", "SELECT id, id * 2 AS twice FROM range(3)")
    result = shop.run()
    assert result.exit_code == 0, result.materializations
    lake = shop.root / ".tidegate"
    other.file(
        "tidegate.toml",
        f'[project]\nname = "other"\n[sources.crm]\nkind = "catalog"\nnamespace = "shop"\n'
        f'catalog_path = "{lake}/catalog.db"\nwarehouse = "{lake}/warehouse"\n',
    )
    other.model("silver.people", "SELECT crm.bronze.people.id, twice FROM crm.bronze.people WHERE id > 0")
    result = other.run()
    assert result.exit_code == 0, result.materializations
    assert other.rows("silver.people") == [(1, 2), (2, 4)]
