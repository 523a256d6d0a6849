"""What a publish moves, decided from pointers alone: the compare of compare and swap, for every catalog."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.errors import PublishConflictError
from tidegate.lake.port import Change, Heads
from tidegate.names import TableName

__all__ = ["moves_to_main"]


def moves_to_main(
    branch: str,
    tables: Iterable[TableName],
    bases: Heads,
    ours: Heads,
    main: Heads,
    accept: Heads,
) -> tuple[Change, ...]:
    """The tables that the branch changed, if main still has what it started from (or what `accept` names).

    Raises PublishConflictError that names every table which main moved meanwhile.
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
    if conflicts:
        names = ", ".join(map(str, conflicts))
        raise PublishConflictError(
            f"main moved {names} since branch '{branch}' started; nothing was published",
            tables=conflicts,
            remedy="run again: the tables are rebuilt from what main has now",
        )
    return tuple(moves)
