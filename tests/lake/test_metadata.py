from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tidegate.errors import LakeError
from tidegate.lake.branch_catalog import BranchCatalog, Pointer, PointerKind
from tidegate.lake.metadata import TableMetadata, ViewMetadata, local_path, read_metadata
from tidegate.lake.progress import PROGRESS_PROPERTY, PROGRESS_VERSION, Progress
from tidegate.lake.view import BranchView
from tidegate.names import TableName

Write = Callable[..., Pointer]
ADDED = {"added-records": "10"}


def table(pointer: Pointer) -> TableMetadata:
    found = read_metadata(pointer)
    assert isinstance(found, TableMetadata)
    return found


def test_a_table_without_snapshots_has_no_rows_and_no_last_change(write_table: Write) -> None:
    found = table(write_table())
    assert (found.current, found.last_change, found.total_records) == (None, None, 0)
    assert found.table_input().snapshot_id is None


def test_compaction_and_empty_commits_are_no_change(write_table: Write) -> None:
    found = table(
        write_table(
            (11, None, "append", ADDED), (12, 11, "replace", {"added-data-files": "1"}), (13, 12, "overwrite", {})
        )
    )
    assert found.last_change is not None
    assert found.last_change.id == 11
    assert [snapshot.id for snapshot in found.ancestors()] == [13, 12, 11]
    before = table(write_table((11, None, "append", ADDED), name="00001-b"))
    assert found.table_input() == before.table_input()


def test_deleted_rows_are_a_change(write_table: Write) -> None:
    found = table(write_table((11, None, "append", ADDED), (12, 11, "delete", {"added-position-deletes": "3"})))
    assert found.last_change is not None
    assert found.last_change.id == 12


def test_where_the_beginning_has_expired_the_oldest_snapshot_stands_for_it(write_table: Write) -> None:
    found = table(write_table((12, 11, "replace", {}), (13, 12, "replace", {})))
    assert found.last_change is not None
    assert found.last_change.id == 12


def test_next_row_id_is_that_of_the_snapshot_consumed(write_table: Write) -> None:
    found = table(write_table((11, None, "append", ADDED), (12, 11, "replace", {})))
    assert found.table_input().next_row_id == 10
    assert found.next_row_id == 20


def test_rows_that_a_deletion_vector_hides_are_not_counted(write_table: Write) -> None:
    assert table(write_table((11, None, "append", ADDED | {"total-position-deletes": "3"}))).total_records == 7


@pytest.mark.parametrize(
    ("later", "same"),
    [
        ([], True),
        ([(12, 11, "replace", {}), (13, 12, "replace", {})], True),
        ([(12, 11, "append", ADDED)], False),
        ([(12, 11, "append", ADDED), (13, 12, "replace", {})], False),
        ([(12, None, "replace", {})], False),
    ],
)
def test_compaction_since_a_base_is_told_from_other_work(write_table: Write, later: list[object], same: bool) -> None:
    base = table(write_table((11, None, "append", ADDED), name="00001-base"))
    assert table(write_table((11, None, "append", ADDED), *later)).only_replaced_since(base) is same


def test_new_progress_or_columns_are_more_than_compaction(write_table: Write) -> None:
    base = table(write_table((11, None, "append", ADDED), name="00001-base"))
    other = table(write_table((11, None, "append", ADDED), properties={PROGRESS_PROPERTY: "{}"}))
    assert not other.only_replaced_since(base)


def test_the_columns_digest_sees_renames_but_not_comments(write_table: Write) -> None:
    def digest(**field: object) -> str:
        schema = {"schema-id": 0, "fields": [{"id": 1, "name": "id", "type": "long", **field}]}
        return table(write_table(schemas=[schema])).columns_digest

    assert digest(doc="the key") == digest()
    assert len({digest(), digest(name="key"), digest(id=2), digest(type="int")}) == 4


def test_progress_is_read_from_the_properties(write_table: Write) -> None:
    progress = Progress(run_id="run-1", fingerprint="f", run_type="full", strategy="append_only", rows=3)
    assert table(write_table(properties={PROGRESS_PROPERTY: progress.to_json()})).progress == progress
    assert table(write_table(properties={})).progress is None
    with pytest.raises(LakeError, match="cannot be read"):
        assert table(write_table(properties={PROGRESS_PROPERTY: "nonsense"})).progress


