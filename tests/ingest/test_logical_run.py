"""Logical runs: where they start, what they leave, and how they go on after failures."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest.counting_connector import COUNTING, write_entry_point
from tests.ingest.landing_project import LandingProject, contract_document, ingestion
from tidegate.contracts import connectors
from tidegate.contracts.connectors import CONNECTORS
from tidegate.contracts.landing_issues import landing_issues
from tidegate.contracts.stage_contract import StageContract
from tidegate.errors import ConfigError, LandingError, OptionsError, RunCancelledError, SourceError
from tidegate.faults import FAULT_POINTS
from tidegate.ingest import logical_run
from tidegate.ingest.bound_origin import bound_origin
from tidegate.ingest.bronze_position import BronzePosition, bronze_position, checkpoint_text
from tidegate.ingest.landing_folder import exclusive
from tidegate.ingest.port import Bounds, ReadProgress
from tidegate.lake import Consumed, ConsumedFile, Progress, TableMetadata, write_consumed


@pytest.fixture(autouse=True, scope="module")
def _counting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("site")
    write_entry_point(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        connectors._installed.cache_clear()
        yield
    connectors._installed.cache_clear()
    connectors.own_connector_class.cache_clear()


@pytest.fixture
def shop(tmp_path: Path) -> LandingProject:
    return LandingProject(tmp_path)


def write(shop: LandingProject, *numbers: int) -> None:
    (shop.root / "numbers.json").write_text(json.dumps(numbers))


def numbers(shop: LandingProject) -> list[int]:
    return [json.loads(page) for page in shop.pages()]


def cancel() -> None:
    raise RunCancelledError("cancelled")


def test_a_connector_judges_settings_of_its_own() -> None:
    issues = list(landing_issues(StageContract(contract_document(**COUNTING, parity="both"))))
    assert [issue.message for issue in issues] == ["'parity' must be one of odd, even, not 'both'"]
    assert list(landing_issues(StageContract(contract_document(**COUNTING, parity="odd")))) == []


def test_a_run_lands_batches_by_run_and_number_with_a_manifest(shop: LandingProject) -> None:
    write(shop, 1, 2, 3)
    done = shop.land(ingestion(**COUNTING))
    assert shop.everything() == [
        "_manifests/run-1.json",
        "run-1/000001-00000.json",
        "run-1/000001-00001.json",
        "run-1/000002.json",
    ]
    (manifest,) = shop.manifests()
    assert manifest["bounds"] == {"lower": None, "upper": "3"}
    assert (manifest["complete"], manifest["next"], manifest["state"], manifest["rows"]) == (True, "3", None, 3)
    assert (done.bounds, done.checkpoint, done.files) == (Bounds(None, "3"), "3", tuple(shop.listed()))


def test_landing_twice_before_a_run_doubles_nothing(shop: LandingProject) -> None:
    write(shop, 1, 2, 3)
    shop.land(ingestion(**COUNTING))
    assert shop.land(ingestion(**COUNTING)).files == ()
    write(shop, 1, 2, 3, 4)
    assert shop.land(ingestion(**COUNTING)).bounds == Bounds("3", "4")
    assert numbers(shop) == [1, 2, 3, 4]
    assert len(shop.manifests()) == 2


def test_a_run_starts_at_the_checkpoint_once_what_was_landed_is_in_bronze(shop: LandingProject) -> None:
    write(shop, 1, 2, 3, 4, 5)
    landed = shop.land(ingestion(**COUNTING))
    write(shop, 1, 2, 3, 4, 5, 6)
    again = shop.land(ingestion(**COUNTING), consumed=landed.files, checkpoint="4")
    assert again.bounds == Bounds("4", "6")
    first = shop.land(ingestion(**{**COUNTING, "landing_directory": "other"}), checkpoint="5")
    assert first.bounds == Bounds("5", "6")


def test_a_run_that_was_cancelled_continues_with_its_bounds(shop: LandingProject) -> None:
    write(shop, 1, 2, 3, 4, 5)

    with pytest.raises(RunCancelledError):
        shop.land(ingestion(**COUNTING), check_cancelled=cancel)
    write(shop, 1, 2, 3, 4, 5, 6, 7)
    done = shop.land(ingestion(**COUNTING))
    assert (done.run_id, done.resumed, done.bounds, done.rows) == ("run-1", True, Bounds(None, "5"), 5)
    assert shop.land(ingestion(**COUNTING)).bounds == Bounds("5", "7")
    assert numbers(shop) == [1, 2, 3, 4, 5, 6, 7]


def test_an_unfinished_run_of_another_definition_or_unwanted_is_discarded(shop: LandingProject) -> None:
    write(shop, 1, 2, 3)
    for change in ({"restart": True}, {}):
        (shop.root / "failures").write_text("3")
        with pytest.raises(SourceError):
            shop.land(ingestion(**COUNTING), **change)
        (shop.root / "failures").unlink()
    done = shop.land(ingestion(**COUNTING, batch_size=5))
    assert (done.resumed, shop.everything()[0]) == (False, f"_manifests/{done.run_id}.json")
    assert numbers(shop) == [1, 2, 3]


def test_a_failure_that_may_pass_is_attempted_again_after_a_pause(shop: LandingProject) -> None:
    write(shop, 1, 2, 3, 4, 5)
    (shop.root / "failures").write_text("2")
    assert shop.land(ingestion(**COUNTING)).rows == 5
    assert len(shop.times.waited) == 2
    assert all(0 < seconds <= 2 for seconds in shop.times.waited)
    assert numbers(shop) == [1, 2, 3, 4, 5]
    write(shop, 6)
    (shop.root / "failures").write_text("3")
    with pytest.raises(SourceError, match="the line broke"):
        shop.land(ingestion(**COUNTING))
    assert len(shop.times.waited) == 4


def test_progress_is_reported_with_what_was_landed_before(shop: LandingProject) -> None:
    write(shop, 1, 2, 3)
    reports: list[ReadProgress] = []
    shop.land(ingestion(**COUNTING), report=reports.append)
    assert [(report.extent.unit, report.extent.parts, report.extent.rows) for report in reports] == [
        ("ranges", 1, 2),
        ("ranges", 2, 3),
    ]
    assert all((report.rows_per_second or 0) > 0 for report in reports)


def test_a_landed_file_that_is_gone_before_its_run_is_complete_is_reported(shop: LandingProject) -> None:
    write(shop, 1, 2, 3)
    with pytest.raises(RunCancelledError):
        shop.land(ingestion(**COUNTING), check_cancelled=cancel)
    (shop.zone / "run-1/000001-00001.json").unlink()
    with pytest.raises(LandingError, match="3 files were landed, and 2 of them are there") as caught:
        shop.land(ingestion(**COUNTING))
    assert "--restart" in str(caught.value.remedy)
    assert shop.land(ingestion(**COUNTING), restart=True).rows == 3
    assert numbers(shop) == [1, 2, 3]


def test_two_processes_do_not_land_in_one_zone(shop: LandingProject) -> None:
    write(shop, 1)
    with exclusive(shop.zone), pytest.raises(LandingError, match="another process is landing"):
        shop.land(ingestion(**COUNTING))
    assert shop.land(ingestion(**COUNTING)).rows == 1


def test_a_damaged_manifest_is_not_taken_for_none(shop: LandingProject) -> None:
    write(shop, 1)
    shop.land(ingestion(**COUNTING))
    (shop.zone / "_manifests/run-1.json").write_text("{")
    with pytest.raises(LandingError, match="damaged"):
        shop.land(ingestion(**COUNTING))


def test_pushed_files_are_left_alone(shop: LandingProject) -> None:
    pushed = {**COUNTING, "connector": "landing_push"}
    shop.zone.mkdir(parents=True)
    (shop.zone / "day-1.json").write_text("1")
    done = shop.land(ingestion(**pushed), checkpoint="whatever")
    assert (done.files, done.checkpoint, done.batches) == ((), None, 0)
    assert shop.everything() == ["day-1.json"]
    assert [path.name for path in shop.zone.iterdir()] == ["day-1.json"]


@pytest.mark.parametrize("run_id", ["_x", ".x", "a/b"])
def test_a_run_whose_folder_would_not_be_read_is_refused(shop: LandingProject, run_id: str) -> None:
    write(shop, 1)
    with pytest.raises(OptionsError, match="cannot be the id of a run"):
        shop.land(ingestion(**COUNTING), run_id)


def test_a_connector_of_another_package_is_declared_by_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "counting" in CONNECTORS
    assert CONNECTORS["counting"].name == "counting"
    assert "counting" in list(CONNECTORS)
    (issue,) = landing_issues(StageContract(contract_document(**{**COUNTING, "connector": "countin"})))
    assert "counting" in str(issue.suggestion)
    connectors.own_connector_class.cache_clear()
    from tests.ingest.counting_connector import CountingConnector

    monkeypatch.setattr(CountingConnector, "declaration", None)
    with pytest.raises(ConfigError, match="has no 'declaration'"):
        CONNECTORS["counting"]


def test_a_kill_while_an_unfinished_run_is_discarded_leaves_one_to_discard(
    shop: LandingProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(shop, 1, 2, 3)
    with pytest.raises(RunCancelledError):
        shop.land(ingestion(**COUNTING), check_cancelled=cancel)

    def killed(zone: Path, run_id: str) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(logical_run, "remove_manifest", killed)
        with pytest.raises(Killed):
            shop.land(ingestion(**COUNTING), restart=True)
    assert shop.land(ingestion(**COUNTING)).resumed is False
    assert numbers(shop) == [1, 2, 3]


def test_bronze_says_which_files_it_has_and_where_the_next_read_starts(tmp_path: Path) -> None:
    table = TableMetadata(
        **dict.fromkeys(field.name for field in dataclasses.fields(TableMetadata)),  # type: ignore[arg-type]
    )
    files = (ConsumedFile("run-1/000001.json", 1, 1, "run-1"),)
    zone = write_consumed(str(tmp_path), Consumed("orders", files))
    progress = Progress("run-1", "f", "full", "append_only", zones={"orders": zone})
    origin = bound_origin(ingestion(**COUNTING).source)
    checkpoint = checkpoint_text(BronzePosition("7", origin))
    properties = {"tidegate.progress": progress.to_json(), "tidegate.checkpoint": checkpoint}
    table = dataclasses.replace(table, table_location=str(tmp_path), properties=properties)
    assert bronze_position(table, "orders") == BronzePosition("7", origin, frozenset({"run-1/000001.json"}))
    assert bronze_position(table, "other") == BronzePosition("7", origin)
    assert bronze_position(None, "orders") == BronzePosition()


class Killed(BaseException):
    """What ends a process at a fault point, without ending the test."""


POINTS = ("before_ingest", "after_bounds", "before_batch", "after_batch", "after_batch_recorded")
POINTS += ("before_ingest_complete", "after_ingest_complete")


def test_the_points_are_those_of_the_table() -> None:
    assert [name for name in FAULT_POINTS if name in POINTS] == list(POINTS)


@settings(max_examples=40, deadline=None)
@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, 5),
            st.none() | st.tuples(st.sampled_from(POINTS), st.integers(1, 3)),
            st.integers(0, 4),
            st.booleans(),
            st.sampled_from([False, False, True]),
        ),
        max_size=6,
    )
)
def test_whatever_happens_every_number_is_landed_once(
    steps: list[tuple[int, tuple[str, int] | None, int, bool, bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Numbers arrive, runs are killed, the source fails, unfinished runs are discarded, the clock goes back, and bronze
    takes what is complete."""
    shop = LandingProject(tmp_path_factory.mktemp("shop"))
    found, total = ingestion(**COUNTING), 0
    consumed: tuple[str, ...] = ()
    checkpoint: str | None = None
    last = [(1, None, 0, True, False), (0, None, 0, True, False)]
    for arrivals, kill, failures, into_bronze, restart in [*steps, *last]:
        shop.times.seconds -= 1000
        total += arrivals
        write(shop, *range(1, total + 1))
        (shop.root / "failures").write_text(str(failures))
        left = {kill[0]: kill[1]} if kill else {}

        def fault(point: str, left: dict[str, int] = left) -> None:
            left[point] = left.get(point, 0) - 1
            if left[point] == 0:
                raise Killed

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(logical_run, "fault", fault)
            patch.setattr(os, "fsync", lambda handle: None)
            with contextlib.suppress(Killed, SourceError):
                shop.land(found, consumed=consumed, checkpoint=checkpoint, restart=restart)
        complete = [each for each in shop.manifests() if each["complete"]]
        if into_bronze and complete:
            consumed = tuple(shop.listed())
            checkpoint = max(complete, key=lambda each: each["ordinal"])["next"]
    assert numbers(shop) == list(range(1, total + 1))
    assert sorted(shop.listed()) == [name for name in shop.everything() if not name.startswith("_")]
    assert not [name for name in shop.everything() if name.startswith(("_scratch", "_manifests/."))]
