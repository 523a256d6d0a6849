"""What a model would read now, and which of it can say whether it changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.compiler.projects import write_project
from tests.lake.conftest import write_table as write_table

from tidegate.compiler import compile_project
from tidegate.config import Settings, load_settings
from tidegate.datatypes import BIGINT, Column, Relation
from tidegate.lake import EmbeddedCatalog, Pointer
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.planner.inputs import Inputs, read_inputs
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
    return read_inputs(own, compiled, lake_with(settings, pointer), settings, None)


@pytest.mark.parametrize("source", OUTSIDE.values(), ids=OUTSIDE.keys())
def test_a_source_outside_the_lake_is_silent_whatever_the_lake_has_under_its_name(
    tmp_path: Path, write_table: Callable[..., Pointer], source: str
) -> None:
    found = inputs_over(tmp_path, source, write_table((1, None, "append", {"added-records": "1"})))
    assert (found.tables, found.silent) == ({}, {str(ORDERS)})


def test_a_table_named_by_hand_is_the_lakes_and_says_what_it_has(
    tmp_path: Path, write_table: Callable[..., Pointer]
) -> None:
    found = inputs_over(tmp_path, MANUAL, write_table((1, None, "append", {"added-records": "1"})))
    assert found.silent == frozenset()
    assert found.tables[str(ORDERS)].snapshot_id == 1
