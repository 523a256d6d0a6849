"""A result of touched keys: the table is as before outside them and the result inside, however it is written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest

from tidegate.errors import DuplicateKeysError, MassDeleteError, NullKeysError
from tidegate.lake.branch_catalog import Pointer
from tidegate.lake.changes import CHANGED_COLUMNS, ROW_KEY
from tidegate.lake.manifests import share_of_rows_within
from tidegate.lake.metadata import Snapshot, TableMetadata
from tidegate.names import TableName
from tidegate.project.model import ModelSettings, Strategy
from tidegate.write import WriteOutcome, WriteRequest, write
from tidegate.write.request import Touched
from tidegate.write.touched_regions import write_region

from .conftest import Branch

pytestmark = pytest.mark.spark

Rows = Sequence[tuple[Any, ...]]

_NUMBERS = count()
_MADE: dict[tuple[int, str, str, str], Pointer] = {}
_START = datetime(2024, 1, 1, tzinfo=UTC)
KEYED = ModelSettings(strategy=Strategy.INCREMENTAL, unique_key=("id",))


class Target:
    """A table of id, kind and name, and what is written into it. One that was made before begins with its files."""

    def __init__(self, branch: Branch, rows: Rows, settings: ModelSettings | None = None, properties: str = "") -> None:
        self.branch = branch
        self.settings = settings or ModelSettings()
        self.name = TableName("shop", "silver", f"region{next(_NUMBERS)}")
        like = (id(branch), repr(rows), repr(self.settings), properties)
        if like not in _MADE:
            write(self._request(_query(rows)))
            if properties:
                branch.session.sql(f"ALTER TABLE {self.name.quoted} SET TBLPROPERTIES ({properties})")
            _MADE[like] = branch.lake.heads()[self.name]
            self.name = TableName("shop", "silver", f"region{next(_NUMBERS)}")
        branch.lake.restore(self.name, _MADE[like])

    def _request(self, query: str, **more: Any) -> WriteRequest:
        session, lake = self.branch.session, self.branch.lake
        return WriteRequest(session, lake, self.name, session.sql(query), self.settings, _START, True, **more)

    def write(
        self,
        touched: Rows,
        result: Rows | str,
        *region: str,
        unique: bool = True,
        compare: bool | None = None,
        **more: Any,
    ) -> WriteOutcome | None:
        names = region or ("id",)
        types = {"id": "int", "kind": "int", "name": "string"}
        keys = _query(touched, ", ".join(f"{name} {types[name]}" for name in names))
        self.branch.session.sql(keys).createOrReplaceTempView("__touched")
        query = result if isinstance(result, str) else _query(result)
        nulls = any(value is None for row in touched for value in row)
        request = self._request(query, touched=Touched("__touched", names), **more)
        return write_region(request, unique=unique, nulls=nulls, compare=compare)

    @property
    def rows(self) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(row) for row in self.branch.session.table(self.name.quoted).collect())

    @property
    def ids(self) -> dict[int, int]:
        found = self.branch.session.sql(f"SELECT id, _row_id FROM {self.name.quoted}").collect()
        return {row["id"]: row["_row_id"] for row in found}

    @property
    def metadata(self) -> TableMetadata:
        metadata = self.branch.lake.table(self.name)
        assert metadata is not None
        return metadata

    def commits_since(self, before: TableMetadata) -> list[Snapshot]:
        return [snapshot for id, snapshot in self.metadata.snapshots.items() if id not in before.snapshots]


def _query(rows: Rows, columns: str = "id int, kind int, name string") -> str:
    names = [column.split()[0] for column in columns.split(", ")]
    types = [column.split()[1] for column in columns.split(", ")]

    def value(cell: Any, kind: str) -> str:
        text = "NULL" if cell is None else repr(cell) if isinstance(cell, str) else str(cell)
        return f"CAST({text} AS {kind})"

    selects = [f"SELECT {', '.join(map(value, row, types))}" for row in rows or [(None,) * len(names)]]
    return f"SELECT * FROM ({' UNION ALL '.join(selects)}) AS t({', '.join(names)}){'' if rows else ' WHERE false'}"


@pytest.fixture(autouse=True)
def _nothing_is_left(branch: Branch) -> Iterator[None]:
    yield
    for view in ("result", "staged", "found", "changes"):
        assert not branch.session.catalog.tableExists(f"__tidegate_{view}")
    assert not [name for name in branch.lake.heads() if "__" in name.name]
    assert branch.session.conf.get(f"spark.sql.iceberg.snapshot-property.{ROW_KEY}", None) is None
    assert branch.session.conf.get(f"spark.sql.iceberg.snapshot-property.{CHANGED_COLUMNS}", None) is None


TABLE = [(1, 0, "a"), (2, 0, "b"), (3, 1, "c"), (4, 1, "d"), (None, 2, "n"), (5, None, None)]

# touched keys, result, the table afterwards, rows written (if every row is, if only those that differ), rows deleted
CASES: dict[str, tuple[Rows, Rows, Rows, tuple[int, int], int]] = {
    "nothing touched": ([], [], TABLE, (0, 0), 0),
    "no row differs": ([(1,), (3,)], [(1, 0, "a"), (3, 1, "c")], TABLE, (2, 0), 0),
    "values become NULL and NULL a value": (
        [(1,), (5,), (None,)],
        [(1, None, "a"), (5, 0, ""), (None, 2, "z")],
        [(1, None, "a"), *TABLE[1:4], (None, 2, "z"), (5, 0, "")],
        (3, 3),
        0,
    ),
    "a new key": ([(9,)], [(9, 0, "new")], [*TABLE, (9, 0, "new")], (1, 1), 0),
    "a key is gone": ([(2,)], [], [TABLE[0], *TABLE[2:]], (0, 0), 1),
    "a key that never was": ([(8,)], [], TABLE, (0, 0), 0),
    "the key NULL is gone": ([(None,), (1,)], [(1, 0, "a")], [*TABLE[:4], TABLE[5]], (1, 0), 1),
    "all at once": (
        [(1,), (2,), (3,), (9,), (None,), (8,)],
        [(1, 0, "z"), (3, 1, "c"), (9, 9, "new"), (None, 2, "n")],
        [(1, 0, "z"), *TABLE[2:], (9, 9, "new")],
        (4, 2),
        1,
    ),
}


@pytest.mark.parametrize("compare", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_the_table_is_the_result_inside_and_as_before_outside(branch: Branch, case: str, compare: bool) -> None:
    touched, result, wanted, written, deleted = CASES[case]
    target = Target(branch, TABLE)
    before = target.metadata
    outcome = target.write(touched, result, compare=compare)
    assert outcome is not None
    assert target.rows == Counter(wanted)
    assert (outcome.rows_written, outcome.rows_deleted) == (written[compare], deleted)
    assert outcome.changed == (target.metadata.location != before.location)
    assert outcome.changed == bool(written[compare] or deleted)


@pytest.mark.parametrize("compare", [False, True])
def test_rows_keep_their_ids_and_commits_say_so(branch: Branch, compare: bool) -> None:
    target = Target(branch, [(n, 0, "x") for n in range(10)], KEYED)
    before, ids = target.metadata, target.ids
    target.write([(1,), (2,), (3,), (50,)], [(1, 1, "y"), (2, 0, "x"), (50, 0, "new")], compare=compare)
    assert {key: id for key, id in target.ids.items() if key != 50} == {k: id for k, id in ids.items() if k != 3}
    commits = target.commits_since(before)
    assert [json.loads(commit.summary[ROW_KEY]) for commit in commits] == [["id"]] * 2
    assert not any(CHANGED_COLUMNS in commit.summary for commit in commits)


def test_where_rows_were_only_updated_the_commit_names_the_columns(branch: Branch) -> None:
    target = Target(branch, TABLE)
    before = target.metadata
    target.write([(1,), (2,)], [(1, 0, "z"), (2, 0, "b")], compare=True)
    assert [json.loads(commit.summary[CHANGED_COLUMNS]) for commit in target.commits_since(before)] == [["name"]]


def test_small_tables_are_compared_and_unread_ones_are_not(branch: Branch) -> None:
    target = Target(branch, TABLE)
    same = [(1, 0, "a")]
    compared, written = target.write([(1,)], same), target.write([(1,)], same, has_readers=False)
    assert compared is not None
    assert written is not None
    assert (compared.changed, written.changed) == (False, True)


@pytest.mark.parametrize("compare", [False, True])
def test_a_region_of_several_columns_is_matched_as_a_whole(branch: Branch, compare: bool) -> None:
    target = Target(branch, [(1, 1, "a"), (1, 2, "b"), (2, None, "c"), (2, 2, "d")])
    touched = [(1, 1), (2, None), (3, 3)]
    target.write(touched, [(1, 1, "z"), (3, 3, "new")], "id", "kind", compare=compare)
    assert target.rows == Counter([(1, 1, "z"), (1, 2, "b"), (2, 2, "d"), (3, 3, "new")])


@pytest.mark.parametrize("compare", [False, True])
def test_a_table_of_nothing_but_its_key_gains_and_loses_keys(branch: Branch, compare: bool) -> None:
    target = Target(branch, TABLE)
    write(target._request("SELECT CAST(id AS int) AS id FROM range(5)"))
    outcome = target.write(
        [(1,), (2,), (9,)], "SELECT CAST(id AS int) AS id FROM VALUES (1), (9) AS t(id)", compare=compare
    )
    assert target.rows == Counter([(0,), (1,), (3,), (4,), (9,)])
    assert outcome is not None
    assert (outcome.rows_written, outcome.rows_deleted) == (1, 1)


def test_a_table_without_rows_takes_them_all(branch: Branch) -> None:
    target = Target(branch, [])
    assert target.write([(1,), (2,)], [(1, 0, "a")]) == WriteOutcome(1, 0, True)
    assert target.rows == Counter([(1, 0, "a")])


def test_files_that_spark_cannot_read_by_itself_change_nothing(branch: Branch) -> None:
    target = Target(branch, TABLE)
    query = "SELECT id, array(id) AS kind, map('k', 1) AS name FROM VALUES {} AS t(id)"
    write(target._request(query.format("(1), (2), (3)")))
    outcome = target.write([(1,), (2,), (9,)], query.format("(1), (9)"), compare=False)
    assert outcome is not None
    assert sorted(target.ids) == [1, 3, 9]


def test_copies_on_write_are_not_taken_for_updates(branch: Branch) -> None:
    target = Target(branch, [(n, 0, "x") for n in range(10)], properties="'write.merge.mode' = 'copy-on-write'")
    outcome = target.write([(1,), (9,), (50,)], [(1, 1, "y"), (50, 0, "new")], compare=False)
    assert target.rows == Counter([(1, 1, "y"), (50, 0, "new"), *((n, 0, "x") for n in range(9) if n != 1)])
    assert outcome is not None
    assert (outcome.rows_written, outcome.rows_deleted) == (2, 1)


# Not one row for each key: touched kinds, result, the table afterwards, written, deleted.
GROUPS: dict[str, tuple[Rows, Rows, Rows, int, int]] = {
    "same rows in another order": ([(0,)], [(2, 0, "b"), (1, 0, "a")], TABLE, 0, 0),
    "a row differs": ([(0,)], [(1, 0, "z"), (2, 0, "b")], [(1, 0, "z"), *TABLE[1:]], 2, 2),
    "a duplicate more": ([(1,)], [*TABLE[2:4], TABLE[3]], [*TABLE, TABLE[3]], 3, 2),
    "a group is gone": ([(0,)], [], TABLE[2:], 0, 2),
    "the group NULL": ([(None,)], [(6, None, "x"), (7, None, "x")], [*TABLE[:5], (6, None, "x"), (7, None, "x")], 2, 1),
    "a new group": ([(9,)], [(1, 9, "x"), (1, 9, "x")], [*TABLE, (1, 9, "x"), (1, 9, "x")], 2, 0),
    "nothing touched": ([], [], TABLE, 0, 0),
}


@pytest.mark.parametrize("case", GROUPS)
def test_groups_of_rows_are_replaced_where_they_differ(branch: Branch, case: str) -> None:
    touched, result, wanted, written, deleted = GROUPS[case]
    target = Target(branch, TABLE)
    before = target.metadata
    outcome = target.write(touched, result, "kind", unique=False)
    assert outcome is not None
    assert target.rows == Counter(wanted)
    assert (outcome.rows_written, outcome.rows_deleted) == (written, deleted)
    assert outcome.changed == bool(written or deleted) == (target.metadata.location != before.location)


def test_rows_with_a_key_are_updated_one_by_one_where_the_region_is_wider(branch: Branch) -> None:
    target = Target(
        branch,
        [(1, 0, "a"), (2, 0, "b"), (3, 1, "c")],
        ModelSettings(strategy=Strategy.INCREMENTAL, unique_key=("kind", "id")),
    )
    ids = target.ids
    outcome = target.write([(0,)], [(1, 0, "z"), (9, 0, "new")], "kind", unique=False)
    assert target.rows == Counter([(1, 0, "z"), (9, 0, "new"), (3, 1, "c")])
    assert outcome is not None
    assert (outcome.rows_written, outcome.rows_deleted) == (2, 1)
    assert target.ids[1] == ids[1]


@pytest.mark.parametrize("compare", [False, True])
@pytest.mark.parametrize(
    ("result", "error"),
    [([(1, 0, "x"), (1, 0, "y")], DuplicateKeysError), ([(None, 0, "x"), (1, 0, "y")], NullKeysError)],
)
def test_keys_that_are_wrong_are_refused(branch: Branch, compare: bool, result: Rows, error: type[Exception]) -> None:
    target = Target(branch, [(1, 0, "a"), (2, 0, "b")], KEYED)
    before = target.metadata
    with pytest.raises(error, match="id"):
        target.write([(1,), (None,)], result, unique=False, compare=compare)
    assert target.metadata == before


@pytest.mark.parametrize("compare", [False, True])
def test_most_keys_are_only_deleted_when_that_is_allowed(branch: Branch, compare: bool) -> None:
    target = Target(branch, [(n, 0, "x") for n in range(4)], KEYED)
    before, touched = target.metadata, [(n,) for n in range(4)]
    with pytest.raises(MassDeleteError, match="3 of 4"):
        target.write(touched, [(0, 1, "y")], compare=compare)
    assert target.metadata == before
    target.write(touched, [(0, 1, "y")], compare=compare, allow_deletes=True)
    assert target.rows == Counter([(0, 1, "y")])


@pytest.mark.parametrize("compare", [False, True])
def test_a_model_that_is_rebuilt_at_will_may_lose_all_its_rows(branch: Branch, compare: bool) -> None:
    target = Target(branch, TABLE)
    outcome = target.write([(1,), (2,), (3,), (4,), (5,), (None,)], [], compare=compare)
    assert target.rows == Counter()
    assert outcome is not None
    assert outcome.rows_deleted == 6


def test_other_columns_than_the_table_has_are_not_written(branch: Branch) -> None:
    target = Target(branch, TABLE)
    before = target.metadata
    for query in (
        "SELECT 1 AS id, 2 AS kind, 'x' AS name, 'y' AS more",
        "SELECT 1 AS id, 2 AS kind",
        "SELECT 1 AS id, 'text' AS kind, 'x' AS name",
        "SELECT 1L AS id, 2 AS kind, 'x' AS name",
    ):
        assert target.write([(1,)], query) is None
    assert target.metadata == before


def test_a_column_in_its_grace_period_stays_empty_in_new_rows(branch: Branch) -> None:
    target = Target(branch, [(1, 0, "a"), (2, 0, "b"), (3, 0, "c")], KEYED)
    since = {"name": _START.isoformat()}
    outcome = target.write([(1,)], "SELECT 1 AS id, 7 AS kind", dropped_columns=since)
    assert outcome is not None
    assert outcome.dropped_columns == since
    assert target.rows == Counter([(1, 7, None), (2, 0, "b"), (3, 0, "c")])


def test_a_table_whose_key_is_not_unique_is_to_be_made_anew(branch: Branch) -> None:
    target = Target(branch, [(1, 0, "a"), (1, 0, "b"), (2, 0, "c")])
    before = target.metadata
    for compare in (False, True):
        assert target.write([(1,)], [(1, 1, "z")], compare=compare) is None
        assert target.metadata == before


@pytest.mark.parametrize("compare", [False, True])
def test_a_result_that_breaks_half_way_leaves_the_table(branch: Branch, compare: bool) -> None:
    target = Target(branch, TABLE)
    before = target.metadata
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        target.write(
            [(1,)], "SELECT 1 AS id, CAST(1 / (id - 5) AS int) AS kind, 'x' AS name FROM range(9)", compare=compare
        )
    assert target.metadata == before


def test_a_table_is_searched_between_the_touched_keys_where_that_leaves_out_files(branch: Branch) -> None:
    target = Target(branch, [])
    for values in ("(1, 1, 'a'), (2, 1, 'b')", "(-5, 1, 'c'), (70000, 1, 'd'), (300, NULL, 'e')", "(NULL, 1, 'f')"):
        branch.session.sql(f"INSERT INTO {target.name.quoted} SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")
    current = target.metadata.current
    assert current is not None
    field = next(field.id for field in target.metadata.fields if field.name == "id")
    shares = [
        share_of_rows_within(current, field, *bounds) for bounds in ((1, 2), (3, 4), (-9, -6), (-9, -5), (70000, 70001))
    ]
    # A file without a value is never left out: nobody says what it has.
    assert [round(share * 6) for share in shares] == [6, 4, 1, 4, 4]