def test_progress_of_the_first_version_counts_every_column(write_table: Write) -> None:
    seen = {"uuid": "u", "snapshot_id": 1, "sequence_number": 1, "next_row_id": 5, "columns": "c"}
    old = {
        "run_id": "run-1", "fingerprint": "f", "run_type": "full", "strategy": "full_refresh", "keeps_history": False,
        "tables": {"a.b.c": seen}, "zones": {}, "watermark": None, "intervals": [], "dropped_columns": {},
        "rows": 3, "duration_ms": 5, "version": 1,
    }  # fmt: skip
    found = table(write_table(properties={PROGRESS_PROPERTY: json.dumps(old)})).progress
    assert found is not None
    assert (found.tables["a.b.c"].used, found.unique, found.version) == (None, (), PROGRESS_VERSION)
    assert Progress.from_json(found.to_json()) == found
    assert Progress.from_json(json.dumps(old | {"version": 3})) is None


def test_columns_that_are_read_are_recorded_with_id_and_type(write_table: Write) -> None:
    point = {"type": "struct", "fields": [{"id": 3, "name": "x", "type": "int"}]}
    fields = [{"id": 1, "name": "Id", "type": "long"}, {"id": 2, "name": "at", "type": point}]
    found = table(write_table(schemas=[{"schema-id": 0, "fields": fields}]))
    used = found.table_input({"id", "AT"}).used
    assert used is not None
    assert (used["Id"], used["at"][:2]) == ("1 long", "2 ")
    assert found.table_input(()).used == {}
    assert found.table_input({"_row_id"}).used is None
    assert found.table_input().used is None


def test_a_compressed_view_is_read(tmp_path: Path) -> None:
    path = tmp_path / "00000-v.gz.metadata.json"

    def write(sql: str) -> ViewMetadata:
        version = {
            "version-id": 1,
            "schema-id": 0,
            "representations": [{"type": "sql", "sql": sql, "dialect": "spark"}],
        }
        field = {"id": 0, "name": "id", "type": "long"}
        data = {
            "view-uuid": "v-1",
            "location": f"file:{tmp_path}",
            "schemas": [{"schema-id": 0, "fields": [field]}],
            "current-version-id": 1,
            "versions": [version],
        }
        path.write_bytes(gzip.compress(json.dumps(data).encode()))
        found = read_metadata(Pointer(PointerKind.VIEW, f"file:{path}"))
        assert isinstance(found, ViewMetadata)
        return found

    one, two = write("SELECT id FROM a"), write("SELECT id FROM b")
    assert one.sql == "SELECT id FROM a"
    assert one.table_input() != two.table_input()


@pytest.mark.parametrize("content", [None, b"", b"{", b"{}", b"[]", b"\x1f\x8bgarbage", b"\xff\xfe"])
def test_a_missing_or_broken_file_is_named_with_a_remedy(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "00000-x.metadata.json"
    if content is not None:
        path.write_bytes(content)
    for kind in PointerKind:
        with pytest.raises(LakeError) as caught:
            read_metadata(Pointer(kind, f"file:{path}"))
        assert caught.value.where == f"file:{path}"
        assert "backup" in str(caught.value.remedy)


@pytest.mark.parametrize("location", ["/a b/c%20d#e", "file:/a b/c%20d#e", "file:///a b/c%20d#e"])
def test_a_location_is_a_path_as_it_is_written(location: str) -> None:
    assert local_path(location) == Path("/a b/c%20d#e")


def test_a_location_elsewhere_is_refused() -> None:
    with pytest.raises(LakeError, match="not on this machine"):
        local_path("s3://bucket/key")


def test_a_view_of_a_branch_shows_what_the_catalog_has_now(lake: BranchCatalog, write_table: Write) -> None:
    orders = TableName("shop", "silver", "orders")
    lake.create_branch("run-1")
    view = BranchView(lake, "run-1")
    assert (view.heads(), view.metadata(orders), view.table(orders), view.progress(orders)) == ({}, None, None, None)
    for name in ("00001-a", "00002-b"):
        pointer = write_table((int(name[4]), None, "append", ADDED), name=name)
        view.restore(orders, pointer)
        found = view.table(orders)
        assert found is not None
        assert found.current_snapshot_id == int(name[4])
        assert view.pointer(orders) == pointer
