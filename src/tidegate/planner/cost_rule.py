"""Which models are updated from changes: those for which that is cheaper for the whole project, in the JVM that builds
them.

A model that is rebuilt makes its readers rebuild, too. And a JVM that has just started takes longer for whatever it
does for the first time, above all for an update from changes, which has more kinds of statements than a build from all
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass

from tidegate.names import TableName

__all__ = ["WARM", "JvmState", "ReaderTimes", "saved_below", "worth_it"]

_COLD_TABLES = (2.0, 1.2, 0.7, 0.5, 0.4, 0.3, 0.2)
"""Seconds that the first tables of a JVM take longer than later ones, on two cores."""
_COLD_DELTAS = (3.0, 1.2, 0.6, 0.3)
"""Seconds that the first ones of them that are updated from changes take longer beside."""


@dataclass(frozen=True, slots=True)
class JvmState:
    """How many tables the JVM has built so far, from all rows and from changes."""

    builds: int = 0
    deltas: int = 0

    @property
    def knows_deltas(self) -> bool:
        """An update from changes takes about as long as it will the next time."""
        return self.longer_for_a_delta < 0.5

    @property
    def longer(self) -> float:
        """Seconds that the next table takes longer than it would later."""
        built = self.builds + self.deltas
        return _COLD_TABLES[built] if built < len(_COLD_TABLES) else 0.0

    @property
    def longer_for_a_delta(self) -> float:
        """Beside, if it is updated from changes."""
        return _COLD_DELTAS[self.deltas] if self.deltas < len(_COLD_DELTAS) else 0.0

    def after(self, deltas: int) -> JvmState:
        return JvmState(self.builds, self.deltas + deltas)


WARM = JvmState(len(_COLD_TABLES), len(_COLD_DELTAS))


@dataclass(frozen=True, slots=True)
class ReaderTimes:
    """How long a reader takes from all rows, and from changes."""

    table: TableName
    full: float
    delta: float


def saved_below(table: TableName, readers_of: Callable[[TableName], Iterable[ReaderTimes]]) -> float:
    """Seconds that everything below a table saves if the table is not rebuilt. A reader that is faster from all rows
    than from changes is rebuilt in any case, with all that is below it."""
    saved, visited, pending = 0.0, {table}, [table]
    while pending:
        for reader in readers_of(pending.pop()):
            if reader.table not in visited and reader.delta < reader.full:
                visited.add(reader.table)
                pending.append(reader.table)
                saved += reader.full - reader.delta
    return saved


def worth_it(saved: Mapping[TableName, float], jvm: JvmState) -> Set[TableName]:
    """Those of the models that the JVM is to update from changes, by the seconds that each saves in a warm one."""
    best: frozenset[TableName] = frozenset()
    chosen: list[TableName] = []
    net = most = 0.0
    for number, table in enumerate(sorted(saved, key=lambda table: (-saved[table], table))):
        chosen.append(table)
        net += saved[table] - jvm.after(number).longer_for_a_delta
        if net > most:
            best, most = frozenset(chosen), net
    return best
