"""Maintenance of the lake: drop orphan branches, compact small files, expire old snapshots, delete unused files.

Every step is best effort. An error becomes a line of the report, and a run that changes the same table at the same
time wins: maintenance works on a branch of its own and drops what conflicts.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.config import MaintenanceSection, Settings
from tidegate.errors import PublishConflictError
from tidegate.faults import fault
from tidegate.lake import MAIN, BranchCatalog, BranchView, TableMetadata, open_catalog, read_metadata
from tidegate.lake.expire import expire_snapshots, expired_snapshots
from tidegate.lake.warehouse import last_sweep, record_sweep
from tidegate.names import TableName
from tidegate.operations.maintain_delta import DeltaMaintenance, maintain_delta
from tidegate.operations.reap import best_effort, drop_orphans

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.lake.sweep import SweepReport

__all__ = ["Compacted", "MaintenanceReport", "SessionFactory", "maintain", "maintain_after_run", "maintain_lake"]

SessionFactory = Callable[[str], "SparkSession"]
"""Gives a child session on a branch; called only when a table needs Spark."""

Clock = Callable[[], datetime]

INPUT_SNAPSHOT_MAX_AGE = timedelta(days=90)
"""How long a snapshot stays only because some model read it last; then that model's next run is a backfill."""

MEGABYTE = 2**20
MIN_FILES_PER_GROUP = 5
"""Iceberg leaves a partition with fewer files alone."""

AFTER_RUN_MIN_EXPIRED = 5
"""After a run, snapshots are expired a few at a time, not one with every run."""


@dataclass(frozen=True, slots=True)
class Compacted:
    table: str
    files_before: int
    files_after: int


@dataclass(frozen=True, slots=True)
class MaintenanceReport:
    dropped_branches: tuple[str, ...] = ()
    compacted: tuple[Compacted, ...] = ()
    expired: dict[str, int] = field(default_factory=dict)
    vacuumed: dict[str, int] = field(default_factory=dict)
    """Unused files of Delta tables, which have no branches."""

    swept: SweepReport | None = None
    gave_way: tuple[str, ...] = ()
    """Tables that a run changed meanwhile."""

    errors: tuple[str, ...] = ()
    """What could not be done, one line each."""

    dry_run: bool = False
    """Nothing was done: it is what would be, with estimates of the numbers of files."""

    @property
    def summary(self) -> str:
        """What was done, in one line; empty where that is nothing."""
        before, after = sum(c.files_before for c in self.compacted), sum(c.files_after for c in self.compacted)
        parts = (
            (len(self.dropped_branches), "abandoned branch", "es", "dropped"),
            (len(self.compacted), "table", "s", f"compacted ({before} files to {after})"),
            (sum(self.expired.values()), "snapshot", "s", "expired"),
            (self._unused, "unused file", "s", "deleted"),
        )
        summaries = (f"{n} {noun}{'' if n == 1 else ending} {did}" for n, noun, ending, did in parts if n)
        return ", ".join(summaries)

    @property
    def _unused(self) -> int:
        return sum(self.vacuumed.values()) + (len(self.swept.files) if self.swept is not None else 0)

    @property
    def exit_code(self) -> int:
        return 2 if self.errors else 0

    def document(self) -> dict[str, Any]:
        swept: dict[str, Any] | None = None
        if self.swept is not None:
            swept = {"files": len(self.swept.files), "bytes": self.swept.bytes, "dry_run": self.swept.dry_run}
            if self.swept.left:
                swept["left"] = self.swept.left
        return {
            "status": "partial" if self.errors else "success",
            "dropped_branches": list(self.dropped_branches),
            "compacted": [asdict(done) for done in self.compacted],
            "expired": dict(self.expired),
            "vacuumed": dict(self.vacuumed),
            "swept": swept,
            "gave_way": list(self.gave_way),
            "errors": list(self.errors),
            "dry_run": self.dry_run,
        }


def maintain_lake(settings: Settings, notify: Callable[[str], None], dry_run: bool = False) -> MaintenanceReport:
    """Maintain all of main, and Delta tables. Spark is started only for those, or when a table has to be compacted."""
    catalog, root = open_catalog(settings), list["SparkSession"]()

    def spark() -> SparkSession:
        # Only here: most maintenance needs no Spark.
        from tidegate.planner.plan_size import work_on_tables
        from tidegate.sources.chunk_tables import chunk_tables
        from tidegate.spark.session import open_spark

        if not root:
            heads = catalog.head()
            tables = [*heads, *([None] if chunk_tables(settings) else [])]
            root.append(open_spark(settings, notify, work=work_on_tables(heads, tables)))
        return root[0]

    def session(branch: str) -> SparkSession:
        from tidegate.spark.session import child_session

        return child_session(spark(), catalog.spark_conf(branch), catalog.spark_catalog(branch))

    def delta() -> SparkSession:
        from tidegate.chunks.delta_table import delta_session

        return delta_session(settings, spark())

    try:
        report = maintain(settings, catalog, session, dry_run=dry_run)
        return _with_delta(report, maintain_delta(settings, delta, dry_run))
    finally:
        if root:
            from tidegate.spark.session import stop_spark

            stop_spark(root[0])


