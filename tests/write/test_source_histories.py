"""One history of a source ends with the same live rows, as a log in any order, as complete snapshots, and rebuilt.

A log that is split at any places and shuffled between them gives the same table, and so do snapshots that are read one
by one or several at once.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from tests.transform.bronze_rows import bronze_frame
from tidegate.contracts.ingestion import DeletionRules, SilverColumn, SilverRules
from tidegate.names import TableName
from tidegate.project.model import ModelSettings, Strategy
from tidegate.transform.silver import validated
from tidegate.write import DeleteRequest, DeletionCounts, SourceSnapshot, WriteOutcome, WriteRequest, write
from tidegate.write.request import SNAPSHOT, summed
from tidegate.write.strategies import current_state

from .conftest import Branch

pytestmark = pytest.mark.spark

SEEDS, BATCHES = (range(12), 3) if os.environ.get("TIDEGATE_PROVE") else (range(1), 2)
KEYS, TICKS = 60, 8
FIRST = datetime(2024, 1, 1, tzinfo=UTC)
CURRENT = ModelSettings(strategy=Strategy.CURRENT_STATE, unique_key=("id",))
HISTORY = ModelSettings(strategy=Strategy.SCD2, unique_key=("id",), watermark_column="_commit_time")
COLUMNS = (SilverColumn("id", "int", ("id",), primary_key=True), SilverColumn("v", "string", ("v",)))


@dataclass(frozen=True, order=True)
class Event:
    """A change of one key."""

    tick: int
    sequence: int
    key: int
    deletes: bool
    value: str

    @property
    def row(self) -> dict[str, object]:
        """As bronze has it."""
        return {
            "id": self.key,
            "v": None if self.deletes else self.value,
            "_op": "delete" if self.deletes else "insert",
            "_commit_time": _time(self.tick),
            "_sequence": f"{self.sequence:06d}",
        }


def _time(tick: int) -> str:
    return (FIRST + timedelta(hours=tick)).isoformat(sep=" ")


def random_history(chance: random.Random, settings: ModelSettings) -> list[Event]:
    """Some keys change several times in one tick, are deleted twice, or deleted before they are known.

    A history of versions that comes in any order does not know when the same values came again, so each is another.
    """
    ticks = sorted(chance.randint(1, TICKS) for _ in range(KEYS * 4))
    events = [Event(0, 0, 0, False, "v")]
    for place, tick in enumerate(ticks, 1):
        value = f"v{place}" if settings is HISTORY else f"v{chance.randrange(3)}"
        events.append(Event(tick, place, chance.randrange(1, KEYS), chance.random() < 0.35, value))
    return events


def newest(events: Iterable[Event]) -> dict[int, Event]:
    """Of each live key."""
    rows: dict[int, Event] = {}
    for event in sorted(events):
        rows.pop(event.key, None)
        if not event.deletes:
            rows[event.key] = event
    return rows


def live_rows(events: Iterable[Event]) -> dict[int, str]:
    return {key: event.value for key, event in newest(events).items()}


class Table:
    def __init__(self, branch: Branch, name: str, settings: ModelSettings, soft: bool) -> None:
        self.branch, self.settings, self.soft = branch, settings, soft
        self.name = TableName("shop", "silver", name)

    def take_log(self, events: Sequence[Event], seen: Sequence[Event], *, rebuild: bool = False) -> WriteOutcome:
        """`seen`: all events so far."""
        deletes = [event.row for event in seen if event.deletes]
        if deletes:
            tombstones = bronze_frame(self.branch.session, deletes).selectExpr("id", "_commit_time", "_sequence")
            tombstones.createOrReplaceTempView("__tombstones")
        known = None if rebuild or not deletes else "__tombstones"
        deletion = DeleteRequest(DeletionRules(inferred=False, soft=self.soft), tombstones=known)
        return self._take(events, deletion, rebuild)

    def take_snapshots(self, snapshots: Sequence[tuple[int, list[Event]]], *, rebuild: bool = False) -> WriteOutcome:
        """Each with its tick, at which all of its rows were read."""
        present = [(f"s{tick}", event) for tick, events in snapshots for event in events]
        values = ", ".join(
            f"({event.key}, '{name}', TIMESTAMP '{event.row['_commit_time']}', '{event.row['_sequence']}')"
            for name, event in present
        )
        query = f"SELECT * FROM VALUES {values} AS t(id, {SNAPSHOT}, _commit_time, _sequence)"
        self.branch.session.sql(query).createOrReplaceTempView("__present")
        taken = tuple(SourceSnapshot(f"s{tick}", FIRST + timedelta(hours=tick)) for tick, _ in snapshots)
        rules = DeletionRules(inferred=True, soft=self.soft, max_ratio=1.0)
        return self._take([event for _, event in present], DeleteRequest(rules, "__present", taken), rebuild)

    def _take(self, events: Sequence[Event], deletion: DeleteRequest, rebuild: bool) -> WriteOutcome:
        session, strategy = self.branch.session, "history" if self.settings is HISTORY else "current_state"
        rules = SilverRules("things", "things", COLUMNS, ("id",), strategy, deletion.rules)
        frame = bronze_frame(session, [{**event.row, "_source_row": at} for at, event in enumerate(events)])
        with validated(session, frame, rules, "things", "1", "run", FIRST, None) as rows:
            request = WriteRequest(
                session,
                self.branch.lake,
                self.name,
                rows.valid,
                self.settings,
                FIRST,
                complete=False,
                rebuild=rebuild,
                deletion=deletion,
            )
            return write(request)

    @property
    def live(self) -> dict[int, str]:
        where = "is_current" if self.settings is HISTORY else "NOT _is_deleted" if self.soft else "true"
        rows = self.branch.session.sql(f"SELECT id, v FROM {self.name.quoted} WHERE {where}").collect()
        assert len({row["id"] for row in rows}) == len(rows)
        return {row["id"]: row["v"] for row in rows}

    def rows(self, *but: str) -> list[str]:
        return sorted(map(str, self.branch.session.table(self.name.quoted).drop(*but).collect()))


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
    events = random_history(chance, settings)
    name = f"source_{settings.strategy}_{soft}_{seed}"
    log, ordered, snapshots = (Table(branch, f"{name}_{path}", settings, soft) for path in ("log", "ordered", "states"))

    delivered = chance.sample(events, len(events))
    for start in range(BATCHES):
        seen = [event for at, event in enumerate(delivered) if at % BATCHES <= start]
        log.take_log([event for at, event in enumerate(delivered) if at % BATCHES == start], seen)
    assert log.live == live_rows(events)

    pointer = branch.lake.pointer(log.name)
    replay = log.take_log(chance.sample(events, len(events)), events)
    assert not replay.changed
    assert branch.lake.pointer(log.name) == pointer

    batches = list(_split(chance, events, settings))
    for number, batch in enumerate(batches, 1):
        ordered.take_log(chance.sample(batch, len(batch)), [event for part in batches[:number] for event in part])
    by_batches = ordered.rows()
    assert not ordered.take_log(batches[0], events).changed
    ordered.take_log(chance.sample(events, len(events)), events, rebuild=True)
    assert ordered.rows() == by_batches
    assert ordered.live == live_rows(events)

    states = [(tick, _snapshot(events, tick)) for tick in sorted(chance.sample(range(1, TICKS), 4))]
    states.append((TICKS, _snapshot(events, TICKS)))
    snapshots.take_snapshots(states[:1])
    snapshots.take_snapshots(states[1:4])
    snapshots.take_snapshots(states[4:])
    assert snapshots.live == live_rows(events) == log.live
    # A row whose values stay the same keeps the time at which they came; rebuilt, the newest.
    times = () if settings is HISTORY else ("_commit_time", "_sequence")
    one_by_one = snapshots.rows(*times)
    snapshots.take_snapshots(states, rebuild=True)
    assert snapshots.rows(*times) == one_by_one


def _split(chance: random.Random, events: list[Event], settings: ModelSettings) -> Iterator[list[Event]]:
    """Parts one after the other. A history of versions has one for each time, so no time is divided."""
    places: Sequence[int] = range(1, len(events))
    if settings is HISTORY:
        places = [at for at in places if events[at].tick != events[at - 1].tick]
    cuts = sorted(chance.sample(places, BATCHES - 1))
    for start, end in zip([0, *cuts], [*cuts, len(events)], strict=True):
        yield events[start:end]


def _snapshot(events: Sequence[Event], tick: int) -> list[Event]:
    """The rows that are there at a time, read at that time."""
    rows = newest(event for event in events if event.tick <= tick)
    return [Event(tick, row.sequence, key, False, row.value) for key, row in rows.items()]
