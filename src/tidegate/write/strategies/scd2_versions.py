"""The SQL that turns a batch and a history into versions to open and to close."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.compiler.table_columns import IS_CURRENT
from tidegate.contracts.ingestion import COMMIT_TIME, SEQUENCE
from tidegate.datatypes import BOOLEAN, TIMESTAMP
from tidegate.project import ModelSettings
from tidegate.write.delete_events import ORIGIN, events_sql, is_later, newest_first
from tidegate.write.drift import aligned
from tidegate.write.request import DELETED, WriteRequest
from tidegate.write.spark_sql import null_safe_join, quote, timestamp
from tidegate.write.write_columns import TableColumn, TableColumns

__all__ = ["MOVES", "OP", "History", "changes_sql", "contract_events_sql", "first_versions_sql", "version_columns"]

OP = "__tidegate_op"
MOVES = ("open", "close", "gone", "lost")
"""The changes that are written; the others are counted only."""

_AT, _START, _NEXT, _FRESH, _ATTRS = (f"__tidegate_{name}" for name in ("at", "start", "next", "fresh", "attrs"))
_PREVIOUS, _ENDS, _FIRST, _PLACE = (f"__tidegate_{name}" for name in ("previous", "ends", "first", "place"))
_HEAD_ATTRS, _HEAD_FROM, _HEAD_TO, _HEAD_OPEN = (f"__tidegate_head_{n}" for n in ("attrs", "from", "to", "open"))
_HEAD_SEQUENCE, _BEFORE, _RANK = (f"__tidegate_{name}" for name in ("head_sequence", "before", "rank"))


def version_columns(settings: ModelSettings) -> TableColumns:
    """The bookkeeping columns of the strategy: since when, until when, and whether a version is the open one."""
    names = (settings.scd_valid_from, settings.scd_valid_to, IS_CURRENT)
    return TableColumns(tuple(map(TableColumn, names, (TIMESTAMP, TIMESTAMP, BOOLEAN))))


@dataclass(frozen=True, slots=True)
class History:
    request: WriteRequest

    table: TableColumns
    """The columns of the table but for the bookkeeping ones."""

    batch: TableColumns
    """Those of the result."""

    keys: TableColumns
    watermark: TableColumn | None

    staging: str = ""
    """The staged result; where deletes are applied, its events in the columns of the table."""

    @property
    def valid_from(self) -> str:
        return quote(self.request.settings.scd_valid_from)

    @property
    def valid_to(self) -> str:
        return quote(self.request.settings.scd_valid_to)

    @property
    def current(self) -> str:
        return quote(IS_CURRENT)

    @property
    def written(self) -> TableColumns:
        return TableColumns((*self.table, *version_columns(self.request.settings)))

    @property
    def started(self) -> str:
        return timestamp(self.request.run_started_at)

    @property
    def sequence(self) -> str | None:
        """The order of rows at one time, of the history of a contract. It is no part of a version's values."""
        of_contract = self.watermark is not None and self.watermark.name == COMMIT_TIME
        return quote(SEQUENCE) if of_contract and SEQUENCE in self.table else None

    @property
    def live(self) -> str:
        """A query for the keys that have an open version."""
        return f"SELECT {self.keys.sql()} FROM {self.request.table.quoted} WHERE {self.current}"


def contract_events_sql(history: History, source: str, *, exists: bool) -> str:
    """What is staged where deletes are applied: the batch and its deletes, one event of a key at each time."""
    assert history.watermark is not None
    live = history.live if exists else None
    events = events_sql(history.request, history.table, history.batch, history.keys, source, live)
    last = newest_first((*history.keys, history.watermark))
    columns = f"{history.table.sql()}, {DELETED}, {ORIGIN}"
    return f"SELECT {columns} FROM (SELECT *, row_number() OVER {last} AS {_RANK} FROM ({events})) WHERE {_RANK} = 1"


def first_versions_sql(history: History) -> str:
    """The table made from the batch alone."""
    return f"WITH {_steps(history, exists=False)} SELECT {_version(history)} FROM opened WHERE NOT {DELETED}"


