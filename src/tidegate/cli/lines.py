"""The lines that a run leaves on the screen, made from its values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tidegate.cli.table import clean, duration, plural
from tidegate.jsontext import json_text
from tidegate.runs.result import VERIFIED, CheckResult, Materialization, RunResult

__all__ = ["check_lines", "end_lines", "head_line", "model_lines"]

_TAGS = {"completed": "[OK]", "skipped": "[OK]", "failed": "[FAIL]", "blocked": "[BLOCKED]", "cancelled": "[CANCELLED]"}
_INDENT = " " * 7
_MAX_SAMPLES = 3


def head_line(run_id: str, models: int) -> str:
    return f"Running {plural(models, 'model')} on {run_id}"


def model_lines(result: Materialization, width: int) -> Iterator[str]:
    """`width` is that of the longest model name, so that the brackets stand below each other."""
    name = f"{_TAGS.get(result.status, '[FAIL]'):<6} {result.model}"
    error = "" if result.status == "blocked" else _first_line(result.error)
    yield f"{name:<{len(_INDENT) + width}}  ({', '.join(_facts(result))}) {error}".rstrip()
    if result.status == "failed":
        yield from _rest(result.error)
        yield from _where_and_fix(result.where, result.remedy)


def _facts(result: Materialization) -> Iterator[str]:
    yield result.strategy
    if result.status == "skipped":
        yield f"skip: {result.reason}" if result.reason else "skip"
        return
    if result.status == "blocked":
        yield result.error or result.reason or "upstream failed"
        return
    if result.run_type:
        yield result.run_type
    if result.status == "completed" and result.strategy != "view":
        yield plural(result.rows_written, "row")
        if result.rows_deleted:
            yield f"{result.rows_deleted} deleted"
        if result.rows_quarantined:
            yield f"{result.rows_quarantined} quarantined"
        if result.reason.endswith(f"; {VERIFIED}"):
            yield VERIFIED
    yield duration(result.duration_ms)


def check_lines(check: CheckResult) -> Iterator[str]:
    """Nothing for a check that passed."""
    if check.status == "passed":
        return
    tag = "[WARN]" if check.status == "warned" or check.severity == "warn" else "[FAIL]"
    outcome = f"error: {_first_line(check.error)}" if check.status == "error" else f"failed: {_found(check)}"
    yield f"{tag} {check.model}: {check.stage} {check.name} {outcome}".rstrip()
    if check.description:
        yield f"{_INDENT}{clean(check.description)}"
    for sample in check.samples[:_MAX_SAMPLES]:
        yield f"{_INDENT}sample: {json_text(dict(sample))}"
    yield from _where_and_fix(None, check.remediation or None)


def _found(check: CheckResult) -> str:
    if check.value is None:
        return f"expected {check.expected}"
    return f"{plural(check.value, 'row')}, expected {check.expected}"


def end_lines(result: RunResult, kept: bool) -> Iterator[str]:
    """`kept`: the branch waits for `tidegate publish`."""
    if result.error:
        yield f"error: {_first_line(result.error)}"
        yield from _rest(result.error)
        yield from _where_and_fix(None, result.remedy)
    counts = Counter(m.status for m in result.materializations)
    succeeded = counts["completed"] + counts["skipped"]
    parts = [f"{succeeded} succeeded"]
    parts += [f"{counts[status]} {status}" for status in ("failed", "blocked", "cancelled") if counts[status]]
    did = ", ".join(parts) if result.materializations else "Done"
    yield f"{_published(result, kept)} {did} in {_seconds(result.duration_ms)}"
    if kept:
        yield f"Look at it and publish it with: tidegate publish {result.run_id}"


def _published(result: RunResult, kept: bool) -> str:
    if kept:
        return f"Kept branch {result.branch}, main is as it was."
    if result.status == "cancelled" and not result.publish.tables:
        return "Cancelled, main is as it was."
    if result.publish.tables:
        return f"Published {plural(len(result.publish.tables), 'table')} to main."
    return "Nothing to publish." if result.status in ("success", "skipped") else "Nothing published, main is as it was."


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f}s" if milliseconds < 59_950 else duration(milliseconds)


def _first_line(text: str | None) -> str:
    return clean((text or "").strip().split("\n", 1)[0])


def _rest(text: str | None) -> Iterator[str]:
    for line in (text or "").strip().splitlines()[1:]:
        yield f"{_INDENT}{clean(line)}".rstrip()


def _where_and_fix(where: str | None, fix: str | None) -> Iterator[str]:
    if where:
        yield f"{_INDENT}where: {where}"
    if fix:
        yield f"{_INDENT}fix: {fix}"
