"""`history` and `logs`: what runs did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from tidegate.amounts import duration, plural, timestamp
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation
from tidegate.cli.terminal import OutputLine, TextTable, clean
from tidegate.jsontext import json_text
from tidegate.operations.history import PastRun, RunLog, past_runs, run_log
from tidegate.state.run_records import EventRecord, RunRecord

__all__ = ["history", "logs"]


@click.command()
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most this many runs.")
@common_options
@pass_invocation
def history(invocation: Invocation, limit: int) -> None:
    """List past runs, newest first.

    \b
    Example:
      tidegate history --limit 5
    """
    runs = past_runs(open_workspace(invocation), limit)

    def lines() -> Iterator[OutputLine]:
        if not runs:
            yield "No run yet: `tidegate run` makes the first."
            return
        headers = ("run", "status", "started (UTC)", "took", "models", "rows", "published", "error")
        yield TextTable(headers, map(_history_row, runs))
        if runs[0].alive is False:
            yield f"Go on with the one that was interrupted: tidegate run --resume {runs[0].record.run_id}"

    invocation.output().show({"runs": [run.document() for run in runs]}, lines)


def _history_row(run: PastRun) -> tuple[str, ...]:
    record, result = run.record, run.record.result or {}
    return (
        record.run_id,
        run.status,
        timestamp(record.started_at),
        "-" if record.duration_ms is None else duration(record.duration_ms),
        str(len(result["materializations"])) if "materializations" in result else "-",
        str(record.rows_written),
        str(len(result["publish"]["tables"])) if "publish" in result else "-",
        _silence(run) or (record.error or "").strip().split("\n", 1)[0],
    )


def _silence(run: PastRun) -> str:
    return f"no heartbeat since {timestamp(run.silent_since)}" if run.silent_since else ""


@click.command()
@click.argument("run_id", metavar="[RUN]", default="latest")
@common_options
@pass_invocation
def logs(invocation: Invocation, run_id: str) -> None:
    """Show everything that one run did, in order.

    RUN is a run's id; without it, the latest.

    \b
    Example:
      tidegate logs run-20261115-101112-123
    """
    log = run_log(open_workspace(invocation), run_id)
    invocation.output().show(log.document(), lambda: _log_lines(log))


def _log_lines(log: RunLog) -> Iterator[OutputLine]:
    run, events = log.run.record, log.events
    yield f"{run.run_id}  {log.run.status}  {run.command} of {run.project}  started {timestamp(run.started_at)} UTC"
    width = max((len(event.model or "") for event in events), default=0)
    for event in events:
        at = event.at.strftime("%H:%M:%S.%f")[:-3]
        yield f"{at}  {event.name:<18}  {event.model or '':<{width}}  {_details(event)}".rstrip()
    if run.error:
        first, *details = run.error.strip().splitlines()
        yield f"error: {clean(first)}"
        yield from (f"  {clean(line)}" for line in details)
    ended = "not ended" if run.duration_ms is None else f"took {duration(run.duration_ms)}"
    if silence := _silence(log.run):
        yield f"{silence} UTC"
    yield from _phase_lines(run)
    yield f"{plural(len(log.models), 'model')}, {plural(run.rows_written, 'row')} written, {ended}"


def _phase_lines(run: RunRecord) -> Iterator[OutputLine]:
    wall = (run.result or {}).get("phase_wall_ms") or {}
    both = ((name, ms, wall[name]) for name, ms in run.phase_profiles.items() if name in wall)
    rows = [(name, duration(total), duration(clock)) for name, total, clock in both]
    if rows:
        yield ""
        yield TextTable(("phase", "all models", "wall clock"), rows)
        yield ""


def _details(event: EventRecord) -> str:
    result = event.data.get("result")
    if isinstance(result, Mapping):
        return _result_details(result)
    return "  ".join(f"{name}={_short(value)}" for name, value in event.data.items() if value not in (None, "", [], {}))


def _result_details(result: Mapping[str, Any]) -> str:
    parts = [str(result.get("status", ""))]
    if "severity" in result:
        parts += [str(result.get("name", "")), f"value={result.get('value')}"]
    else:
        parts += [str(result.get("run_type") or ""), str(result.get("reason") or "")]
        parts += [plural(int(result.get("rows_written") or 0), "row"), duration(int(result.get("duration_ms") or 0))]
    parts.append(clean(str(result.get("error") or "")))
    return ", ".join(part for part in parts if part)


def _short(value: object, most: int = 200) -> str:
    text = clean(value if isinstance(value, str) else json_text(value))
    return text if len(text) <= most else text[: most - 1] + "…"
