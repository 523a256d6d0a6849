"""The errors files: rows that were rejected, and records that cannot be read, in one form.

| column | |
|---|---|
| `source_file`, `source_row` | where the row was delivered |
| `stage` | what it failed at: `read`, `transform`, `cast`, `constraint` or `quality` |
| `column`, `rule`, `value`, `reason` | the first failure |
| `failures` | every failure of the stage |
| `record` | the row as it was then, as JSON; the text of a record that cannot be read |
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tidegate.chunks.reading.pieces import UnreadableRecord

__all__ = ["ERROR_COLUMNS", "ERROR_SCHEMA", "READ", "unreadable_rows"]

READ = "read"
_SHOWN = 200

_FAILURE = pa.struct([(name, pa.string()) for name in ("stage", "column", "rule", "message", "value")])
ERROR_SCHEMA = pa.schema(
    [
        ("source_file", pa.string()),
        ("source_row", pa.int64()),
        ("stage", pa.string()),
        ("column", pa.string()),
        ("rule", pa.string()),
        ("value", pa.string()),
        ("reason", pa.string()),
        ("failures", pa.list_(pa.field("element", _FAILURE))),
        ("record", pa.string()),
    ]
)
ERROR_COLUMNS = tuple(ERROR_SCHEMA.names)


def unreadable_rows(source_file: str, records: Sequence[UnreadableRecord]) -> pa.Table:
    rows = [_row(source_file, record) for record in records]
    return pa.Table.from_pylist(rows, ERROR_SCHEMA)


def _row(source_file: str, record: UnreadableRecord) -> dict[str, object]:
    value = record.text if len(record.text) <= _SHOWN else record.text[: _SHOWN - 1] + "…"
    failure = {"stage": READ, "column": None, "rule": READ, "message": record.reason, "value": value}
    return {
        "source_file": source_file,
        "source_row": record.number,
        "stage": READ,
        "column": None,
        "rule": READ,
        "value": value,
        "reason": record.reason,
        "failures": [failure],
        "record": record.text,
    }
