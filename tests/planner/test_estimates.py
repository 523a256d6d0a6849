"""What a step would read, how long it would take, and which way is cheaper."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.planner.histories import BYTES_PER_ROW, History
from tidegate.lake.changes import TableChange, change_since
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.progress import Progress
from tidegate.names import TableName
from tidegate.planner.deltas.delta_query import DeltaQuery, Image, ImageRead
from tidegate.planner.estimate import Estimate, TimeEstimate, estimate_all, estimate_delta, estimate_new, probable_time
from tidegate.planner.inputs import Inputs, ZoneState
from tidegate.project.landing_files import UnconsumedFiles, ZoneFile

ORDERS, CUSTOMERS = TableName("shop", "bronze", "orders"), TableName("shop", "bronze", "customers")
FILTER = DeltaQuery(("id",), True, "touched", "result", (ImageRead("o", ORDERS, Image.AFTER),))
LOOKUP = DeltaQuery(
    ("id",), True, "touched", f"SELECT 1 FROM {ORDERS.quoted} JOIN {CUSTOMERS.quoted}", (
        ImageRead("a", ORDERS, Image.AFTER),
        ImageRead("b", ORDERS, Image.BEFORE),
    ),
)  # fmt: skip


class World:
    """A table of orders with a history, perhaps customers beside it, and a target of so many rows."""

    def __init__(self, folder: Path, orders: str, customers: int = 0, target: int | None = None) -> None:
        history = History(folder / "orders")
        self.now = history.play(orders.replace("; ", "\n"))
        assert history.was_read
        found = change_since(self.now, history.was_read.table_input())
        self.changes = {ORDERS: found} if isinstance(found, TableChange) else {}
        metadata = {str(ORDERS): self.now}
        if customers:
            metadata[str(CUSTOMERS)] = History(folder / "customers").play(f"append +{customers}")
        self.inputs = Inputs({n: m.table_input() for n, m in metadata.items()}, metadata=metadata)
        rows = self.now.total_records if target is None else target
        self.own: TableMetadata = History(folder / "own").play(f"append +{rows}")

    def seconds(self, delta: DeltaQuery = FILTER, progress: Progress | None = None) -> tuple[float, float]:
        large = estimate_all(self.inputs, self.own, progress).seconds
        small = estimate_delta(self.inputs, self.changes, delta, self.own, progress).seconds
        assert large is not None
        assert small is not None
        return small, large


def last_full(ms: int, rows: int, used: tuple[str, ...] | None = None, world: World | None = None) -> Progress:
    tables = {str(ORDERS): world.now.table_input(used)} if world else {}
    return Progress("r", "f", "full", "full_refresh", tables=tables, full_ms=ms, full_rows=rows)


def test_all_rows_and_bytes_are_counted_for_the_columns_that_are_read(tmp_path: Path) -> None:
    world = World(tmp_path, "append +1000; read; delete -100")
    whole = estimate_all(world.inputs, world.own, None)
    assert (whole.rows, whole.bytes) == (900, 1000 * BYTES_PER_ROW)
    half = estimate_all(world.inputs, world.own, last_full(500, 1000, ("id", "amount"), world))
    assert (half.rows, half.bytes) == (900, 1000 * BYTES_PER_ROW // 2)


def test_a_delta_reads_what_was_written_and_what_it_looks_up(tmp_path: Path) -> None:
    world = World(tmp_path, "append +1000; read; merge ~10", customers=50)
    few = estimate_delta(world.inputs, world.changes, FILTER, world.own, None)
    assert (few.rows, few.bytes) == (10, 10 * BYTES_PER_ROW)
    more = estimate_delta(world.inputs, world.changes, LOOKUP, world.own, None)
    assert more.rows == 10 + 10 + 1000 + 50


@pytest.mark.parametrize("rows", [10, 10_000, 200_000])
def test_small_tables_are_built_from_all_rows(tmp_path: Path, rows: int) -> None:
    small, large = World(tmp_path, f"append +{rows}; read; merge ~1 key=id").seconds()
    assert large < small


@pytest.mark.parametrize("ms", [500, 3_000, 60_000])
def test_a_slow_start_does_not_make_a_small_table_large(tmp_path: Path, ms: int) -> None:
    small, large = World(tmp_path, "append +1000; read; merge ~1").seconds(FILTER, last_full(ms, 1000))
    assert large < small


def test_few_changes_of_a_large_table_are_cheaper_and_many_are_not(tmp_path: Path) -> None:
    few = World(tmp_path / "few", "append +20000000; read; merge ~20000 key=id").seconds()
    many = World(tmp_path / "many", "append +20000000; read; merge ~18000000 key=id").seconds()
    assert few[0] < few[1] / 2
    assert many[0] > many[1]


def test_changes_that_touch_every_group_cost_as_much_as_all_rows(tmp_path: Path) -> None:
    """Twenty thousand changed rows of twenty million are few, unless there are only a thousand groups."""
    slow = last_full(15_000, 20_000_000)
    groups = World(tmp_path / "few", "append +20000000; read; merge ~20000", target=1000).seconds(LOOKUP, slow)
    rows = World(tmp_path / "many", "append +20000000; read; merge ~20000", target=20000000).seconds(LOOKUP, slow)
    assert groups[0] > groups[1]
    assert rows[0] < rows[1]


def test_history_makes_a_heavy_query_known(tmp_path: Path) -> None:
    world = World(tmp_path, "append +1000000; read; merge ~100 key=id")
    plain = world.seconds()
    heavy = world.seconds(FILTER, last_full(4_000, 1_000_000))
    assert plain[1] < plain[0]
    assert heavy[0] < heavy[1]


def test_files_have_a_size_and_sources_outside_have_not(tmp_path: Path) -> None:
    old, new = ZoneFile("a.csv", 100, 1), ZoneFile("b.csv", 20, 1)
    zone = ZoneState("z", (old, new), None, UnconsumedFiles((new,), ()))
    assert estimate_all(Inputs(zones={"z": zone}), None, None) == Estimate(None, 120, None)
    assert estimate_new(Inputs(zones={"z": zone})) == Estimate(None, 20, None)
    assert estimate_all(Inputs(untracked=frozenset({"erp.a.b"})), None, None) == Estimate()


def test_the_probable_time_is_the_middle_of_what_was_with_its_spread() -> None:
    assert probable_time([3000, 1000, 1200], Estimate(1, 1, 99.0)) == TimeEstimate(1.2, 1.0, 3.0, 3)
    assert probable_time([], Estimate(1, 1, 2.0)) == TimeEstimate(2.0, 1.0, 4.0, 0)
    assert probable_time([], Estimate()) is None
