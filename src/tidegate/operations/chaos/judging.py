"""Whether what readers saw, and what was left, are states that whole runs make."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidegate.names import TableName

__all__ = ["State", "TableContent", "differences", "mixes", "together"]


@dataclass(frozen=True, slots=True)
class TableContent:
    """`rows` is None for a view; `digest` covers the columns and every row, in whatever order, or the view's text."""

    rows: int | None
    digest: str


State = Mapping[TableName, TableContent]

_MOMENTS = ("before the run", "after it", "after one more")


def together(
    mode: str, tables: Collection[TableName], waves: Sequence[Sequence[TableName]]
) -> tuple[tuple[TableName, ...], ...]:
    """Which tables a publish of this mode moves in one step. A quarantine moves with its model's table."""
    if mode in ("run", "all"):
        return (tuple(sorted(tables)),)
    owners = {table: table.beside_quarantine or table for table in tables}
    steps = waves if mode == "wave" else [[table] for wave in waves for table in wave]
    groups = [tuple(sorted(table for table in tables if owners[table] in step)) for step in steps]
    return tuple(group for group in groups if group)


def mixes(seen: State, whole: Sequence[State], groups: Iterable[Sequence[TableName]]) -> Iterator[str]:
    """What is wrong with a state of main that a reader saw. `whole`: the states that it may be in, in order."""
    for group in groups:
        if any(all(seen.get(table) == state.get(table) for table in group) for state in whole):
            continue
        strange = [table for table in group if all(seen.get(table) != state.get(table) for state in whole)]
        if strange:
            yield f"readers saw {_names(strange)} as no run leaves it"
        else:
            yield f"readers saw a mix: {_apart(seen, whole, group)}"


def _apart(seen: State, whole: Sequence[State], group: Iterable[TableName]) -> str:
    fits = {table: [seen.get(table) == state.get(table) for state in whole] for table in group}
    told = (
        f"{_names(found)} as {moment}"
        for at, moment in enumerate(_MOMENTS)
        if (found := [table for table, fit in fits.items() if fit.index(True) == at and not all(fit)])
    )
    return " beside ".join(told)


def differences(left: State, ended: Sequence[State]) -> Iterator[str]:
    """In what the final state differs from the first of `ended`, where it is none of them."""
    wanted = ended[0]
    tables = sorted({*left, *wanted})
    if any(all(left.get(table) == state.get(table) for table in tables) for state in ended):
        return
    for table in tables:
        here, there = left.get(table), wanted.get(table)
        if here != there:
            yield f"{table.layer}.{table.name} {_difference(here, there)}"


def _difference(here: TableContent | None, there: TableContent | None) -> str:
    if here is None or there is None:
        return "is missing" if here is None else "should not be there"
    if here.rows != there.rows:
        return f"has {here.rows} rows instead of {there.rows}"
    return "has other rows or columns" if here.rows is not None else "has another text"


def _names(tables: Iterable[TableName]) -> str:
    return ", ".join(f"{table.layer}.{table.name}" for table in tables)
