"""current_state: the newest state of each key of a contract, from the events that its source delivers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidegate.contracts.ingestion import COMMIT_TIME, SEQUENCE
from tidegate.datatypes import BOOLEAN, TIMESTAMP
from tidegate.errors import StrategyError
from tidegate.faults import fault
from tidegate.write.commits import (
    commit_since,
    existing_columns,
    existing_rows,
    partly_written,
    row_key_recorded,
    table_before,
)
from tidegate.write.delete_events import (
    ORIGIN,
    events_sql,
    is_newer,
    is_older,
    newest_first,
    refuse_deletes_of_rebuild,
    refuse_empty_snapshot,
    refuse_inferred_deletes,
)
from tidegate.write.drift import Drift, apply_drift, compare_columns, replacement_drift
from tidegate.write.few_rows import for_small_tables
from tidegate.write.key_columns import check_keys, key_columns
from tidegate.write.observed_rows import record_added_profile
from tidegate.write.replace_table import is_rebuilt, replace_table
from tidegate.write.request import DELETED, DELETED_AT, IS_DELETED, DeletionCounts, WriteOutcome, WriteRequest
from tidegate.write.snapshot_deletes import without_doubtful_snapshots
from tidegate.write.spark_sql import any_of, quote, timestamp
from tidegate.write.staging import RESULT, staged_table, with_result_view
from tidegate.write.write_columns import TableColumn, TableColumns

__all__ = ["write_current_state"]

_OP, _RANK, _WINNER, _HERE, _LAST = (f"__tidegate_{name}" for name in ("op", "rank", "winner", "here", "last"))
_FLAGS = TableColumns((TableColumn(IS_DELETED, BOOLEAN), TableColumn(DELETED_AT, TIMESTAMP)))
_INSERT, _UPDATE, _REVIVE, _DELETE, _AGAIN = "insert", "update", "revive", "delete", "again"
_LATE, _UNKNOWN, _SAME = "late", "unknown", "same"
_INSERT_DELETED, _REVIVE_DELETED = "insert deleted", "revive deleted"
"""The key came and went within the batch: its last values are written, flagged."""
_LATER = "later"
"""Equal values at a later time."""
_INSERTS, _MATCHES = (_INSERT, _INSERT_DELETED), (_UPDATE, _LATER, _REVIVE, _DELETE, _AGAIN, _REVIVE_DELETED)
_WITH_VALUES = (_INSERT, _UPDATE, _REVIVE, _INSERT_DELETED, _REVIVE_DELETED)
_LARGE_TABLE = 1_000_000
"""In rows. A smaller table is shuffled sooner than asked for once more."""


@dataclass(frozen=True, slots=True)
class _EventCounts:
    """Events by what is done with them and where they come from."""

    events: Mapping[tuple[str, str], int] = field(default_factory=dict)
    keyless: int = 0

    def of(self, *operations: str, origin: str | None = None) -> int:
        return sum(n for (op, of), n in self.events.items() if op in operations and origin in (None, of))

    @property
    def deletions(self) -> DeletionCounts:
        return DeletionCounts(
            # A row that comes after its own delete is late; its delete was counted when it came.
            applied=self.of(_DELETE, _INSERT_DELETED, _REVIVE_DELETED) - self.of(_INSERT_DELETED, origin="tombstone"),
            ignored_late=self.of(_LATE),
            unknown=self.of(_UNKNOWN, _AGAIN, origin="batch"),
            revived=self.of(_REVIVE, _REVIVE_DELETED),
        )


@dataclass(frozen=True, slots=True)
class _State:
    request: WriteRequest

    table: TableColumns
    """The columns of the table as they will be."""

    batch: TableColumns
    """Those of the result."""

    keys: TableColumns

    exists: bool
    """The events are applied to a table; else they make it."""

    @property
    def soft(self) -> bool:
        return self.request.deletion is not None and self.request.deletion.rules.soft

    @property
    def is_large(self) -> bool:
        return self.exists and existing_rows(self.request) >= _LARGE_TABLE

    @property
    def others(self) -> TableColumns:
        return self.table.without(self.keys.names)

    @property
    def values(self) -> TableColumns:
        """What a row says of its key, and not of when it came."""
        return self.table.without((*self.keys.names, COMMIT_TIME, SEQUENCE, *_FLAGS.names))

    @property
    def live(self) -> str | None:
        """A query for the live keys of the table as it is; None: there is no table."""
        if self.request.lake.table(self.request.table) is None:
            return None
        columns = existing_columns(self.request)
        # A table that is about to be rebuilt may have had another key.
        selected = self.keys.sql() if all(name in columns for name in self.keys.names) else "1 AS n"
        where = f" WHERE NOT coalesce({quote(IS_DELETED)}, false)" if IS_DELETED in columns else ""
        return f"SELECT {selected} FROM {self.request.table.quoted}{where}"


@with_result_view
def write_current_state(request: WriteRequest, columns: TableColumns) -> WriteOutcome:
    """One MERGE with what changes: new keys, values that are newer and differ, deletes and returns of keys.

    An event is newer by `_commit_time` and `_sequence`. Where values do not differ nothing is written, so that what is
    delivered again makes no commit.
    """
    keys = key_columns(request, columns)
    for name in (COMMIT_TIME, SEQUENCE):
        columns.require(name, f"strategy {request.settings.strategy}", request.table)
    written = _with_flags(request, columns)
    if is_rebuilt(request):
        state, warnings = _settled(_State(request, written, columns, keys, exists=False))
        outcome = _create(state)
    else:
        drift = compare_columns(request, written)
        state, warnings = _settled(_State(request, drift.columns, columns, keys, exists=True))
        refuse_empty_snapshot(request, state.live)
        outcome = _change(state, drift)
    return replace(outcome, warnings=(*outcome.warnings, *warnings))


def _settled(state: _State) -> tuple[_State, tuple[str, ...]]:
    request, warnings = without_doubtful_snapshots(state.request, state.keys, state.live if state.exists else None)
    return replace(state, request=request), warnings


def _change(state: _State, drift: Drift) -> WriteOutcome:
    request = state.request
    if not drift.alters:
        return _apply(state, drift, RESULT)
    # After the table is altered, Spark refuses a result that reads this same table: compute it first.
    with staged_table(request, f"SELECT * FROM {RESULT}") as staging:
        apply_drift(request, drift)
        return _apply(state, drift, staging.quoted)


def _with_flags(request: WriteRequest, columns: TableColumns) -> TableColumns:
    if request.deletion is None or not request.deletion.rules.soft:
        return columns
    for flag in _FLAGS:
        if flag.name in columns:
            raise StrategyError(
                f"the result has a column '{flag.name}', which soft deletion fills itself",
                where=str(request.table),
                remedy="Rename it in the contract, or set deletion_mode to hard.",
            )
    return TableColumns((*columns, *_FLAGS))


def _create(state: _State) -> WriteOutcome:
    request = state.request
    refuse_empty_snapshot(request, state.live)
    refuse_deletes_of_rebuild(request, state.keys)
    changes = replacement_drift(request, state.table)
    events = _events_sql(state, RESULT)
    counts = _count(state, f"({events})") if request.deletion is not None else _EventCounts()
    rows = f"SELECT {state.table.sql()} FROM ({events}) WHERE {_OP} IN ({_listed(_INSERTS)})"
    written = replace_table(request, rows, state.table)
    check_keys(request, request.table.quoted, state.keys, unique=False)
    return WriteOutcome(written, 0, changed=True, drift=changes, deletions=counts.deletions)


def _apply(state: _State, drift: Drift, source: str) -> WriteOutcome:
    request = state.request
    with (
        staged_table(request, _events_sql(state, source), "changes") as changes,
        for_small_tables(request.session, request.lake, request.table, changes),
    ):
        staged = request.lake.table(changes)
        counts = _count(state, changes.quoted) if staged and staged.total_records else _EventCounts()
        if counts.keyless:
            check_keys(request, changes.quoted, state.keys, unique=False)
        assert state.live is not None
        refuse_inferred_deletes(request, counts.of(_DELETE, origin="inferred"), state.live)
        written = counts.of(*_WITH_VALUES)
        changed = bool(counts.of(*_INSERTS, *_MATCHES))
        if changed:
            before = table_before(request)
            with row_key_recorded(request.session, state.keys.names):
                _write(state, counts, changes.quoted)
            commit_since(request, before)
            record_added_profile(request, None, written, state.table, before)
    return WriteOutcome(
        rows_written=written,
        rows_deleted=counts.of(_DELETE),
        changed=changed or drift.alters,
        drift=drift.changes,
        dropped_columns=drift.dropped_columns,
        deletions=counts.deletions,
    )


def _events_sql(state: _State, source: str) -> str:
    """The newest event of each key as the row that the table is to have, and what is to be done with it. Events that
    change nothing are left out, unless they are to be counted."""
    request, window = state.request, newest_first(state.keys)
    live = state.live if state.exists else None
    events = events_sql(request, state.table, state.batch, state.keys, source, live)
    ranked = (
        f"SELECT *, row_number() OVER {window} AS {_RANK}, first_value({ORIGIN}) OVER {window} AS {_WINNER}"
        f"{_last_values(state)} FROM events"
    )
    values = ", ".join(f"{_value(state, column)} AS {column.quoted}" for column in state.table)
    beside = ""
    if state.exists:
        rows = f"SELECT *, true AS {_HERE} FROM {request.table.quoted} __r"
        if state.is_large:
            # An outer join shuffles the whole table, and the few rows of it that are needed are found without.
            rows += f" LEFT SEMI JOIN events __k ON {_same_key(state, '__r', '__k')}"
        beside = f" LEFT JOIN ({rows}) __t ON {_same_key(state, '__t', '__e')}"
    judged = f"SELECT {values}, __e.{ORIGIN}, {_operation(state)} AS {_OP} FROM ({ranked}) __e{beside}"
    return f"WITH events AS ({events}) SELECT * FROM ({judged}) WHERE {_OP} <> '{_SAME}'"


def _same_key(state: _State, one: str, other: str) -> str:
    return " AND ".join(f"{one}.{key.quoted} = {other}.{key.quoted}" for key in state.keys)


def _last_values(state: _State) -> str:
    """The newest row of the key, which a flagged row keeps the values of."""
    if not state.soft:
        return ""
    whole = newest_first(state.keys, "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING")
    columns = [column.quoted for column in state.values]
    row = f"struct({', '.join([*columns, quote(COMMIT_TIME), quote(SEQUENCE), ORIGIN])})"
    return f", first_value(IF({DELETED}, NULL, {row}), true) OVER {whole} AS {_LAST}"


def _has_last_values(state: _State) -> str:
    """Whether the batch has a row of the deleted key that is newer than the table's."""
    given = f"__e.{_LAST} IS NOT NULL"
    if not state.exists:
        return f"({given})"
    return f"({given} AND (__t.{_HERE} IS NULL OR {is_newer(f'__e.{_LAST}', '__t')}))"


