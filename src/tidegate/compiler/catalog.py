"""Which table a name in a query means."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tidegate.names import TableName, nearest

__all__ = ["TableIndex"]


class TableIndex:
    """The project's models and the lake's tables by name; case does not count, a model goes before a table.

    `silent`: namespaces of which nobody can say what is in them; any table may be.
    """

    def __init__(
        self,
        models: Iterable[TableName],
        lake: Collection[TableName],
        namespace: str,
        silent: Collection[str] = (),
    ) -> None:
        self.namespace = namespace
        self._silent = frozenset(silent)
        self.models = frozenset(models)
        self._exact = frozenset(lake) - self.models
        self._models = {_folded(table): table for table in sorted(self.models, reverse=True)}
        self._by_name = {_folded(table): table for table in sorted(lake, reverse=True)} | self._models

    def find(self, parts: Sequence[str]) -> TableName | None:
        """None where the project and the lake know no such table."""
        if len(parts) not in (2, 3):
            return None
        table = TableName(self.namespace, *parts) if len(parts) == 2 else TableName(*parts)
        if table in self.models:
            return table
        if (model := self._models.get(_folded(table))) is not None:
            return model
        if table in self._exact or table.namespace in self._silent:
            return table
        return self._by_name.get(_folded(table))

    def near(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Names that a name which means nothing was perhaps meant to be."""
        shorts = sorted(table.short(self.namespace) for table in self._by_name.values())
        if len(parts) == 1:
            same = tuple(s for s in shorts if s.rpartition(".")[2].lower() == parts[0].lower())
            likely = set(nearest(parts[0], (s.rpartition(".")[2] for s in shorts)))
            return (same or tuple(s for s in shorts if s.rpartition(".")[2] in likely))[:3]
        written = ".".join(parts)
        same_name = tuple(s for s in shorts if s.rpartition(".")[2].lower() == parts[-1].lower())
        return nearest(written, [*shorts, *map(str, self._by_name.values())]) or same_name[:3]


def _folded(table: TableName) -> tuple[str, str, str]:
    return table.namespace.lower(), table.layer.lower(), table.name.lower()
