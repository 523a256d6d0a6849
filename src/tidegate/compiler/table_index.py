"""Which table a name in a query means."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

from tidegate.names import TableName, nearest

__all__ = ["TableIndex"]

_Folded = tuple[str, str, str]


class TableIndex:
    """The project's models and the lake's tables by name; case does not count, a model takes precedence over a table.

    `unlisted`: namespaces whose tables could not be listed; any table may be in them.
    """

    def __init__(
        self,
        models: Iterable[TableName],
        lake: Collection[TableName],
        namespace: str,
        unlisted: Collection[str] = (),
    ) -> None:
        self.namespace = namespace
        self.models: dict[tuple[str, ...], TableName] = {table: table for table in models}
        self._unlisted = frozenset(unlisted)
        self._lake = frozenset(lake)

    def find(self, parts: Sequence[str]) -> TableName | None:
        """None where neither the project nor the lake has such a table."""
        if len(parts) not in (2, 3):
            return None
        names = (self.namespace, *parts) if len(parts) == 2 else tuple(parts)
        if (model := self.models.get(names)) is not None:
            return model
        table = TableName(*names)
        folded = _folded(table)
        if (model := self._folded_models.get(folded)) is not None:
            return model
        if table in self._lake or table.namespace in self._unlisted:
            return table
        return self._folded_lake.get(folded)

    @cached_property
    def _folded_models(self) -> dict[_Folded, TableName]:
        return {_folded(table): table for table in sorted(self.models.values(), reverse=True)}

    @cached_property
    def _folded_lake(self) -> dict[_Folded, TableName]:
        return {_folded(table): table for table in sorted(self._lake, reverse=True)}

    def near(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Similar names, as suggestions for one that was not found."""
        tables = {**self._folded_lake, **self._folded_models}.values()
        shorts = sorted(table.short(self.namespace) for table in tables)
        if len(parts) == 1:
            same = tuple(s for s in shorts if s.rpartition(".")[2].lower() == parts[0].lower())
            likely = set(nearest(parts[0], (s.rpartition(".")[2] for s in shorts)))
            return (same or tuple(s for s in shorts if s.rpartition(".")[2] in likely))[:3]
        written = ".".join(parts)
        same_name = tuple(s for s in shorts if s.rpartition(".")[2].lower() == parts[-1].lower())
        return nearest(written, [*shorts, *map(str, tables)]) or same_name[:3]


def _folded(table: TableName) -> _Folded:
    return table.namespace.lower(), table.layer.lower(), table.name.lower()