def _value(state: _State, column: TableColumn) -> str:
    if state.soft and column.name == IS_DELETED:
        return f"__e.{DELETED}"
    if state.soft and column.name == DELETED_AT:
        return f"IF(__e.{DELETED}, CAST(__e.{quote(COMMIT_TIME)} AS timestamp), NULL)"
    if state.soft and column.name in state.values:
        former = f"__t.{column.quoted}" if state.exists else "NULL"
        kept = f"IF({_has_last_values(state)}, __e.{_LAST}.{column.quoted}, {former})"
        return f"IF(__e.{DELETED}, {kept}, __e.{column.quoted})"
    return f"__e.{column.quoted}"


def _operation(state: _State) -> str:
    """The first case that holds. A row that an earlier delete of its key outdates is late; the delete was counted when
    it came."""
    batch = f"__e.{ORIGIN} = 'batch'"
    cases = [(f"__e.{_RANK} > 1", f"IF({batch} AND __e.{_WINNER} = 'tombstone', '{_LATE}', '{_SAME}')")]
    unknown = f"IF({batch}, '{_UNKNOWN}', '{_SAME}')"
    late = f"IF({batch}, '{_LATE}', '{_SAME}')"
    passed = f"__e.{DELETED} AND {_has_last_values(state)}" if state.soft else "false"
    if not state.exists:
        cases += [(passed, f"'{_INSERT_DELETED}'"), (f"__e.{DELETED}", unknown)]
        return _case(cases, f"'{_INSERT}'")
    newer = is_newer("__e", "__t")
    is_live = f"NOT coalesce(__t.{quote(IS_DELETED)}, false)" if IS_DELETED in state.table else "true"
    differs = any_of(column.differs("__t", "__e") for column in state.values if column.name in state.batch)
    cases += [
        (f"__t.{_HERE} IS NULL AND {passed}", f"'{_INSERT_DELETED}'"),
        (f"__e.{DELETED} AND __t.{_HERE} IS NULL", unknown),
        (f"__t.{_HERE} IS NULL", f"'{_INSERT}'"),
        (f"NOT {newer} AND NOT __e.{DELETED} AND NOT {is_older('__e', '__t')}", f"'{_SAME}'"),
        (f"NOT {newer}", late),
        (f"__e.{DELETED} AND {is_live}", f"'{_DELETE}'"),
        (passed, f"'{_REVIVE_DELETED}'"),
        (f"__e.{DELETED} AND __e.{ORIGIN} = 'inferred'", f"'{_SAME}'"),
        (f"__e.{DELETED}", f"'{_AGAIN}'"),
        (f"NOT ({is_live})", f"'{_REVIVE}'"),
        (differs, f"'{_UPDATE}'"),
        (_is_dated(state), f"'{_LATER}'"),
    ]
    return _case(cases, f"'{_SAME}'")


