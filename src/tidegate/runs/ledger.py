"""Records what a run has built and checked so far, so that it can be resumed where it was interrupted."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidegate.compiler.compiled import Compiled, CompiledModel
from tidegate.config import Settings
from tidegate.config.source_settings import SourceSettings, source_digest
from tidegate.faults import fault
from tidegate.lake.branch_catalog import MAIN, BranchCatalog
from tidegate.lake.consumed import read_consumed
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.progress import TableInput
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.planner.inputs import read_inputs
from tidegate.quality.column_profiles import Profile
from tidegate.runs.clock import Clock
from tidegate.runs.publishing import compacted_only
from tidegate.runs.reads import owned_tables, owning_models
from tidegate.runs.recorder import profile_of_record, profile_record
from tidegate.state import ProgressEntry, RunRecord, StateStore

__all__ = ["EarlierBuild", "Ledger"]


@dataclass(frozen=True, slots=True)
class EarlierBuild:
    """What is left of an earlier try of the run at one model."""

    reused: bool = False
    """The model's tables on the branch can be used."""

    note: str = ""
    """Else: why they cannot."""

    profile: Profile | None = None


@dataclass(frozen=True, slots=True)
class Ledger:
    """Thread-safe."""

    store: StateStore
    record: RunRecord
    clock: Clock
    earlier: Mapping[str, ProgressEntry] = field(default_factory=dict)
    """The entries of earlier tries, by model."""

    sources: Mapping[str, SourceSettings] = field(default_factory=dict)

    @classmethod
    def of(
        cls, store: StateStore, record: RunRecord, clock: Clock, sources: Mapping[str, SourceSettings] | None = None
    ) -> Ledger:
        entries = store.reader().progress_entries(record.run_id) if record.resumes else ()
        earlier = {entry.model: entry for entry in entries if not entry.file}
        return cls(store, record, clock, earlier, sources or {})

    def add_built(
        self,
        model: CompiledModel,
        compiled: Compiled,
        lake: BranchView,
        profile: Profile | None = None,
        checked: Mapping[str, TableInput] | None = None,
    ) -> None:
        """Record the model's tables on the branch as built and checked. `checked`: other tables that its checks
        read."""
        table = model.model.table
        pointers = _pointers(table, compiled, lake)
        earlier = _built_earlier(table, compiled) if checked else ()
        looked_at = {
            name: table_input.state
            for name, table_input in (checked or {}).items()
            if name in earlier or TableName.parse(name, "") not in compiled.models
        }
        read = {**self._sources_of(model), **looked_at}
        entry = ProgressEntry(self.record.run_id, str(table), self.clock.now(), pointers=pointers, read=read)
        files = _new_files(model, lake, self.record.run_id)
        if profile is not None:
            name, at = table.short(compiled.namespace), self.record.started_at
            self.store.add_profile(profile_record(self.record.run_id, name, at, profile))
        fault("before_entry", table)
        self.store.add_progress(entry, files)
        fault("after_entry", table)

    def reuse_or_restore(
        self, model: CompiledModel, compiled: Compiled, lake: BranchView, settings: Settings
    ) -> EarlierBuild:
        """Use what an earlier try of the run built, or restore the model's tables to what they were before it."""
        table = model.model.table
        if not self._is_intact(table, compiled, lake):
            return EarlierBuild()
        why = self._changed_sources(model, compiled, lake) or _changed_inputs(model, compiled, lake, settings)
        if not why:
            record = self.store.reader().profile(self.record.run_id, table.short(compiled.namespace))
            return EarlierBuild(reused=True, profile=profile_of_record(record) if record else None)
        owned = owned_tables(compiled, [table])
        for change in lake.catalog.changed_tables(lake.branch):
            if change.table in owned:
                lake.restore(change.table, change.before)
        return EarlierBuild(note=f"built before the run was interrupted, but {why}")

    def resume_branch(
        self, catalog: BranchCatalog, branch: str, compiled: Compiled, selected: Collection[TableName]
    ) -> None:
        """Retain what was built and checked, unless main has moved it; everything else on the branch is reset to
        main."""
        catalog.heartbeat(branch)
        lake, main = BranchView(catalog, branch), catalog.head(MAIN)
        changes = {change.table: change for change in catalog.changed_tables(branch)}
        compacted = compacted_only(catalog, branch, changes.keys())
        moved = {table for table, change in changes.items() if main.get(table) != change.before} - compacted.keys()
        models = (owning_models(compiled, changes) - owning_models(compiled, moved)) & set(selected)
        stay = owned_tables(compiled, [table for table in models if self._is_intact(table, compiled, lake)])
        catalog.refresh_branch(branch, changes.keys() - stay)

    def _is_intact(self, table: TableName, compiled: Compiled, lake: BranchView) -> bool:
        """An earlier try built and checked it, and the branch still has that, or main has it, compacted since."""
        entry = self.earlier.get(str(table))
        if entry is None or table not in compiled.models:
            return False
        if _pointers(table, compiled, lake) == entry.pointers:
            return True
        progress = lake.progress(table)
        mine = progress is not None and progress.run_id == self.record.run_id
        return mine and table not in {change.table for change in lake.catalog.changed_tables(lake.branch)}

    def _sources_of(self, model: CompiledModel) -> dict[str, str]:
        names = {table.namespace for table in model.sources} & self.sources.keys()
        return {name: source_digest(self.sources[name]) for name in sorted(names)}

    def _changed_sources(self, model: CompiledModel, compiled: Compiled, lake: BranchView) -> str:
        """Why the model cannot be reused: its source settings or the tables of its checks changed. Empty if neither
        did. Changes of rows in a source cannot be detected."""
        before, sources = self.earlier[str(model.model.table)].read, self._sources_of(model)
        tables = {name: word for name, word in before.items() if "." in name}
        recorded = {name: word for name, word in before.items() if name not in tables}
        if other := sorted(
            name for name in recorded.keys() | sources.keys() if recorded.get(name) != sources.get(name)
        ):
            return f"the settings of {', '.join(other)} changed"
        for name, word in sorted(tables.items()):
            table = TableName.parse(name, "")
            metadata = lake.metadata(table)
            if metadata is None or metadata.table_input().state != word:
                return f"{table.short(compiled.namespace)}, which its checks look at, changed"
        return ""


