"""A project as commands and routes that build nothing open it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.errors import SelectionError
from tidegate.names import TableName, nearest

if TYPE_CHECKING:
    from tidegate.compiler.compiled import Compiled, CompiledModel
    from tidegate.config import Settings
    from tidegate.lake import BranchCatalog, Heads, TableMetadata, ViewMetadata
    from tidegate.sources import Discovery
    from tidegate.state import StateReader

__all__ = ["Workspace"]


@dataclass(frozen=True)
class Workspace:
    """Reads a project, its lake and its history without a JVM. Reading creates nothing, not even for a new project."""

    settings: Settings

    def state(self) -> StateReader:
        from tidegate.state import open_reader

        return open_reader(self.settings.state.url)

    def catalog(self) -> BranchCatalog:
        from tidegate.lake import open_catalog

        return open_catalog(self.settings)

    def heads(self) -> Heads:
        """What main holds; nothing where no run has made a lake yet."""
        return self.catalog().head() if self._is_begun() else {}

    def _is_begun(self) -> bool:
        from tidegate.lake import is_initialized

        return is_initialized(self.settings)

    def metadata(self, table: TableName) -> TableMetadata | ViewMetadata | None:
        from tidegate.lake import read_metadata

        pointer = self.heads().get(table)
        return None if pointer is None else read_metadata(pointer)

    def compile(self, variables: Mapping[str, str] | None = None) -> Compiled:
        """With its errors, if there are some, as diagnostics."""
        return self.compile_with_sources(variables)[0]

    def compile_with_sources(self, variables: Mapping[str, str] | None = None) -> tuple[Compiled, Discovery]:
        """With the answers of the sources, and the failures of those that gave none."""
        from tidegate.compiler import compile_from_disk

        return compile_from_disk(self.settings, self.heads(), variables or {})

    def find_model(self, compiled: Compiled, name: str) -> CompiledModel:
        table = self._parse(name, (*compiled.models, *compiled.broken))
        if table in compiled.broken:
            raise SelectionError(f"'{name}' has errors", remedy="`tidegate compile` reports them.")
        if table not in compiled.models:
            raise self._unknown("model", name, compiled.models, "`tidegate ls` lists the models.")
        return compiled.models[table]

    def published(self, name: str) -> TableName:
        return self._among(name, self.heads())

    def queryable(self, name: str) -> TableName:
        """Published, or filled by chunked loads."""
        from tidegate.sources.chunk_tables import chunk_tables

        return self._among(name, {*self.heads(), *chunk_tables(self.settings)})

    def _among(self, name: str, tables: Collection[TableName]) -> TableName:
        table = self._parse(name, tables)
        if table not in tables:
            raise self._unknown("published table", name, tables, f"`tidegate run +{name}` builds a model's table.")
        return table

    def select(
        self,
        compiled: Compiled,
        patterns: Sequence[str],
        exclude: Sequence[str] = (),
        ephemeral: bool = False,
    ) -> frozenset[TableName]:
        """The tables that SELECT and --exclude choose. `ephemeral`: also models that have no table."""
        from tidegate.planner.selection import read_states, select

        among = replace(compiled, waves=(tuple(compiled.models),)) if ephemeral else compiled
        return select(among, patterns, exclude, lambda: read_states(compiled, self.heads()))

    def history_at_stake(
        self, select: Sequence[str], exclude: Sequence[str], variables: Mapping[str, str]
    ) -> list[str]:
        """The selected tables whose history a full refresh would lose."""
        from tidegate.planner.decide import keeps_history

        compiled = self.compile(variables)
        if compiled.project_errors:
            return []
        heads = self.heads()
        chosen = (table for table in self.select(compiled, select, exclude) if table in heads)
        return sorted(table.short(compiled.namespace) for table in chosen if keeps_history(compiled.models[table]))

    def _parse(self, name: str, known_tables: Iterable[TableName]) -> TableName:
        """A name without a layer means the only table of `known_tables` with that name."""
        namespace = self.settings.project.namespace
        meant = sorted({table for table in known_tables if table.name.lower() == name.lower()})
        if len(meant) == 1:
            return meant[0]
        if meant:
            from tidegate.planner.selection import ambiguous_name

            raise ambiguous_name(name, [table.short(namespace) for table in meant])
        try:
            return TableName.parse(name, namespace)
        except ValueError as error:
            close = nearest(name, (table.name for table in known_tables))
            remedy = f"Did you mean {' or '.join(close)}?" if close else "`tidegate ls` lists the models."
            raise SelectionError(str(error), remedy=remedy) from error

    def _unknown(self, what: str, name: str, known_tables: Iterable[TableName], remedy: str) -> SelectionError:
        close = nearest(name, (table.short(self.settings.project.namespace) for table in known_tables))
        meant = f"Did you mean {' or '.join(close)}? " if close else ""
        return SelectionError(f"There is no {what} '{name}'", remedy=f"{meant}{remedy}")
