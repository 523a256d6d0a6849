"""What a model would read now: lake tables and how they changed since it ran, and the files in its landing zones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from tidegate.compiler.compiled import Compiled, CompiledModel
from tidegate.config import Settings, ZoneSettings
from tidegate.lake.changes import TableChange, Untraceable, change_since, other_columns
from tidegate.lake.consumed import Consumed, read_consumed
from tidegate.lake.delta_log import DeltaState
from tidegate.lake.metadata import TableMetadata, ViewMetadata
from tidegate.lake.progress import DeltaInput, Progress, TableInput
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.planner.model_traits import declared_key
from tidegate.project import Materialized
from tidegate.project.connector_zone import list_connector_zone, unconsumed_by_name
from tidegate.project.landing_files import UnconsumedFiles, ZoneFile, content_digest, list_zone, unconsumed
from tidegate.sources.chunk_tables import ChunkTable
from tidegate.sources.source_catalogs import has_own_catalog, has_source_catalog

__all__ = [
    "Inputs",
    "ZoneState",
    "is_elsewhere",
    "read_inputs",
    "recorded_delta",
    "recorded_inputs",
    "tables_behind",
    "with_discarded",
]


@dataclass(frozen=True, slots=True)
class ZoneState:
    """The files of a zone as listed now, what the table consumed of it before, and the difference."""

    zone: str
    files: tuple[ZoneFile, ...]
    consumed: Consumed | None
    fresh: UnconsumedFiles

    @property
    def undigested(self) -> bool:
        """Some files were consumed before digests were recorded, and have not changed since."""
        marks = self.consumed.files if self.consumed else ()
        lacking = {(mark.path, mark.size, mark.mtime_ns) for mark in marks if mark.digest is None}
        return bool(lacking) and any((file.path, file.size, file.mtime_ns) in lacking for file in self.files)


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything that a model reads, by full name; the tables behind a view are included."""

    tables: Mapping[str, TableInput] = field(default_factory=dict)
    zones: Mapping[str, ZoneState] = field(default_factory=dict)
    untracked: frozenset[str] = frozenset()
    """Tables outside the lake: whether they changed is unknown."""
    namespace: str = ""
    metadata: Mapping[str, TableMetadata] = field(default_factory=dict)
    """Of those that are tables of the lake, not views."""
    changed: Mapping[str, TableChange | Untraceable] = field(default_factory=dict)
    """Tables and views that changed since the model last ran."""
    unread: frozenset[str] = frozenset()
    """Tables that changed only in columns that the model does not read."""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns that identify the rows of a table, where they are known."""
    delta: Mapping[str, DeltaState] = field(default_factory=dict)
    """Delta tables beside the lake."""
    behind_views: frozenset[str] = frozenset()
    """Tables that views among them read."""

    @property
    def any(self) -> bool:
        return bool(self.tables or self.zones or self.delta or self.untracked)

    @property
    def expired(self) -> str | None:
        """A table whose recorded snapshot has expired."""
        names = (
            name for name, change in sorted(self.changed.items()) if isinstance(change, Untraceable) and change.expired
        )
        return next(map(self.short, names), None)

    @property
    def views(self) -> tuple[str, ...]:
        return tuple(self.short(name) for name in sorted(self.tables) if name not in self.metadata)

    @property
    def traceable(self) -> bool:
        return all(isinstance(change, TableChange) for change in self.changed.values())

    @property
    def traced(self) -> Mapping[TableName, TableChange]:
        """The tables whose changed rows are known."""
        return {
            TableName.parse(name, ""): change
            for name, change in self.changed.items()
            if isinstance(change, TableChange)
        }

    def changes(self) -> tuple[str, ...]:
        """The differences from what was recorded, in words; empty if there are none."""
        return (*self._table_changes(), *self._zone_changes())

    def _table_changes(self) -> Iterator[str]:
        for name, change in sorted(self.changed.items()):
            extent = change.reason if isinstance(change, Untraceable) else _extent(change)
            if name in self.delta and isinstance(change, TableChange):
                extent = f"moved from version {change.then_id} to {change.now_id}: {extent}"
            yield f"{self.short(name)} {extent}"
        for name in sorted(self.untracked):
            yield f"{self.short(name)} does not say whether it changed"

    def _zone_changes(self) -> Iterator[str]:
        for zone, state in sorted(self.zones.items()):
            for files, what in ((state.fresh.new, "new"), (state.fresh.replaced, "replaced")):
                if files:
                    yield f"{len(files)} {what} file{'s' if len(files) > 1 else ''} in {zone}"
            if copies := len(state.fresh.copies):
                yield f"{copies} of them a copy of a file of another name"

    def short(self, name: str) -> str:
        return name.removeprefix(self.namespace + ".")


def count_rows(rows: int) -> str:
    return f"{rows:,} row{'' if rows == 1 else 's'}"


def _extent(change: TableChange) -> str:
    if change.insert_only:
        return f"gained {count_rows(change.rows_written)}"
    return f"changed: about {count_rows(change.rows)}"


def read_inputs(model: CompiledModel, compiled: Compiled, lake: BranchView, progress: Progress | None) -> Inputs:
    """The state of everything that `model` reads, with the tables behind its views."""
    settings = compiled.settings
    tables: dict[str, TableInput] = {}
    delta: dict[str, DeltaState] = {}
    tabular: dict[str, TableMetadata] = {}
    changed: dict[str, TableChange | Untraceable] = {}
    untracked: set[str] = set()
    unread: set[str] = set()
    for table in tables_behind([*model.depends_on, *model.sources], compiled):
        name = str(table)
        if (chunk_table := compiled.chunk_tables.get(table)) is not None:
            delta[name] = chunk_table.require()
            if progress and (difference := _difference(chunk_table, progress.delta.get(name))):
                changed[name] = difference
            continue
        metadata = None if is_elsewhere(compiled, table) else lake.metadata(table)
        if metadata is None:
            if table.namespace in settings.sources:
                untracked.add(name)
            continue
        if isinstance(metadata, ViewMetadata) and table not in compiled.models:
            untracked.add(name)  # its inputs are unknown
            continue
        tables[name] = metadata.table_input()
        if isinstance(metadata, TableMetadata):
            tabular[name] = metadata
        change = _compared(metadata, progress.tables.get(name), name, model, compiled) if progress else None
        if isinstance(change, TableChange) and progress and _is_unread(change, progress.tables[name]):
            unread.add(name)
        elif change is not None:
            changed[name] = change
    zones = {zone: _zone_state(zone, model, lake, settings, progress) for zone in model.zones}
    keys = {name: key for name, metadata in tabular.items() if (key := _key(name, metadata, compiled))}
    return Inputs(
        tables,
        zones,
        frozenset(untracked),
        settings.project.namespace,
        tabular,
        changed,
        frozenset(unread),
        keys,
        delta,
        frozenset(str(table) for table in _behind_views(model, compiled)),
    )


def _behind_views(model: CompiledModel, compiled: Compiled) -> set[TableName]:
    upstream = [name for name in model.depends_on if name in compiled.models]
    views = [name for name in upstream if compiled.models[name].model.settings.materialized is Materialized.VIEW]
    return {table for table in tables_behind(views, compiled) if table not in views} if views else set()


def _difference(table: ChunkTable, last_read: DeltaInput | None) -> TableChange | Untraceable | None:
    return Untraceable("is a new input") if last_read is None else table.change_since(last_read)


def recorded_inputs(
    model: CompiledModel, inputs: Inputs, used: Mapping[TableName, frozenset[str] | None]
) -> Mapping[str, TableInput]:
    """The inputs to record in the model's progress: of each table only the columns `used` (None, or no entry: all).

    A query whose text depends on the run may read other columns next time, and a view reads columns of its own: then
    all columns count.
    """
    tables = dict(inputs.tables)
    if model.manual or inputs.views:
        return tables
    for name, metadata in inputs.metadata.items():
        if (columns := used.get(TableName.parse(name, ""))) is not None:
            tables[name] = metadata.table_input(columns)
    return tables


def _key(name: str, metadata: TableMetadata, compiled: Compiled) -> tuple[str, ...]:
    model = compiled.models.get(TableName.parse(name, ""))
    declared = declared_key(model) if model else ()
    return declared or (metadata.progress.key if metadata.progress else ())


def recorded_delta(inputs: Inputs) -> Mapping[str, DeltaInput]:
    return {name: state.as_input() for name, state in inputs.delta.items()}


def with_discarded(
    tables: Mapping[str, TableInput], before: Mapping[str, TableInput], metadata: Mapping[str, TableMetadata]
) -> Mapping[str, TableInput]:
    """`tables` as read now, with the snapshots read `before` from which the table has been rolled back."""
    inputs = dict(tables)
    for name, now in tables.items():
        last_read, table = before.get(name), metadata.get(name)
        if last_read is None or table is None or last_read.uuid != now.uuid:
            continue
        change = change_since(table, replace(last_read, used=None, columns=table.columns_digest))
        rolled_back_id = last_read.snapshot_id if isinstance(change, Untraceable) and change.rolled_back else None
        line = {snapshot.id for snapshot in table.ancestors()}
        discarded = (id for id in (*last_read.discarded, rolled_back_id) if id in table.snapshots and id not in line)
        inputs[name] = replace(now, discarded=tuple(dict.fromkeys(id for id in discarded if id is not None)))
    return inputs


def _compared(
    metadata: TableMetadata | ViewMetadata,
    last_read: TableInput | None,
    name: str,
    model: CompiledModel,
    compiled: Compiled,
) -> TableChange | Untraceable | None:
    if last_read is None:
        return Untraceable("is a new input")
    if isinstance(metadata, ViewMetadata):
        same = (last_read.uuid, last_read.columns) == (metadata.uuid, metadata.columns_digest)
        return None if same else Untraceable("is another view than before")
    snapshot = metadata.last_change
    if last_read.uuid == metadata.uuid and last_read.snapshot_id == (snapshot.id if snapshot else None):
        reason = other_columns(metadata, last_read) or _newly_named_columns(metadata, last_read, name, model, compiled)
        return Untraceable(reason) if reason else None
    change = change_since(metadata, last_read)
    if isinstance(change, TableChange) and (reason := _newly_named_columns(metadata, last_read, name, model, compiled)):
        return Untraceable(reason)
    return change


def _newly_named_columns(
    metadata: TableMetadata, last_read: TableInput, name: str, model: CompiledModel, compiled: Compiled
) -> str | None:
    """A name in the query may now mean a column that the table gained, not another table's or an alias."""
    if last_read.used is None or metadata.columns_digest == last_read.columns:
        return None
    used_columns = {column.lower() for column in last_read.used}
    queries = [model, *(compiled.models[table] for table in model.inlined)]
    origins = {
        origin
        for query in queries
        for origin in (*(edge.origin for edge in query.edges), *query.conditions)
        if origin.table == name and origin.column.lower() not in used_columns
    }
    own = {field.name.lower() for field in metadata.fields}
    names = sorted(origin.column for origin in origins if origin.column.lower() in own)
    return f"has other columns: {', '.join(names)}" if names else None


