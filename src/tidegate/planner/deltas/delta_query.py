"""The values of a delta: the keys that a change can touch, the query for just those, and images of its tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from tidegate.lake.changes import TableChange
from tidegate.names import TableName, quote

__all__ = [
    "CHANGE_TYPES",
    "LINEAGE",
    "OWN",
    "TOUCHED",
    "DeltaGuard",
    "DeltaQuery",
    "DeltaRefusal",
    "DeltaStep",
    "Image",
    "ImageRead",
    "InputTable",
    "delta_image_sql",
    "image_sql",
]

TOUCHED = "__touched"
"""The relation of touched keys, with the region's columns by name, without duplicates."""


OWN = "__own"
"""The relation of the model's own rows, as they were before the run."""


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
    """A table that a query reads."""

    columns: tuple[str, ...]
    """All names, in order."""
    unique: tuple[frozenset[str], ...] = ()
    """Sets of columns in which no two rows have the same values, then or now."""
    changed: bool = False
    keyed_by: frozenset[str] | None = None
    """No row's values in these columns changed under its id and no key was deleted, so keys of BEFORE are in AFTER."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Of columns, by their names in lower case, where they are known."""
    lineage: bool = False
    """The query reads Iceberg's hidden columns of the table."""
    all_versions: bool = False
    """BEFORE and AFTER also have what a row was in between."""


@dataclass(frozen=True, slots=True)
class DeltaStep:
    """Rows that are computed once, before the touched keys, and read under `name`."""

    name: str
    sql: str
    """May read OWN and the steps before it."""


@dataclass(frozen=True, slots=True)
class DeltaGuard:
    """If `sql` gives a row, the delta would be wrong, and all rows are read instead."""

    sql: str
    """May read the steps."""
    why: str


@dataclass(frozen=True, slots=True)
class DeltaQuery:
    """Rows of the table whose `region` columns are in TOUCHED are replaced by the rows of `result`."""

    region: tuple[str, ...]
    unique: bool
    """The result has at most one row for each value of the region."""
    touched: str
    """SQL over images of changed tables that gives the region's columns."""
    result: str
    """SQL that may read TOUCHED."""
    reads: tuple[ImageRead, ...] = ()
    """The images that `touched` or `result` names."""
    once: bool = False
    """`touched` gives each value once."""
    steps: tuple[DeltaStep, ...] = ()
    guards: tuple[DeltaGuard, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """Everything that is read."""
        return (*(step.sql for step in self.steps), *(guard.sql for guard in self.guards), self.touched, self.result)

    def with_texts(self, change: Callable[[str], str]) -> DeltaQuery:
        return replace(
            self,
            touched=change(self.touched),
            result=change(self.result),
            steps=tuple(replace(step, sql=change(step.sql)) for step in self.steps),
            guards=tuple(replace(guard, sql=change(guard.sql)) for guard in self.guards),
        )

    @property
    def reads_own(self) -> bool:
        return any(re.search(rf"\b{OWN}\b", text) for text in self.texts)


@dataclass(frozen=True, slots=True)
class DeltaRefusal:
    """Why a query cannot be computed from changes: `construct` names the part of the SQL that prevents it."""

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


CHANGE_TYPES = {Image.BEFORE: ("delete", "update_preimage"), Image.AFTER: ("insert", "update_postimage")}
"""The rows of a Delta table's change feed that have an image. They have each version of a row since it was read, which
touches more keys than those that differ, and none that differ are missing."""


def delta_image_sql(table: TableName, image: Image, change: TableChange) -> str:
    """For people; Spark gets the same rows through its reader."""
    if image is Image.THEN:
        return f"SELECT * FROM {table.quoted} VERSION AS OF {change.then_id}"
    kinds = ", ".join(f"'{kind}'" for kind in CHANGE_TYPES[image])
    feed = f"table_changes('{table}', {change.then_id + 1}, {change.now_id})"
    return f"SELECT * FROM {feed} WHERE _change_type IN ({kinds})"
