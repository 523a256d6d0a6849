"""Two runs at once: different tables both publish; on the same table nothing is lost."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.lake.places import Place
from tests.pointer_builder import PointerBuilder
from tests.projects import FakeClock, ProjectFolder
from tests.recorded import files_taken, is_current, progress_of, runs_in
from tests.runs.test_catalogs import configure
from tidegate.errors import PublishConflictError
from tidegate.hooks.events import Event, Listener
from tidegate.lake.branch_catalog import MAIN
from tidegate.names import TableName
from tidegate.operations.maintain import maintain_after_run
from tidegate.operations.publish import publish_run
from tidegate.operations.run import run_project
from tidegate.runs import RunOptions, RunResult
from tidegate.runs.lifecycle import run_project as run_with

SERVERS = pytest.mark.skipif(
    not os.environ.get("TIDEGATE_PROVE"), reason="tests/lake tries every catalog: only with TIDEGATE_PROVE"
)
CATALOGS = pytest.mark.parametrize(
    "place", ["embedded", *(pytest.param(kind, marks=SERVERS) for kind in ("jdbc", "nessie", "rest"))], indirect=True
)


def another_run(
    shop: ProjectFolder, *select: str, at: str = "2024-06-02T12:00:00", listener: Listener | None = None, **options: Any
) -> RunResult:
    """A run of another process, with a builder and a clock of its own."""
    return run_with(
        shop.settings,
        RunOptions(select=select, **options),
        [listener] if listener else [],
        FakeClock(at),
        open_builder=PointerBuilder().start,
        maintain=maintain_after_run,
    )


def test_two_runs_on_different_tables_both_publish(pointer_shop: ProjectFolder) -> None:
    pointer_shop.model("a.one", "SELECT 1 AS x")
    pointer_shop.model("a.two", "SELECT 2 AS x")
    results: dict[str, RunResult] = {}
    meet = threading.Barrier(2, timeout=120)

    def wait_for_the_other(event: Event) -> None:
        if event.name == "after_materialize":
            meet.wait()

    def work(name: str, at: str) -> None:
        results[name] = another_run(pointer_shop, name, at=at, listener=wait_for_the_other)

    threads = [
        threading.Thread(target=work, args=(name, f"2024-06-01T12:00:0{n}"))
        for n, name in enumerate(["a.one", "a.two"])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [results[name].publish.tables for name in ("a.one", "a.two")] == [("a.one",), ("a.two",)]
    assert pointer_shop.built_by() == {name: results[name].run_id for name in ("a.one", "a.two")}


@pytest.mark.spark
def test_on_the_same_table_the_second_run_builds_again_and_no_update_is_lost(shop: ProjectFolder) -> None:
    shop.model("bronze.events", "SELECT * FROM {{ landing_zone('events') }}", merge_strategy="append_only")
    shop.model("gold.total", "SELECT sum(n) AS total FROM bronze.events")
    shop.file("landing/events/a.csv", "n\n1\n")
    assert shop.run().exit_code == 0
    shop.file("landing/events/b.csv", "n\n10\n")
    inner: list[RunResult] = []

    def let_another_run_publish_first(event: Event) -> None:
        if event.name == "after_materialize" and event.model == "gold.total" and not inner:
            inner.append(run_project(shop.settings, RunOptions(), [], FakeClock("2024-06-02T12:00:00")))
            shop.file("landing/events/c.csv", "n\n100\n")

    outer = shop.run(listener=let_another_run_publish_first)
    assert inner[0].exit_code == 0
    assert outer.exit_code == 0
    assert outer.publish.conflicts == 1
    assert shop.rows("bronze.events") == [(1,), (10,), (100,)]
    assert shop.rows("gold.total") == [(111,)]
    assert shop.branches() == []


def test_a_conflict_that_does_not_end_fails_and_publishes_nothing(pointer_shop: ProjectFolder) -> None:
    pointer_shop.model("a.one", "SELECT {{ var('n', 0) }} AS x")
    others: list[str] = []

    def always_be_first(event: Event) -> None:
        if event.name == "after_materialize" and len(others) < 9:
            at = f"2024-07-0{len(others) + 1}T12:00:00"
            other = another_run(pointer_shop, at=at, vars={"n": str(len(others))})
            assert other.exit_code == 0
            others.append(other.run_id)

    result = pointer_shop.run(listener=always_be_first, vars={"n": "1000"})
    assert (result.status, result.exit_code, result.failure_kind) == ("failed", 1, "Conflict")
    assert (result.publish.conflicts, result.publish.tables) == (4, ())
    assert len(others) == 4
    assert runs_in(pointer_shop, "a.one") == others
    assert pointer_shop.clock.slept == sorted(pointer_shop.clock.slept)
    assert pointer_shop.branches() == []


def compact(shop: ProjectFolder, table: str) -> None:
    from tidegate.spark.session import child_session

    before = shop.main.pointer(TableName.parse(table, "shop"))
    main = shop.catalog.spark_catalog(MAIN)
    session = child_session(shop.spark, shop.catalog.spark_conf(MAIN), main)
    options = "map('rewrite-all', 'true')"
    session.sql(f"CALL {main}.system.rewrite_data_files(table => 'shop.{table}', options => {options})")
    assert shop.main.pointer(TableName.parse(table, "shop")) != before


@pytest.mark.spark
@CATALOGS
def test_compaction_of_what_a_run_reads_and_writes_is_no_conflict_and_loses_nothing(
    shop: ProjectFolder, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Serializable, so that reading counts too; and what was taken from changes before is not taken again after."""
    configure(shop, place, monkeypatch)
    isolate(shop)
    shop.model("a.log", "SELECT * FROM {{ landing_zone('log') }}", merge_strategy="append_only")
    shop.model("b.copy", "SELECT n FROM a.log", merge_strategy="append_only", skip="never")
    shop.file("landing/log/0.csv", "n\n0\n")
    assert shop.run().exit_code == 0
    shop.file("landing/log/1.csv", "n\n1\n")
    compacted: list[str] = []

    def maintain(event: Event) -> None:
        if event.name == "after_materialize" and event.model == "b.copy" and event.run_id not in compacted:
            compacted.append(event.run_id)
            compact(shop, "a.log")
            compact(shop, "b.copy")

    written, read = shop.run(listener=maintain), shop.run("b.copy", listener=maintain)
    assert len(compacted) == 2
    # A server that only takes a table's next snapshot cannot take one that is not made on top of the compacted ones.
    most = 1 if place.kind == "rest" else 0
    for result in (written, read):
        assert result.exit_code == 0
        assert result.publish.conflicts <= most, result.warnings
    assert shop.rows("a.log") == shop.rows("b.copy") == [(0,), (1,)]


