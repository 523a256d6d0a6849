"""A copy of a lake is written to without the lake, its catalog and its files noticing."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.lake.places import Place
from tests.sources.postgres import Postgres
from tidegate.config import Settings, load_settings
from tidegate.config.database_url import parse_database_url
from tidegate.errors import LakeUnavailableError, TidegateError
from tidegate.lake import (
    Consumed,
    ConsumedFile,
    TableMetadata,
    open_catalog,
    read_consumed,
    read_metadata,
    write_consumed,
)
from tidegate.lake.branch_catalog import Pointer, PointerKind
from tidegate.lake.metadata import local_path
from tidegate.lake.progress import PROGRESS_PROPERTY, Progress
from tidegate.names import TableName
from tidegate.operations.chaos.lake_copy import copy_landing, list_landing, make_scratch, require_place

ORDERS, PLAIN, SHOWN = (TableName("shop", "silver", name) for name in ("orders", "plain", "shown"))
TAKEN = Consumed("orders", (ConsumedFile("a.csv", 12, 1_700_000_000_123_456_789, "run-1"),), "id BIGINT")
TOML = """[project]
name = "shop"

[lake]
warehouse = "{warehouse}"
{lake}

[state]
url = "{state}"

[[hooks]]
name = "listener"
events = ["pipeline_start"]
command = ["false"]