def _pointers(table: TableName, compiled: Compiled, lake: BranchView) -> dict[str, str | None]:
    pointers = {owned: lake.pointer(owned) for owned in sorted(owned_tables(compiled, [table]))}
    return {str(owned): pointer.location if pointer else None for owned, pointer in pointers.items()}


def _built_earlier(table: TableName, compiled: Compiled) -> set[str]:
    """The models that are built before it. Of others its checks read whatever there is at that moment."""
    earlier, pending = set[TableName](), [*compiled.upstreams[table]]
    while pending:
        upstream = pending.pop()
        if upstream not in earlier:
            earlier.add(upstream)
            pending += compiled.upstreams.get(upstream, ())
    return {str(upstream) for upstream in earlier}


def _changed_inputs(model: CompiledModel, compiled: Compiled, lake: BranchView, settings: Settings) -> str:
    """Why the model cannot be reused. Empty where code, checks and inputs are those that its table recorded. Changes of
    sources outside the lake cannot be detected."""
    progress = lake.progress(model.model.table)
    if progress is None or progress.fingerprint != model.fingerprint:
        return "its definition changed"
    if progress.checks != model.checks_digest:
        return "its checks changed"
    inputs = read_inputs(model, compiled, lake, progress)
    return "; ".join(replace(inputs, untracked=frozenset()).changes())


def _new_files(model: CompiledModel, lake: BranchView, run_id: str) -> Sequence[str]:
    metadata = lake.metadata(model.model.table) if model.zones else None
    progress = metadata.progress if isinstance(metadata, TableMetadata) else None
    if not isinstance(metadata, TableMetadata) or progress is None:
        return ()
    return [
        f"{zone}/{file.path}"
        for zone, zone_input in sorted(progress.zones.items())
        for file in read_consumed(metadata.table_location, zone_input).files
        if file.run_id == run_id
    ]
