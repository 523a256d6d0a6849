"""Values that runs put down before their columns were tagged are not shown any more."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.calling import Call
from tidegate.results import CheckResult
from tidegate.runs.options import RunOptions
from tidegate.runs.result import Publish, RunResult
from tidegate.state import (
    AnomalyRecord,
    EventRecord,
    KeyRecord,
    ModelRunRecord,
    QualityRecord,
    RunRecord,
    open_state,
)

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
CHECKS = """-- @constraint: not_null(email)
-- @constraint: unique(email)
-- @audit: max(salary, <, 10)
-- @audit: row_count(>, 5)
"""
QUERY = "SELECT 1 AS id, 'a' AS email, 2 AS salary\n"
TAGS = "-- @column: email: [pii]\n-- @column: salary: [pii]\n"


def check(name: str, stage: str, value: object, *samples: dict[str, object], **more: str) -> QualityRecord:
    record = ("silver.people", name, stage, "error", "failed", value, "", 1, samples)
    return QualityRecord(*record, run_id="run-1", at=NOON, **more)  # type: ignore[arg-type]


@pytest.fixture
def people(project: Path) -> Path:
    """What a run found when nothing was tagged."""
    (project / "models/silver/people/tests/quality").mkdir(parents=True)
    (project / "models/silver/people/tests/quality/odd.sql").write_text("SELECT email AS who, id FROM {{ this }}\n")
    checks = (
        check("not_null(email)", "before_write", 1, {"email": "clear-1", "id": 1}, unit="row", kind="constraint"),
        check("unique(email)", "before_write", 2, {"email": "clear-2", "n": 2}, kind="constraint"),
        check("of old", "before_publish", 3, {"lower(email)": "clear-9", "n": 2}, kind="check"),
        check("max(salary, <, 10)", "before_publish", 77777, kind="audit"),
        check("row_count(>, 5)", "before_publish", 4, kind="audit"),
        check("odd", "before_publish", 1, {"who": "clear-3", "id": 1}, unit="row", kind="test"),
        check("gone", "before_publish", 1, {"x": "clear-4"}, unit="row", kind="test"),
        check("not_null(id)", "before_publish", None, error="The value 'clear-5' of the type", kind="audit"),
    )
    mean = ("mean", "salary", 77777.0, 5.0, 9.0, "the mean of column 'salary' is 77777, usually about 5")
    failed = ("silver.people", "failed", "full_refresh", "full", "")
    with open_state(f"sqlite:///{project}/.tidegate/state.db") as store:
        store.start_run(RunRecord("run-1", "shop", "run", "run-1", "run", NOON))
        for one in checks:
            store.add_check(one)
            result = {name: getattr(one, name) for name in one.__dataclass_fields__ if name not in ("at", "run_id")}
            store.add_event(EventRecord("run-1", NOON, "check_result", "silver.people", {"result": result}))
        store.add_model_run(
            ModelRunRecord(*failed, run_id="run-1", finished_at=NOON, error="cannot cast 'clear-6' to int")
        )
        store.add_event(EventRecord("run-1", NOON, "model_error", "silver.people", {"error": "no 'clear-7'"}))
        store.add_anomaly(AnomalyRecord("run-1", "silver.people", *mean[:2], NOON, *mean[2:]))  # type: ignore[arg-type]
        told = dict(zip(("kind", "column", "value", "expected", "deviation", "message"), mean, strict=True))
        store.add_event(EventRecord("run-1", NOON, "anomaly_detected", "silver.people", told))
        whole = {"check_results": [{"model": "silver.people", "severity": "error", "samples": [{"email": "clear-8"}]}]}
        store.finish_run("run-1", "failed", finished_at=NOON, duration_ms=1, result=whole)
    return project


def model(project: Path, text: str) -> None:
    (project / "models/silver/people/pipeline.sql").write_text(text)


@pytest.mark.parametrize("command", [("show", "silver.people"), ("logs",)], ids=["show", "logs"])
def test_values_are_hidden_by_the_tags_of_now(people: Path, tidegate: Call, command: tuple[str, ...]) -> None:
    model(people, CHECKS + QUERY)
    assert "clear-1" in tidegate(*command, "--json").out
    assert "77777" in tidegate(*command).out

    model(people, TAGS + CHECKS + QUERY)
    outcome = tidegate(*command, "--json")
    assert (outcome.code, "clear" in outcome.out, "77777" in outcome.out) == (0, False, False)
    text = tidegate(*command).out
    assert ("clear" in text, "77777" in text) == (False, False)
    found = {one["name"]: one for one in outcome.document["check_results"]}
    assert found["not_null(email)"]["samples"] == [{"email": "***", "id": 1}]
    assert found["unique(email)"]["samples"] == [{"email": "***", "n": 2}]
    assert found["of old"]["samples"] == [{"lower(email)": "***", "n": 2}]
    assert (found["not_null(email)"]["value"], found["unique(email)"]["value"]) == (1, 2)
    assert (found["max(salary, <, 10)"]["value"], found["row_count(>, 5)"]["value"]) == ("***", 4)
    assert found["odd"]["samples"] == [{"who": "***", "id": 1}]


@pytest.mark.parametrize("call", [("--idempotency-key", "k"), ("--resume", "run-2")], ids=["key", "resume"])
def test_a_result_that_is_given_again_shows_no_more_than_the_history(
    people: Path, tidegate: Call, call: tuple[str, ...]
) -> None:
    options = RunOptions(idempotency_key="k")
    found = CheckResult(
        "silver.people", "not_null(email)", "before_write", "error", "warned", 1, "", 1, ({"email": "clear", "id": 1},)
    )
    result = RunResult("run-2", "success", "run-2", Publish("run"), NOON, 1, {}, (), (found,))
    with open_state(f"sqlite:///{people}/.tidegate/state.db") as store:
        run = RunRecord("run-2", "shop", "run", "run-2", "run", NOON, options=options.to_dict())
        store.start_run(run, KeyRecord("shop", "k", "run-2", options.digest, NOON))
        store.finish_run("run-2", "success", finished_at=NOON, duration_ms=1, result=result.to_dict())
    model(people, CHECKS + QUERY)
    assert "clear" in tidegate("run", *call, "--json").out
    model(people, TAGS + CHECKS + QUERY)
    told = tidegate("run", *call, "--json")
    assert (told.code, told.document["repeated"], told.document["run_id"]) == (0, True, "run-2")
    assert told.document["check_results"][0]["samples"] == [{"email": "***", "id": 1}]
    assert "clear" not in told.out + told.err


def test_nothing_is_shown_of_a_project_that_cannot_be_read(people: Path, tidegate: Call) -> None:
    model(people, TAGS + CHECKS + "SELECT {{ nothing }} AS id\n")
    assert not any(word in tidegate("logs", "--json").out for word in ("clear", "77777"))


def test_a_project_without_tags_shows_what_is_there(people: Path, tidegate: Call) -> None:
    model(people, QUERY)
    assert "clear-4" in json.dumps(tidegate("logs", "--json").document)