[run.budget]
max_rows = 1
"""

CATALOGS = pytest.mark.parametrize(
    "place", ["embedded", "jdbc", pytest.param("nessie", marks=pytest.mark.spark)], indirect=True
)

Listing = dict[str, tuple[int, int, bytes]]


def listing(folder: Path) -> Listing:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_mode, path.read_bytes()) for path in files}


def may_create_schemas(place: Place, request: pytest.FixtureRequest) -> None:
    postgres: Postgres = request.getfixturevalue("postgres")
    postgres.execute(f"GRANT CREATE ON DATABASE postgres TO {parse_database_url(place.address).user}")


@pytest.fixture
def settings(tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Settings:
    lake, state = "", "sqlite:///.tidegate/state.db"
    if place.kind == "jdbc":
        may_create_schemas(place, request)
        monkeypatch.setenv("LAKE", place.address)
        lake, state = 'catalog = "jdbc"\nuri = "${LAKE}"', "${LAKE}"
    elif place.kind == "nessie":
        uri, main = place.address.split(" ")
        lake = f'catalog = "nessie"\nuri = "{uri}"\nref = "{main}"'
    root = tmp_path / "shop"
    root.mkdir()
    (root / "tidegate.toml").write_text(TOML.format(warehouse=tmp_path / "warehouse", lake=lake, state=state))
    return load_settings(root)


def write_lake(settings: Settings) -> None:
    """Two tables, one of them with files elsewhere and a list of landing files, and a view."""
    catalog, warehouse = open_catalog(settings), settings.lake.warehouse
    catalog.create_branch("run-1")
    folder = warehouse / "shop" / "silver"
    zone = write_consumed(f"file:{folder}/orders", TAKEN)
    progress = Progress("run-1", "f", "full", "append_only", zones={"orders": zone})
    told = {PROGRESS_PROPERTY: progress.to_json(), "write.data.path": f"file:{warehouse}/elsewhere", "owner": "ann"}
    pointers = {
        ORDERS: write_table(folder / "orders", "00003-a.gz.metadata.json", told),
        PLAIN: write_table(folder / "plain", "00001-b.metadata.json", {}),
        SHOWN: write_view(folder / "shown"),
    }
    for table, pointer in pointers.items():
        catalog.create_namespace("run-1", table)
        catalog.restore("run-1", table, pointer)
    catalog.publish("run-1", list(pointers))
    catalog.drop_branch("run-1")


def write_table(folder: Path, name: str, properties: dict[str, str]) -> Pointer:
    snapshot = {
        "snapshot-id": 7,
        "sequence-number": 1,
        "timestamp-ms": 100_000,
        "manifest-list": f"file:{folder}/metadata/snap-7.avro",
        "schema-id": 0,
        "summary": {"operation": "append", "total-records": "10"},
    }
    data = {
        "format-version": 3,
        "table-uuid": "u-1",
        "location": f"file:{folder}",
        "current-schema-id": 0,
        "schemas": [{"schema-id": 0, "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": properties,
        "current-snapshot-id": 7,
        "next-row-id": 10,
        "snapshots": [snapshot],
    }
    return Pointer(PointerKind.TABLE, write_file(folder / "metadata" / name, data))


def write_view(folder: Path) -> Pointer:
    version = {
        "version-id": 1,
        "schema-id": 0,
        "default-namespace": ["shop", "silver"],
        "representations": [{"type": "sql", "dialect": "spark", "sql": "SELECT id FROM plain"}],
    }
    data = {
        "view-uuid": "v-1",
        "location": f"file:{folder}",
        "current-version-id": 1,
        "versions": [version],
        "schemas": [{"schema-id": 0, "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}],
    }
    return Pointer(PointerKind.VIEW, write_file(folder / "metadata" / "00000-c.metadata.json", data))


def write_file(path: Path, data: dict[str, Any]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = json.dumps(data).encode()
    path.write_bytes(gzip.compress(content) if ".gz." in path.name else content)
    return f"file:{path}"


@CATALOGS
def test_a_copy_has_the_same_tables_in_another_place_and_the_lake_stays_as_it_is(
    settings: Settings, tmp_path: Path
) -> None:
    write_lake(settings)
    original = open_catalog(settings)
    heads, files = original.head(), listing(settings.lake.warehouse)
    scratch = make_scratch(settings, heads, tmp_path / "copy", "tidegate_chaos_t_1")
    copied = scratch.catalog.head()
    assert copied.keys() == heads.keys() == {ORDERS, PLAIN, SHOWN}
    for table, pointer in copied.items():
        before, after = read_metadata(heads[table]), read_metadata(pointer)
        assert local_path(pointer.location).is_relative_to(tmp_path / "copy" / "warehouse")
        assert local_path(after.table_location).is_relative_to(tmp_path / "copy" / "warehouse")
        assert (after.uuid, after.table_input()) == (before.uuid, before.table_input())
    orders = read_metadata(copied[ORDERS])
    assert isinstance(orders, TableMetadata)
    assert "write.data.path" not in orders.properties
    assert orders.properties["owner"] == "ann"
    assert orders.snapshots[7].manifest_list.startswith(f"file:{settings.lake.warehouse}")
    assert orders.progress is not None
    assert read_consumed(orders.table_location, orders.progress.zones["orders"]) == TAKEN
    assert not copied[ORDERS].location.endswith(".gz.metadata.json")

    scratch.catalog.create_branch("run-2")
    scratch.catalog.restore("run-2", PLAIN, None)
    scratch.catalog.publish("run-2", [PLAIN])
    assert [branch.name for branch in original.list_branches()] == []
    assert PLAIN not in scratch.catalog.head()
    scratch.remove()
    assert not scratch.folder.exists()
    assert original.head() == heads
    assert listing(settings.lake.warehouse) == files
    again = make_scratch(settings, heads, tmp_path / "copy", "tidegate_chaos_t_1")
    assert PLAIN in again.catalog.head()
    assert [branch.name for branch in again.catalog.list_branches()] == []
    again.remove()


@CATALOGS
def test_a_copy_of_a_lake_without_tables_is_one_too(settings: Settings, tmp_path: Path) -> None:
    scratch = make_scratch(settings, open_catalog(settings).head(), tmp_path / "copy", "tidegate_chaos_t_1")
    assert scratch.catalog.head() == {}
    scratch.remove()


@CATALOGS
def test_nobody_outside_hears_of_what_happens_on_a_copy(settings: Settings, tmp_path: Path) -> None:
    scratch = make_scratch(settings, {}, tmp_path / "copy", "tidegate_chaos_t_1")
    copied = scratch.settings
    assert settings.hooks
    assert (copied.hooks, copied.callback, copied.budget.limited) == ((), None, False)
    assert copied.state.url == f"sqlite:///{tmp_path}/copy/state.db"
    assert copied.landing.root.is_relative_to(tmp_path / "copy")
    assert (copied.root, copied.file) == (settings.root, settings.file)
    scratch.remove()


@pytest.mark.parametrize("place", ["embedded"], indirect=True)
def test_a_copy_that_cannot_be_made_is_told_and_leaves_nothing(settings: Settings, tmp_path: Path) -> None:
    write_lake(settings)
    heads = open_catalog(settings).head()
    (settings.lake.warehouse / "shop/silver/orders/metadata").joinpath(
        next(name for name in os.listdir(settings.lake.warehouse / "shop/silver/orders/metadata") if "landing" in name)
    ).unlink()
    with pytest.raises(TidegateError, match="cannot be copied"):
        make_scratch(settings, heads, tmp_path / "copy", "tidegate_chaos_t_1")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("place", ["jdbc"], indirect=True)
def test_a_user_who_may_make_no_schema_is_told_what_is_missing(
    settings: Settings, place: Place, tmp_path: Path, postgres: Postgres
) -> None:
    postgres.execute(f"REVOKE CREATE ON DATABASE postgres FROM {parse_database_url(place.address).user}")
    with pytest.raises(LakeUnavailableError, match="permission denied") as caught:
        make_scratch(settings, {}, tmp_path / "copy", "tidegate_chaos_t_1")
    assert "GRANT CREATE" in str(caught.value.remedy)


def test_landing_files_are_linked_and_moving_one_away_moves_no_other(tmp_path: Path) -> None:
    source, target = tmp_path / "landing", tmp_path / "copy"
    (source / "orders" / "eu").mkdir(parents=True)
    (source / "orders" / "_processed" / "run-1").mkdir(parents=True)
    (source / "orders" / "_processed" / "run-1" / "old.csv").write_text("old")
    (source / "orders" / "eu" / "a.csv").write_text("a")
    (tmp_path / "b.csv").write_text("b")
    (source / "orders" / "b.csv").symlink_to(tmp_path / "b.csv")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "c.csv").write_text("c")
    (source / "linked").symlink_to(tmp_path / "shared")
    (source / "orders" / "eu" / "around").symlink_to(source / "orders")
    before = listing(tmp_path / "landing") | listing(tmp_path / "shared")

    copy_landing(source, target)
    names = sorted(path.relative_to(target).as_posix() for path in target.rglob("*.csv"))
    assert [name for name in names if "around" not in name] == ["linked/c.csv", "orders/b.csv", "orders/eu/a.csv"]
    assert (target / "orders/eu/a.csv").stat().st_mtime_ns == (source / "orders/eu/a.csv").stat().st_mtime_ns
    waiting, every = list_landing(target)
    for name in names:
        goal = target / "_processed" / "run-2" / name
        goal.parent.mkdir(parents=True, exist_ok=True)
        os.rename(target / name, goal)
    assert listing(tmp_path / "landing") | listing(tmp_path / "shared") == before
    (target / "_processed" / "run-2" / "reserved.csv").touch()
    assert waiting
    assert list_landing(target) == ((), every)
    (target / "_processed" / "run-2" / "linked" / "c.csv").unlink()
    assert list_landing(target) != ((), every)


def test_a_catalog_that_cannot_be_copied_is_refused(tmp_path: Path) -> None:
    from dataclasses import replace

    (tmp_path / "tidegate.toml").write_text('[project]\nname = "shop"\n')
    lake = replace(load_settings(tmp_path).lake, catalog="rest")
    with pytest.raises(TidegateError, match="catalog is 'rest'"):
        require_place(lake)
