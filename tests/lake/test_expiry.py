from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

from tidegate.lake.branch_catalog import Pointer
from tidegate.lake.expire import Expired, expire_snapshots
from tidegate.lake.metadata import TableMetadata, load_json, read_metadata

Write = Callable[..., Pointer]
ADDED = {"added-records": "10"}
NOW = datetime(2026, 11, 15, tzinfo=UTC)
LINE = [(n, n - 1 if n > 1 else None, "append", ADDED) for n in range(1, 6)]


def at_second(second: float) -> datetime:
    return datetime.fromtimestamp(100 + second, UTC)


def expire(pointer: Pointer, keep_newest: int = 1, newer_than: datetime = NOW, keep: tuple[int, ...] = ()) -> Expired:
    expired = expire_snapshots(pointer, keep_newest=keep_newest, newer_than=newer_than, keep=keep)
    assert expired is not None
    return expired


def kept(expired: Expired) -> list[int]:
    found = read_metadata(expired.pointer)
    assert isinstance(found, TableMetadata)
    return list(found.snapshots)


def test_the_newest_of_the_line_stay(write_table: Write) -> None:
    expired = expire(write_table(*LINE), keep_newest=2)
    assert expired.removed == (1, 2, 3)
    assert kept(expired) == [4, 5]


def test_young_ones_stay(write_table: Write) -> None:
    assert kept(expire(write_table(*LINE), newer_than=at_second(3.5))) == [4, 5]


def test_what_a_reader_consumed_stays_with_all_that_shows_it_to_be_an_ancestor(write_table: Write) -> None:
    expired = expire(write_table(*LINE), keep=(3, 99))
    assert kept(expired) == [3, 4, 5]
    found = read_metadata(expired.pointer)
    assert isinstance(found, TableMetadata)
    assert [snapshot.id for snapshot in found.ancestors()] == [5, 4, 3]


def test_what_a_ref_names_stays(write_table: Write) -> None:
    refs = {"main": {"snapshot-id": 5, "type": "branch"}, "audit": {"snapshot-id": 2, "type": "tag"}}
    assert kept(expire(write_table(*LINE, refs=refs))) == [2, 5]


def test_the_last_change_stays_below_any_number_of_compactions(write_table: Write) -> None:
    compactions = [(n, n - 1, "replace", {}) for n in range(6, 10)]
    pointer = write_table(*LINE, *compactions)
    expired = expire(pointer)
    assert kept(expired) == [5, 6, 7, 8, 9]
    assert read_metadata(expired.pointer).table_input() == read_metadata(pointer).table_input()


def test_a_reader_sees_no_change(write_table: Write) -> None:
    pointer = write_table(*LINE)
    before, after = read_metadata(pointer), read_metadata(expire(pointer).pointer)
    assert isinstance(before, TableMetadata)
    assert isinstance(after, TableMetadata)
    assert after.table_input() == before.table_input()
    assert after.only_replaced_since(before)
    assert (after.next_row_id, after.last_sequence_number) == (before.next_row_id, before.last_sequence_number)


def test_nothing_to_expire_writes_nothing(write_table: Write) -> None:
    pointer = write_table(*LINE)
    assert expire_snapshots(pointer, keep_newest=5, newer_than=NOW) is None
    assert expire_snapshots(write_table(), keep_newest=1, newer_than=NOW) is None


def test_the_new_file_is_the_next_version_and_names_the_one_before(write_table: Write) -> None:
    pointer = write_table(*LINE, properties={"write.metadata.previous-versions-max": "2"}, name="00009-x")
    first = expire(pointer, keep_newest=3).pointer
    second = expire(first, keep_newest=2).pointer
    third = expire(second, keep_newest=1).pointer
    assert [p.location.rpartition("/")[2][:6] for p in (first, second, third)] == ["00010-", "00011-", "00012-"]
    data = load_json(third.location)
    assert [entry["metadata-file"] for entry in data["metadata-log"]] == [first.location, second.location]


def test_a_gap_ends_the_history_before_it_as_it_does_in_iceberg(write_table: Write) -> None:
    refs = {"main": {"snapshot-id": 5, "type": "branch"}, "audit": {"snapshot-id": 2, "type": "tag"}}
    data = load_json(expire(write_table(*LINE, refs=refs)).pointer.location)
    assert [s["snapshot-id"] for s in data["snapshots"]] == [2, 5]
    assert [entry["snapshot-id"] for entry in data["snapshot-log"]] == [5]


def test_statistics_of_expired_snapshots_go_with_them(write_table: Write) -> None:
    statistics = [{"snapshot-id": n, "statistics-path": f"file:/s{n}.puffin"} for n in (1, 5)]
    data = load_json(expire(write_table(*LINE, statistics=statistics)).pointer.location)
    assert [entry["snapshot-id"] for entry in data["statistics"]] == [5]


def test_all_else_is_kept_to_the_letter(write_table: Write) -> None:
    extra = {"a-field-of-tomorrow": {"x": [1.5, None, "ä", 9223372036854775807]}}
    pointer = write_table(*LINE, **extra)
    before, after = load_json(pointer.location), load_json(expire(pointer).pointer.location)
    changed = {"snapshots", "snapshot-log", "metadata-log"}
    assert {k: json.dumps(v) for k, v in before.items() if k not in changed} == {
        k: json.dumps(v) for k, v in after.items() if k not in changed
    }
