"""Views on a branch."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tidegate.lake.branch_catalog import PointerKind
from tidegate.lake.metadata import ViewMetadata
from tidegate.lake.progress import PROGRESS_PROPERTY, Progress
from tidegate.names import TableName
from tidegate.project.model import ModelSettings
from tidegate.write import WriteRequest, write, write_view

from .conftest import Branch

pytestmark = pytest.mark.spark


def _write_table(branch: Branch, table: TableName) -> None:
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    write(
        WriteRequest(
            branch.session, branch.lake, table, branch.session.range(2), ModelSettings(), moment, complete=True
        )
    )


def test_view_keeps_its_properties_to_the_letter(branch: Branch) -> None:
    table = TableName("shop", "gold", "a view")
    progress = Progress(
        "run-1", "f", "full", "full_refresh", watermark='it\'s \\ "quoted"\n`so`', dropped_columns={"a b": "é"}
    )
    write_view(branch.session, branch.lake, table, "SELECT 1 AS n", {PROGRESS_PROPERTY: progress.to_json()})
    write_view(branch.session, branch.lake, table, "SELECT 2 AS n", {PROGRESS_PROPERTY: progress.to_json()})
    metadata = branch.lake.metadata(table)
    assert isinstance(metadata, ViewMetadata)
    assert metadata.progress == progress
    assert branch.session.table(table.quoted).collect()[0]["n"] == 2


def test_table_becomes_view_and_view_becomes_table(branch: Branch) -> None:
    table = TableName("shop", "gold", "turncoat")
    _write_table(branch, table)
    write_view(branch.session, branch.lake, table, "SELECT 7 AS n", {})
    pointer = branch.lake.pointer(table)
    assert pointer is not None
    assert pointer.kind is PointerKind.VIEW
    _write_table(branch, table)
    assert branch.lake.table(table) is not None
    assert branch.session.table(table.quoted).count() == 2


def test_view_that_cannot_be_made_leaves_the_table(branch: Branch) -> None:
    table = TableName("shop", "gold", "stays")
    _write_table(branch, table)
    before = branch.lake.pointer(table)
    with pytest.raises(Exception, match="nowhere"):
        write_view(branch.session, branch.lake, table, "SELECT * FROM shop.gold.nowhere", {})
    assert branch.lake.pointer(table) == before