def _is_dated(state: _State) -> str:
    """Whether the source says when the change was: then equal values at a later time are news, because a change from
    between the two times may come yet. What a run reads as the state of now has the run's own time."""
    if state.request.deletion is not None and state.request.deletion.rules.inferred:
        return "false"
    return f"__e.{quote(COMMIT_TIME)} <> {timestamp(state.request.run_started_at)}"


def _case(cases: list[tuple[str, str]], otherwise: str) -> str:
    return f"CASE {' '.join(f'WHEN {condition} THEN {value}' for condition, value in cases)} ELSE {otherwise} END"


def _count(state: _State, changes: str) -> _EventCounts:
    keyless = any_of(f"{key.quoted} IS NULL" for key in state.keys)
    rows = state.request.session.sql(
        f"SELECT {_OP} AS op, {ORIGIN} AS origin, count(*) AS n, count_if({keyless}) AS keyless"
        f" FROM {changes} GROUP BY {_OP}, {ORIGIN}"
    ).collect()
    return _EventCounts({(row["op"], row["origin"]): row["n"] for row in rows}, sum(row["keyless"] for row in rows))


def _write(state: _State, counts: _EventCounts, changes: str) -> None:
    """A MERGE that also inserts shuffles the whole table. Rows to insert are known to be new, so they can come alone:
    for a large table a second commit is cheaper."""
    request, columns = state.request, state.table
    inserts, matches = counts.of(*_INSERTS) > 0, counts.of(*_MATCHES) > 0
    apart = inserts and (state.is_large or not matches)
    if matches:
        with partly_written(request.session, if_any=apart):
            request.session.sql(_merge_sql(state, changes, inserts=inserts and not apart))
    if matches and apart:
        fault("between_commits", request.table)
    if apart:
        request.session.sql(
            f"INSERT INTO {request.table.quoted} ({columns.sql()})"
            f" SELECT {columns.sql()} FROM {changes} WHERE {_OP} IN ({_listed(_INSERTS)})"
        )


