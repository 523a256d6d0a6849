"""The statements and jobs of each model of each run, from Spark's event log."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Statement", "statements_of", "text_of"]

_PROPERTY = "spark.sql.iceberg.snapshot-property.tidegate"
_COMMAND = re.compile(
    r"(?:Execute )?([A-Z]\w*(?:Command|Table\w*|Data|Delta|Dynamic|Expression|View|Namespace|Ordering))\b"
)
_QUERY = "query"


@dataclass
class Statement:
    """A SQL execution. `kind`: the name of its command, or `query`."""

    kind: str
    jobs: list[int] = field(default_factory=list)


def statements_of(folder: Path) -> Mapping[tuple[str, str], list[Statement]]:
    """By run and model (`shop.silver.orders`), in order. A job outside of any statement counts as one of kind `job`."""
    found: dict[tuple[str, str], list[Statement]] = defaultdict(list)
    by_id: dict[str, Statement] = {}
    pools: dict[str, tuple[str, str]] = {}
    for event in _events(folder):
        match event["Event"].rpartition(".")[2]:
            case "SparkListenerSQLExecutionStart":
                root, own = str(event["rootExecutionId"]), str(event["executionId"])
                if root != own and root in by_id:
                    by_id[own] = by_id[root]
                    continue
                conf = event["modifiedConfigs"]
                owner = (conf.get(f"{_PROPERTY}.run-id", ""), conf.get(f"{_PROPERTY}.model", ""))
                statement = by_id[own] = Statement(_kind(event["sparkPlanInfo"]["nodeName"]))
                found[owner].append(statement)
                pools[owner[1].partition(".")[2]] = owner
            case "SparkListenerJobStart":
                properties = event["Properties"]
                execution = by_id.get(properties.get("spark.sql.execution.id", ""))
                if execution is None:
                    execution = Statement("job")
                    found[pools.get(properties.get("spark.scheduler.pool", ""), ("", ""))].append(execution)
                execution.jobs.append(event["Job ID"])
    return found


def text_of(statements: list[Statement]) -> str:
    """`statements: 2, jobs: 1`, and a line for each statement: its jobs, and its kind."""
    jobs = sum(len(statement.jobs) for statement in statements)
    head = f"statements: {len(statements)}, jobs: {jobs}"
    return "\n".join([head, *(f"{len(each.jobs)} {each.kind}" for each in statements)])


def _kind(node: str) -> str:
    match = _COMMAND.match(node)
    return match[1] if match else _QUERY


def _events(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.iterdir()):
        for line in file.read_text().splitlines():
            yield json.loads(line)