def changes_sql(history: History, *, exists: bool = True) -> str:
    """One row per change: `open` a version, `close` the open one at valid_from (`gone`: its key was deleted; `lost`: a
    snapshot lacks it), `reject`. Of deletes also what is not written: `ended` a version of this batch, `unknown`,
    `late`; and `revived`."""
    parts = [f"SELECT {_version(history)}, explode({_moves(history)}) AS {OP} FROM opened"]
    if history.watermark and exists:
        parts.append(f"SELECT {_bare(history, _NO_TIME)}, 'reject' AS {OP} FROM rejected")
    if history.request.deletion and DELETED in history.request.result.columns:
        kind = f"IF({_FRESH}, 'unknown', 'late')"
        idle = f"{DELETED} AND {ORIGIN} = 'batch' AND (NOT {_FRESH} OR {_ATTRS} <=> {_BEFORE})"
        parts.append(f"SELECT {_bare(history, _NO_TIME)}, {kind} AS {OP} FROM states WHERE {idle}")
    if exists and history.request.complete and history.request.settings.scd_deletes == "close":
        # Never before the version began, whatever the clock says.
        ended = f"greatest({history.started}, {_HEAD_FROM})"
        absent = f"NOT EXISTS (SELECT 1 FROM batch __b WHERE {null_safe_join('__b', '__h', history.keys.names)})"
        parts.append(f"SELECT {_bare(history, ended)}, 'gone' AS {OP} FROM heads __h WHERE {_HEAD_OPEN} AND {absent}")
    return f"WITH {_steps(history, exists=exists)} {' UNION ALL '.join(parts)}"


_NO_TIME = "CAST(NULL AS timestamp)"


def _moves(history: History) -> str:
    ends_open = f"{_FIRST} AND {_HEAD_OPEN}"
    opens = f"IF({ends_open}, array('close', 'open'), array('open'))"
    if not history.request.deletion:
        return opens
    was_there = f"{_BEFORE} IS NULL AND coalesce(NOT {_FIRST} OR NOT {_HEAD_OPEN}, false)"
    gone = f"IF({ends_open}, IF({ORIGIN} = 'inferred', 'lost', 'gone'), 'ended')"
    return f"IF({DELETED}, array({gone}), concat({opens}, IF({was_there}, array('revived'), array())))"


def _version(history: History) -> str:
    return (
        f"{history.table.sql()}, {_START} AS {history.valid_from}, {_ENDS} AS {history.valid_to},"
        f" {_ENDS} IS NULL AS {history.current}"
    )


def _bare(history: History, valid_from: str) -> str:
    """A row of which only the key and valid_from are used."""
    values = [
        column.quoted if column.name in history.keys else f"CAST(NULL AS {column.type_sql}) AS {column.quoted}"
        for column in history.table
    ]
    return (
        f"{', '.join(values)}, {valid_from} AS {history.valid_from}, CAST(NULL AS timestamp) AS {history.valid_to},"
        f" false AS {history.current}"
    )


def _steps(history: History, *, exists: bool) -> str:
    """CTEs: the batch ordered by time, the rows that are newer than their key's last version, the chain of versions
    that differ.

    `opened` are the versions to open, each with where it ends; the first of a key ends the version that is open.
    """
    keys = history.keys.sql()
    by_time = f"(PARTITION BY {keys} ORDER BY {_START})"
    placed = (
        f"SELECT *, lead({_START}) OVER (PARTITION BY {keys} ORDER BY {_AT}) AS {_NEXT} FROM"
        f" (SELECT __b.*, {_HEAD_ATTRS}, {_HEAD_FROM}, {_HEAD_TO}, {_HEAD_OPEN}, {_HEAD_SEQUENCE},"
        f" {_start(history)} AS {_START}"
        f" FROM batch __b LEFT JOIN heads __h ON {null_safe_join('__b', '__h', history.keys.names)})"
    )
    alike = f"(PARTITION BY {keys}, {_FRESH} ORDER BY {_START})"
    states = (
        f"SELECT *, IF({_PLACE} = 1, IF({_HEAD_OPEN}, {_HEAD_ATTRS}, NULL), {_PREVIOUS}) AS {_BEFORE} FROM"
        f" (SELECT *, lag({_ATTRS}) OVER {alike} AS {_PREVIOUS}, row_number() OVER {alike} AS {_PLACE} FROM judged)"
    )
    steps = {
        "batch": f"SELECT *, {_at(history)} AS {_AT}, IF({DELETED}, NULL, {_attrs(history)}) AS {_ATTRS}"
        f" FROM ({_events(history)})",
        "versions": _versions(history) if exists else _no_versions(history),
        "heads": _heads(history),
        "placed": placed,
        "judged": f"SELECT *, {_fresh(history)} AS {_FRESH} FROM placed",
        "states": states,
        "chain": f"SELECT * FROM states WHERE {_FRESH} AND NOT ({_ATTRS} <=> {_BEFORE})",
        "opened": f"SELECT *, lead({_START}) OVER {by_time} AS {_ENDS}, row_number() OVER {by_time} = 1 AS {_FIRST}"
        " FROM chain",
    }
    if history.watermark:
        unknown = f"NOT EXISTS (SELECT 1 FROM versions __v WHERE {_already_recorded(history)})"
        steps["rejected"] = f"SELECT * FROM judged __j WHERE NOT {_FRESH} AND NOT {DELETED} AND {unknown}"
    return ", ".join(f"{name} AS ({query})" for name, query in steps.items())


