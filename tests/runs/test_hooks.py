"""Hooks in real runs: who is told in which order, and what an abort keeps from main."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.hooks.receiver import receiving
from tests.projects import ProjectFolder, statuses
from tidegate.errors import HookError
from tidegate.operations.publish import publish_run


def configure(shop: ProjectFolder, text: str) -> None:
    base = shop.root / "base.toml"
    if not base.exists():
        base.write_text((shop.root / "tidegate.toml").read_text())
    shop.file("tidegate.toml", base.read_text() + text)


def told(shop: ProjectFolder) -> list[dict[str, Any]]:
    """What a hook with the command below has written down, once."""
    file = shop.root / "told"
    lines = file.read_text().splitlines() if file.exists() else []
    file.unlink(missing_ok=True)
    return [json.loads(line) for line in lines]


LISTEN = '[[hooks]]\nname = "all"\nevents = "*"\ncommand = "cat >> told; echo >> told"\n'


BUILT = ("before_model_run", "before_materialize", "after_materialize")
CHECKED = ("before_checks", "check_result", "after_checks")
IN_ORDER = [
    ("compile_complete", None),
    ("pipeline_start", None),
    *((name, "bronze.a") for name in (*BUILT, *CHECKED, "after_model_run")),
    *((name, "silver.b") for name in (*BUILT, "after_model_run")),
    ("pipeline_complete", None),
    ("state_synced", None),
]
"""What a hook on every event receives of two models, of which the first has a check."""


@pytest.mark.spark
def test_a_run_on_spark_tells_its_hooks_in_order_and_counts_its_rows(shop: ProjectFolder) -> None:
    shop.model("bronze.a", "SELECT id FROM range(100)", audit="row_count(>, 0)")
    shop.model("silver.b", "SELECT id FROM bronze.a")
    configure(shop, f"{LISTEN}[run.budget]\nmax_rows = 150\n")
    result = shop.run(concurrency=1)
    told_of = [(document["event"], document["model"]) for document in told(shop)]
    assert [each for each in told_of if each not in (("budget_breach", None), ("warning", None))] == IN_ORDER
    assert result.warnings == ("the run has written 200 rows: max_rows = 150 of [run.budget]",)


def test_hooks_hear_every_run_and_an_abort_before_publish_leaves_main_as_it_was(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    shop.model("bronze.a", "SELECT 1 AS x", audit="row_count(>, 0)")
    shop.model("silver.b", "SELECT x FROM bronze.a")
    with receiving() as receiver:
        configure(shop, f'{LISTEN}[callback]\nurl = "{receiver.url}/runs/{{run_id}}"\nretries = 0\n')
        first = shop.run(concurrency=1)
    assert first.status == "success"
    heard = [(document["event"], document["model"]) for document in told(shop)]
    assert heard == IN_ORDER
    (callback,) = receiver.posts
    assert callback.path == f"/runs/{first.run_id}"
    assert (callback.document["status"], callback.document["rows_written"]) == ("success", 2)
    assert callback.document["phase_profiles"] == first.phase_profiles

    idle = shop.run()
    assert idle.status == "skipped"
    assert [d["event"] for d in told(shop)][-3:] == ["after_model_run", "pipeline_complete", "state_synced"]

    shop.model("bronze.a", "SELECT 2 AS x", audit="row_count(>, 0)")
    gate = '[[hooks]]\nname = "gate"\nevents = "{}"\ncommand = "echo frozen; exit 3"\non_failure = "abort"\n'
    before = shop.catalog.head()
    for event in ("before_materialize", "check_result", "after_model_run"):
        configure(shop, LISTEN + gate.format(event))
        stopped = shop.run(concurrency=1)
        assert (stopped.status, stopped.exit_code, stopped.publish.tables) == ("failed", 1, ())
        assert stopped.error == f"hook 'gate' on {event} of bronze.a failed: exit code 3: frozen"
        assert statuses(stopped)["silver.b"] in ("cancelled", "blocked")
        assert shop.catalog.head() == before
        assert shop.branches() == []
        assert [d["event"] for d in told(shop)][-2:] == ["pipeline_error", "state_synced"]

    configure(shop, gate.format("pipeline_start"))
    with pytest.raises(HookError, match="hook 'gate' on pipeline_start failed"):
        shop.run()
    assert shop.catalog.head() == before

    configure(shop, gate.format("pipeline_start").replace("abort", "warn"))
    warned = shop.run(no_publish=True)
    assert warned.warnings == ("hook 'gate' on pipeline_start failed: exit code 3: frozen",)
    configure(shop, LISTEN + gate.format("pipeline_start"))
    with pytest.raises(HookError):
        publish_run(shop.settings, warned.run_id)
    assert shop.catalog.head() == before
    told(shop)
    configure(shop, LISTEN)
    assert publish_run(shop.settings, warned.run_id).publish.tables == ("bronze.a", "silver.b")
    heard = [(document["event"], document["command"]) for document in told(shop)]
    assert heard == [("pipeline_start", "publish"), ("pipeline_complete", "publish")]


def test_a_budget_stops_what_has_not_begun_and_publishes_nothing(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    shop.builder.rows = {"bronze.a": 100}
    shop.model("bronze.a", "SELECT id FROM range(100)")
    shop.model("silver.b", "SELECT id FROM bronze.a")
    configure(shop, '[run.budget]\nmax_rows = 50\nmax_bytes = 1000\non_breach = "fail"\n')
    result = shop.run()
    assert (result.status, result.exit_code, result.publish.tables) == ("failed", 1, ())
    assert "max_rows = 50 of [run.budget]" in (result.error or "")
    assert statuses(result)["silver.b"] == "cancelled"
    assert [e.data["budget"] for e in shop.events if e.name == "budget_breach"] == ["max_rows", "max_bytes"]
    assert shop.catalog.head() == {}

    configure(shop, "[run.budget]\nmax_rows = 50\n")
    assert shop.run().warnings == ("the run has written 100 rows: max_rows = 50 of [run.budget]",)
