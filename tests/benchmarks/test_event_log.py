"""The summary of an event log: what ran when, and which jobs belong to which statement."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.event_log import summary

SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"
EVENTS = [
    {"Event": "SparkListenerApplicationStart", "Timestamp": 1_000},
    {
        "Event": f"{SQL}Start",
        "executionId": 4,
        "time": 2_000,
        "description": "sql",
        "physicalPlanDescription": "== Physical Plan ==\nAppendData main.bench.silver.orders\n",
    },
    {
        "Event": "SparkListenerJobStart",
        "Job ID": 0,
        "Submission Time": 2_100,
        "Stage IDs": [0],
        "Properties": {"spark.sql.execution.id": "4"},
    },
    {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": 0,
        "Task Metrics": {"Executor CPU Time": 500_000_000, "JVM GC Time": 20},
    },
    {"Event": "SparkListenerJobEnd", "Job ID": 0, "Completion Time": 3_100},
    {"Event": f"{SQL}End", "executionId": 4, "time": 3_500},
    {"Event": "SparkListenerJobStart", "Job ID": 1, "Submission Time": 3_600, "Stage IDs": [1], "Properties": {}},
    {"Event": "SparkListenerApplicationEnd", "Timestamp": 4_000},
]


def test_statements_and_jobs_are_listed_with_their_seconds(tmp_path: Path) -> None:
    log = tmp_path / "one.jsonl"
    log.write_text("\n".join(map(json.dumps, EVENTS)))
    lines = summary(log).splitlines()
    assert lines[0] == "one.jsonl: 3.00 s from start to end of the application"
    assert lines[1] == "1 statements, 2 jobs (1 of no statement); CPU in tasks 0.50 s"
    assert lines[2] == "seconds with a job 1.00, with a statement 1.50"
    assert lines[5].startswith("   1.00   1.50  statement 4: sql")
    assert "bench.silver.orders" in lines[5]
    assert lines[6] == "   1.10   1.00      job 0: 1 stages, 1 tasks, 0.50 s of CPU, 0.02 s of GC"
    assert lines[7] == "   2.60   open      job 1: 1 stages, 0 tasks, 0.00 s of CPU, 0.00 s of GC"
