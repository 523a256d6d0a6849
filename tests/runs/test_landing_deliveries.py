"""Files arrive, are read once, and are put away: no row twice, none lost."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.projects import ProjectFolder, statuses
from tidegate.hooks.events import Event
from tidegate.results import ModelResult
from tidegate.runs import RunResult

pytestmark = pytest.mark.spark

COUNTS = "SELECT count(*) AS n FROM silver.events"


@dataclass
class Story:
    """Runs of one project to whose zones files come. Every test has a zone of its own."""

    shop: ProjectFolder
    results: list[RunResult] = field(default_factory=list)
    first_events: list[tuple[Any, ...]] = field(default_factory=list)
    """What the first run took of the zone to which a file came while it ran."""

    left: list[list[str]] = field(default_factory=list)
    """What each run left in the zone that is archived."""

    def of(self, number: int, name: str) -> ModelResult:
        return next(m for m in self.results[number].materializations if m.model == name)


@pytest.fixture(scope="module")
def story(module_shop: ProjectFolder) -> Story:
    shop, story = module_shop, Story(module_shop)
    write_models(shop)

    def run(**options: Any) -> None:
        story.results.append(shop.run(**options))
        story.left.append(sorted(path.name for path in (shop.root / "landing/events").iterdir()))

    for path, text in {
        "events/1.csv": "id,n\n1,1\n11,1\n",
        "changing/a.csv": "n\n1\n",
        "replaced/a.csv": "id,n\n1,1\n",
        "items/a.csv": "id,n\n1,1\n2,1\n",
        "rewritten/a.csv": "n\n1\n1\n2\n",
        "copies/a.csv": "id\n1\n",
    }.items():
        shop.file(f"landing/{path}", text)

    def meanwhile(event: Event) -> None:
        if (event.name, event.model) == ("before_materialize", "bronze.events"):
            shop.file("landing/events/2.csv", "id,n\n2,1\n12,1\n")
        if (event.name, event.model) == ("before_materialize", "bronze.changing"):
            shop.file("landing/changing/a.csv", "n\n1\n2\n")

    run(listener=meanwhile)
    story.first_events = shop.rows("SELECT id FROM bronze.events")
    shop.file("landing/replaced/a.csv", "id,n\n1,2\n")
    shop.file("landing/items/b.csv", "id,n\n2,2\n3,1\n")
    shop.file("landing/rewritten/b.csv", "n\n1\n3\n")
    for path in ("replaced/a.csv", "copies/a.csv"):
        os.utime(shop.root / "landing" / path, (1, 1))
    run()
    shop.file("landing/events/3.csv", "id,n\n3,1\n13,1\n")
    shop.file("landing/copies/b.csv", "id\n1\n")
    run()
    shop.file("landing/copies/a.csv", "id\n3\n")
    run()
    run()
    return story


def write_models(shop: ProjectFolder) -> None:
    zone = "SELECT * FROM {{{{ landing_zone('{}') }}}}".format
    once, keyed = {"merge_strategy": "append_only"}, {"merge_strategy": "incremental", "unique_key": "id"}
    shop.model("bronze.events", zone("events"), **once, archive_landing_zones="true")
    shop.model("silver.events", "SELECT id, max(n) AS n FROM bronze.events GROUP BY id", **keyed)
    shop.model("bronze.changing", zone("changing"), **once)
    shop.model("bronze.replaced", zone("replaced"), **keyed)
    shop.model("bronze.items", zone("items"), **keyed)
    shop.model("silver.first_seen", "SELECT id, n FROM bronze.items", **once)
    shop.model("bronze.rewritten", zone("rewritten"))
    shop.model("silver.log", "SELECT n FROM bronze.rewritten", **once)
    shop.model("bronze.copies", zone("copies"), **once)


def test_three_archived_deliveries_leave_every_row_once(story: Story) -> None:
    shop = story.shop
    expected = {"SELECT id FROM bronze.events": [(n,) for n in (1, 11, 12, 13, 2, 3)], COUNTS: [(6,)]}
    assert shop.rows_of(*expected) == expected
    assert story.left[1:] == [["_processed"]] * 4
    assert "Archived 1 landing file to _processed/ in its zone" in [e.data.get("message") for e in shop.events]
    moved = sorted(path.name for path in (shop.root / "landing/events/_processed").rglob("*.csv"))
    assert moved == ["1.csv", "2.csv", "3.csv"]
    assert (story.results[3].exit_code, story.results[4].status) == (0, "skipped")


def test_a_file_that_arrives_during_the_run_is_not_lost(story: Story) -> None:
    assert story.first_events == [(1,), (11,)]
    assert story.left[0] == ["2.csv", "_processed"]
    assert story.of(1, "bronze.events").rows_written == 2


def test_a_file_that_changes_while_it_is_read_fails_the_model(story: Story) -> None:
    failed = story.of(0, "bronze.changing")
    assert (failed.status, failed.failure_kind) == ("failed", "Transient")
    assert "bronze.changing" not in story.results[0].publish.tables
    assert [name for name, status in statuses(story.results[0]).items() if status != "completed"] == [failed.model]
    assert story.shop.rows("bronze.changing") == [(1,), (2,)]


def test_a_replaced_file_is_read_again_and_reported(story: Story) -> None:
    assert story.of(1, "bronze.replaced").reason == "1 replaced file in replaced"
    assert story.shop.rows("bronze.replaced") == [(1, 2)]


def test_append_takes_only_the_rows_that_upstream_gained(story: Story) -> None:
    assert story.shop.rows("silver.first_seen") == [(1, 1), (2, 1), (3, 1)]


def test_append_below_a_table_that_is_rewritten_takes_each_row_once(story: Story) -> None:
    assert story.shop.rows("silver.log") == [(1,), (1,), (1,), (2,), (3,)]


def test_a_touched_file_is_not_loaded_again_and_a_copy_is_reported(story: Story) -> None:
    first = story.results[0].run_id
    touched, copied = story.of(1, "bronze.copies"), story.of(2, "bronze.copies")
    assert (touched.status, touched.reason) == ("skipped", "unchanged")
    assert copied.reason == "1 new file in copies; 1 of them a copy of a file of another name"
    same = f"b.csv in landing zone copies has the same content as a.csv, which {first} read: its rows are read once"
    remedy = "If that is not meant, remove the file and build the table again with --full-refresh"
    assert story.results[2].warnings == (f"bronze.copies: {same} more. {remedy}",)
    other = f"a.csv in landing zone copies has other content than when {first} read it, and is read again"
    assert story.results[3].warnings == (f"bronze.copies: {other}; the rows of its former content stay",)
    assert story.shop.rows("bronze.copies") == [(1,), (1,), (3,)]
