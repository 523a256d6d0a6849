"""What a REST server is told so that its table becomes the branch's."""

from __future__ import annotations

from typing import Any

from tidegate.lake.catalogs.rest_updates import (
    can_follow,
    is_same_state,
    new_view,
    table_requirements,
    table_updates,
    view_updates,
)

FIELDS = [{"id": 1, "name": "id", "required": False, "type": "long"}]


def snapshot(number: int, sequence: int, first: int | None = 0) -> dict[str, Any]:
    rows = {} if first is None else {"first-row-id": first, "added-rows": 10}
    return {"snapshot-id": number, "sequence-number": sequence, "manifest-list": f"file:/t/{number}.avro", **rows}


def table(*snapshots: dict[str, Any], **changes: Any) -> dict[str, Any]:
    head = {"main": {"snapshot-id": snapshots[-1]["snapshot-id"], "type": "branch"}} if snapshots else {}
    return {
        "format-version": 3,
        "table-uuid": "u-1",
        "location": "file:/t",
        "last-sequence-number": max((each["sequence-number"] for each in snapshots), default=0),
        "last-column-id": 1,
        "current-schema-id": 0,
        "schemas": [{"schema-id": 0, "type": "struct", "fields": FIELDS}],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {},
        "next-row-id": 10 * len(snapshots),
        "refs": head,
        "snapshots": list(snapshots),
        **changes,
    }


def view(sql: str, **changes: Any) -> dict[str, Any]:
    text = {"type": "sql", "sql": sql, "dialect": "spark"}
    version = {"version-id": 1, "timestamp-ms": 1, "schema-id": 0, "summary": {}, "representations": [text]}
    return {
        "view-uuid": "v-1",
        "location": "file:/v",
        "current-version-id": 1,
        "versions": [{**version, "default-namespace": ["shop", "gold"]}],
        "schemas": [{"schema-id": 0, "type": "struct", "fields": FIELDS}],
        "properties": {},
        **changes,
    }


def actions(updates: list[Any]) -> list[str]:
    return [update["action"] for update in updates]


def test_a_table_that_is_as_it_should_be_needs_nothing() -> None:
    one = table(snapshot(1, 1))
    assert table_updates(one, one) == []
    assert is_same_state(one, one)


def test_new_snapshots_are_told_oldest_first_with_the_numbers_that_they_have() -> None:
    first, second, third = snapshot(1, 1), snapshot(2, 2, 10), snapshot(3, 3, 20)
    updates = table_updates(table(first), table(first, third, second, refs={"main": {"snapshot-id": 3}}))
    assert [update["snapshot"] for update in updates[:2]] == [second, third]
    assert updates[2] == {"action": "set-snapshot-ref", "ref-name": "main", "snapshot-id": 3}


def test_columns_layout_and_order_come_before_the_snapshots_that_use_them() -> None:
    wider = [*FIELDS, {"id": 2, "name": "v", "required": False, "type": "string"}]
    now = table(snapshot(1, 1))
    wanted = table(
        snapshot(1, 1),
        snapshot(2, 2, 10),
        **{
            "schemas": [*now["schemas"], {"schema-id": 1, "type": "struct", "fields": wider}],
            "current-schema-id": 1,
            "last-column-id": 2,
            "partition-specs": [{"spec-id": 0, "fields": []}, {"spec-id": 1, "fields": [{"name": "v"}]}],
            "default-spec-id": 1,
            "sort-orders": [{"order-id": 0, "fields": []}, {"order-id": 1, "fields": [{"source-id": 1}]}],
            "default-sort-order-id": 1,
            "format-version": 4,
            "location": "file:/elsewhere",
        },
    )
    assert actions(table_updates(now, wanted)) == [
        "upgrade-format-version",
        "set-location",
        "add-schema",
        "set-current-schema",
        "add-spec",
        "set-default-spec",
        "add-sort-order",
        "set-default-sort-order",
        "add-snapshot",
        "set-snapshot-ref",
    ]


def test_progress_alone_is_a_change_and_a_property_that_is_gone_is_removed() -> None:
    now = table(snapshot(1, 1), properties={"tidegate.progress": "old", "left": "x"})
    wanted = table(snapshot(1, 1), properties={"tidegate.progress": "new"})
    assert table_updates(now, wanted) == [
        {"action": "set-properties", "updates": {"tidegate.progress": "new"}},
        {"action": "remove-properties", "removals": ["left"]},
    ]
    assert not is_same_state(now, wanted)


def test_what_expired_is_removed_after_main_points_elsewhere() -> None:
    now, wanted = table(snapshot(1, 1), snapshot(2, 2, 10)), table(snapshot(2, 2, 10), snapshot(3, 3, 20))
    updates = table_updates(now, wanted)
    assert actions(updates) == ["add-snapshot", "set-snapshot-ref", "remove-snapshots"]
    assert updates[-1]["snapshot-ids"] == [1]


def test_a_table_that_has_no_rows_any_more_has_no_head() -> None:
    wanted = table(snapshot(1, 1), refs={})
    assert table_updates(table(snapshot(1, 1)), wanted) == [{"action": "remove-snapshot-ref", "ref-name": "main"}]


def test_a_snapshot_whose_number_or_rows_are_taken_does_not_fit() -> None:
    first = snapshot(1, 1)
    ours = table(first, snapshot(2, 2, 10))
    assert can_follow(table(first), ours)
    assert not can_follow(table(first, snapshot(9, 2, 10)), ours)
    assert not can_follow(table(first, **{"next-row-id": 11}), ours)


def test_the_server_may_have_properties_of_its_own_and_be_the_same() -> None:
    assert is_same_state(table(snapshot(1, 1), properties={"owner": "server"}), table(snapshot(1, 1)))
    assert not is_same_state(table(snapshot(1, 1)), table(snapshot(1, 1), **{"table-uuid": "u-2"}))
    assert not is_same_state(table(snapshot(1, 1), snapshot(2, 2, 10)), table(snapshot(1, 1)))
    assert is_same_state(view("SELECT 1", properties={"owner": "server"}), view("SELECT 1"))


def test_identity_rows_columns_and_layout_are_required_to_be_as_they_were() -> None:
    required = {each["type"]: each for each in table_requirements(table(snapshot(1, 1)))}
    assert required["assert-ref-snapshot-id"]["snapshot-id"] == 1
    assert required["assert-table-uuid"]["uuid"] == "u-1"
    assert {"assert-current-schema-id", "assert-default-spec-id", "assert-default-sort-order-id"} < required.keys()
    empty = {each["type"]: each for each in table_requirements(table())}
    assert empty["assert-ref-snapshot-id"]["snapshot-id"] is None


def test_a_view_gets_a_new_version_only_if_it_says_something_else() -> None:
    now = view("SELECT 1", properties={"tidegate.progress": "old"})
    noted = view("SELECT 1", properties={"tidegate.progress": "new"})
    assert actions(view_updates(now, noted)) == ["set-properties"]
    updates = view_updates(now, view("SELECT 2", properties={"tidegate.progress": "old"}))
    assert actions(updates) == ["add-schema", "add-view-version", "set-current-view-version"]
    version = updates[1]["view-version"]
    assert (version["version-id"], version["representations"][0]["sql"]) == (2, "SELECT 2")


def test_a_server_that_registers_no_views_is_told_all_that_makes_one() -> None:
    told = new_view(view("SELECT 1", properties={"a": "b"}))
    assert (told["location"], told["properties"], told["schema"]["fields"]) == ("file:/v", {"a": "b"}, FIELDS)
    assert told["view-version"]["representations"][0]["sql"] == "SELECT 1"
