"""Delta's log, read without a JVM."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.lake.delta_logs import COLUMNS, DeltaLog, added, metadata, removed
from tidegate.datatypes import BIGINT, STRING, Column, Relation, array, decimal, struct
from tidegate.errors import LakeError
from tidegate.lake.delta_log import delta_rows_changed, read_delta_state
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
    log.checkpoint({"add": {}}, metadata(), parts=parts)
    for number in range(later):
        log.commit(added(f"b{number}"))
    state = read_delta_state(storage, TABLE)
    assert state is not None
    assert (state.version, len(state.relation.columns)) == (1 + later, 2)


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


@pytest.mark.parametrize("content", [b"{", b'{"metaData": {"id": 1}}', b'{"metaData": {"schemaString": "x"}}', b"{}"])
def test_a_log_that_cannot_be_read(storage: Storage, log: DeltaLog, content: bytes) -> None:
    log.commit()
    (log.folder / "00000000000000000000.json").write_bytes(content)
    with pytest.raises(LakeError, match="cannot be read") as raised:
        read_delta_state(storage, TABLE)
    assert str(raised.value.where).endswith("_delta_log")


def test_compaction_changes_no_rows(storage: Storage, log: DeltaLog) -> None:
    log.commit(metadata(), added("a"))
    log.commit(added("b", changes_rows=False), removed("a", changes_rows=False))
    log.commit({"commitInfo": {}})
    assert not delta_rows_changed(storage, TABLE, 0, 2)
    log.commit(removed("b"))
    assert delta_rows_changed(storage, TABLE, 0, 3)
    assert not delta_rows_changed(storage, TABLE, 3, 3)


def test_commits_that_are_gone_may_have_changed_rows(storage: Storage, log: DeltaLog) -> None:
    log.commit(metadata())
    log.commit({"txn": {}})
    log.commit({"txn": {}})
    (log.folder / f"{1:020}.json").unlink()
    assert delta_rows_changed(storage, TABLE, 0, 2)
    assert delta_rows_changed(storage, TABLE, 2, 1)


def test_an_action_without_a_word_about_rows_changes_them(storage: Storage, log: DeltaLog) -> None:
    log.commit(metadata())
    log.commit(json.loads('{"remove": {"path": "a"}}'))
    assert delta_rows_changed(storage, TABLE, 0, 1)
