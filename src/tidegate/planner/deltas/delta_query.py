"""What a query over changed tables becomes: the keys that the change can touch, and the query for just those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tidegate.lake.changes import TableChange
from tidegate.names import TableName, quote

__all__ = ["LINEAGE", "TOUCHED", "DeltaQuery", "DeltaRefusal", "Image", "ImageRead", "InputTable", "image_sql"]

TOUCHED = "__touched"
"""The relation of touched keys, with the region's columns by name, without duplicates."""


LINEAGE = ("_last_updated_sequence_number", "_row_id")
"""Iceberg's hidden columns: the commit that wrote a row last, and the row's id, which grows inside a commit."""


class Image(StrEnum):
    """One side of a table between the state that was read last and now."""

    THEN = "then"
    """All rows as they were."""
    BEFORE = "before"
    """Rows that were changed or deleted since, as they were."""
    AFTER = "after"
    """Rows that were changed or inserted since, as they are."""


@dataclass(frozen=True, slots=True)
class ImageRead:
    """The SQL of a DeltaQuery reads `image` of `table` under `name`. Tables as they are now go by their own names."""

    name: str
    table: TableName
    image: Image


@dataclass(frozen=True, slots=True)
class InputTable:
    """A table that a query reads. `unique`: sets of its columns of which no two rows have the same values, then or now.

    `columns`: all names, in order. `changed`: some rows are not as they were. `keyed_by`: no row's values of these
    columns changed under its id and no key went, so that keys of BEFORE are keys of AFTER. `types`: of columns, by
    their names in lower case, where they are known. `lineage`: the query reads Iceberg's hidden columns of the table.
    """

    columns: tuple[str, ...]
    unique: tuple[frozenset[str], ...] = ()
    changed: bool = False
    keyed_by: frozenset[str] | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    lineage: bool = False


@dataclass(frozen=True, slots=True)
class DeltaQuery:
    """Rows of the table whose `region` columns are in TOUCHED are replaced by what `result` gives.

    `unique`: the result has at most one row for each value of the region. `touched` reads images of changed tables and
    gives the region's columns, each value once if `once`; `result` may read TOUCHED. `reads` are the images that either
    of them names.
    """

    region: tuple[str, ...]
    unique: bool
    touched: str
    result: str
    reads: tuple[ImageRead, ...] = ()
    once: bool = False


@dataclass(frozen=True, slots=True)
class DeltaRefusal:
    """Why a query cannot be answered from changes: `construct` is what stands in the way, in the user's words."""

    construct: str


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
