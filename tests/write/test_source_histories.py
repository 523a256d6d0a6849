"""One history of a source, delivered as a log in any order or as complete snapshots, ends with the same live rows."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from tidegate.contracts.ingestion import DeletionRules
from tidegate.names import TableName
from tidegate.project.model import ModelSettings, Strategy
from tidegate.write import DELETED, DeleteRequest, DeletionCounts, WriteOutcome, WriteRequest, write
from tidegate.write.request import summed
from tidegate.write.strategies import current_state

from .conftest import Branch

pytestmark = pytest.mark.spark

SEEDS = range(12 if os.environ.get("TIDEGATE_PROVE") else 1)
KEYS, TICKS, BATCHES = 60, 8, 3
FIRST = datetime(2024, 1, 1, tzinfo=UTC)
CURRENT = ModelSettings(strategy=Strategy.CURRENT_STATE, unique_key=("id",))
HISTORY = ModelSettings(strategy=Strategy.SCD2, unique_key=("id",), watermark_column="_commit_time")


@dataclass(frozen=True, order=True)
class Event:
    """A change of one key. Each has a value of its own, so only a replay delivers equal ones."""

    tick: int
    sequence: int
    key: int
    deletes: bool

    @property
    def sql(self) -> str:
        value = "NULL" if self.deletes else f"'v{self.sequence}'"
        return (
            f"({self.key}, {value}, TIMESTAMP '{_time(self.tick)}', '{self.sequence:06d}', {str(self.deletes).lower()})"
        )


def _time(tick: int) -> str:
    return (FIRST + timedelta(hours=tick)).isoformat(sep=" ")


def random_history(chance: random.Random) -> list[Event]:
    """Some keys change several times in one tick, are deleted twice, or deleted before they are known."""
    ticks = sorted(chance.randint(1, TICKS) for _ in range(KEYS * 4))
    events = [Event(tick, place, chance.randrange(1, KEYS), chance.random() < 0.35) for place, tick in enumerate(ticks)]
    return [Event(0, 0, 0, False), *(Event(e.tick, e.sequence + 1, e.key, e.deletes) for e in events)]


def live_rows(events: Iterable[Event]) -> dict[int, str]:
    rows: dict[int, str] = {}
    for event in sorted(events):
        rows.pop(event.key, None)
        if not event.deletes:
            rows[event.key] = f"v{event.sequence}"
    return rows


def deduplicated(events: Sequence[Event], settings: ModelSettings) -> list[Event]:
    """As the stage before the write leaves them: the newest of each key, of a history at each time."""
    newest = {(e.key, e.tick if settings is HISTORY else 0): e for e in sorted(events)}
    return [event for event in events if event in newest.values()]


class Table:
    def __init__(self, branch: Branch, name: str, settings: ModelSettings, soft: bool) -> None:
        self.branch, self.settings, self.soft = branch, settings, soft
        self.name = TableName("shop", "silver", name)

    def take(self, events: Sequence[Event], seen: Sequence[Event], *, snapshot_at: int | None = None) -> WriteOutcome:
        """`seen`: all events so far; with `snapshot_at` the events are a snapshot of that time."""
        session, inferred = self.branch.session, snapshot_at is not None
        self._view("__present", deduplicated(events, self.settings) or [])
        self._view("__tombstones", [event for event in seen if event.deletes])
        result = session.table(self._view("__events", deduplicated(events, self.settings)))
        deletion = DeleteRequest(
            DeletionRules(inferred, self.soft, max_ratio=1.0),
            present="__present" if inferred else None,
            tombstones=None if inferred else "__tombstones",
        )
        started = FIRST + timedelta(hours=snapshot_at or 0)
        request = WriteRequest(
            session, self.branch.lake, self.name, result, self.settings, started, complete=False, deletion=deletion
        )
        return write(request)

    def _view(self, name: str, events: Sequence[Event]) -> str:
        rows = ", ".join(event.sql for event in events) or "(0, '', TIMESTAMP '2024-01-01', '', true)"
        only = "" if events else " WHERE false"
        query = f"SELECT * FROM VALUES {rows} AS t(id, v, _commit_time, _sequence, {DELETED}){only}"
        self.branch.session.sql(query).createOrReplaceTempView(name)
        return name

    @property
    def live(self) -> dict[int, str]:
        where = "is_current" if self.settings is HISTORY else "NOT _is_deleted" if self.soft else "true"
        rows = self.branch.session.sql(f"SELECT id, v FROM {self.name.quoted} WHERE {where}").collect()
        assert len({row["id"] for row in rows}) == len(rows)
        return {row["id"]: row["v"] for row in rows}


def test_the_deletes_of_several_writes_are_added() -> None:
    one, other = DeletionCounts(1, 2, 3, 4), DeletionCounts(applied=1)
    outcomes = [WriteOutcome(0, 0, False, deletions=counts) for counts in (one, None, other)]
    assert summed(outcomes).deletions == DeletionCounts(2, 2, 3, 4)
    assert summed(outcomes[1:2]).deletions is None


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("settings", "soft"), [(CURRENT, True), (CURRENT, False), (HISTORY, False)], ids=["soft", "hard", "history"]
)
def test_log_and_snapshots_of_one_source_end_with_the_same_live_rows(
    branch: Branch, monkeypatch: pytest.MonkeyPatch, settings: ModelSettings, soft: bool, seed: int
) -> None:
    """The table whose rows are removed is written as a large one."""
    monkeypatch.setattr(current_state, "_LARGE_TABLE", 1_000_000 if soft else 1)
    chance = random.Random(f"source {seed}")
    events = random_history(chance)
    name = f"source_{settings.strategy}_{soft}_{seed}"
    log, snapshots = (Table(branch, f"{name}_{path}", settings, soft) for path in ("log", "snapshots"))

    delivered = chance.sample(events, len(events))
    for start in range(BATCHES):
        seen = [event for at, event in enumerate(delivered) if at % BATCHES <= start]
        log.take([event for at, event in enumerate(delivered) if at % BATCHES == start], seen)
    assert log.live == live_rows(events)

    pointer = branch.lake.pointer(log.name)
    replay = log.take(chance.sample(events, len(events)), events)
    assert not replay.changed
    assert branch.lake.pointer(log.name) == pointer

    for tick in (3, 6, TICKS):
        snapshots.take(_snapshot(events, tick), events, snapshot_at=tick)
    assert snapshots.live == live_rows(events) == log.live


def _snapshot(events: Sequence[Event], tick: int) -> list[Event]:
    """The rows that are there at a time, read at that time."""
    rows = live_rows(event for event in events if event.tick <= tick)
    return [Event(tick, int(value.removeprefix("v")), key, False) for key, value in rows.items()]
