"""Cases of tests/cases/silver: one column, the texts that bronze has for it, and what becomes of each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from tests.transform.bronze_rows import bronze_frame

from tidegate.contracts.ingestion import DEFAULT_NULL_VALUES, SilverColumn, SilverRules
from tidegate.datatypes import parse_type
from tidegate.transform.silver import FAILURES, mark_rows
from tidegate.transform.silver.silver_frame import as_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLDER = Path(__file__).parent.parent / "cases" / "silver"
_HEADING = re.compile(r"== (?P<type>[^{]+?)(?: (?P<options>\{.*\}))?(?: with null_values (?P<nulls>\[.*\]))?")


@dataclass(frozen=True)
class Case:
    heading: str
    rules: SilverRules
    texts: tuple[str | None, ...]
    expected: tuple[str | None, ...]


def read_cases(path: Path) -> list[Case]:
    blocks = re.split(r"^(?=== )", path.read_text("utf-8"), flags=re.MULTILINE)
    return [_case(block) for block in blocks if block.startswith("== ")]


def _case(block: str) -> Case:
    heading, *lines = (line for line in block.splitlines() if line and not line.startswith("# "))
    match = _HEADING.fullmatch(heading)
    assert match, heading
    options = yaml.safe_load(match["options"] or "{}")
    column = SilverColumn(
        "value",
        match["type"],
        ("value",),
        primary_key=options.pop("key", False),
        required=options.get("required") is True,
        allowed=tuple(options.pop("enum")) if "enum" in options else None,
        logical_type=options.pop("logicalType", None),
        parts=tuple(map(_part, options.pop("properties", ()))),
        items=_part(options.pop("items")) if "items" in options else None,
        options=options,
    )
    nulls = tuple(json.loads(match["nulls"])) if match["nulls"] else DEFAULT_NULL_VALUES
    pairs = [line.split(" => ", 1) for line in lines]
    return Case(
        heading,
        SilverRules("things", "things", (column,), (), "append", null_values=nulls),
        tuple(_text(text) for text, _ in pairs),
        tuple(expected if expected.startswith("! ") else _text(expected) for _, expected in pairs),
    )


def _part(keys: dict[str, Any]) -> SilverColumn:
    """What is inside a column: `name`, `type`, `required`, `properties`, and its options."""
    options = dict(keys)
    return SilverColumn(
        options.pop("name", ""),
        options.pop("type"),
        required=options.pop("required", False),
        parts=tuple(map(_part, options.pop("properties", ()))),
        items=_part(options.pop("items")) if "items" in options else None,
        options=options,
    )


def _text(written: str) -> str | None:
    if written == "NULL":
        return None
    return str(json.loads(written)) if re.fullmatch(r'"[^"]*"', written) else written


def results(spark: SparkSession, cases: list[Case]) -> Iterator[tuple[Case, list[Any]]]:
    """What became of the texts of each case, all in one job.

    Cases are the columns of one silver table, where none of them refuses the NULL that it has for the texts of others.
    """
    groups: dict[Any, list[Case]] = {}
    for case in cases:
        column = case.rules.columns[0]
        alone = case.heading if column.required or column.primary_key else None
        groups.setdefault((case.rules.null_values, alone), []).append(case)
    frames = [_marked(spark, group, number) for number, group in enumerate(groups.values())]
    rows = reduce(lambda left, right: left.union(right), frames).collect()
    for number, group in enumerate(groups.values()):
        for position, case in enumerate(group):
            own = [row for row in rows if row["number"] == number and row["position"] == position]
            own.sort(key=lambda row: row["_source_row"])
            yield case, [row["messages"] if row["refused"] else row["value"] for row in own]


def _marked(spark: SparkSession, cases: list[Case], number: int) -> DataFrame:
    names = [f"v{position}" for position in range(len(cases))]
    columns = [
        replace(case.rules.columns[0], name=name, origin=(name,)) for case, name in zip(cases, names, strict=True)
    ]
    rows: list[dict[str, Any]] = [
        {**dict.fromkeys(names), name: text, "_source_row": row, "_sequence": position}
        for position, (case, name) in enumerate(zip(cases, names, strict=True))
        for row, text in enumerate(case.texts)
    ]
    marked = mark_rows(bronze_frame(spark, rows), replace(cases[0].rules, columns=tuple(columns)))
    texts = [as_text(column.name, _kind(column)) for column in columns]
    value = f"element_at(array({', '.join(texts)}), INT(_sequence) + 1)"
    messages = f"concat_ws('; ', transform({FAILURES}, f -> regexp_replace(f.message, '^v[0-9]+ ', 'value ')))"
    return marked.selectExpr(
        f"{number} AS number",
        "INT(_sequence) AS position",
        "_source_row",
        f"{value} AS value",
        f"concat('! ', {messages}) AS messages",
        f"{FAILURES} IS NOT NULL AS refused",
    )


def _kind(column: SilverColumn) -> str:
    kind = parse_type(column.type)
    assert kind
    return kind.kind
