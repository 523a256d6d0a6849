"""The lines that a run leaves on the screen, made from its values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidegate.amounts import duration, plural
from tidegate.cli.terminal import clean
from tidegate.jsontext import json_text
from tidegate.names import TableName
from tidegate.results import CheckResult, ModelResult
from tidegate.runs.result import KEPT, VERIFIED, RunResult

__all__ = [
    "anomaly_line",
    "check_lines",
    "detail_lines",
    "drift_line",
    "end_lines",
    "failed_check_lines",
    "head_line",
    "model_lines",
    "repeated_line",
]

_TAGS = {"completed": "[OK]", "skipped": "[OK]", "failed": "[FAIL]", "blocked": "[BLOCKED]", "cancelled": "[CANCELLED]"}
_INDENT = " " * 7
_CORRECT_IT = (
    "Correct the data that it is built from, or change the rule, and run again: main stays unchanged until then."
)


def head_line(run_id: str, models: int, resumed: bool = False) -> str:
    return f"{'Resuming' if resumed else 'Running'} {plural(models, 'model')} on {run_id}"


def repeated_line(result: RunResult) -> str:
    under = f" for the idempotency key '{result.idempotency_key}'" if result.idempotency_key else ""
    return f"{result.run_id} has succeeded already{under}: nothing was run."


def model_lines(
    result: ModelResult, width: int, checks: Sequence[CheckResult] = (), rebuilt: bool = False
) -> Iterator[str]:
    """`width` is that of the longest model name, so that the brackets stand below each other. `checks`: those that
    kept it from being published; its error is about the first of them. `rebuilt`: it had been built before in this
    run, and another run published its table or one that it reads first."""
    tag = "[REBUILT]" if rebuilt and result.status == "completed" else _TAGS.get(result.status, "[FAIL]")
    name = f"{tag:<6} {result.model}"
    error = "" if result.status in ("blocked", "cancelled") else _first_line(result.error)
    facts = [*_facts(result), *(["after a publish conflict"] if rebuilt else [])]
    yield f"{name:<{len(_INDENT) + width}}  ({', '.join(facts)}) {error}".rstrip()
    if result.status == "failed":
        yield from _later_lines(result.error)
        yield from failed_check_lines(checks)
        # A check's own remedy stands with the check.
        has_remedy = any(check.remediation for check in checks)
        yield from _where_and_fix(
            result.where, None if has_remedy else result.remedy or (_CORRECT_IT if checks else None)
        )


def detail_lines(result: ModelResult) -> Iterator[str]:
    """What --verbose adds below the line of a model: why it was built, and where its time went."""
    if result.status in ("completed", "failed") and result.reason:
        yield f"{_INDENT}why: {clean(result.reason)}"
    if result.phases:
        yield f"{_INDENT}time: {', '.join(f'{name} {duration(took)}' for name, took in result.phases.items())}"
    if len(result.attempts) > 1:
        yield f"{_INDENT}attempts: {len(result.attempts)}"


def _facts(result: ModelResult) -> Iterator[str]:
    yield result.strategy
    if result.status == "skipped":
        yield f"skip: {result.reason}" if result.reason not in ("", KEPT) else result.reason or "skip"
        return
    if result.status == "blocked":
        yield result.error or result.reason or "upstream failed"
        return
    if result.status == "cancelled":
        yield f"after {duration(result.duration_ms)}" if result.duration_ms else "not started"
        return
    if result.run_type:
        yield result.run_type
    if result.status == "completed" and result.strategy != "view":
        yield plural(result.rows_written, "row")
        if result.rows_deleted:
            yield f"{result.rows_deleted} deleted"
        if result.stages:
            yield from _stage_facts(result.stages)
        elif result.rows_quarantined:
            yield f"{result.rows_quarantined} quarantined"
        if result.reason.endswith(f"; {VERIFIED}"):
            yield VERIFIED
    elif result.stages:
        yield "no row taken"
        yield from _stage_facts(result.stages)
    yield duration(result.duration_ms)


def _stage_facts(stages: Mapping[str, int]) -> Iterator[str]:
    """What became of the rows that a contract read; what is 0 is left out."""
    refused = {name.removeprefix("quarantined_"): rows for name, rows in stages.items() if name.startswith("quarant")}
    yield f"of {stages.get('read', 0)} read"
    if sum(refused.values()):
        parts = ", ".join(f"{rows} {stage}" for stage, rows in refused.items() if rows)
        yield f"{sum(refused.values())} quarantined: {parts}"
    for name, word in (("deduplicated", "older version"), ("delete_signals", "delete signal")):
        if stages.get(name):
            yield plural(stages[name], word)


def check_lines(check: CheckResult) -> Iterator[str]:
    """Nothing for a check that passed."""
    if check.status == "passed":
        return
    tag = "[FAIL]" if check.blocks else "[WARN]"
    yield f"{tag} {check.model}: {_check_summary(check)}"
    yield from _details(check)


def anomaly_line(model: str, message: str) -> str:
    return f"[WARN] {model}: unusual: {clean(message)}"


def drift_line(change: Mapping[str, Any]) -> str:
    """One column of a table that is no longer as it was."""
    before, after = change.get("before"), change.get("after")
    types = f"{before} → {after}" if before and after and before != after else after or before
    reason = f": {change['reason']}" if change.get("reason") else ""
    return f"{_INDENT}column {clean(str(change['column']))} ({types}) {change['action']}{clean(reason)}"


def failed_check_lines(checks: Sequence[CheckResult]) -> Iterator[str]:
    """What kept a model from being published, below the model's own line, which names the first of them."""
    for number, check in enumerate(checks):
        if number:
            yield f"{_INDENT}{_check_summary(check)}"
        elif check.status == "failed" and check.expected:
            yield f"{_INDENT}expected: {clean(check.expected)}"
        yield from _details(check)


