from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.hooks.told import NOON, built, check, event
from tidegate.config.hook_settings import ABOUT_MODELS, ALL_EVENTS, HOOK_EVENTS, WITH_STATUS
from tidegate.errors import FailureKind
from tidegate.hooks.events import EVENT_NAMES
from tidegate.hooks.payload import payload_of, status_of
from tidegate.jsontext import json_text
from tidegate.operations.hook_test import sample_event
from tidegate.redaction import register

RECORDED_EVENTS = (Path(__file__).parents[1] / "cases" / "surface" / "events.txt").read_text("utf-8").splitlines()


def test_hooks_may_listen_to_the_eighteen_events_of_a_run() -> None:
    assert EVENT_NAMES[:18] == ALL_EVENTS
    assert len(ALL_EVENTS) == 18


def test_a_model_that_ended_is_told_with_its_numbers() -> None:
    payload = payload_of(event("after_model_run", "silver.orders", result=built()), "shop", "run")
    assert payload["event"] == "after_model_run"
    assert (payload["project"], payload["command"], payload["run_id"]) == ("shop", "run", "run-1")
    assert (payload["model"], payload["status"], payload["rows_written"]) == ("silver.orders", "completed", 7)
    assert payload["timestamp"] == NOON.isoformat()
    assert payload["data"]["result"]["strategy"] == "full_refresh"


def test_no_row_of_a_table_leaves_with_a_check() -> None:
    payload = payload_of(event("check_result", "silver.orders", result=check("failed")), "shop", "run", "check_failed")
    assert "ann@example.com" not in json_text(payload)
    assert payload["event"] == "check_failed"
    assert payload["message"] == "shop: silver.orders check not_null(id) failed"


def test_an_error_is_in_the_message() -> None:
    payload = payload_of(event("pipeline_error", status="failed", error="disk full"), "shop", "run")
    assert payload["message"] == "shop: run-1 has ended: failed (disk full)"
    assert payload["error"] == "disk full"


@pytest.mark.parametrize("name", HOOK_EVENTS)
def test_every_event_has_a_sample_that_is_like_the_real_one(name: str) -> None:
    sample = sample_event(name, NOON)
    payload = json.loads(json_text(payload_of(sample, "shop", "hooks test", name)))
    assert payload["event"] == name
    assert (payload["model"] is not None) == (name in ABOUT_MODELS)
    assert (status_of(sample) is not None) == (name in WITH_STATUS or name == "state_synced")
    assert payload["data"]["test"] is True
    real = {key.split(": ")[1].split(".")[0] for key in RECORDED_EVENTS if key.startswith(f"{name}: ")}
    assert payload["data"].keys() - {"test"} >= real - {"resumes", "kept"}
    assert real >= payload["data"].keys() - {"test", "result"} or not real


def test_half_a_character_is_no_obstacle() -> None:
    """As in the name of a landing file that is not UTF-8."""
    payload = payload_of(event("model_error", "silver.a", error="caf\udce9.csv cannot be read"), "shop", "run")
    assert json.loads(json_text(payload).encode())["error"] == "caf?.csv cannot be read"


def test_what_is_no_json_becomes_text() -> None:
    payload = payload_of(
        event("model_error", "silver.a", kind=FailureKind.TIMEOUT, at=NOON, odd=float("nan")), "s", "run"
    )
    assert json.loads(json_text(payload))["data"] == {"kind": "Timeout", "at": NOON.isoformat(), "odd": "nan"}


def test_no_secret_leaves_with_an_event() -> None:
    register("planted-0c44ee", "API_TOKEN")
    said = "cannot cast 'planted-0c44ee' to int"
    for name, facts in {
        "pipeline_error": {"status": "failed", "error": said},
        "model_error": {"error": said, "attempts": [{"error": said}]},
        "after_model_run": {"result": replace(built(), error=said)},
    }.items():
        payload = payload_of(event(name, "silver.orders", **facts), "shop", "run")
        assert "planted-0c44ee" not in json_text(payload)
        assert payload["error"] == "cannot cast '***' to int"
