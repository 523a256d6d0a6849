"""Which landing files a run takes, records and puts away."""

from __future__ import annotations

import os
from dataclasses import replace

from tests.pointer_builder import written
from tests.projects import ProjectFolder, statuses
from tidegate.hooks.events import Event
from tidegate.lake.consumed import Consumed, read_consumed, write_consumed
from tidegate.lake.progress import PROGRESS_PROPERTY
from tidegate.names import TableName

EVENTS = TableName("shop", "bronze", "events")


def append(shop: ProjectFolder, name: str = "bronze.events", *, archive: bool = False) -> None:
    archived = {"archive_landing_zones": "true"} if archive else {}
    shop.model(name, "SELECT * FROM {{ landing_zone('events') }}", merge_strategy="append_only", **archived)


def consumed(shop: ProjectFolder) -> Consumed:
    metadata = shop.main.table(EVENTS)
    assert metadata is not None
    assert metadata.progress is not None
    return read_consumed(metadata.table_location, metadata.progress.zones["events"])


def taken(shop: ProjectFolder) -> list[str]:
    return [file.path for file in consumed(shop).files]


def test_a_file_that_arrives_during_the_run_is_taken_by_the_next(pointer_shop: ProjectFolder) -> None:
    append(pointer_shop, archive=True)
    pointer_shop.file("landing/events/a.csv", "n\n1\n")

    def deliver(event: Event) -> None:
        if event.name == "before_materialize":
            pointer_shop.file("landing/events/b.csv", "n\n2\n")

    assert pointer_shop.run(listener=deliver).exit_code == 0
    assert taken(pointer_shop) == ["a.csv"]
    assert (pointer_shop.root / "landing/events/b.csv").exists()
    assert pointer_shop.run().exit_code == 0
    assert taken(pointer_shop) == ["a.csv", "b.csv"]
    assert not (pointer_shop.root / "landing/events/b.csv").exists()


def test_a_file_that_changes_while_it_is_read_fails_the_model(pointer_shop: ProjectFolder) -> None:
    append(pointer_shop)
    path = pointer_shop.file("landing/events/a.csv", "n\n1\n")

    def rewrite(event: Event) -> None:
        if event.name == "before_materialize":
            path.write_text("n\n1\n2\n")

    result = pointer_shop.run(listener=rewrite)
    assert result.exit_code == 1
    assert result.materializations[0].failure_kind == "Transient"
    assert pointer_shop.catalog.head() == {}


def test_a_file_that_two_models_read_is_archived_when_both_have_it(pointer_shop: ProjectFolder) -> None:
    for name in ("a.one", "a.two"):
        append(pointer_shop, name, archive=True)
    pointer_shop.file("landing/events/a.csv", "n\n1\n")
    pointer_shop.run("a.one")
    assert (pointer_shop.root / "landing/events/a.csv").exists()
    pointer_shop.run("a.two")
    assert not (pointer_shop.root / "landing/events/a.csv").exists()


def test_a_run_without_new_files_skips(pointer_shop: ProjectFolder) -> None:
    sql = "SELECT *, current_timestamp() AS at FROM {{ landing_zone('events') }}"
    pointer_shop.model("bronze.events", sql, merge_strategy="append_only")
    pointer_shop.file("landing/events/a.csv", "n\n1\n")
    pointer_shop.run()
    assert statuses(pointer_shop.run()) == {"bronze.events": "skipped"}
    assert pointer_shop.builder.builds == ["bronze.events"]


def test_an_archived_file_that_comes_again_is_neither_loaded_nor_left_lying(pointer_shop: ProjectFolder) -> None:
    append(pointer_shop, archive=True)
    pointer_shop.file("landing/events/a.csv", "id\n1\n")
    pointer_shop.run()
    again = pointer_shop.file("landing/events/a.csv", "id\n1\n")
    os.utime(again, (1, 1))
    result = pointer_shop.run()
    assert (result.status, result.warnings) == ("skipped", ())
    assert not again.exists()
    archived = (pointer_shop.root / "landing/events/_processed").rglob("a.*")
    assert sorted(path.name for path in archived) == ["a.csv", "a.csv.1"]
    assert pointer_shop.builder.builds == ["bronze.events"]
    assert taken(pointer_shop) == ["a.csv"]


def test_digests_are_filled_in_where_a_list_lacks_them(pointer_shop: ProjectFolder) -> None:
    append(pointer_shop)
    pointer_shop.model("silver.events", "SELECT id FROM bronze.events")
    path = pointer_shop.file("landing/events/a.csv", "id\n1\n")
    pointer_shop.run()
    digests = [file.digest for file in consumed(pointer_shop).files]
    _forget_digests(pointer_shop)
    filled = pointer_shop.run()
    assert [m.status for m in filled.materializations] == ["skipped", "skipped"]
    assert filled.materializations[0].reason == "unchanged; digests of its landing files are recorded"
    assert [file.digest for file in consumed(pointer_shop).files] == digests
    os.utime(path, (1, 1))
    assert pointer_shop.run().materializations[0].reason == "unchanged"
    assert pointer_shop.builder.builds == ["bronze.events", "silver.events"]


def _forget_digests(shop: ProjectFolder) -> None:
    """The list as it was written before there were digests."""
    metadata = shop.main.table(EVENTS)
    assert metadata is not None
    assert metadata.progress is not None
    files = consumed(shop)
    bare = replace(files, files=tuple(replace(file, digest=None) for file in files.files))
    zones = {"events": write_consumed(metadata.table_location, bare)}
    progress = replace(metadata.progress, zones=zones).to_json()
    catalog = shop.catalog
    catalog.create_branch("older")
    place = shop.settings.lake.warehouse / str(EVENTS)
    pointer = written(catalog.pointer("main", EVENTS), place, properties={PROGRESS_PROPERTY: progress})
    catalog.restore("older", EVENTS, pointer)
    catalog.publish("older", [EVENTS])
    catalog.drop_branch("older")
