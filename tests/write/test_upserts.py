"""An upsert writes the same table whichever way it goes, and what its commits say of their rows is true."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from tidegate.lake.changes import CHANGED_COLUMNS
from tidegate.lake.metadata import Snapshot, TableMetadata
from tidegate.names import TableName
from tidegate.project.model import ModelSettings, Strategy
from tidegate.write import WriteOutcome, WriteRequest, write
from tidegate.write.strategies import incremental

from .conftest import Branch

pytestmark = pytest.mark.spark

_START = datetime(2024, 1, 1, tzinfo=UTC)
_COLUMNS = "id INT, kind STRING, amount DOUBLE, price DECIMAL(10,2), tags ARRAY<INT>, seen INT"
_NAMES = [column.split()[0] for column in _COLUMNS.split(", ")]
_VALUES = {
    "kind": ("NULL", "'a'", "'A'", "''"),
    "amount": ("NULL", "0D", "-0D", "DOUBLE('NaN')", "1.5D"),
    "price": ("NULL", "1", "1.00", "2.50"),
    "tags": ("NULL", "array()", "array(1)", "array(1, NULL)"),
    "seen": ("NULL", "1", "2", "3"),
}
STEPS = 12 if os.environ.get("TIDEGATE_PROVE") else 4


class Table:
    def __init__(self, branch: Branch, name: str, watermark: str | None) -> None:
        self.branch, self.name = branch, TableName("shop", "silver", name)
        self.settings = ModelSettings(
            strategy=Strategy.INCREMENTAL, unique_key=("id",), null_keys="match", watermark_column=watermark
        )

    def upsert(self, rows: Sequence[str]) -> WriteOutcome:
        query = f"SELECT {', '.join(f'CAST({c.split()[0]} AS {c.split()[1]}) AS {c.split()[0]}' for c in _types())}"
        result = self.branch.session.sql(f"{query} FROM VALUES {', '.join(rows)} AS v({', '.join(_NAMES)})")
        request = WriteRequest(self.branch.session, self.branch.lake, self.name, result, self.settings, _START, False)
        return write(request)

    @property
    def metadata(self) -> TableMetadata:
        metadata = self.branch.lake.table(self.name)
        assert metadata is not None
        return metadata

    def rows(self, at: str = "") -> Counter[str]:
        found = self.branch.session.sql(f"SELECT to_json(struct(*)) FROM (SELECT * FROM {self.name.quoted}{at})")
        return Counter(row[0] for row in found.collect())

    def by_id(self, snapshot: Snapshot) -> dict[Any, dict[str, Any]]:
        rows = self.rows(f" VERSION AS OF {snapshot.id}").elements()
        return {row.get("id"): row for row in map(json.loads, rows)}


def _types() -> list[str]:
    return _COLUMNS.split(", ")


def _batch(chance: random.Random) -> list[str]:
    ids = chance.sample(("NULL", *map(str, range(8))), chance.randint(1, 4))
    return [f"({id}, {', '.join(chance.choice(values) for values in _VALUES.values())})" for id in ids]


@pytest.mark.parametrize(("watermark", "seed"), [(None, "None6"), ("seen", "seen")], ids=["none", "seen"])
def test_few_rows_are_merged_into_a_large_table_as_into_any(
    branch: Branch, monkeypatch: pytest.MonkeyPatch, watermark: str | None, seed: str
) -> None:
    """The seeds update rows, and nothing else, within the first four steps: only then a commit claims columns."""
    chance = random.Random(seed)
    plain, few = (Table(branch, f"{name}_{watermark}", watermark) for name in ("plain", "few"))
    said = 0
    for step in range(STEPS):
        rows = _batch(chance)
        monkeypatch.setattr(incremental, "_LARGE_TABLE", 1_000_000)
        wanted = plain.upsert(rows)
        monkeypatch.setattr(incremental, "_LARGE_TABLE", 1)
        before = few.branch.lake.table(few.name)
        outcome = few.upsert(rows)
        assert few.rows() == plain.rows(), f"step {step}: {rows}"
        assert (outcome.rows_written, outcome.changed) == (wanted.rows_written, wanted.changed), f"step {step}: {rows}"
        said += _claims_hold(few, before) if before else 0
    assert said


def _claims_hold(table: Table, before: TableMetadata) -> int:
    """How many commits since say which columns they changed; each of them changed no other."""
    line = [s for s in table.metadata.ancestors() if s.id not in before.snapshots]
    found = 0
    for snapshot in line:
        claimed = snapshot.summary.get(CHANGED_COLUMNS)
        if claimed is None or snapshot.parent_id is None:
            continue
        found += 1
        was, now = (table.by_id(table.metadata.snapshots[at]) for at in (snapshot.parent_id, snapshot.id))
        assert was.keys() == now.keys()
        differ = {name for id in was for name in _NAMES if was[id].get(name) != now[id].get(name)}
        assert differ <= set(json.loads(claimed))
    return found


def _one(branch: Branch, monkeypatch: pytest.MonkeyPatch, name: str, *queries: str) -> Table:
    """The queries' rows, one after the other, into a table of the key `id`."""
    monkeypatch.setattr(incremental, "_LARGE_TABLE", 1)
    table = Table(branch, name, None)
    for query in queries:
        result = branch.session.sql(query)
        write(WriteRequest(branch.session, branch.lake, table.name, result, table.settings, _START, False))
    return table


def test_a_column_that_the_query_no_longer_gives_counts_as_changed(
    branch: Branch, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _one(branch, monkeypatch, "ungiven", "SELECT 1 AS id, 'x' AS h, 1 AS v", "SELECT 1 AS id, 2 AS v")
    assert table.rows() == {'{"id":1,"v":2}': 1}
    assert table.metadata.current is not None
    assert json.loads(table.metadata.current.summary[CHANGED_COLUMNS]) == ["h", "v"]


def test_what_only_looks_equal_counts_as_changed(branch: Branch, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ("SELECT 1 AS id, 0D AS f, 1 AS v, 'k' AS k", "SELECT 1 AS id, -0D AS f, 2 AS v, 'k' AS k")
    table = _one(branch, monkeypatch, "zeros", *rows)
    assert table.metadata.current is not None
    assert set(json.loads(table.metadata.current.summary[CHANGED_COLUMNS])) == {"f", "v"}


@pytest.mark.parametrize(
    "keys",
    [
        ("'\\u0024{env:HOME}'", "CAST(X'FF41' AS STRING)"),
        ("'it''s \\\\ \\u0024{system:user.dir}'",),
        ("timestamp_seconds(1792891800)",),
        ("DATE'-0044-03-15'", "DATE'12024-01-01'"),
        ("CAST('-99999999.99' AS DECIMAL(10,2))",),
        ("CAST(-128 AS TINYINT)",),
    ],
    ids=["text", "quotes", "time", "date", "decimal", "tinyint"],
)
def test_a_key_is_found_whatever_it_is(
    branch: Branch, monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    """The table is searched between the lowest and the highest key of the batch."""
    branch.session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")  # 1792891800 is in an hour that comes twice
    first, second = (" UNION ALL ".join(f"SELECT {key} AS id, {v} AS v" for key in keys) for v in (1, 2))
    try:
        table = _one(branch, monkeypatch, f"odd_{request.node.callspec.id}", first, second)
        found = branch.session.sql(f"SELECT v FROM {table.name.quoted}").collect()
    finally:
        branch.session.conf.unset("spark.sql.session.timeZone")
    assert [row[0] for row in found] == [2] * len(keys)
