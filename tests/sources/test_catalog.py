"""Another Iceberg catalog as a source, made by PyIceberg: not by the code that reads it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tidegate.config import CatalogSource
from tidegate.errors import FailureKind, SourceError
from tidegate.lake import EmbeddedCatalog
from tidegate.names import TableName
from tidegate.sources.catalog_source import CatalogDiscoverer, SqliteCatalog
from tidegate.sources.discoverer import SourceTable


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> CatalogSource:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.schema import Schema
    from pyiceberg.types import (
        DecimalType,
        ListType,
        LongType,
        MapType,
        NestedField,
        StringType,
        StructType,
        TimestampType,
        TimestamptzType,
        UUIDType,
    )

    folder = tmp_path_factory.mktemp("other lake")
    catalog = SqlCatalog("prod", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
    place = StructType(
        NestedField(11, "city", StringType(), required=False), NestedField(12, "at", TimestamptzType(), required=True)
    )
    orders = Schema(
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "amount", DecimalType(10, 2), required=False),
        NestedField(3, "tags", ListType(13, StringType(), element_required=False), required=False),
        NestedField(4, "places", MapType(14, StringType(), 15, place), required=False),
        NestedField(5, "seen", TimestampType(), required=False),
        NestedField(6, "ref", UUIDType(), required=False),
    )
    for namespace in ("silver", "shop", "shop.gold"):
        catalog.create_namespace(namespace)
    catalog.create_table("silver.orders", orders)
    catalog.create_table("shop.gold.revenue", Schema(NestedField(1, "total", LongType(), required=False)))
    catalog.close()
    return CatalogSource("lake2", folder / "catalog.db", folder / "warehouse", "prod")


def discovered(source: CatalogSource) -> dict[str, SourceTable]:
    found = CatalogDiscoverer(source, SqliteCatalog(source)).discover()
    return {f"{table.table.layer} {table.table.name}": table for table in found}


def failure_of(source: CatalogSource) -> SourceError:
    with pytest.raises(SourceError) as caught:
        discovered(source)
    assert not CatalogDiscoverer(source, SqliteCatalog(source)).ping().ok
    return caught.value


def test_tables_and_their_columns_are_found(other: CatalogSource) -> None:
    found = discovered(other)
    assert list(found) == ["shop.gold revenue", "silver orders"]
    assert [(c.name, str(c.type), c.nullable) for c in found["silver orders"].relation.columns] == [
        ("id", "bigint", False),
        ("amount", "decimal(10,2)", None),
        ("tags", "array<string>", None),
        ("places", "map<string,struct<city:string,at:timestamp>>", None),
        ("seen", "timestamp_ntz", None),
        ("ref", "string", None),
    ]
    assert all(table.relation.complete and table.problem is None for table in found.values())


def test_the_namespace_of_the_settings_is_left_out_of_the_names(other: CatalogSource) -> None:
    assert list(discovered(replace(other, namespace="shop"))) == ["gold revenue"]


def test_a_namespace_without_tables_is_told_with_those_that_have_some(other: CatalogSource) -> None:
    failure = failure_of(replace(other, namespace="shops"))
    assert failure.kind is FailureKind.NOT_FOUND
    assert "shop.gold, silver" in str(failure.remedy)


def test_the_catalog_is_not_written(other: CatalogSource) -> None:
    before = other.catalog_path.read_bytes()
    discovered(other)
    assert other.catalog_path.read_bytes() == before
    assert [path.name for path in other.catalog_path.parent.iterdir() if path.is_file()] == ["catalog.db"]


def test_a_catalog_that_is_not_there_is_told_and_not_made(other: CatalogSource, tmp_path: Path) -> None:
    missing = tmp_path / "no.db"
    failure = failure_of(replace(other, catalog_path=missing))
    assert failure.kind is FailureKind.NOT_FOUND
    assert not missing.exists()


def test_a_file_that_is_no_catalog_is_told(other: CatalogSource, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database" * 100)
    sqlite3.connect(tmp_path / "empty.db").close()
    (tmp_path / "empty.db").touch()
    for name in ("text.db", "empty.db"):
        failure = failure_of(replace(other, catalog_path=tmp_path / name))
        assert failure.kind is FailureKind.CONNECTION_FAILED
        assert "Iceberg JDBC catalog" in str(failure.remedy)


def test_another_name_of_the_catalog_is_suggested(other: CatalogSource) -> None:
    failure = failure_of(replace(other, catalog_name="prd"))
    assert failure.kind is FailureKind.NOT_FOUND
    assert 'catalog_name = "prod"' in str(failure.remedy)


def test_a_warehouse_that_is_not_mounted_is_told(other: CatalogSource, tmp_path: Path) -> None:
    assert "warehouse" in failure_of(replace(other, warehouse=tmp_path / "gone")).message


def test_one_table_without_its_metadata_does_not_hide_the_others(other: CatalogSource, tmp_path: Path) -> None:
    copy = tmp_path / "catalog.db"
    copy.write_bytes(other.catalog_path.read_bytes())
    with closing(sqlite3.connect(copy)) as db:
        db.execute("UPDATE iceberg_tables SET metadata_location = 's3://b/x.json' WHERE table_name = 'orders'")
        db.commit()
    found = discovered(replace(other, catalog_path=copy))
    assert "s3://b/x.json" in str(found["silver orders"].problem)
    assert not found["silver orders"].relation.complete
    assert found["shop.gold revenue"].relation.complete


def test_a_catalog_of_the_first_schema_version_is_read(other: CatalogSource, tmp_path: Path) -> None:
    old = tmp_path / "old.db"
    old.write_bytes(other.catalog_path.read_bytes())
    with closing(sqlite3.connect(old)) as db:
        if "iceberg_type" in {row[1] for row in db.execute("PRAGMA table_info(iceberg_tables)")}:
            db.execute("ALTER TABLE iceberg_tables DROP COLUMN iceberg_type")
            db.commit()
    assert list(discovered(replace(other, catalog_path=old))) == ["shop.gold revenue", "silver orders"]


def test_a_lake_of_tidegate_without_tables_is_an_empty_source(tmp_path: Path) -> None:
    EmbeddedCatalog(tmp_path / "catalog.db", tmp_path / "warehouse").head()
    source = CatalogSource("own", tmp_path / "catalog.db", tmp_path / "warehouse")
    assert discovered(source) == {}


def test_what_is_neither_table_nor_view_is_left_out(other: CatalogSource, tmp_path: Path) -> None:
    copy = tmp_path / "catalog.db"
    copy.write_bytes(other.catalog_path.read_bytes())
    with closing(sqlite3.connect(copy)) as db:
        if "iceberg_type" not in {row[1] for row in db.execute("PRAGMA table_info(iceberg_tables)")}:
            db.execute("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type TEXT")
        db.execute("UPDATE iceberg_tables SET iceberg_type = 'FUNCTION' WHERE table_name = 'orders'")
        db.commit()
    assert list(discovered(replace(other, catalog_path=copy))) == ["shop.gold revenue"]


def test_everything_is_pinned_under_its_full_name_and_below_the_namespace_under_its_short_one(
    other: CatalogSource,
) -> None:
    source = replace(other, namespace="shop")
    pinned = CatalogDiscoverer(source, SqliteCatalog(source)).all_pointers()
    assert sorted((table.layer, table.name) for table in pinned) == [
        ("gold", "revenue"),
        ("shop.gold", "revenue"),
        ("silver", "orders"),
    ]
    assert pinned[TableName("lake2", "gold", "revenue")] == pinned[TableName("lake2", "shop.gold", "revenue")]