def _with_delta(report: MaintenanceReport, delta: DeltaMaintenance) -> MaintenanceReport:
    compacted = (Compacted(table, before, after) for table, (before, after) in delta.compacted.items())
    return replace(
        report,
        compacted=(*report.compacted, *compacted),
        vacuumed=delta.vacuumed,
        gave_way=(*report.gave_way, *delta.gave_way),
        errors=(*report.errors, *delta.errors),
    )


def maintain(
    settings: Settings,
    catalog: BranchCatalog,
    session_factory: SessionFactory | None,
    tables: Collection[TableName] | None = None,
    clock: Clock = lambda: datetime.now(UTC),
    dry_run: bool = False,
) -> MaintenanceReport:
    """All four steps, over `tables` (default: all of main). Without a session factory nothing is compacted."""
    work = _Maintenance(settings.maintenance, catalog, session_factory, clock, dry_run)
    work.drop_orphans(settings)
    work.tidy(tables, min_expired=1)
    if settings.maintenance.sweep:
        work.sweep(settings.lake.warehouse)
    return work.report()


def maintain_after_run(
    settings: Settings,
    catalog: BranchCatalog,
    session_factory: SessionFactory | None,
    tables: Collection[TableName],
    clock: Clock = lambda: datetime.now(UTC),
) -> MaintenanceReport:
    """The same after a run has written `tables`, and no more often than is worth its time."""
    section = settings.maintenance
    work = _Maintenance(section, catalog, session_factory, clock)
    if section.after_run:
        work.drop_orphans(settings)
        work.tidy(tables, min_expired=AFTER_RUN_MIN_EXPIRED)
        if section.sweep:
            work.sweep(settings.lake.warehouse, at_most_every=timedelta(hours=section.sweep_min_age_hours))
    return work.report()


