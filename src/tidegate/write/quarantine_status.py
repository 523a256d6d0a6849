"""What became of the rows of a contract's quarantine: they are open, were replayed, or were waived by a person."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tidegate.compiler.table_columns import ABOUT_STATUS, ROW_IDENTITY
from tidegate.names import TableName, literal, quote
from tidegate.planner.replay import OPEN, REPLAYED, STATUS, WAIVED, QuarantineFilter
from tidegate.write.spark_sql import null_safe_join, timestamp

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Replayed", "StatusChange", "is_not_replayed", "mark_replayed", "waive_rows", "with_status"]

_NAMES = tuple(column.name for column in ABOUT_STATUS)


@dataclass(frozen=True, slots=True)
class StatusChange:
    """Who gives rows another status, and by which run."""

    by: str
    at: datetime
    run_id: str | None = None
    note: str | None = None

    def assignments(self, status: str, prefix: str = "") -> str:
        texts = (status, self.by, self.run_id, timestamp(self.at), self.note)
        values = [
            text if name == "_status_at" else "NULL" if text is None else literal(text)
            for name, text in zip(_NAMES, texts, strict=True)
        ]
        return ", ".join(f"{prefix}{name} = {value}" for name, value in zip(_NAMES, values, strict=True))


@dataclass(frozen=True, slots=True)
class Replayed:
    """Rows that go through the contract again."""

    view: str
    """A relation of the session with the columns that identify them."""

    change: StatusChange


def is_not_replayed(columns: Collection[str], relation: str) -> str:
    return f"coalesce({relation}.{STATUS}, '{OPEN}') <> '{REPLAYED}'" if STATUS in columns else "true"


def with_status(refused: str, columns: Collection[str], former: TableName | None) -> str:
    """A relation of the refused rows, which has these columns, with their status: open.

    `former`: a quarantine whose rows were all judged again. A row that was waived there, and is refused for the same
    reasons, stays waived.
    """
    own = ", ".join(f"__r.{quote(name)}" for name in columns)
    if former is None:
        nothing = ", ".join(f"CAST(NULL AS {column.type.text}) AS {column.name}" for column in ABOUT_STATUS[1:])
        return f"(SELECT {own}, '{OPEN}' AS {STATUS}, {nothing} FROM {refused} __r)"
    identity = (*ROW_IDENTITY, "_reasons")
    waived = (
        f"SELECT {', '.join(identity)}, first(struct({', '.join(_NAMES)})) AS __status FROM {former.quoted}"
        f" WHERE {STATUS} = '{WAIVED}' GROUP BY {', '.join(identity)}"
    )
    status = ", ".join(f"__w.__status.{name}" for name in _NAMES[1:])
    return (
        f"(SELECT {own}, coalesce(__w.__status.{STATUS}, '{OPEN}') AS {STATUS}, {status}"
        f" FROM {refused} __r LEFT JOIN ({waived}) __w ON {null_safe_join('__r', '__w', identity)})"
    )


def waive_rows(session: SparkSession, quarantine: TableName, rows: QuarantineFilter, change: StatusChange) -> None:
    """Waive these rows."""
    columns = _with_columns(session, quarantine)
    session.sql(f"UPDATE {quarantine.quoted} SET {change.assignments(WAIVED)} WHERE {rows.condition(columns)}")


def mark_replayed(session: SparkSession, quarantine: TableName, replayed: Replayed) -> None:
    """Their open entries: those that are refused again get new ones."""
    _with_columns(session, quarantine)
    same = null_safe_join("__q", "__r", ROW_IDENTITY)
    session.sql(
        f"MERGE INTO {quarantine.quoted} __q USING (SELECT DISTINCT {', '.join(ROW_IDENTITY)} FROM {replayed.view})"
        f" __r ON {same} AND coalesce(__q.{STATUS}, '{OPEN}') = '{OPEN}'"
        f" WHEN MATCHED THEN UPDATE SET {replayed.change.assignments(REPLAYED, '__q.')}"
    )


def _with_columns(session: SparkSession, quarantine: TableName) -> list[str]:
    """Those of the table, which may have been written before rows had a status."""
    present = session.table(quarantine.quoted).columns
    missing = [column for column in ABOUT_STATUS if column.name not in present]
    if missing:
        added = ", ".join(f"{column.name} {column.type.text}" for column in missing)
        session.sql(f"ALTER TABLE {quarantine.quoted} ADD COLUMNS ({added})")
    return [*present, *(column.name for column in missing)]
