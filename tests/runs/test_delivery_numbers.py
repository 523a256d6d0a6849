"""Files that are read again come in the order in which they were published to their table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tidegate.contracts.connectors import CONNECTORS
from tidegate.ingest.bronze_position import partial_snapshots
from tidegate.lake.consumed import Consumed, ConsumedFile, read_consumed
from tidegate.planner.decide import Decision, RunType
from tidegate.planner.inputs import Inputs, ZoneState
from tidegate.project.landing_files import list_zone, unconsumed
from tidegate.runs.build.deliveries import take_files, zone_batches

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ALL = Decision(RunType.BACKFILL, "--full-refresh", rebuild=True, all_files=True)


class Zone:
    """A landing zone, and what one table has consumed of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.consumed: Consumed | None = None
        (root / "z").mkdir()

    def deliver(self, *names: str) -> None:
        for name in names:
            (self.root / "z" / name).write_text(f"id\n{name}\n")

    def inputs(self) -> Inputs:
        files = list_zone(self.root, "z")
        fresh = unconsumed(files, self.consumed.files if self.consumed else (), lambda file: None)
        return Inputs(zones={"z": ZoneState("z", files, self.consumed, fresh)})

    def publish(self, run_id: str, started_at: datetime = NOW) -> None:
        inputs = self.inputs()
        fresh = {"z": inputs.zones["z"].fresh.all}
        taken = take_files(fresh, {}, inputs, self.root, str(self.root), run_id, started_at)
        self.consumed = read_consumed(str(self.root), taken["z"])

    def order(self) -> list[str]:
        return [file.path for file in zone_batches(self.inputs(), ALL, self.root, "run-9", NOW)["z"].fresh]


def test_a_run_that_began_first_and_was_published_last_comes_last(tmp_path: Path) -> None:
    zone = Zone(tmp_path)
    zone.deliver("c", "b")
    zone.publish("run-2")
    zone.deliver("a")
    zone.publish("run-1")
    zone.deliver("0")
    assert zone.order() == ["b", "c", "a", "0"]
    zone.publish("run-0")
    zone.deliver("Z")
    assert zone.order() == ["b", "c", "a", "0", "Z"]


def test_files_that_were_consumed_without_a_number_come_first_by_their_run(tmp_path: Path) -> None:
    zone = Zone(tmp_path)
    zone.deliver("a", "b", "c")
    marks = (("a", "run-2"), ("b", "run-1"), ("c", "run-1"))
    stats = {file.path: file for file in list_zone(tmp_path, "z")}
    old = tuple(ConsumedFile(path, stats[path].size, stats[path].mtime_ns, run) for path, run in marks)
    zone.consumed = Consumed("z", old)
    zone.deliver("0")
    zone.publish("run-0")
    assert zone.order() == ["b", "c", "a", "0"]


def test_a_replaced_file_takes_the_place_of_its_new_content(tmp_path: Path) -> None:
    zone = Zone(tmp_path)
    zone.deliver("a")
    zone.publish("run-1")
    zone.deliver("b")
    zone.publish("run-2")
    (tmp_path / "z" / "a").write_text("id\nanother\n")
    zone.publish("run-3")
    assert zone.order() == ["b", "a"]


def test_a_full_refresh_keeps_the_numbers(tmp_path: Path) -> None:
    zone = Zone(tmp_path)
    for name, run in (("b", "run-2"), ("a", "run-1")):
        zone.deliver(name)
        zone.publish(run)
    zone.deliver("c")
    inputs = zone.inputs()
    taken = take_files({"z": inputs.zones["z"].files}, {}, inputs, tmp_path, str(tmp_path), "run-3", NOW)
    zone.consumed = read_consumed(str(tmp_path), taken["z"])
    numbers = {mark.path: mark.delivery for mark in zone.consumed.files}
    assert numbers == {"b": 1, "a": 2, "c": 3}


def test_files_that_are_read_again_are_those_of_the_runs_that_read_them_first(tmp_path: Path) -> None:
    zone = Zone(tmp_path)
    zone.deliver("a", "b")
    zone.publish("run-1")
    zone.deliver("c")
    zone.publish("run-2")
    zone.deliver("d")
    (tmp_path / "z" / "c").write_text("id\nanother\n")
    delivery = zone_batches(zone.inputs(), ALL, tmp_path, "run-9", NOW)["z"].delivery
    assert delivery is not None
    assert [delivery.run_of(name).id for name in "abcd"] == ["run-1", "run-1", "run-9", "run-9"]
    assert delivery.run_of("a").started_at == NOW


def test_rows_that_come_later_are_later_whatever_the_clock_says(tmp_path: Path) -> None:
    zone = Zone(tmp_path)
    zone.deliver("a")
    zone.publish("run-1")
    for name, clock, expected in (
        ("b", NOW - timedelta(hours=1), NOW + timedelta(microseconds=1)),
        ("c", NOW, NOW + timedelta(microseconds=2)),
        ("d", NOW + timedelta(hours=1), NOW + timedelta(hours=1)),
    ):
        zone.deliver(name)
        delivery = zone_batches(zone.inputs(), ALL, tmp_path, "run", clock)["z"].delivery
        assert delivery is not None
        assert delivery.run_of(name).started_at == expected
        zone.publish("run", clock)
        delivery = zone_batches(zone.inputs(), ALL, tmp_path, "run-9", clock)["z"].delivery
        assert delivery is not None
        assert delivery.run_of(name).started_at == expected, "a rebuild keeps it"


def test_a_snapshot_of_which_a_file_is_gone_or_replaced_is_not_whole(tmp_path: Path) -> None:
    zone, pushed, landed = Zone(tmp_path), CONNECTORS["landing_push"], CONNECTORS["files"]
    for run in ("run-1", "run-2", "run-3"):
        zone.deliver(f"{run}-a", f"{run}-b")
        zone.publish(run)
    (tmp_path / "z" / "run-1-a").unlink()
    (tmp_path / "z" / "run-2-a").write_text("id\nother\n")
    zone.publish("run-4")
    assert zone.consumed is not None
    there = {file.path for file in list_zone(tmp_path, "z")}
    assert partial_snapshots(zone.consumed.files, there, pushed) == ("run-1", "run-2")

    folders = [ConsumedFile(f"{run}/{name}", 1, 1, "run-9") for run in ("run-1", "run-2") for name in "ab"]
    assert partial_snapshots(folders, {"run-1/a", "run-2/a", "run-2/b"}, landed) == ("run-1",)
