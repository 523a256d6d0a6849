"""Delta's log, read without a JVM."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.lake.delta_logs import COLUMNS, DeltaLog, added, counted, metadata, removed
from tidegate.datatypes import BIGINT, STRING, Column, Relation, array, decimal, parse_type, struct
from tidegate.errors import LakeError
from tidegate.lake.changes import TableChange, Untraceable
from tidegate.lake.delta_log import delta_change, read_delta_state
from tidegate.lake.iceberg_types import iceberg_word, spark_type
from tidegate.storage import Storage, open_storage

TABLE = "silver/orders/records.delta"


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return open_storage(tmp_path)


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    return DeltaLog(tmp_path / TABLE)


def test_no_table_has_no_state(storage: Storage) -> None:
    assert read_delta_state(storage, TABLE) is None


def test_the_state_is_the_last_version_with_its_columns(storage: Storage, log: DeltaLog) -> None:
    log.commit({"protocol": {}}, metadata(), added("a"))
    log.commit(added("b"))
    state = read_delta_state(storage, TABLE)
    assert state is not None
    assert (state.table_id, state.version) == ("one", 1)
    assert state.relation == Relation((Column("id", BIGINT, True), Column("amount", decimal(10, 2), True)))


def test_nested_columns(storage: Storage, log: DeltaLog) -> None:
    inner = {"type": "struct", "fields": [{"name": "x", "type": "string", "nullable": True, "metadata": {}}]}
    log.commit(metadata([("items", {"type": "array", "elementType": inner, "containsNull": True})]))
    state = read_delta_state(storage, TABLE)
    assert state is not None
    assert state.relation.columns[0].type == array(struct([("x", STRING)]))


def test_the_columns_are_those_of_the_last_commit_that_has_them(storage: Storage, log: DeltaLog) -> None:
    log.commit(metadata())
    before = read_delta_state(storage, TABLE)
    log.commit(metadata([*COLUMNS, ("note", "string")]))
    log.commit(added("a"))
    state = read_delta_state(storage, TABLE)
    assert before is not None
    assert state is not None
    assert [column.name for column in state.relation.columns] == ["id", "amount", "note"]
    assert state.as_input().columns != before.as_input().columns


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("later", [0, 2])
def test_columns_from_a_checkpoint(storage: Storage, log: DeltaLog, parts: int, later: int) -> None:
    log.commit(metadata())
    log.commit(added("a"))
    log.checkpoint({"add": {}}, metadata(feed=True), parts=parts)
    for number in range(later):
        log.commit(added(f"b{number}"))
    state = read_delta_state(storage, TABLE)
    assert state is not None
    assert (state.version, len(state.relation.columns), state.has_feed) == (1 + later, 2, True)


def test_columns_after_a_checkpoint_win(storage: Storage, log: DeltaLog) -> None:
    log.commit(metadata())
    log.checkpoint(metadata())
    log.commit(metadata([("id", "string")]))
    state = read_delta_state(storage, TABLE)
    assert state is not None
    assert state.relation.columns == (Column("id", STRING, True),)


def test_a_part_of_a_checkpoint_is_none(storage: Storage, log: DeltaLog) -> None:
    log.commit(metadata())
    (log.folder / "00000000000000000000.checkpoint.0000000001.0000000002.parquet").write_bytes(b"")
    (log.folder / ".00000000000000000001.json.tmp").write_bytes(b"")
    (log.folder / "00000000000000000000.crc").write_bytes(b"")
    state = read_delta_state(storage, TABLE)
    assert state is not None
    assert state.version == 0


def test_a_checkpoint_that_cannot_be_read(storage: Storage, log: DeltaLog) -> None:
    log.commit(metadata())
    log.checkpoint(metadata())
    file = log.folder / "00000000000000000000.checkpoint.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(LakeError, match="cannot be read"):
        read_delta_state(storage, TABLE)


def test_a_column_that_was_dropped_and_added_again_is_another_one(storage: Storage, log: DeltaLog) -> None:
    log.commit(metadata())
    before = read_delta_state(storage, TABLE)
    again = metadata()
    again["metaData"]["schemaString"] = again["metaData"]["schemaString"].replace(
        '"metadata": {}', '"metadata": {"delta.columnMapping.id": 7}', 1
    )
    log.commit(again)
    now = read_delta_state(storage, TABLE)
    assert before is not None
    assert now is not None
    assert now.relation == before.relation
    change = delta_change(storage, TABLE, now, before.as_input())
    assert change == Untraceable("moved from version 0 to 1 and has other columns")


@pytest.mark.parametrize("content", [b"{", b'{"metaData": {"id": 1}}', b'{"metaData": {"schemaString": "x"}}', b"{}"])
def test_a_log_that_cannot_be_read(storage: Storage, log: DeltaLog, content: bytes) -> None:
    log.commit()
    (log.folder / "00000000000000000000.json").write_bytes(content)
    with pytest.raises(LakeError, match="cannot be read") as raised:
        read_delta_state(storage, TABLE)
    assert str(raised.value.where).endswith("_delta_log")


def changed_since(storage: Storage, version: int) -> TableChange | Untraceable | None:
    now = read_delta_state(storage, TABLE)
    assert now is not None
    return delta_change(storage, TABLE, now, replace(now.as_input(), version=version))


def test_compaction_changes_no_rows(storage: Storage, log: DeltaLog) -> None:
    log.commit(metadata(), added("a"))
    log.commit(added("b", changes_rows=False), removed("a", changes_rows=False))
    log.commit({"commitInfo": {}})
    assert changed_since(storage, 0) is None
    log.commit(removed("b"))
    assert changed_since(storage, 0) == Untraceable("moved from version 0 to 3, without a change feed")
    assert changed_since(storage, 3) is None


def test_commits_that_are_gone_may_have_changed_rows(storage: Storage, log: DeltaLog) -> None:
    log.commit(metadata())
    log.commit({"txn": {}})
    log.commit(metadata())
    (log.folder / f"{1:020}.json").unlink()
    assert changed_since(storage, 0) == Untraceable("moved from version 0 to 2")
    assert changed_since(storage, 9) == Untraceable("moved from version 9 to 2")


def test_an_action_without_a_word_about_rows_changes_them(storage: Storage, log: DeltaLog) -> None:
    log.commit(metadata())
    log.commit(json.loads('{"remove": {"path": "a"}}'))
    assert isinstance(changed_since(storage, 0), Untraceable)


def test_a_change_feed_makes_changes_known(storage: Storage, log: DeltaLog) -> None:
    log.commit(metadata(feed=True), added("a"))
    log.commit(added("b"), counted(numOutputRows=10))
    change = changed_since(storage, 0)
    assert isinstance(change, TableChange)
    assert (change.then_id, change.now_id, change.insert_only) == (0, 1, True)
    assert (change.rows_written, change.rows_removed) == (10, 0)
    merged = {"numTargetRowsInserted": 1, "numTargetRowsUpdated": 2, "numTargetRowsDeleted": 3, "numOutputRows": 500}
    log.commit(added("c"), removed("a"), counted(**merged))
    change = changed_since(storage, 0)
    assert isinstance(change, TableChange)
    assert (change.insert_only, change.rows_written, change.rows_removed) == (False, 13, 5)


def test_a_feed_that_was_switched_on_since_does_not_have_all(storage: Storage, log: DeltaLog) -> None:
    log.commit(metadata(), added("a"))
    log.commit(added("b"))
    log.commit(metadata(feed=True))
    assert isinstance(changed_since(storage, 0), Untraceable)
    log.commit(added("c"))
    assert isinstance(changed_since(storage, 2), TableChange)


def test_types_are_those_of_the_lake() -> None:
    words = {"bigint": "long", "timestamp": "timestamptz", "timestamp_ntz": "timestamp"}
    words["decimal(10,2)"] = "decimal(10, 2)"
    for text in ("int", "string", "double", "date", "boolean", "binary"):
        words[text] = text
    for text, word in words.items():
        kind = parse_type(text)
        assert kind is not None
        assert (iceberg_word(kind), spark_type(word)) == (word, kind)
    assert iceberg_word(array(STRING)) is None