def _check_summary(check: CheckResult) -> str:
    expected = f", expected {check.expected}" if check.status != "error" and check.expected else ""
    return f"{_first_line(check.message)}{clean(expected)}"


def _details(check: CheckResult) -> Iterator[str]:
    if check.description:
        yield f"{_INDENT}{clean(check.description)}"
    for sample in check.samples[:1]:
        more = f" (1 of {len(check.samples)} in --json)" if len(check.samples) > 1 else ""
        yield f"{_INDENT}sample: {json_text(dict(sample))}{more}"
    yield from _where_and_fix(None, check.remediation or None)


def end_lines(result: RunResult, rebuilt: int = 0) -> Iterator[str]:
    """`rebuilt`: how many models were built again after a conflict."""
    if result.error:
        yield f"error: {_first_line(result.error)}"
        yield from _later_lines(result.error)
        yield from _where_and_fix(None, result.remedy)
    counts = Counter(m.status for m in result.materializations)
    succeeded = counts["completed"] + counts["skipped"]
    parts = [f"{succeeded} succeeded"]
    parts += [f"{counts[status]} {status}" for status in ("failed", "blocked", "cancelled") if counts[status]]
    parts += [f"{rebuilt} rebuilt after a publish conflict"] if rebuilt else []
    did = ", ".join(parts) if result.materializations else "Done"
    yield f"{_published(result)} {did} in {_seconds(result.duration_ms)}"
    yield from _show_quarantined(result)
    if result.branch_kept_for == "publish":
        yield f"Inspect it, then publish it: tidegate publish {result.run_id}"
    elif result.branch_kept_for == "resume":
        yield f"What succeeded is kept; build the rest and publish all: tidegate run --resume {result.run_id}"
    elif result.status == "cancelled" and result.run_id:
        yield f"Resume it: tidegate run --resume {result.run_id}"


def _show_quarantined(result: RunResult) -> Iterator[str]:
    """The command that shows the rows which this run refused and published."""
    refused = {model.model for model in result.materializations if model.rows_quarantined}
    if tables := sorted(refused & _published_quarantines(result)):
        command = f"show {tables[0]}" if len(tables) == 1 else "list"
        yield f"Show the quarantined rows and why: tidegate quarantine {command}"


def _published(result: RunResult) -> str:
    if result.branch_kept_for == "publish":
        return f"Kept branch {result.branch}, main is unchanged."
    if result.status == "cancelled" and not result.publish.tables:
        return "Cancelled, main is unchanged."
    if result.publish.tables:
        return f"Published {plural(len(result.publish.tables), 'table')} to main{_quarantines(result)}."
    if result.publish.in_doubt:
        return "Nothing is known to have been published."
    return "Nothing to publish." if result.status in ("success", "skipped") else "Nothing published, main is unchanged."


def _quarantines(result: RunResult) -> str:
    """How many of the published tables are no model's own."""
    count = len(_published_quarantines(result))
    return f" ({count} of them {'a quarantine table' if count == 1 else 'quarantine tables'})" if count else ""


def _published_quarantines(result: RunResult) -> set[str]:
    """The tables whose quarantine was published."""
    split = (table.rpartition(".") for table in result.publish.tables)
    tables = (TableName("", layer, name).beside_quarantine for layer, _, name in split)
    return {f"{table.layer}.{table.name}" for table in tables if table is not None}


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f}s" if milliseconds < 59_950 else duration(milliseconds)


def _first_line(text: str | None) -> str:
    return clean((text or "").strip().split("\n", 1)[0])


def _later_lines(text: str | None) -> Iterator[str]:
    for line in (text or "").strip().splitlines()[1:]:
        yield f"{_INDENT}{clean(line)}".rstrip()


def _where_and_fix(where: str | None, fix: str | None) -> Iterator[str]:
    if where:
        yield f"{_INDENT}where: {where}"
    if fix:
        yield f"{_INDENT}fix: {fix}"
