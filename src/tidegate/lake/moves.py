"""What a publish moves, decided from pointers alone: the compare of compare and swap, for every catalog."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidegate.errors import PublishConflictError
from tidegate.lake.port import Change, Heads
from tidegate.names import TableName

__all__ = ["changes_between", "moved_meanwhile", "moves_to_main"]


def changes_between(before: Heads, after: Heads) -> tuple[Change, ...]:
    changed = sorted(table for table in before.keys() | after.keys() if before.get(table) != after.get(table))
    return tuple(Change(table, before.get(table), after.get(table)) for table in changed)


def moves_to_main(
    branch: str,
    tables: Iterable[TableName],
    bases: Heads,
    ours: Heads,
    main: Heads,
    accept: Heads,
    unmoved: Heads,
) -> tuple[Change, ...]:
    """The tables that the branch changed, if main still has what it started from (or what `accept` names).

    Raises PublishConflictError that names every table which main moved meanwhile, also of those that must be `unmoved`;
    but where main has all of it already, there is nothing left that they could spoil.
    """
    moves, conflicts = [], []
    for table in tables:
        base, our, now = bases.get(table), ours.get(table), main.get(table)
        if our == base:
            continue
        if now in (base, our) or (now is not None and now == accept.get(table)):
            moves.append(Change(table, now, our))
        else:
            conflicts.append(table)
    if conflicts or any(change.before != change.after for change in moves):
        conflicts += sorted(table for table, pointer in unmoved.items() if main.get(table) != pointer)
    if conflicts:
        raise moved_meanwhile(branch, conflicts)
    return tuple(moves)


def moved_meanwhile(branch: str, tables: Sequence[TableName]) -> PublishConflictError:
    names = ", ".join(map(str, tables))
    return PublishConflictError(
        f"main moved {names} since branch '{branch}' started; nothing was published",
        tables=tables,
        remedy="run again: the tables are rebuilt from what main has now",
    )
