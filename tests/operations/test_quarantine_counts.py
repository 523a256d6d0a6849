"""Refused rows counted by rule, from batches as the tables of models and of contracts give them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from tidegate.operations.quarantine.quarantined_rows import CountsByRule
from tidegate.operations.quarantine.redacted_rows import redact_quarantined

NOON, LATER = datetime(2026, 11, 15, 12, tzinfo=UTC), datetime(2026, 11, 16, 12, tzinfo=UTC)
FAILURE = pa.struct([(name, pa.string()) for name in ("stage", "column", "rule", "message", "value")])


def batch(rows: list[dict[str, Any]], **more: pa.DataType) -> pa.RecordBatch:
    columns = {"_reasons": pa.list_(pa.string()), "_columns": pa.list_(pa.string()), **more}
    kinds = {**columns, "_run_id": pa.string(), "_quarantined_at": pa.timestamp("us", "UTC")}
    filled = [{"_reasons": [], "_columns": [], "_run_id": "run-1", "_quarantined_at": NOON, **row} for row in rows]
    return pa.RecordBatch.from_pylist(filled, pa.schema(kinds))


def counted(*batches: pa.RecordBatch) -> list[tuple[Any, ...]]:
    counts = CountsByRule()
    for each in batches:
        counts.add(each)
    return [(entry.stage, entry.column, entry.rule, entry.rows, entry.run) for entry in counts.entries("silver.a")]


def test_reasons_of_models_are_counted_for_the_columns_that_they_name() -> None:
    both = {"_reasons": ["compare(n, >, 0): n > 0", "not_null(mail): no NULL in mail"], "_columns": ["n", "mail"]}
    later = {"_run_id": "run-2", "_quarantined_at": LATER}
    record = {"_reasons": ["has 2 fields where 3 are expected"], "_line": 7}
    first = batch([both, {**both, **later}, record], _line=pa.int64())
    named = batch([{"_reasons": ["check('a', 'b > 1'): b > 1"], "_columns": ["b"]}])
    assert counted(first, named) == [
        ("constraint", "b", "check('a', 'b > 1')", 1, "run-1"),
        ("constraint", "mail", "not_null(mail)", 2, "run-2"),
        ("constraint", "n", "compare(n, >, 0)", 2, "run-2"),
        ("landing", None, "has 2 fields where 3 are expected", 1, "run-1"),
    ]


def failure(column: str | None, rule: str, value: str = "x") -> dict[str, Any]:
    return {"stage": "cast", "column": column, "rule": rule, "message": f"'{value}' is wrong", "value": value}


def test_a_row_counts_once_for_a_rule_and_for_every_rule_that_it_breaks() -> None:
    rows = [
        {"_failures": [failure("a", "type"), failure("a", "type"), failure("b", "type")]},
        {"_failures": [failure("a", "type"), failure(None, "no refunds")]},
        {"_failures": []},
    ]
    assert counted(batch(rows, _failures=pa.list_(FAILURE)), batch([], _failures=pa.list_(FAILURE))) == [
        ("cast", None, "no refunds", 1, "run-1"),
        ("cast", "a", "type", 2, "run-1"),
        ("cast", "b", "type", 1, "run-1"),
    ]


@pytest.mark.parametrize(("column", "is_hidden"), [("mail", True), ("id, Mail", True), (None, True), ("id", False)])
def test_failures_of_hidden_columns_lose_their_values(column: str | None, is_hidden: bool) -> None:
    row = {
        "id": "1",
        "mail": "clear",
        "_reasons": ["'clear' is wrong", "b is not paid"],
        "_failures": [failure(column, "type", "clear"), {**failure("id", "paid"), "message": "b is not paid"}],
    }
    told = redact_quarantined(row, frozenset({"mail"}))
    assert told["mail"] == "***"
    assert ("clear" in str(told)) is not is_hidden
    assert told["_failures"][0]["rule"] == "type"
    assert told["_reasons"] == ["***" if is_hidden else "'clear' is wrong", "b is not paid"]
    assert redact_quarantined(row, frozenset()) == row