def _is_unread(change: TableChange, last_read: TableInput) -> bool:
    if change.columns is None or last_read.used is None:
        return False
    return {name.lower() for name in change.columns}.isdisjoint(name.lower() for name in last_read.used)


def is_elsewhere(compiled: Compiled, table: TableName) -> bool:
    """Whether Spark reads it outside the lake's catalog; a table of the same name in the lake is another one."""
    settings = compiled.settings
    own = has_source_catalog(settings, table) or has_own_catalog(settings, table.namespace)
    return own or table in compiled.chunk_tables


def tables_behind(names: Iterable[TableName], compiled: Compiled) -> tuple[TableName, ...]:
    """These tables, and all that the views among them read, directly or through other views."""
    tables: dict[TableName, None] = {}
    pending = list(names)
    while pending:
        name = pending.pop()
        if name in tables:
            continue
        tables[name] = None
        upstream = compiled.models.get(name)
        if upstream and upstream.model.settings.materialized == "view":
            pending += [*upstream.depends_on, *upstream.sources]
    return tuple(sorted(tables))


def _zone_state(
    zone: str, model: CompiledModel, lake: BranchView, settings: Settings, progress: Progress | None
) -> ZoneState:
    root = settings.landing.root
    own = lake.metadata(model.model.table)
    consumed = None
    if progress and zone in progress.zones and own is not None and not isinstance(own, ViewMetadata):
        consumed = read_consumed(own.table_location, progress.zones[zone])
    marks = consumed.files if consumed else ()
    declared = settings.landing.zones.get(zone, ZoneSettings())
    if declared.by_name:
        files = list_connector_zone(root, zone, marks)
        return ZoneState(zone, files, consumed, unconsumed_by_name(files, marks))
    files = list_zone(root, zone, required=not declared.raw)
    return ZoneState(zone, files, consumed, unconsumed(files, marks, partial(content_digest, root / zone)))