class _Maintenance:
    """One round of maintenance, and what it has done so far."""

    def __init__(
        self,
        section: MaintenanceSection,
        catalog: BranchCatalog,
        sessions: SessionFactory | None,
        clock: Clock,
        dry_run: bool = False,
    ) -> None:
        self._dry_run = dry_run
        self._section = section
        self._catalog = catalog
        self._sessions = sessions
        self._clock = clock
        self._dropped: list[str] = []
        self._compacted: list[Compacted] = []
        self._expired: dict[str, int] = {}
        self._swept: SweepReport | None = None
        self._gave_way: list[str] = []
        self._errors: list[str] = []

    def report(self) -> MaintenanceReport:
        return MaintenanceReport(
            dropped_branches=tuple(self._dropped),
            compacted=tuple(self._compacted),
            expired=self._expired,
            swept=self._swept,
            gave_way=tuple(self._gave_way),
            errors=tuple(self._errors),
            dry_run=self._dry_run,
        )

    def drop_orphans(self, settings: Settings) -> None:
        with best_effort("forgotten branches", self._errors):
            dropped = drop_orphans(settings, self._catalog, self._clock(), self._errors, self._dry_run)
            self._dropped += [branch.name for branch in dropped]

    def tidy(self, tables: Collection[TableName] | None, min_expired: int) -> None:
        """Compact and expire those tables that need it; where none does, not even a branch is made."""
        with best_effort("tables", self._errors):
            main = BranchView(self._catalog, MAIN)
            candidates = sorted(main.heads() if tables is None else tables)
            to_compact = [t for t in candidates if self._wants_compaction(main, t)]
            to_expire = [t for t in candidates if self._wants_expiry(main, t, min_expired)]
            if self._dry_run:
                self._foresee(main, to_compact, to_expire)
            if self._dry_run or (not to_compact and not to_expire):
                return
            inputs = self._inputs() if to_expire else frozenset()
            with self._branch() as branch:
                for table in to_compact:
                    self._on_table(branch, table, self._compact)
                for table in to_expire:
                    self._on_table(branch, table, partial(self._expire, inputs=inputs))

    def _foresee(self, main: BranchView, to_compact: list[TableName], to_expire: list[TableName]) -> None:
        for table in to_compact:
            metadata = main.table(table)
            before = _data_file_count(metadata)
            spare = _files_to_spare(metadata, self._section.small_file_mb * MEGABYTE) if metadata is not None else 0
            self._compacted.append(Compacted(str(table), before, before - spare))
        inputs = self._inputs() if to_expire else frozenset()
        for table in to_expire:
            if metadata := main.table(table):
                self._expired[str(table)] = len(expired_snapshots(metadata, **self._retention(metadata, inputs)))

    def sweep(self, warehouse: Path, at_most_every: timedelta | None = None) -> None:
        with best_effort("unused files", self._errors):
            if at_most_every is not None and not self._sweep_is_due(warehouse, at_most_every):
                return
            # PyIceberg takes a second to load.
            from tidegate.lake.sweep import sweep

            min_age = timedelta(hours=self._section.sweep_min_age_hours)
            self._swept = sweep(self._catalog, warehouse, min_age, self._clock, self._dry_run)
            if self._swept.failed:
                self._errors.append(f"unused files: {len(self._swept.failed)} could not be deleted")

    def _sweep_is_due(self, warehouse: Path, at_most_every: timedelta) -> bool:
        """A lake that was never swept is taken as new: nothing in it is old enough yet."""
        last = last_sweep(warehouse)
        if last is None:
            record_sweep(warehouse, self._clock(), 0)
        return last is not None and self._clock() - last >= at_most_every

    def _inputs(self) -> frozenset[int]:
        """The snapshots that some model read last: its next run may want the changes since."""
        recorded = (read_metadata(pointer).progress for pointer in self._catalog.all_pointers())
        inputs = (read for progress in recorded if progress for read in progress.tables.values())
        snapshot_ids = (id for read in inputs for id in (read.snapshot_id, *read.discarded))
        return frozenset(snapshot for snapshot in snapshot_ids if snapshot is not None)

    def _wants_compaction(self, main: BranchView, table: TableName) -> bool:
        section, metadata = self._section, main.table(table)
        if not section.compact or self._sessions is None or metadata is None or metadata.current is None:
            return False
        if metadata.current.count("total-data-files") <= section.min_small_files:
            return False
        return _files_to_spare(metadata, section.small_file_mb * MEGABYTE) >= section.min_small_files

    def _wants_expiry(self, main: BranchView, table: TableName, least: int) -> bool:
        metadata = main.table(table)
        if not self._section.expire or metadata is None:
            return False
        return len(expired_snapshots(metadata, **self._retention(metadata, frozenset()))) >= least

    def _retention(self, table: TableMetadata, inputs: frozenset[int]) -> dict[str, Any]:
        oldest = int((self._clock() - INPUT_SNAPSHOT_MAX_AGE).timestamp() * 1000)
        return {
            "keep_newest": self._section.keep_snapshots,
            "newer_than": self._clock() - timedelta(days=self._section.keep_days),
            "keep": {s.id for s in table.snapshots.values() if s.id in inputs and s.timestamp_ms >= oldest},
        }

    def _compact(self, branch: BranchView, table: TableName) -> None:
        if self._sessions is None:
            return
        before = branch.table(table)
        session = self._sessions(branch.branch)
        catalog = self._catalog.spark_catalog(branch.branch)
        name = table.quoted.replace("\\", "\\\\").replace("'", "\\'")
        # Only files that are small, or of which much is deleted; Iceberg would also take those below 384 MB.
        options = f"map('min-file-size-bytes', '{self._section.small_file_mb * MEGABYTE}')"
        call = f"CALL `{catalog}`.system.rewrite_data_files(table => '{name}', options => {options})"
        session.sql(call).collect()
        after = branch.table(table)
        fault("inside_maintenance")
        if self._catalog.publish(branch.branch, [table]):
            self._compacted.append(Compacted(str(table), _data_file_count(before), _data_file_count(after)))

    def _expire(self, branch: BranchView, table: TableName, inputs: frozenset[int]) -> None:
        pointer, metadata = branch.pointer(table), branch.table(table)
        if pointer is None or metadata is None:
            return
        expired = expire_snapshots(pointer, **self._retention(metadata, inputs))
        if expired is not None:
            branch.restore(table, expired.pointer)
            fault("inside_maintenance")
            self._catalog.publish(branch.branch, [table])
            self._expired[str(table)] = len(expired.removed)

    def _on_table(self, branch: BranchView, table: TableName, step: Callable[[BranchView, TableName], None]) -> None:
        with best_effort(str(table), self._errors):
            self._catalog.heartbeat(branch.branch)
            try:
                step(branch, table)
            except PublishConflictError:
                self._gave_way.append(str(table))
            finally:
                self._catalog.refresh_branch(branch.branch, [table])

    @contextmanager
    def _branch(self) -> Iterator[BranchView]:
        name = f"maintain-{self._clock():%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:8]}"
        self._catalog.create_branch(name)
        try:
            yield BranchView(self._catalog, name)
        finally:
            self._catalog.drop_branch(name)


def _files_to_spare(table: TableMetadata, small: int) -> int:
    """How many data files would go if each partition's small ones became one."""
    # PyIceberg takes a second to load.
    from tidegate.lake.manifests import data_files, list_manifests

    if table.current is None:
        return 0
    per_partition: Counter[str] = Counter()
    for manifest in list_manifests(table.current):
        per_partition.update(f.partition for f in data_files(manifest) if not f.deletes and f.size < small)
    return sum(count - 1 for count in per_partition.values() if count >= MIN_FILES_PER_GROUP)


def _data_file_count(table: TableMetadata | None) -> int:
    return table.current.count("total-data-files") if table is not None and table.current is not None else 0