def _events(history: History) -> str:
    if history.request.deletion:
        return f"SELECT * FROM {history.staging}"
    rows = aligned(history.table, history.batch)
    return f"SELECT {rows}, false AS {DELETED}, 'batch' AS {ORIGIN} FROM {history.staging}"


def _at(history: History) -> str:
    return f"CAST({history.watermark.quoted} AS timestamp)" if history.watermark else history.started


def _attrs(history: History) -> str:
    """Everything that makes a version different: all columns of the batch except the key, the watermark and the
    sequence."""
    excluded = [*history.keys.names, *([history.watermark.name] if history.watermark else [])]
    excluded += [SEQUENCE] if history.sequence else []
    compared = [column.comparable() for column in history.table.without(excluded) if column.name in history.batch]
    return f"struct({', '.join(compared) or 'true'})"


def _versions(history: History) -> str:
    selected = [*history.keys, *([history.watermark] if history.watermark else [])]
    columns = ", ".join(dict.fromkeys(f"__v.{column.quoted}" for column in selected))
    columns += f", __v.{history.sequence}" if history.sequence else ""
    only = ""
    if touched := history.request.touched:
        only = f" WHERE EXISTS (SELECT 1 FROM {touched.view} __k WHERE {null_safe_join('__k', '__v', touched.region)})"
    elif not history.request.complete:
        only = f" WHERE EXISTS (SELECT 1 FROM batch __b WHERE {null_safe_join('__b', '__v', history.keys.names)})"
    return (
        f"SELECT {columns}, __v.{history.valid_from}, __v.{history.valid_to}, __v.{history.current},"
        f" {_attrs(history)} AS {_ATTRS}"
        f" FROM {history.request.table.quoted} __v{only}"
    )


def _no_versions(history: History) -> str:
    none = "CAST(NULL AS timestamp)"
    return (
        f"SELECT *, {none} AS {history.valid_from}, {none} AS {history.valid_to}, false AS {history.current}"
        " FROM batch WHERE false"
    )


def _heads(history: History) -> str:
    """The last version of each key: the open one, or the one that ended last."""
    order = f"{history.current} DESC, {history.valid_from} DESC, {history.valid_to} DESC"
    return (
        f"SELECT {history.keys.sql()}, {_ATTRS} AS {_HEAD_ATTRS}, {history.valid_from} AS {_HEAD_FROM},"
        f" {history.valid_to} AS {_HEAD_TO}, {history.current} AS {_HEAD_OPEN},"
        f" {history.sequence or 'CAST(NULL AS string)'} AS {_HEAD_SEQUENCE} FROM"
        f" (SELECT *, row_number() OVER (PARTITION BY {history.keys.sql()} ORDER BY {order}) AS {_PLACE} FROM versions)"
        f" WHERE {_PLACE} = 1"
    )


def _start(history: History) -> str:
    """When the version begins: a key cannot reappear before it was deleted."""
    if history.watermark is None:
        return f"greatest({_AT}, {_HEAD_FROM}, {_HEAD_TO})"
    return f"IF(NOT {_HEAD_OPEN}, greatest({_AT}, {_HEAD_TO}), {_AT})" if history.request.complete else _AT


def _fresh(history: History) -> str:
    """Whether the row is newer than the last version.

    A complete result reopens a closed key, however old its newest row is; otherwise only a row from after its end does.
    """
    if history.watermark is None:
        return "true"
    back = f"{_NEXT} IS NULL OR {_NEXT} > {_START}" if history.request.complete else f"{_AT} >= {_HEAD_TO}"
    newer = f"{_AT} > {_HEAD_FROM}"
    if history.sequence:
        newer = f"({newer} OR {_AT} = {_HEAD_FROM} AND {is_later('', _HEAD_SEQUENCE)})"
    return f"CASE WHEN {_HEAD_OPEN} IS NULL THEN true WHEN {_HEAD_OPEN} THEN {newer} ELSE {back} END"


def _already_recorded(history: History) -> str:
    """Whether the history already has this row, or the same values at that time."""
    assert history.watermark is not None
    mark = history.watermark.quoted
    ends = f"__v.{history.valid_to}"
    during = f"__v.{history.valid_from} <= __j.{_AT} AND ({ends} IS NULL OR __j.{_AT} < {ends})"
    return (
        f"{null_safe_join('__v', '__j', history.keys.names)} AND __v.{_ATTRS} <=> __j.{_ATTRS}"
        f" AND (__v.{mark} = __j.{mark} OR ({during}))"
    )