def _merge_sql(state: _State, changes: str, *, inserts: bool) -> str:
    columns = state.table
    times = state.table.without(state.values.names).without(state.keys.names)
    clauses = [f"WHEN MATCHED AND __s.{_OP} = '{_LATER}' THEN UPDATE SET {_assigned(times)}"]
    if not state.soft:
        clauses.append(f"WHEN MATCHED AND __s.{_OP} IN ({_listed((_DELETE, _AGAIN))}) THEN DELETE")
    clauses.append(f"WHEN MATCHED THEN UPDATE SET {_assigned(state.others)}")
    if inserts:
        new = f"WHEN NOT MATCHED AND __s.{_OP} IN ({_listed(_INSERTS)})"
        clauses.append(f"{new} THEN INSERT ({columns.sql()}) VALUES ({columns.sql('__s')})")
    written = _listed((*_MATCHES, *(_INSERTS if inserts else ())))
    source = f"(SELECT * FROM {changes} WHERE {_OP} IN ({written}))"
    same = _same_key(state, "__t", "__s")
    return f"MERGE INTO {state.request.table.quoted} __t USING {source} __s ON {same} {' '.join(clauses)}"


def _listed(operations: Sequence[str]) -> str:
    return ", ".join(f"'{operation}'" for operation in operations)


def _assigned(columns: TableColumns) -> str:
    return ", ".join(f"__t.{column.quoted} = __s.{column.quoted}" for column in columns)
