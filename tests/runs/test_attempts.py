"""Models that are tried again, those that are not, and those that take too long."""

from __future__ import annotations

import pytest

from tests.projects import FAILS, ProjectFolder, statuses
from tests.services.door import door_to
from tests.sources.postgres import running_postgres
from tidegate.compiler.compiled import CompiledModel
from tidegate.hooks.events import Event
from tidegate.runs.clock import SystemClock
from tidegate.runs.context import RunContext


@pytest.mark.spark
def test_what_may_pass_is_tried_again_and_what_may_not_is_tried_once(shop: ProjectFolder) -> None:
    with running_postgres() as server, door_to(server.port) as door:
        server.execute("create table public.orders (id bigint)", "insert into public.orders values (1), (2)")
        address = f"postgresql://postgres@127.0.0.1:{door.port}/postgres"
        shop.file("tidegate.toml", f'[project]\nname = "shop"\n[sources.erp]\nkind = "database"\nurl = "{address}"\n')
        again = {"max_retries": "2", "retry_delay_seconds": "0"}
        shop.model("silver.orders", "SELECT id FROM erp.public.orders", **again)
        shop.model("silver.broken", "SELECT 1 DIV (id - id) AS x FROM range(3)", **again)
        shop.model("gold.ids", "SELECT max(id) AS id FROM silver.orders")

        def listen(event: Event) -> None:
            if (event.name, event.model) == ("before_model_run", "silver.orders"):
                door.is_open = False
            elif event.name == "warning" and "silver.orders: attempt 2 failed" in event.data["message"]:
                door.is_open = True

        result = shop.run(listener=listen)
    assert statuses(result) == {"silver.orders": "completed", "silver.broken": "failed", "gold.ids": "completed"}
    tries = {m.model: [try_["failure_kind"] for try_ in m.attempts] for m in result.materializations}
    assert tries["silver.orders"] == ["ConnectionFailed", "ConnectionFailed", None]
    assert tries["silver.broken"] == ["QueryRejected"]
    assert shop.rows("gold.ids") == [(2,)]
    assert len([warning for warning in result.warnings if "trying again" in warning]) == 2


@pytest.mark.spark
def test_a_model_that_takes_too_long_is_ended_and_its_siblings_go_on(shop: ProjectFolder) -> None:
    shop.clock = SystemClock()  # type: ignore[assignment]
    shop.model("silver.slow", "SELECT count(*) AS n FROM range(100000000000) WHERE id % 7 = 3", timeout="1s")
    shop.model("silver.quick", "SELECT 1 AS id")
    result = shop.run()
    assert statuses(result) == {"silver.slow": "failed", "silver.quick": "completed"}
    slow = next(m for m in result.materializations if m.model == "silver.slow")
    assert (slow.failure_kind, slow.error) == ("Timeout", "it took longer than 1s")
    assert slow.duration_ms < 10_000
    assert shop.rows("silver.quick") == [(1,)]


def test_a_run_that_takes_too_long_publishes_nothing(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    shop.clock = SystemClock()  # type: ignore[assignment]
    shop.file("tidegate.toml", '[project]\nname = "shop"\n[run]\ntimeout = "1s"\n')
    shop.model("silver.quick", "SELECT 1 AS id")
    shop.model("gold.slow", "SELECT id FROM silver.quick")
    shop.builder.while_building["gold.slow"] = until_cancelled
    result = shop.run()
    told = [m.error for m in result.materializations]
    assert (result.status, result.exit_code, result.failure_kind) == ("failed", 1, "Timeout"), told
    assert "the run took longer than 1s" in (result.error or "")
    assert (shop.main.heads(), shop.branches()) == ({}, [])


def until_cancelled(run: RunContext, model: CompiledModel) -> None:
    assert run.cancellation.wait(60)
    run.cancellation.check()


def test_the_rest_is_not_tried_where_most_models_fail(pointer_shop: ProjectFolder) -> None:
    config = '[project]\nname = "shop"\n[run]\nconcurrency = 1\nerror_rate_abort = 0.5\nerror_rate_models = 2\n'
    pointer_shop.file("tidegate.toml", config)
    for name in ("a", "b", "c", "d"):
        pointer_shop.model(f"silver.{name}", FAILS)
    result = pointer_shop.run()
    assert sorted(statuses(result).values()) == ["blocked", "blocked", "failed", "failed"]
    blocked = next(m for m in result.materializations if m.status == "blocked")
    assert "2 of 2 models failed" in blocked.reason
