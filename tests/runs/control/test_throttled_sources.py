"""Which sources count as services: only those that Spark calls while a model is built."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.pointer_builder import published
from tests.projects import ProjectFolder
from tidegate.compiler.compiled import CompiledModel
from tidegate.config import load_settings
from tidegate.names import TableName
from tidegate.runs.context import RunContext
from tidegate.sources.source_catalogs import services_behind

SOURCES = """
[project]
name = "shop"

[sources.erp]
kind = "manual"
tables = ["public.orders"]

[sources.warehouse]
kind = "manual"
tables = ["public.stock"]

[sources.crm]
kind = "database"
url = "postgresql://postgres@127.0.0.1:1/postgres"

[sources.other]
kind = "catalog"
catalog_path = "other.db"
warehouse = "other"

[spark.conf]
"spark.sql.catalog.warehouse" = "org.apache.iceberg.spark.SparkCatalog"
"""


@pytest.mark.parametrize(
    ("table", "services"),
    [
        ("erp.public.orders", []),
        ("other.bronze.people", []),
        ("raw.public.events", []),
        ("crm.public.people", ["crm"]),
        ("warehouse.public.stock", ["warehouse"]),
    ],
)
def test_tables_of_the_lake_and_files_are_no_service(tmp_path: Path, table: str, services: list[str]) -> None:
    (tmp_path / "tidegate.toml").write_text(SOURCES)
    assert sorted(services_behind(load_settings(tmp_path), [TableName.parse(table, "shop")])) == services


def test_models_that_read_a_table_of_the_lake_start_side_by_side(pointer_shop: ProjectFolder) -> None:
    """However the table is declared, and from the first model on."""
    shop = pointer_shop
    toml = shop.root / "tidegate.toml"
    toml.write_text(f'{toml.read_text()}\n[sources.erp]\nkind = "manual"\ntables = ["public.orders"]\n')
    orders = TableName("erp", "public", "orders")
    published(shop.catalog, "loader", orders, shop.root / "orders")
    shop.model("silver.a", "SELECT x FROM erp.public.orders")
    shop.model("silver.b", "SELECT x FROM erp.public.orders")
    both = threading.Barrier(2, timeout=30)

    def meet(run: RunContext, model: CompiledModel) -> None:
        both.wait()

    shop.builder.while_building = {"silver.a": meet, "silver.b": meet}
    result = shop.run(concurrency=2)
    assert (result.exit_code, result.publish.tables) == (0, ("silver.a", "silver.b")), result.materializations
    assert "concurrency" not in {event.name for event in shop.events}
