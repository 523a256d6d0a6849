"""Properties are set without an engine, on every catalog."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tidegate.errors import LakeError
from tidegate.lake.branch_catalog import BranchCatalog, Pointer, PointerKind
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.metadata import TableMetadata, load_json, read_metadata
from tidegate.lake.progress import Progress
from tidegate.lake.view import BranchView
from tidegate.names import TableName

Write = Callable[..., Pointer]

ORDERS = TableName("shop", "silver", "orders")
FIRST = (1, None, "append", {"added-records": "10"})


@pytest.fixture
def embedded(tmp_path: Path) -> EmbeddedCatalog:
    catalog = EmbeddedCatalog(tmp_path / "catalog.db", tmp_path / "warehouse")
    catalog.create_branch("run-1")
    return catalog


def test_properties_are_set_on_the_branch_alone(lake: BranchCatalog, write_table: Write) -> None:
    lake.create_branch("run-1")
    lake.create_namespace("run-1", ORDERS)
    before = write_table(FIRST, name="00009-x", properties={"a": "1", "b": "2"})
    lake.restore("run-1", ORDERS, before)
    lake.set_properties("run-1", ORDERS, {"b": "3", "c": "ä"})
    after = lake.pointer("run-1", ORDERS)
    assert after is not None
    assert after != before
    assert lake.head() == {}
    assert load_json(after.location)["properties"] == {"a": "1", "b": "3", "c": "ä"}


def test_rows_columns_and_history_stay_and_the_file_before_is_named(
    embedded: EmbeddedCatalog, write_table: Write
) -> None:
    before = write_table(FIRST, name="00009-x", tomorrow={"x": [1.5, None, 9223372036854775807]})
    embedded.restore("run-1", ORDERS, before)
    view = BranchView(embedded, "run-1")
    progress = Progress("run-1", "f", "full", "append_only", snapshot_id=1)
    view.set_progress(ORDERS, progress, {"b": "3"})
    after = view.pointer(ORDERS)
    assert after is not None
    assert after.location.rpartition("/")[2].startswith("00010-")
    then, now = load_json(before.location), load_json(after.location)
    assert now["metadata-log"] == [{"timestamp-ms": then["last-updated-ms"], "metadata-file": before.location}]
    changed = ("properties", "metadata-log")
    assert [json.dumps({k: v for k, v in data.items() if k not in changed}) for data in (now,)] == [
        json.dumps({k: v for k, v in then.items() if k not in changed})
    ]
    table = read_metadata(after)
    assert isinstance(table, TableMetadata)
    assert (table.progress, table.properties["b"]) == (progress, "3")
    assert table.table_input() == read_metadata(before).table_input()


def test_what_another_writer_commits_meanwhile_is_kept(
    embedded: EmbeddedCatalog, write_table: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = write_table(FIRST), write_table(FIRST, (2, 1, "append", {}), name="00008-b")
    embedded.restore("run-1", ORDERS, first)
    read = embedded.pointer

    def overtaken(branch: str, table: TableName) -> Pointer | None:
        pointer = read(branch, table)
        if pointer == first:
            embedded.restore(branch, table, second)
        return pointer

    monkeypatch.setattr(embedded, "pointer", overtaken)
    embedded.set_properties("run-1", ORDERS, {"a": "1"})
    after = BranchView(embedded, "run-1").table(ORDERS)
    assert after is not None
    assert (after.current_snapshot_id, after.properties) == (2, {"a": "1"})


def test_a_view_has_properties_too(embedded: EmbeddedCatalog, tmp_path: Path) -> None:
    path = tmp_path / "metadata" / "00000-a.gz.metadata.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"view-uuid": "v", "current-version-id": 1}))
    embedded.restore("run-1", ORDERS, Pointer(PointerKind.VIEW, f"file:{path}"))
    embedded.set_properties("run-1", ORDERS, {"a": "1"})
    after = embedded.pointer("run-1", ORDERS)
    assert after is not None
    assert after.kind is PointerKind.VIEW
    assert load_json(after.location) == {"view-uuid": "v", "current-version-id": 1, "properties": {"a": "1"}}


def test_a_table_that_is_gone_is_named(embedded: EmbeddedCatalog) -> None:
    with pytest.raises(LakeError, match=r"shop\.silver\.orders is gone"):
        embedded.set_properties("run-1", ORDERS, {"a": "1"})


def test_what_cannot_be_written_leaves_the_table_as_it_was(
    embedded: EmbeddedCatalog, write_table: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    before = write_table(FIRST)
    embedded.restore("run-1", ORDERS, before)
    monkeypatch.setattr("tidegate.lake.next_metadata.write_atomically", full)
    with pytest.raises(LakeError, match="No space left on device"):
        embedded.set_properties("run-1", ORDERS, {"a": "1"})
    assert embedded.pointer("run-1", ORDERS) == before
