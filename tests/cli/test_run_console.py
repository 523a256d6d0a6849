"""Events of a run in, lines on the screen out."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from tidegate.cli.console import PlainView, RunConsole
from tidegate.cli.live import LiveView
from tidegate.hooks.events import Event
from tidegate.results import CheckResult, ModelResult
from tidegate.runs.result import Publish, RunResult
from tidegate.spark.starting import STARTED, STARTING

NOON = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
RUN = "run-20261115-101112-123"

ORDERS = ModelResult("raw.orders", "skipped", "full_refresh", "skip", "unchanged")
CUSTOMERS = ModelResult("raw.customers", "completed", "full_refresh", "backfill", "first run", 20, duration_ms=95)
STAGING = ModelResult("staging.orders", "completed", "incremental", "incremental", "", 3, duration_ms=200)
REVENUE = ModelResult(
    "mart.revenue",
    "failed",
    "full_refresh",
    "full",
    "",
    duration_ms=154,
    error="audit row_count(>, 0) failed: 0",
    failure_kind="QualityFailed",
)
BLOCKED = ModelResult("mart.top", "blocked", "view", None, "blocked: upstream failed (mart.revenue)")


def event(name: str, model: str | None = None, **data: Any) -> Event:
    return Event(name, RUN, NOON, model, data)


def ended(*models: ModelResult, **changes: Any) -> RunResult:
    result = RunResult(RUN, "partial", RUN, Publish("run"), NOON, 2100, {}, models)
    return replace(result, **changes)


def lines_of(events: list[Event], result: RunResult | None = None, **how: bool) -> list[str]:
    stream = io.StringIO()
    with RunConsole(PlainView(stream), **how) as console:
        for each in events:
            console(each)
        if result is not None:
            console.show(result)
    return stream.getvalue().splitlines()


def test_a_run_reads_as_the_design_shows_it() -> None:
    models = (ORDERS, CUSTOMERS, STAGING, REVENUE)
    events = [
        event("pipeline_start", models=[m.model for m in models]),
        event("after_model_run", "raw.orders", result=ORDERS),
        event("before_model_run", "raw.customers"),
        event("phase", "raw.customers", phase="build_result"),
        event("after_materialize", "raw.customers", rows_written=20),
        event("after_model_run", "raw.customers", result=CUSTOMERS),
        event("after_model_run", "staging.orders", result=STAGING),
        event("model_error", "mart.revenue", error="x"),
        event("after_model_run", "mart.revenue", result=REVENUE),
    ]
    published = Publish("run", ("raw.customers", "staging.orders"))
    assert lines_of(events, ended(*models, publish=published)) == [
        "Running 4 models on run-20261115-101112-123",
        "[OK]   raw.orders      (full_refresh, skip: unchanged)",
        "[OK]   raw.customers   (full_refresh, backfill, 20 rows, 95ms)",
        "[OK]   staging.orders  (incremental, incremental, 3 rows, 200ms)",
        "[FAIL] mart.revenue    (full_refresh, full, 154ms) audit row_count(>, 0) failed: 0",
        "Published 2 tables to main. 3 succeeded, 1 failed in 2.1s",
    ]


def test_a_table_that_was_verified_says_so() -> None:
    verified = replace(STAGING, reason="raw.orders gained 3 rows; verified")
    lines = lines_of([event("pipeline_start", models=["staging.orders"])], ended(verified))
    assert "[OK]   staging.orders  (incremental, incremental, 3 rows, verified, 200ms)" in lines


def test_a_closed_gate_says_what_became_of_the_rows() -> None:
    stages = {"read": 7, "valid": 3, "quarantined_cast": 1, "quarantined_constraint": 2, "deduplicated": 1}
    closed = replace(REVENUE, stages=stages, error="quality rule 'some' gives 3, and must be greater than 100")
    lines = lines_of([event("pipeline_start", models=["mart.revenue"])], ended(closed, status="failed"))
    assert lines[1] == (
        "[FAIL] mart.revenue  (full_refresh, full, no row taken, of 7 read, 3 quarantined: 1 cast, 2 constraint, "
        "1 older version, 154ms) quality rule 'some' gives 3, and must be greater than 100"
    )


def test_a_failure_says_where_and_what_to_do_and_blocks_what_is_below() -> None:
    failed = replace(
        REVENUE, error="no column 'x'\nSELECT x", where="models/mart/revenue.sql:3", remedy="Name another."
    )
    lines = lines_of(
        [event("pipeline_start", models=["mart.revenue", "mart.top"])], ended(failed, BLOCKED, status="failed")
    )
    assert lines == [
        "Running 2 models on run-20261115-101112-123",
        "[FAIL] mart.revenue  (full_refresh, full, 154ms) no column 'x'",
        "       SELECT x",
        "       where: models/mart/revenue.sql:3",
        "       fix: Name another.",
        "[BLOCKED] mart.top   (view, blocked: upstream failed (mart.revenue))",
        "Nothing published, main is unchanged. 0 succeeded, 1 failed, 1 blocked in 2.1s",
    ]


GAPS = CheckResult(
    "silver.orders", "no_gaps", "before_publish", "error", "failed", 7, "0 rows", 5,
    samples=tuple({"id": n, "at": NOON} for n in range(5)), description="No day is missing.", remediation="Reload.",
    kind="test", unit="row",
)  # fmt: skip


def test_a_failing_check_is_told_once_below_its_model_with_a_sample_and_its_remedy() -> None:
    bare = replace(GAPS, samples=(), description="", remediation="", unit="", kind="audit")
    mean = replace(bare, name="mean(a, >, 5)", value=2.5, expected="mean of a > 5")
    broken = replace(bare, name="slow", status="error", value=None, error="not done after 1s")
    passed = replace(GAPS, status="passed", name="fine")
    checks = (GAPS, mean, broken, passed)
    failed = replace(
        REVENUE,
        model="silver.orders",
        error=f"{GAPS.message} (and 2 more)",
        where="tests/no_gaps.sql",
        remedy="Reload.",
    )
    events = [event("before_model_run", "silver.orders")]
    events += [event("check_result", "silver.orders", result=each) for each in checks]
    events += [event("after_model_run", "silver.orders", result=failed)]
    assert lines_of(events, ended(failed, check_results=checks, status="failed"))[:-1] == [
        "[FAIL] silver.orders  (full_refresh, full, 154ms) test no_gaps failed: 7 rows (and 2 more)",
        "       expected: 0 rows",
        "       No day is missing.",
        '       sample: {"id": 0, "at": "2026-11-15T12:00:00+00:00"} (1 of 5 in --json)',
        "       fix: Reload.",
        "       audit mean(a, >, 5) failed: 2.5, expected mean of a > 5",
        "       audit slow could not run: not done after 1s",
        "       where: tests/no_gaps.sql",
    ]


def test_a_failing_check_without_a_remedy_of_its_own_says_what_can_be_done() -> None:
    check = replace(GAPS, samples=(), description="", remediation="")
    failed = replace(
        REVENUE, model="silver.orders", error=check.message, where="models/silver/orders.sql:1", remedy=None
    )
    events = [
        event("before_model_run", "silver.orders"),
        event("check_result", "silver.orders", result=check),
        event("after_model_run", "silver.orders", result=failed),
    ]
    where, fix = lines_of(events)[-2:]
    assert where == "       where: models/silver/orders.sql:1"
    assert fix.startswith("       fix: Correct the data that it is built from, or change the rule, and run again")


def test_a_check_that_cannot_run_shows_what_to_change_in_it() -> None:
    check = replace(GAPS, samples=(), description="", remediation="", status="error", value=None, error="no such date")
    change = "Change the check: correct models/silver/orders.sql:1."
    failed = replace(
        REVENUE, model="silver.orders", error=check.message, where="models/silver/orders.sql:1", remedy=change
    )
    events = [
        event("before_model_run", "silver.orders"),
        event("check_result", "silver.orders", result=check),
        event("after_model_run", "silver.orders", result=failed),
    ]
    assert lines_of(events)[-2:] == ["       where: models/silver/orders.sql:1", f"       fix: {change}"]


def test_a_check_that_only_warns_has_a_line_of_its_own() -> None:
    late = replace(GAPS, name="late", severity="warn", status="warned", value=1, samples=())
    published = replace(late, name="max(a, <, 3)", stage="after_publish", severity="error", kind="warning", unit="")
    broken = replace(late, name="slow", status="error", value=None, error="not done after 1s", description="")
    events = [event("check_result", "silver.orders", result=each) for each in (late, published, broken)]
    checks = (late, published, broken)
    assert lines_of(events, ended(check_results=checks, status="success"))[:-1] == [
        "[WARN] silver.orders: test late failed: 1 row, expected 0 rows",
        "       No day is missing.",
        "       fix: Reload.",
        "[WARN] silver.orders: warning max(a, <, 3) failed: 1, expected 0 rows",
        "       No day is missing.",
        "       fix: Reload.",
        "[WARN] silver.orders: test slow could not run: not done after 1s",
        "       fix: Reload.",
    ]


def test_a_model_that_passes_when_it_is_built_again_leaves_no_failed_check_behind() -> None:
    passed = replace(GAPS, status="passed", samples=())
    events = [
        event("before_model_run", "silver.orders"),
        event("check_result", "silver.orders", result=GAPS),
        event("before_model_run", "silver.orders"),
        event("check_result", "silver.orders", result=passed),
        event("after_model_run", "silver.orders", result=replace(STAGING, model="silver.orders")),
    ]
    lines = lines_of(events, ended(replace(STAGING, model="silver.orders"), check_results=(passed,)))
    assert not [line for line in lines if "FAIL" in line or "no_gaps" in line]


def test_each_warning_is_told_once() -> None:
    events = [event("warning", "raw.orders", message="2 files changed"), event("warning", message="disk is slow")]
    lines = lines_of(events, ended(warnings=("2 files changed", "disk is slow", "late"), status="success"))
    assert lines[:3] == ["[WARN] raw.orders: 2 files changed", "[WARN] disk is slow", "[WARN] late"]


def test_a_warning_that_names_its_model_does_not_name_it_twice() -> None:
    message = "raw.orders: 2 files changed"
    lines = lines_of([event("warning", "raw.orders", message=message)], ended(warnings=(message,), status="success"))
    assert [line for line in lines if "[WARN]" in line] == ["[WARN] raw.orders: 2 files changed"]


def test_a_model_built_again_after_a_conflict_is_shown_as_rebuilt_and_counted() -> None:
    again = replace(CUSTOMERS, rows_written=21)
    unchanged = replace(ORDERS, model="raw.orders")
    events = [
        event("pipeline_start", models=["raw.customers", "raw.orders"]),
        event("before_model_run", "raw.customers"),
        event("before_model_run", "raw.orders"),
        event("after_model_run", "raw.customers", result=CUSTOMERS),
        event("after_model_run", "raw.orders", result=replace(CUSTOMERS, model="raw.orders")),
        event("before_model_run", "raw.customers"),
        event("after_model_run", "raw.customers", result=again),
        event("before_model_run", "raw.orders"),
        event("after_model_run", "raw.orders", result=unchanged),
    ]
    result = ended(again, unchanged, status="success", publish=Publish("run", ("raw.customers",), 1))
    assert lines_of(events, result)[1:] == [
        "[OK]   raw.customers  (full_refresh, backfill, 20 rows, 95ms)",
        "[OK]   raw.orders     (full_refresh, backfill, 20 rows, 95ms)",
        "[REBUILT] raw.customers  (full_refresh, backfill, 21 rows, 95ms, after a publish conflict)",
        "[OK]   raw.orders     (full_refresh, skip: unchanged, after a publish conflict)",
        "Published 1 table to main. 2 succeeded, 2 rebuilt after a publish conflict in 2.1s",
    ]


def test_changed_columns_stand_below_the_line_of_their_model() -> None:
    added = {"column": "email", "action": "added", "before": None, "after": "string"}
    wider = {"column": "n", "action": "widened", "before": "int", "after": "bigint"}
    events = [
        event("before_model_run", "raw.customers"),
        event("drift_detected", "raw.customers", **added, reason="new in the query; NULL in earlier rows"),
        event("drift_detected", "raw.customers", **wider, reason="every value fits the new type"),
        event("after_model_run", "raw.customers", result=CUSTOMERS),
    ]
    assert lines_of(events) == [
        "[OK]   raw.customers  (full_refresh, backfill, 20 rows, 95ms)",
        "       column email (string) added: new in the query; NULL in earlier rows",
        "       column n (int → bigint) widened: every value fits the new type",
    ]


def test_a_cancelled_model_says_for_how_long_it_ran() -> None:
    begun = replace(CUSTOMERS, status="cancelled", duration_ms=2400, error="The run was cancelled")
    waiting = replace(STAGING, status="cancelled", run_type=None, reason="cancelled", duration_ms=0)
    assert lines_of([], ended(begun, waiting, status="cancelled"))[:2] == [
        "[CANCELLED] raw.customers  (full_refresh, after 2.4s)",
        "[CANCELLED] staging.orders  (incremental, not started)",
    ]


def test_the_last_line_says_what_became_of_main() -> None:
    def last(result: RunResult) -> list[str]:
        return lines_of([], replace(result, materializations=()))

    assert last(ended(status="skipped", duration_ms=95)) == ["Nothing to publish. Done in 0.1s"]
    assert last(ended(status="success", branch_kept_for="publish")) == [
        f"Kept branch {RUN}, main is unchanged. Done in 2.1s",
        f"Inspect it, then publish it: tidegate publish {RUN}",
    ]
    assert last(ended(branch_kept_for="resume")) == [
        "Nothing published, main is unchanged. Done in 2.1s",
        f"What succeeded is kept; build the rest and publish all: tidegate run --resume {RUN}",
    ]
    assert last(ended(status="success", repeated=True)) == [f"{RUN} has succeeded already: nothing was run."]
    assert last(ended(status="cancelled", duration_ms=125_000)) == [
        "Cancelled, main is unchanged. Done in 2m 05s",
        f"Resume it: tidegate run --resume {RUN}",
    ]
    tables = Publish("model", ("raw.a", "raw.a__quarantine", "raw.b"))
    assert last(ended(status="success", publish=tables)) == [
        "Published 3 tables to main (1 of them a quarantine table). Done in 2.1s"
    ]
    assert last(ended(status="failed", error="main moved", remedy="Run again.")) == [
        "error: main moved",
        "       fix: Run again.",
        "Nothing published, main is unchanged. Done in 2.1s",
    ]
    unsure = ended(status="failed", publish=Publish("run", in_doubt=True))
    assert last(unsure) == ["Nothing is known to have been published. Done in 2.1s"]


def test_a_run_that_quarantined_rows_names_the_command_that_shows_them() -> None:
    """Only for what was published: a table that failed left its quarantine as it was."""
    refusing = [replace(ORDERS, model=f"raw.{name}", rows_quarantined=2) for name in "abc"]

    def hint(*published: str) -> list[str]:
        result = ended(*refusing, status="success", publish=Publish("run", published))
        return [line for line in lines_of([], result) if "tidegate quarantine" in line]

    assert hint("raw.a", "raw.b", "raw.d__quarantine") == []
    assert hint("raw.a", "raw.a__quarantine") == ["Show the quarantined rows and why: tidegate quarantine show raw.a"]
    assert hint("raw.a__quarantine", "raw.c__quarantine") == [
        "Show the quarantined rows and why: tidegate quarantine list"
    ]


def test_what_the_set_up_fetches_is_told() -> None:
    assert lines_of([event("phase", phase="setup", message="Fetching a jar (46 MB)")]) == ["Fetching a jar (46 MB)"]


def test_that_spark_starts_is_one_line_in_a_pipe() -> None:
    events = [event("phase", phase="setup", message=line) for line in (STARTING, "Fetching a jar (46 MB)", STARTED)]
    assert lines_of(events) == ["Starting Spark", "Fetching a jar (46 MB)"]


def test_that_spark_starts_is_no_line_of_a_quiet_run() -> None:
    stream = io.StringIO()
    with RunConsole(PlainView(stream), quiet=True) as console:
        console(event("phase", phase="setup", message=STARTING))
    assert stream.getvalue() == ""


def test_that_spark_starts_is_shown_on_a_terminal_until_it_has() -> None:
    now = [100.0]
    stream = io.StringIO()
    view = LiveView(stream, clock=lambda: now[0])
    shown = []
    with RunConsole(view) as console:
        for message in (STARTING, STARTED):
            console(event("phase", phase="setup", message=message))
            now[0] += 3
            screen = Console(file=io.StringIO(), width=100)
            screen.print(view._render())
            shown.append(screen.file.getvalue())  # type: ignore[attr-defined]
    assert "Starting Spark" in shown[0]
    assert "3.0s" in shown[0]
    assert "Starting Spark" not in shown[1]


def test_a_run_goes_on_when_nobody_reads_its_lines() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with RunConsole(PlainView(Gone())) as console:
        console(event("after_model_run", "raw.customers", result=CUSTOMERS))
        console.show(ended(CUSTOMERS))


def test_control_characters_of_an_error_do_not_reach_the_screen() -> None:
    lines = lines_of([], ended(replace(REVENUE, error="bad \x1b[2J value")))
    assert "bad \\x1b[2J value" in lines[0]


def test_the_live_view_shows_what_is_under_way() -> None:
    now = [100.0]
    stream = io.StringIO()
    view = LiveView(stream, clock=lambda: now[0])
    try:
        view.total(3)
        view.started("raw.orders")
        view.started("raw.customers")
        view.doing("raw.orders", "iceberg_write", 12)
        view.ended("raw.customers", 20)
        now[0] += 2.4
        screen = Console(file=io.StringIO(), width=100)
        screen.print(view._render())
        shown = screen.file.getvalue()  # type: ignore[attr-defined]
        view.line("[OK]   raw.customers  (full_refresh)")
    finally:
        view.close()
    assert "raw.orders  writing  12 rows  2.0s" in shown
    assert "1/3 models, 20 rows, 2.0s" in shown
    assert "[OK]   raw.customers  (full_refresh)" in stream.getvalue()


def test_quiet_shows_what_did_not_succeed_and_the_summary() -> None:
    warned = CheckResult("raw.customers", "few", "after_publish", "warn", "warned", 1, "0", 5)
    models = (ORDERS, CUSTOMERS, REVENUE, BLOCKED)
    events = [
        event("pipeline_start", models=[m.model for m in models]),
        event("phase", phase="setup", message="run-1 was interrupted"),
        event("warning", message="a slow disk"),
        event("anomaly_detected", "raw.customers", message="twice as many rows"),
        event("check_result", "raw.customers", result=warned),
        *(event("after_model_run", m.model, result=m) for m in models),
    ]
    assert lines_of(events, ended(*models, warnings=("a slow disk",)), quiet=True) == [
        "[FAIL] mart.revenue   (full_refresh, full, 154ms) audit row_count(>, 0) failed: 0",
        "[BLOCKED] mart.top    (view, blocked: upstream failed (mart.revenue))",
        "Nothing published, main is unchanged. 2 succeeded, 1 failed, 1 blocked in 2.1s",
    ]


def test_verbose_adds_reasons_phases_and_attempts() -> None:
    built = replace(CUSTOMERS, phases={"build_result": 60, "iceberg_write": 1500}, attempts=({}, {}))
    assert lines_of([event("after_model_run", m.model, result=m) for m in (ORDERS, built)], verbose=True)[1:] == [
        "[OK]   raw.customers  (full_refresh, backfill, 20 rows, 95ms)",
        "       why: first run",
        "       time: build_result 60ms, iceberg_write 1.5s",
        "       attempts: 2",
    ]


def test_each_line_that_code_logs_says_whose_it_is_and_moves_no_cursor() -> None:
    told = [event("phase", "gold.a", phase="log", message="one\n  gold.b  done\x1b[2J[/nope]")]
    assert lines_of(told) == ["gold.a: one", "gold.a:   gold.b  done\\x1b[2J[/nope]"]
    stream = io.StringIO()
    with RunConsole(LiveView(stream)) as console:
        console(told[0])
    assert "gold.a:   gold.b  done\\x1b[2J[/nope]" in stream.getvalue()
