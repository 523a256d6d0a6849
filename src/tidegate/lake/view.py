"""Reading one branch of the lake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from tidegate.errors import LakeError
from tidegate.lake.branch_catalog import BranchCatalog, Heads, Pointer
from tidegate.lake.metadata import TableMetadata, ViewMetadata, read_metadata
from tidegate.lake.progress import PROGRESS_PROPERTY, Progress
from tidegate.names import TableName

__all__ = ["BranchView", "PinnedView"]


@dataclass(frozen=True)
class BranchView:
    """Every call reads the catalog again; only metadata files are cached, which never change."""

    catalog: BranchCatalog
    branch: str

    def heads(self) -> Heads:
        return self.catalog.head(self.branch)

    def pointer(self, table: TableName) -> Pointer | None:
        return self.catalog.pointer(self.branch, table)

    def metadata(self, table: TableName) -> TableMetadata | ViewMetadata | None:
        pointer = self.pointer(table)
        try:
            return None if pointer is None else _read(pointer)
        except LakeError as error:
            table_error = LakeError(f"{table}: {error.message}", where=error.where, remedy=error.remedy)
            table_error.kind = error.kind
            raise table_error from error

    def table(self, table: TableName) -> TableMetadata | None:
        """None also where the name is a view's."""
        metadata = self.metadata(table)
        return metadata if isinstance(metadata, TableMetadata) else None

    def progress(self, table: TableName) -> Progress | None:
        metadata = self.metadata(table)
        return None if metadata is None else metadata.progress

    def create_namespace(self, table: TableName) -> None:
        self.catalog.create_namespace(self.branch, table)

    def set_progress(
        self, table: TableName, progress: Progress, others: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """In one commit with `others`, which are other properties of the table."""
        properties = {PROGRESS_PROPERTY: progress.to_json(), **others}
        self.catalog.set_properties(self.branch, table, properties)

    def restore(self, table: TableName, pointer: Pointer | None) -> None:
        self.catalog.restore(self.branch, table, pointer)


@dataclass(frozen=True)
class PinnedView(BranchView):
    """Reads each pointer of `view` once. Metadata files never change, so what is read through it depends on
    `pointers` alone."""

    view: BranchView
    pointers: dict[TableName, Pointer | None] = field(default_factory=dict)

    @classmethod
    def of(cls, view: BranchView) -> PinnedView:
        return cls(view.catalog, view.branch, view)

    def heads(self) -> Heads:
        return self.view.heads()

    def pointer(self, table: TableName) -> Pointer | None:
        if table not in self.pointers:
            self.pointers[table] = self.view.pointer(table)
        return self.pointers[table]


@lru_cache(maxsize=256)
def _read(pointer: Pointer) -> TableMetadata | ViewMetadata:
    return read_metadata(pointer)
