"""What a model would read now, and which of it can say whether it changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.compiler.projects import build, write_project
from tests.lake.conftest import write_table as write_table
from tests.planner.histories import History
from tidegate.compiler import compile_project
from tidegate.config import Settings, ZoneSettings, load_settings
from tidegate.datatypes import BIGINT, Column, Relation
from tidegate.lake import EmbeddedCatalog, Pointer
from tidegate.lake.changes import change_since
from tidegate.lake.progress import Progress, TableInput
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.planner.delta_rule import input_tables
from tidegate.planner.inputs import Inputs, read_inputs, recorded_inputs
from tidegate.project import load_project
from tidegate.sources import Discovery, SourceTable

ORDERS = TableName("erp", "public", "orders")
MANUAL = 'kind = "manual"\ntables = ["public.orders"]\n'
OUTSIDE = {
    "database": 'kind = "database"\nurl = "postgresql://localhost/shop"\n',
    "catalog": 'kind = "catalog"\ncatalog_path = "c.db"\nwarehouse = "w"\n',
    "catalog of the project's own": f'{MANUAL}[spark.conf]\n"spark.sql.catalog.erp" = "com.example.Catalog"\n',
}


def lake_with(settings: Settings, pointer: Pointer) -> BranchView:
    catalog = EmbeddedCatalog(settings.lake.catalog_path, settings.lake.warehouse)
    catalog.create_branch("run-1")
    catalog.create_namespace("run-1", ORDERS)
    catalog.restore("run-1", ORDERS, pointer)
    catalog.publish("run-1", [ORDERS])
    return BranchView(catalog, "main")


def inputs_over(root: Path, source: str, pointer: Pointer) -> Inputs:
    model = "select id from erp.public.orders\n"
    toml = f'[project]\nname = "shop"\n[sources.erp]\n{source}'
    settings = load_settings(write_project(root, {"tidegate.toml": toml, "models/silver/a.sql": model}), env={})
    found = Discovery((SourceTable(ORDERS, Relation((Column("id", BIGINT),)), "erp", "any"),))
    compiled = compile_project(load_project(settings), settings, [ORDERS], {}, found)
    own = compiled.models[TableName("shop", "silver", "a")]
    return read_inputs(own, compiled, lake_with(settings, pointer), None)


@pytest.mark.parametrize("source", OUTSIDE.values(), ids=OUTSIDE.keys())
def test_a_source_outside_the_lake_is_silent_whatever_the_lake_has_under_its_name(
    tmp_path: Path, write_table: Callable[..., Pointer], source: str
) -> None:
    found = inputs_over(tmp_path, source, write_table((1, None, "append", {"added-records": "1"})))
    assert (found.tables, found.untracked) == ({}, {str(ORDERS)})


def test_a_table_named_by_hand_is_the_lakes_and_says_what_it_has(
    tmp_path: Path, write_table: Callable[..., Pointer]
) -> None:
    found = inputs_over(tmp_path, MANUAL, write_table((1, None, "append", {"added-records": "1"})))
    assert found.untracked == frozenset()
    assert found.tables[str(ORDERS)].snapshot_id == 1


def test_columns_that_are_read_are_recorded_unless_the_next_query_may_read_others(tmp_path: Path) -> None:
    metadata = History(tmp_path / "orders").play("append +1")
    orders, name = TableName("shop", "bronze", "orders"), "shop.bronze.orders"
    inputs = Inputs({name: metadata.table_input()}, metadata={name: metadata})
    model = build(tmp_path, {"models/a/m.sql": "select 1 as id\n"}).compiled.models[TableName("shop", "a", "m")]

    def recorded(inputs: Inputs, used: frozenset[str] | None, manual: bool = False) -> Mapping[str, str] | None:
        return recorded_inputs(replace(model, manual=manual), inputs, {orders: used})[name].used

    assert recorded(inputs, frozenset({"id", "STATUS"})) == {"id": "1 int", "status": "3 string"}
    assert recorded(inputs, None) is None
    assert recorded(inputs, frozenset({"id"}), manual=True) is None
    view = TableInput("v", None, 0, 0, "d")
    assert recorded(replace(inputs, tables={**inputs.tables, "shop.a.view": view}), frozenset({"id"})) is None


@pytest.mark.parametrize(
    ("lines", "keyed_by"),
    [
        ("append +1\nread\nmerge ~1 +1 key=id", {"id"}),
        ("append +1\nread\nmerge ~1 -1 key=id", None),
        ("append +1\nread\nmerge ~1", None),
        ("append +1\nread\nappend +1", {"id", "customer", "status", "amount"}),
    ],
)
def test_keys_are_kept_where_none_went_and_no_row_has_another(
    tmp_path: Path, lines: str, keyed_by: set[str] | None
) -> None:
    history = History(tmp_path / "orders")
    metadata = history.play(lines)
    assert history.was_read
    changed = {"shop.a.t": change_since(metadata, history.was_read.table_input())}
    (table,) = input_tables(Inputs(metadata={"shop.a.t": metadata}, changed=changed)).values()
    assert (table.changed, table.keyed_by) == (True, keyed_by)
    assert table.columns == ("id", "customer", "status", "amount")


def test_a_key_is_unique_only_if_no_row_came_from_elsewhere(tmp_path: Path) -> None:
    progress = Progress("r", "f", "full", "incremental", unique=("ID",)).to_json()

    def unique(history: History) -> tuple[frozenset[str], ...]:
        (table,) = input_tables(Inputs(metadata={"shop.a.t": history.metadata()})).values()
        return table.unique

    history = History(tmp_path / "orders", progress=progress)
    history.play("append +1\nmerge ~1\ndelete -1\ncompact")
    del history.snapshots[2]["summary"]["tidegate.run-id"]
    assert unique(history) == (frozenset({"id"}),)
    del history.snapshots[0]["summary"]["tidegate.run-id"]
    assert unique(history) == ()
    history.progress = None
    assert unique(history) == ()


def test_of_a_zone_that_a_connector_writes_the_files_of_complete_manifests_are_read(tmp_path: Path) -> None:
    files = {
        "tidegate.toml": '[project]\nname = "shop"\n',
        "models/bronze/a.sql": "select * from {{ landing_zone('crm') }}",
        "landing/crm/run-1/000001.json": "[]",
        "landing/crm/run-2/000001.json": "[]",
        "landing/crm/run-3/000001.json": "[]",
    }
    for run, complete in ((1, True), (2, True), (3, False)):
        manifest = {"complete": complete, "files": [f"run-{run}/000001.json"]}
        files[f"landing/crm/_manifests/run-{run}.json"] = json.dumps(manifest)
    settings = load_settings(write_project(tmp_path, files), env={})
    zones = {"crm": ZoneSettings(raw=True, by_name=True)}
    settings = replace(settings, landing=replace(settings.landing, zones=zones))
    compiled = compile_project(load_project(settings), settings, [], {})
    catalog = EmbeddedCatalog(settings.lake.catalog_path, settings.lake.warehouse)
    model = compiled.models[TableName("shop", "bronze", "a")]
    assert model.relation.find("_SOURCE_ROW") == Column("_source_row", BIGINT, nullable=False)
    zone = read_inputs(model, compiled, BranchView(catalog, "main"), None).zones["crm"]
    assert [file.path for file in zone.fresh.all] == ["run-1/000001.json", "run-2/000001.json"]
    assert not zone.fresh.copies