def isolate(shop: ProjectFolder, isolation: str = "serializable") -> None:
    toml = shop.root / "tidegate.toml"
    toml.write_text(f'{toml.read_text()}\n[run]\nisolation = "{isolation}"\n')


def once(when: str, do: Callable[[], RunResult]) -> Callable[[Event], None]:
    """Another run that publishes while this one is about to."""
    done: list[RunResult] = []

    def listener(event: Event) -> None:
        if (event.name, event.model) == ("after_materialize", when) and not done:
            done.append(do())
            assert done[0].exit_code == 0

    return listener


def test_what_was_taken_on_an_old_main_is_taken_again_on_the_new_one(pointer_shop: ProjectFolder) -> None:
    """The same without rows: each file is taken once, and both commits are there."""
    shop = pointer_shop
    shop.model("bronze.events", "SELECT * FROM {{ landing_zone('events') }}", merge_strategy="append_only")
    shop.model("gold.total", "SELECT sum(n) AS total FROM bronze.events")
    shop.file("landing/events/a.csv", "n\n1\n")
    first = shop.run()
    shop.file("landing/events/b.csv", "n\n10\n")
    inner: list[RunResult] = []

    def publish_first() -> RunResult:
        inner.append(another_run(shop))
        shop.file("landing/events/c.csv", "n\n100\n")
        return inner[0]

    outer = shop.run(listener=once("gold.total", publish_first))
    assert (outer.exit_code, outer.publish.conflicts) == (0, 1)
    assert files_taken(shop, "bronze.events", "events") == ["a.csv", "b.csv", "c.csv"]
    assert runs_in(shop, "bronze.events") == [first.run_id, inner[0].run_id, outer.run_id]
    assert is_current(shop, "gold.total")
    assert progress_of(shop, "gold.total").run_id == outer.run_id
    assert shop.branches() == []


