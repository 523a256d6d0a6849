"""The rows behind an image of a table, as SQL that a person can read and run."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.lake.changes import TableChange
from tidegate.names import TableName, quote
from tidegate.planner.deltas.values import Image

__all__ = ["image_sql"]

_SEQUENCE = "_last_updated_sequence_number"


def image_sql(table: TableName, image: Image, change: TableChange, columns: Sequence[str]) -> str:
    """`columns`: those that are read. An updated row keeps its id, so the one of then is found by that."""
    named = ", ".join(map(quote, columns)) or "NULL AS `_`"
    then = f"{table.quoted} VERSION AS OF {change.then_id}"
    match image:
        case Image.AFTER:
            return f"SELECT {named} FROM {table.quoted} WHERE {_SEQUENCE} > {change.sequence_number}"
        case Image.THEN:
            return f"SELECT {named} FROM {then}"
        case Image.BEFORE if change.insert_only:
            return f"SELECT {named} FROM {then} WHERE false"
        case Image.BEFORE:
            kind, sign = ("ANTI", "<=") if change.may_delete else ("SEMI", ">")
            rows = f"SELECT {named}, _row_id AS `__id` FROM {then}"
            ids = f"SELECT _row_id AS `__id` FROM {table.quoted} WHERE {_SEQUENCE} {sign} {change.sequence_number}"
            return f"SELECT {named}\nFROM ({rows}) b\nLEFT {kind} JOIN ({ids}) n\n  ON b.`__id` = n.`__id`"
