"""What Spark did in one command, from its event log: statements and jobs in order, with seconds.

python -m benchmarks.event_log FILE… prints it. `--event-log FOLDER` of the benchmarks keeps the files.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["summary", "write_summary"]

_SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQL"
_PLAN_WORDS = 110


@dataclass(slots=True)
class Job:
    number: int
    start: int
    end: int = 0
    stages: tuple[int, ...] = ()
    tasks: int = 0
    cpu_ms: float = 0.0
    gc_ms: int = 0


@dataclass(slots=True)
class Statement:
    number: int
    start: int
    plan: str
    end: int = 0
    jobs: list[Job] = field(default_factory=list)


def summary(file: Path) -> str:
    """Times are seconds since the application started."""
    begin, end, statements, jobs = _read(file)

    def at(moment: int) -> str:
        return f"{(moment - begin) / 1000:7.2f}"

    def took(start: int, stop: int) -> str:
        return f"{(stop - start) / 1000:6.2f}" if stop else "  open"

    alone = [job for job in jobs if not any(job in statement.jobs for statement in statements)]
    in_tasks, with_job = sum(job.cpu_ms for job in jobs) / 1000, _covered([(job.start, job.end) for job in jobs])
    with_statement = _covered([(statement.start, statement.end) for statement in statements])
    lines = [
        f"{file.name}: {took(begin, end).strip()} s from start to end of the application",
        f"{len(statements)} statements, {len(jobs)} jobs ({len(alone)} of no statement); CPU in tasks {in_tasks:.2f} s",
        f"seconds with a job {with_job:.2f}, with a statement {with_statement:.2f}",
        "",
        "     at   took",
    ]
    for event in sorted([*statements, *alone], key=lambda event: event.start):
        if isinstance(event, Statement):
            lines.append(f"{at(event.start)} {took(event.start, event.end)}  statement {event.number}: {event.plan}")
        for job in event.jobs if isinstance(event, Statement) else [event]:
            lines.append(
                f"{at(job.start)} {took(job.start, job.end)}      job {job.number}: {len(job.stages)} stages,"
                f" {job.tasks} tasks, {job.cpu_ms / 1000:.2f} s of CPU, {job.gc_ms / 1000:.2f} s of GC"
            )
    return "\n".join(lines) + "\n"


def write_summary(file: Path) -> None:
    file.with_suffix(".txt").write_text(summary(file), encoding="utf-8")


def _covered(spans: list[tuple[int, int]]) -> float:
    total, until = 0, 0
    for start, end in sorted(spans):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total / 1000


def _read(file: Path) -> tuple[int, int, list[Statement], list[Job]]:
    begin = end = 0
    statements: dict[int, Statement] = {}
    jobs: dict[int, Job] = {}
    job_of_stage: dict[int, Job] = {}
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            event: dict[str, Any] = json.loads(line)
            match event["Event"].removeprefix("SparkListener").removeprefix(_SQL):
                case "ApplicationStart":
                    begin = event["Timestamp"]
                case "ApplicationEnd":
                    end = event["Timestamp"]
                case "ExecutionStart":
                    number = event["executionId"]
                    statements[number] = Statement(number, event["time"], _plan(event))
                case "ExecutionEnd" if event["executionId"] in statements:
                    statements[event["executionId"]].end = event["time"]
                case "JobStart":
                    job = Job(event["Job ID"], event["Submission Time"], stages=tuple(event["Stage IDs"]))
                    jobs[job.number] = job
                    job_of_stage.update(dict.fromkeys(job.stages, job))
                    statement = (event.get("Properties") or {}).get("spark.sql.execution.id")
                    if statement is not None and int(statement) in statements:
                        statements[int(statement)].jobs.append(job)
                case "JobEnd":
                    jobs[event["Job ID"]].end = event["Completion Time"]
                case "TaskEnd" if event["Stage ID"] in job_of_stage:
                    job, metrics = job_of_stage[event["Stage ID"]], event.get("Task Metrics") or {}
                    job.tasks += 1
                    job.cpu_ms += metrics.get("Executor CPU Time", 0) / 1e6
                    job.gc_ms += metrics.get("JVM GC Time", 0)
                case _:
                    pass
    return begin, end, list(statements.values()), list(jobs.values())


def _plan(event: dict[str, Any]) -> str:
    """What the statement does, as far as its plan says it, with the tables that it names."""
    plan = event.get("physicalPlanDescription", "")
    nodes = re.findall(r"^[\s:+*-]*(?:\(\d+\)\s*)*([A-Z]\w+)", plan.partition("== Physical Plan ==")[2], re.MULTILINE)
    tables = dict.fromkeys(re.findall(r"\b(?:\w+\.)?(?:silver|gold|bronze|raw)\.\w+", plan))
    words = f"{event.get('description', '')[:60]} | {' '.join(dict.fromkeys(nodes[:6]))} | {', '.join(tables)}"
    return re.sub(r"\s+", " ", words)[:_PLAN_WORDS]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(summary(Path(name)))