@pytest.mark.parametrize(("isolation", "conflicts"), [("snapshot", 0), ("serializable", 1)])
def test_only_serializable_runs_build_again_what_read_a_moved_table(
    pointer_shop: ProjectFolder, isolation: str, conflicts: int
) -> None:
    """Behind a view, which nobody moved; and what was kept for `tidegate publish` conflicts for the same reason."""
    shop = pointer_shop
    isolate(shop, isolation)
    shop.model("a.log", "SELECT * FROM {{ landing_zone('log') }}", merge_strategy="append_only")
    shop.model("a.seen", "SELECT n FROM a.log", materialized="view")
    shop.model("b.total", "SELECT sum(n) AS n FROM a.seen")
    shop.model("b.other", "SELECT 1 AS n", skip="never")
    shop.file("landing/log/0.csv", "n\n1\n")
    assert another_run(shop, "a.*").exit_code == 0
    shop.file("landing/log/1.csv", "n\n10\n")
    result = shop.run("b.*", listener=once("b.total", lambda: another_run(shop, "a.log")))
    assert (result.exit_code, result.publish.conflicts) == (0, conflicts)
    assert is_current(shop, "b.total") is bool(conflicts)
    assert (shop.builder.builds.count("b.total"), shop.builder.builds.count("b.other")) == (1 + conflicts, 1)

    kept = shop.run("b.total", no_publish=True, full_refresh=True)
    shop.file("landing/log/2.csv", "n\n100\n")
    assert another_run(shop, "a.log").exit_code == 0
    before = shop.catalog.head()
    if isolation == "snapshot":
        assert publish_run(shop.settings, kept.run_id).publish.tables == ("b.total",)
        return
    with pytest.raises(PublishConflictError, match=r"a\.log"):
        publish_run(shop.settings, kept.run_id)
    assert (shop.catalog.head(), shop.branches()) == (before, [kept.run_id])


def test_a_table_that_only_a_check_read_counts_as_read(pointer_shop: ProjectFolder) -> None:
    shop, check = pointer_shop, "references(customer, a.customers, id)"
    isolate(shop)
    shop.model("a.customers", "SELECT * FROM VALUES (1), ({{ var('last', 2) }}) AS t(id)")
    shop.model("b.orders", "SELECT 2 AS customer", constraint=check)
    assert shop.run("a.customers").exit_code == 0

    def lose_a_customer() -> RunResult:
        shop.builder.failing_checks[check] = 1
        return another_run(shop, "a.customers", vars={"last": "3"})

    def lost_after_the_check(event: Event) -> None:
        if event.name == "after_checks" and check not in shop.builder.failing_checks:
            assert lose_a_customer().exit_code == 0

    result = shop.run("b.orders", listener=lost_after_the_check)
    assert shop.builder.answered == [("b.orders", check)] * 2
    assert (result.exit_code, result.publish.conflicts, result.publish.tables) == (1, 1, ())
    assert [(m.status, m.failure_kind) for m in result.materializations] == [("failed", "QualityFailed")]


def test_a_model_that_was_skipped_is_built_once_what_it_reads_has_moved(pointer_shop: ProjectFolder) -> None:
    """Else main would have what no order of the two runs gives: see docs/isolation.md."""
    shop = pointer_shop
    isolate(shop)
    shop.model("a.log", "SELECT * FROM {{ landing_zone('log') }}", merge_strategy="append_only")
    shop.model("b.total", "SELECT sum(n) AS n FROM a.log")
    shop.model("b.other", "SELECT 1 AS n", skip="never")
    shop.file("landing/log/0.csv", "n\n1\n")
    assert shop.run().exit_code == 0
    shop.file("landing/log/1.csv", "n\n10\n")
    result = shop.run("b.*", listener=once("b.other", lambda: another_run(shop, "a.log")))
    assert (result.exit_code, result.publish.conflicts) == (0, 1)
    assert set(result.publish.tables) == {"b.total", "b.other"}
    assert is_current(shop, "b.total")
