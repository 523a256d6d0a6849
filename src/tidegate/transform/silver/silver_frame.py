"""The columns of a frame of bronze rows on its way to silver, and small pieces of Spark SQL that the stages share."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.names import literal
from tidegate.write.request import DELETED

__all__ = [
    "CAST",
    "CONSTRAINT",
    "DELETED",
    "FAILURES",
    "FAILURE_TYPE",
    "GONE",
    "META",
    "QUALITY",
    "SHOWN",
    "STAGE",
    "STAGES",
    "TEXTS",
    "TRANSFORM",
    "UNIQUE",
    "any_condition",
    "as_text",
    "concat",
    "failure",
    "failures",
    "shown",
]

STAGE, FAILURES, TEXTS = "__tidegate_stage", "__tidegate_failures", "__tidegate_texts"
GONE = "__tidegate_gone"
"""Of a row that a later row of the batch deletes: the flagged row keeps its values, and nothing else of it counts."""
META = ("_ingested_at", "_source_file", "_source_row", "_run_id", "_op", "_commit_time", "_sequence")
"""What bronze knows about each row."""

TRANSFORM, CAST, CONSTRAINT, UNIQUE, QUALITY = STAGES = ("transform", "cast", "constraint", "unique", "quality")
"""Each works on the rows that those before it let through."""

FAILURE_TYPE = "array<struct<stage:string,column:string,rule:string,message:string,value:string>>"
SHOWN = 200
"""The most characters of a value that a failure shows."""


def any_condition(conditions: Iterable[str]) -> str:
    """Empty where there is none."""
    return " OR ".join(f"({condition})" for condition in conditions)


def concat(*parts: str) -> str:
    return f"concat({', '.join(parts)})" if len(parts) > 1 else parts[0]


def shown(text: str) -> str:
    """A value for a person: NULL as a word, cut where it is long."""
    return (
        f"CASE WHEN {text} IS NULL THEN 'NULL' WHEN char_length({text}) > {SHOWN} "
        f"THEN concat(left({text}, {SHOWN - 1}), '…') ELSE {text} END"
    )


def as_text(value: str, kind: str) -> str:
    """A typed value as text; nested ones as JSON. `kind`: of its type."""
    if kind == "string":
        return value
    if kind in ("array", "map", "struct", "variant"):
        return f"to_json({value})"
    return f"base64({value})" if kind == "binary" else f"CAST({value} AS STRING)"


def failure(stage: str, column: str, rule: str, message: str, value: str) -> str:
    """One failure; `message` and `value` are SQL."""
    return (
        f"named_struct('stage', {literal(stage)}, 'column', {literal(column)}, 'rule', {literal(rule)}, "
        f"'message', {message}, 'value', {value})"
    )


def failures(entries: list[tuple[str, str]]) -> str:
    """The failures whose condition holds, in order; `entries` are (condition, failure)."""
    if not entries:
        return f"CAST(array() AS {FAILURE_TYPE})"
    chosen = ", ".join(f"CASE WHEN {condition} THEN {entry} END" for condition, entry in entries)
    nothing = f"CAST(NULL AS {FAILURE_TYPE.removeprefix('array<').removesuffix('>')})"
    # array_compact would take the projection out of Spark's code generation.
    return f"array_except(array({chosen}), array({nothing}))"
