"""The exact part of a profile, from what Iceberg noted of each file that it wrote: no statement, and no job."""

from __future__ import annotations

import json
import struct
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from tidegate.datatypes import DataType
from tidegate.errors import LakeError
from tidegate.lake.metadata import TableMetadata, ViewMetadata

if TYPE_CHECKING:
    from tidegate.lake.manifests import ColumnBounds, Number
    from tidegate.quality.column_profiles import Survey

__all__ = ["MOST_FILES", "noted_values"]

MOST_FILES = 1_000
"""Of more files than that, reading the manifests takes longer than a query."""

_EPOCH = date(1970, 1, 1)
_LENGTHS = range(6, 10)
"""So many digits a number of 32 bits may need."""


def noted_values(survey: Survey, table: TableMetadata | ViewMetadata | None, rows: int) -> str | None:
    """The answer to `survey.exact` over all of the table's `rows`. None where the files do not say all that is asked,
    and where they have other rows too."""
    if not isinstance(table, TableMetadata) or table.current is None or table.total_records != rows:
        return None
    snapshot = table.current
    if not 0 < snapshot.count("total-data-files") <= MOST_FILES or snapshot.count("total-delete-files"):
        return None
    from tidegate.lake.manifests import column_bounds

    try:
        by_id = column_bounds(snapshot, table.fields, times=True)
    except LakeError:
        return None  # the query reports what is wrong
    noted = {field.name.lower(): by_id[field.id] for field in table.fields if field.id in by_id}
    answers = []
    for column, asked in zip(survey.columns, survey.asked, strict=True):
        answer = _answer(noted.get(column.name.lower()), column.type, asked) if asked else {}
        if answer is None:
            return None
        answers.append(answer)
    return json.dumps({"columns": answers})


def _answer(noted: ColumnBounds | None, kind: DataType, asked: tuple[str, ...]) -> dict[str, Any] | None:
    if noted is None:
        return None
    answer: dict[str, Any] = {"values": noted.values}
    for name, value in (("least", noted.least), ("greatest", noted.most)):
        if name in asked and noted.values:
            text = None if value is None else _text(value, kind)
            if text is None:
                return None
            answer[name] = text
    return answer


def _text(value: Number, kind: DataType) -> str | None:
    """As the query would give it."""
    if kind.is_integral or kind.kind == "timestamp":
        return str(int(value))
    match kind.kind:
        case "decimal":
            scale = kind.args[1]
            return f"{int(value * 10**scale)}E-{scale}"
        case "double":
            return repr(float(value))
        case "float":
            return _shortest(float(value))
        case "boolean":
            return "true" if value else "false"
        case "date":
            try:
                return (_EPOCH + timedelta(days=int(value))).isoformat()
            except OverflowError:
                return None  # a year that only Spark knows
        case _:
            return None


def _shortest(value: float) -> str | None:
    """The fewest digits that make the same number of 32 bits."""
    texts = (f"{value:.{length}g}" for length in _LENGTHS)
    return next((text for text in texts if struct.unpack("<f", struct.pack("<f", float(text)))[0] == value), None)
