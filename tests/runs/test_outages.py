"""What a run depends on fails in the middle of it: it ends with a clear result, main is unchanged, and the next one
succeeds."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.hooks.receiver import Reply, in_turn, receiving
from tests.hooks.test_commands import ended
from tests.projects import ProjectFolder, statuses
from tests.recorded import is_current
from tests.services.door import door_to
from tests.services.nessie import Nessie, running_nessie
from tests.services.ports import free_port
from tests.services.small_disk import small_disk
from tests.sources.postgres import Postgres, running_postgres
from tidegate.hooks.events import Event
from tidegate.lake.catalogs import jdbc as lake_on_postgres
from tidegate.operations.reap import reap
from tidegate.runs import RunResult
from tidegate.state import open_reader, store

PROVE = pytest.mark.skipif(not os.environ.get("TIDEGATE_PROVE"), reason="takes long: make prove")
Service = tuple[str, Callable[[], object], Callable[[], object]]
"""Its address, how it stops, and how it is there again."""

AGAIN = {"max_retries": "2", "retry_delay_seconds": "0"}


def once(name: str, model: str | None, deed: Callable[[], object]) -> Callable[[Event], None]:
    """A listener that does the deed when the event comes for the first time."""
    done: list[Event] = []

    def listen(event: Event) -> None:
        if (event.name, event.model) == (name, model) and not done:
            done.append(event)
            deed()

    return listen


def configure(shop: ProjectFolder, text: str) -> None:
    shop.file("tidegate.toml", f'[project]\nname = "shop"\n\n{text}\n')


def build(shop: ProjectFolder, value: int, **directives: str) -> None:
    shop.model("bronze.a", f"SELECT {value} AS x")
    shop.model("silver.b", "SELECT x + 1 AS y FROM bronze.a", **directives)


@pytest.fixture(params=["pointers", pytest.param("spark", marks=[pytest.mark.spark, PROVE])])
def any_shop(request: pytest.FixtureRequest) -> ProjectFolder:
    """Built with pointers alone; in the long form by Spark, too, to which the catalog is lost as well."""
    shop: ProjectFolder = request.getfixturevalue("shop" if request.param == "spark" else "pointer_shop")
    return shop


def expect_built(shop: ProjectFolder, result: RunResult, y: int) -> None:
    """`silver.b` is of this run, and has the value that it gives."""
    assert result.status == "success", result.materializations
    assert shop.built_by()["silver.b"] == result.run_id
    if shop.spark is None:
        assert is_current(shop, "silver.b")
    else:
        assert shop.rows("silver.b") == [(y,)]


def failure(result: RunResult, model: str) -> tuple[str | None, str]:
    (found,) = (m for m in result.materializations if m.model == model)
    assert found.status == "failed"
    return found.failure_kind, found.error or ""


@contextmanager
def unharmed(shop: ProjectFolder) -> Iterator[None]:
    """Main is the same before and after, and a run then succeeds."""
    before = shop.catalog.head()
    yield
    assert shop.catalog.head() == before
    shop.clock.set("2024-06-02T12:00:00")
    expect_built(shop, shop.run(), 3)


@contextmanager
def killed(tmp_path: Path) -> Iterator[Service]:
    """A server of its own, which remembers what it knew."""
    port, folder = free_port(), tmp_path / "nessie"
    with ExitStack() as running:
        running.enter_context(running_nessie(port, folder))
        yield (
            f"http://127.0.0.1:{port}/api/v2",
            running.close,
            lambda: running.enter_context(running_nessie(port, folder)),
        )


@contextmanager
def cut_off(nessie: Nessie) -> Iterator[Service]:
    """The server of all tests: to those who come through the door, it is as if it had been killed."""
    with door_to(urlsplit(nessie.uri).port or 0) as door:
        yield f"http://127.0.0.1:{door.port}/api/v2", door.slam, door.open


@pytest.mark.spark
@pytest.mark.parametrize("how", [cut_off, pytest.param(killed, marks=PROVE)])
def test_nessie_stops_while_a_model_is_built(
    any_shop: ProjectFolder, tmp_path: Path, request: pytest.FixtureRequest, how: Callable[..., Any]
) -> None:
    shop, uri, ref = any_shop, "", "main"
    if how is cut_off:
        uri, ref = str(request.getfixturevalue("nessie_lake")).split(" ")
    with how(Nessie(uri) if uri else tmp_path) as (address, stop, start):
        configure(shop, f'[lake]\ncatalog = "nessie"\nuri = "{address}"\nref = "{ref}"')
        build(shop, 1)
        assert shop.run().status == "success"
        build(shop, 2)
        with unharmed(shop):
            stopped = shop.run(listener=once("before_materialize", "silver.b", stop))
            start()
            assert (stopped.status, stopped.exit_code, stopped.publish.tables) == ("failed", 1, ())
            kind, error = failure(stopped, "silver.b")
            assert kind == "ConnectionFailed", error
            assert stopped.failure_kind == "ConnectionFailed"
            assert "cannot be reached" in (stopped.error or "")
            assert "not built a second time" in (stopped.remedy or "")
            assert stopped.publish.in_doubt
            assert "could not be removed" in stopped.warnings[-1]
            assert shop.branches() == [stopped.run_id]
        shop.clock.set("2030-01-01T00:00:00")
        assert [one.name for one in reap(shop.settings, shop.clock).dropped_branches] == [stopped.run_id]
        assert shop.branches() == []


@pytest.mark.spark
@PROVE
@pytest.mark.parametrize("kind", ["nessie", "jdbc"])
def test_a_catalog_stops_while_a_job_of_spark_runs(
    shop: ProjectFolder, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake_on_postgres, "_RESTART_SECONDS", 0.1)
    port, folder = free_port(), tmp_path / "nessie"
    slow = "SELECT max(x + hash(id) % 2) AS y FROM bronze.a, range(60000000)"
    with ExitStack() as servers:
        if kind == "nessie":
            configure(shop, f'[lake]\ncatalog = "nessie"\nuri = "http://127.0.0.1:{port}/api/v2"')
            stack = servers.enter_context(ExitStack())
            stack.enter_context(running_nessie(port, folder))
            stop: Callable[[], object] = stack.close

            def start() -> object:
                return servers.enter_context(running_nessie(port, folder))
        else:
            server = servers.enter_context(running_postgres())
            configure(shop, f'[lake]\ncatalog = "jdbc"\nuri = "postgresql://postgres@127.0.0.1:{server.port}/postgres"')
            stop, start = server.stop, server.start
        build(shop, 1)
        assert shop.run().status == "success"
        before = shop.catalog.head()
        build(shop, 2)
        shop.model("silver.b", slow)
        stopped = shop.run(listener=once("before_materialize", "silver.b", threading.Timer(1, stop).start))
        assert (stopped.status, stopped.publish.tables) == ("failed", ())
        told, error = failure(stopped, "silver.b")
        assert told in ("ConnectionFailed", "Unknown"), error
        assert "Traceback" not in error
        start()
        assert shop.catalog.head() == before
        build(shop, 2)
        shop.clock.set("2024-06-02T12:00:00")
        assert shop.run().status == "success"
        assert shop.rows("silver.b") == [(3,)]


def test_postgresql_with_the_lake_is_restarted_while_a_model_is_built(
    any_shop: ProjectFolder, postgres: Postgres, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = any_shop
    monkeypatch.setenv("LAKE", postgres_url)
    configure(shop, '[lake]\ncatalog = "jdbc"\nuri = "${LAKE}"')
    build(shop, 1)
    assert shop.run().status == "success"

    def restart() -> None:
        postgres.stop()
        postgres.start()

    build(shop, 4, **AGAIN)
    survived = shop.run(listener=once("before_materialize", "silver.b", restart))
    expect_built(shop, survived, 5)

    build(shop, 2)
    monkeypatch.setattr(lake_on_postgres, "_RESTART_SECONDS", 0.1)
    with unharmed(shop):
        try:
            stopped = shop.run(listener=once("before_materialize", "silver.b", postgres.stop))
        finally:
            postgres.start()
        assert (stopped.status, stopped.failure_kind) == ("failed", "ConnectionFailed")
        assert failure(stopped, "silver.b")[0] == "ConnectionFailed"
        assert shop.branches() == [stopped.run_id]
        shop.catalog.drop_branch(stopped.run_id)
        try:
            unpublished = shop.run(listener=once("after_model_run", "silver.b", postgres.stop))
        finally:
            postgres.start()
        assert set(statuses(unpublished).values()) == {"completed"}
        assert (unpublished.status, unpublished.publish.tables) == ("failed", ())
        assert "not built a second time" in (unpublished.remedy or "")
        assert unpublished.publish.in_doubt
        shop.catalog.drop_branch(unpublished.run_id)

        def for_a_while(event: Event) -> None:
            stop(event)
            start(event)

        stop = once("before_materialize", "silver.b", postgres.stop)
        start = once("after_model_run", "silver.b", postgres.start)
        unrestored = shop.run(listener=for_a_while, no_publish=True)
        assert statuses(unrestored) == {"bronze.a": "completed", "silver.b": "failed"}
        assert "could not be restored" in unrestored.warnings[0]
        assert shop.branches() == []  # what nobody knows is not kept to be published


def test_postgresql_with_the_history_is_restarted_while_a_model_is_built(
    any_shop: ProjectFolder, postgres: Postgres, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = any_shop
    monkeypatch.setenv("STATE", postgres_url)
    configure(shop, '[state]\nurl = "${STATE}"')
    build(shop, 1)

    def restart() -> None:
        postgres.stop()
        postgres.start()

    first = shop.run(listener=once("before_materialize", "silver.b", restart))
    assert (first.status, first.warnings) == ("success", ())
    with open_reader(postgres_url) as reader:
        assert [event.name for event in reader.events(first.run_id)][-1] == "state_synced"

    build(shop, 2)
    monkeypatch.setattr(store, "_RESTART_SECONDS", 0.1)
    with unharmed(shop):
        try:
            lost = shop.run(listener=once("before_materialize", "silver.b", postgres.stop))
        finally:
            postgres.start()
        assert (lost.status, lost.exit_code, lost.failure_kind) == ("failed", 1, "ConnectionFailed")
        assert "The state database" in (lost.error or "")
        assert shop.branches() == []

    build(shop, 5)
    try:
        shop.clock.set("2024-06-03T12:00:00")
        published = shop.run(listener=once("published", None, postgres.stop))
    finally:
        postgres.start()
    assert (published.status, published.publish.tables) == ("partial", ("bronze.a", "silver.b"))
    assert "The state database" in (published.error or "")
    assert shop.built_by()["silver.b"] == published.run_id


@pytest.mark.spark
def test_the_disk_of_the_warehouse_is_full(shop: ProjectFolder, tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", 4) as disk:
        configure(shop, f'[lake]\nwarehouse = "{disk.folder}/warehouse"')
        build(shop, 1)
        assert shop.run().status == "success"
        build(shop, 2)
        with unharmed(shop):
            full = shop.run(listener=once("before_materialize", "bronze.a", disk.fill))
            disk.free()
            kind, error = failure(full, "bronze.a")
            assert (kind, full.exit_code) == ("Transient", 1), error
            assert "No space left on device" in error
            assert shop.branches() == []


def test_the_disk_of_everything_is_full(pointer_shop: ProjectFolder, tmp_path: Path) -> None:
    shop = pointer_shop
    with small_disk(tmp_path / "small", 6) as disk:
        shop.root = disk.folder / "shop"
        configure(shop, "")
        build(shop, 1)
        assert shop.run().status == "success"
        build(shop, 2)
        with unharmed(shop):
            full = shop.run(listener=once("before_materialize", "silver.b", disk.fill))
            disk.free()
            assert (full.status, full.exit_code, full.publish.tables) == ("failed", 1, ())
            assert "full" in (full.error or "")


def test_webhooks_that_never_answer_and_commands_that_hang_cost_their_time_out_only(
    pointer_shop: ProjectFolder,
) -> None:
    shop = pointer_shop

    def never(came: object) -> Reply:
        receiver.over.wait(60)
        return Reply()

    build(shop, 1)
    with receiving(never) as receiver:
        web = f'url = "{receiver.url}"\ntimeout = "200ms"\nretries = 0\n'
        hang = 'command = "sleep 600 & echo $! >> pids; wait"\ntimeout = "200ms"\n'
        hooks = (
            f'[[hooks]]\nname = "slow"\nevents = "pipeline_complete"\n{web}'
            f'[[hooks]]\nname = "later"\nevents = "after_model_run"\nasync = true\n{web}'
            f'[[hooks]]\nname = "gate"\nevents = "before_materialize"\nmodels = ["silver.b"]\n{hang}'
        )
        configure(shop, f"{hooks}[callback]\n{web}")
        started = time.monotonic()
        result = shop.run()
        assert time.monotonic() - started < 30
        assert result.status == "success"
        assert sorted(result.warnings) == [
            "hook 'gate' on before_materialize of silver.b failed: not done after 200ms, so it was ended",
            "hook 'later' on after_model_run of bronze.a failed: no response within 200ms",
            "hook 'later' on after_model_run of silver.b failed: no response within 200ms",
            "hook 'slow' on pipeline_complete failed: no response within 200ms",
            f"the callback to {receiver.url} failed: no response within 200ms",
        ]
        build(shop, 2)
        before = shop.catalog.head()
        for aborting in (hang, web):
            gate = f'[[hooks]]\nname = "gate"\nevents = "before_materialize"\non_failure = "abort"\n{aborting}'
            configure(shop, gate)
            stopped = shop.run()
            assert (stopped.status, stopped.exit_code, stopped.failure_kind) == ("failed", 1, "Timeout")
            assert "hook 'gate' on before_materialize of bronze.a failed" in (stopped.error or "")
            assert (shop.catalog.head(), shop.branches()) == (before, [])
    assert all(ended(int(process), 30) for process in (shop.root / "pids").read_text().split())


def test_a_hook_that_aborts_is_not_asked_again_though_its_failure_may_pass(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    with receiving(in_turn(Reply(503, "later"))) as receiver:
        configure(
            shop,
            f'[[hooks]]\nname = "gate"\nevents = "before_materialize"\nurl = "{receiver.url}"\nretries = 0\n'
            'on_failure = "abort"\n',
        )
        shop.model("bronze.a", "SELECT 1 AS x", **AGAIN)
        result = shop.run()
    assert (result.status, result.failure_kind, statuses(result)) == ("failed", "Transient", {"bronze.a": "failed"})
    assert (len(receiver.posts), len(result.materializations[0].attempts)) == (1, 1)
    assert result.warnings == ()
