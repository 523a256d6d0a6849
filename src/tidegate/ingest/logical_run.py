"""One logical run of a contract: from its source to its landing zone, over as many processes as it takes.

The bounds are frozen in the manifest before anything is read. Each batch is then written under a temporary name, moved
to its name, and recorded with the state after it, in this order: a process that is killed in between leaves files of a
batch that is not recorded, and the next one removes them and reads that batch again. At last the manifest is marked
complete, with the files that bronze may read and the bound of the next run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from blake3 import blake3

from tidegate.contracts.ingestion import WRITE_STRATEGIES, Ingestion, SourceRules
from tidegate.errors import LandingError, OptionsError, SourceError
from tidegate.failures import pause_before
from tidegate.faults import fault
from tidegate.http_client import Timing
from tidegate.ingest.batch_manifest import BatchManifest, read_and_summarize_manifests, remove_manifest, write_manifest
from tidegate.ingest.bound_origin import BoundOrigin, bound_origin
from tidegate.ingest.connector_registry import open_connector
from tidegate.ingest.landing_folder import LandingFolder, exclusive, require_inside
from tidegate.ingest.port import Batch, Bounds, Extent, ReadProgress, SourceConnector, SourceRequest
from tidegate.project.landing_files import zone_folder
from tidegate.project.manifest_files import MANIFESTS
from tidegate.redaction import redact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.config import Settings

__all__ = ["LandedRun", "LogicalRun", "land"]

T = TypeVar("T")

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
_LONGEST_RETRY_AFTER = 120.0
"""Seconds. Where the source asks for a longer pause, the run ends at once, to be resumed."""


@dataclass(frozen=True, slots=True)
class LandedRun:
    """What a logical run landed, processes before this one included."""

    run_id: str
    bounds: Bounds
    checkpoint: str | None
    """`checkpoint_value`: where the run after this one starts, once its rows are in bronze."""

    files: tuple[str, ...] = ()
    """Relative to the zone."""

    batches: int = 0
    rows: int | None = None
    """None where the source does not count them."""

    resumed: bool = False
    notes: tuple[str, ...] = ()
    """What a person should know of the read although it succeeded."""


@dataclass(frozen=True, slots=True)
class LogicalRun:
    """The request for one; `land` carries it out."""

    ingestion: Ingestion
    settings: Settings
    run_id: str
    """Of a new logical run. One that is unfinished keeps its own."""

    checkpoint: str | None = None
    """`checkpoint_value` of the bronze table."""

    checkpoint_of: BoundOrigin | None = None
    """What that is a value of; None where it was not recorded."""

    consumed: Collection[str] = ()
    """The files of the zone that are in bronze, relative to the zone."""

    restart: bool = False
    """Discard what an unfinished logical run has read."""

    session: Callable[[], SparkSession] | None = None
    report: Callable[[ReadProgress], None] | None = None
    check_cancelled: Callable[[], None] = lambda: None
    timing: Timing = field(default_factory=Timing)
    attempts: int = 3
    """After so many transient failures in a row the run ends, to be resumed."""

    @property
    def zone(self) -> Path:
        return self.settings.landing.root / self.ingestion.source.zone


def land(run: LogicalRun) -> LandedRun:
    """Raises SourceError, LandingError or RunCancelledError; what is landed until then is continued by the next."""
    if not run.ingestion.source.connector.reads_source:
        return LandedRun(run.run_id, Bounds(), checkpoint=None)
    if not run.run_id or run.run_id[:1] in "._" or os.sep in run.run_id:
        raise OptionsError(f"'{run.run_id}' cannot be the id of a run: it is the name of a folder of landing files")
    root, zone = run.settings.landing.root, run.ingestion.source.zone
    require_inside(root, zone_folder(root, zone, required=False))
    with exclusive(run.zone):
        return _Reading(run).read()


class _Reading:
    def __init__(self, run: LogicalRun) -> None:
        self._run = run
        self._zone = run.zone
        self._began = run.timing.now()
        self._origin = bound_origin(run.ingestion.source)
        self._notes: dict[str, None] = {}
        manifests = read_and_summarize_manifests(run.zone)
        _require_own(manifests, run.ingestion, run.zone)
        self._complete = [each for each in manifests if each.complete]
        self._open = [each for each in manifests if not each.complete]

    def read(self) -> LandedRun:
        manifest = self._unfinished()
        resumed = manifest is not None
        if manifest is None:
            manifest = self._begin()
        if manifest is None:
            start = self._lower_bound()
            return LandedRun(self._run.run_id, Bounds(start, start), start, notes=tuple(self._notes))
        folder = LandingFolder(self._zone, manifest.run_id)
        folder.prepare(manifest.batches)
        try:
            manifest = self._read_on(manifest, folder)
        finally:
            folder.remove_scratch()
        return self._finish(manifest, folder, resumed)

    def _unfinished(self) -> BatchManifest | None:
        """The logical run to continue. One of another definition of the source, or unwanted, is removed."""
        for manifest in self._open:
            definition = _definition(manifest.contract_id, self._run.ingestion.source)
            if not self._run.restart and manifest.definition == definition:
                return manifest
            # First: a process that is killed in between leaves a manifest that is discarded again.
            write_manifest(self._zone, replace(manifest, definition="", batches=0, file_count=0, state=None))
            LandingFolder(self._zone, manifest.run_id).remove()
            remove_manifest(self._zone, manifest.run_id)
        return None

    def _begin(self) -> BatchManifest | None:
        """Freeze the bounds. None: the source has nothing new."""
        run, source = self._run, self._run.ingestion.source
        lower = None if source.full_snapshot else self._lower_bound()
        fault("before_ingest")
        manifest = BatchManifest(
            run_id=self._free_id(),
            contract_id=run.ingestion.id,
            contract_version=run.ingestion.version,
            definition=_definition(run.ingestion.id, source),
            ordinal=max((each.ordinal for each in self._complete), default=0) + 1,
            started_at=run.timing.wall().astimezone(UTC).isoformat(timespec="microseconds"),
            bounds=Bounds(lower),
            full_snapshot=source.full_snapshot,
            bound_of=self._origin,
            table=source.table,
        )
        upper = self._attempt(lambda connector: connector.upper_bound(lower), lambda: manifest)
        if upper is not None and upper == lower:
            return None
        manifest = replace(manifest, bounds=Bounds(lower, upper))
        write_manifest(self._zone, manifest)
        fault("after_bounds")
        return manifest

    def _read_on(self, manifest: BatchManifest, folder: LandingFolder) -> BatchManifest:
        latest = manifest

        def read(connector: SourceConnector) -> None:
            nonlocal latest
            folder.clear_scratch()
            batches = connector.batches(latest.bounds, latest.state, folder.scratch)
            for batch in batches:
                latest = self._take(latest, folder, batch)
                if latest.state is None:
                    return
                self._run.check_cancelled()

        if not manifest.is_read:
            self._attempt(read, lambda: latest)
        return latest

    def _take(self, manifest: BatchManifest, folder: LandingFolder, batch: Batch) -> BatchManifest:
        number = manifest.batches + 1
        fault("before_batch")
        folder.take(number, batch.files)
        fault("after_batch")
        rows = None if manifest.rows is None or batch.rows is None else manifest.rows + batch.rows
        manifest = replace(
            manifest,
            batches=number,
            file_count=manifest.file_count + len(batch.files),
            rows=rows,
            reached=manifest.reached if batch.reached is None else batch.reached,
            state=batch.state,
            origins=(*manifest.origins, *batch.origins),
        )
        write_manifest(self._zone, manifest)
        fault("after_batch_recorded")
        return manifest

    def _finish(self, manifest: BatchManifest, folder: LandingFolder, resumed: bool) -> LandedRun:
        bounds = manifest.bounds
        ends = (bounds.upper, manifest.reached, bounds.lower)
        following = next((bound for bound in ends if bound is not None), None)
        files = folder.files(manifest.file_count)
        fault("before_ingest_complete")
        if not manifest.batches and (manifest.full_snapshot or following == bounds.lower):
            folder.remove_empty()
            remove_manifest(self._zone, manifest.run_id)  # nothing was new, so there is nothing to remember
        else:
            moment = self._run.timing.wall().astimezone(UTC).isoformat(timespec="microseconds")
            done = replace(manifest, complete=True, completed_at=moment, state=None, next=following, files=files)
            write_manifest(self._zone, done)
        fault("after_ingest_complete")
        return LandedRun(
            manifest.run_id,
            bounds,
            following,
            files,
            manifest.batches,
            manifest.rows,
            resumed,
            notes=tuple(self._notes),
        )

    def _lower_bound(self) -> str | None:
        """The bound of the newest read that is not in bronze yet, else that of bronze. None, so that all is read again,
        where it is a value of something else than the contract reads now."""
        bound, origin = self._recorded_bound()
        if bound is None or origin is None or origin.digest == self._origin.digest:
            return bound
        ingestion = self._run.ingestion
        change = f"the checkpoint is a value of {origin.text}, and the contract now reads by {self._origin.text}"
        if not WRITE_STRATEGIES[ingestion.silver.strategy].needs_key:
            raise LandingError(
                f"{change}: it would read the source again from the start, and table silver.{ingestion.silver.table}, "
                f"whose rows have no key ({ingestion.silver.strategy}), would get its rows twice",
                where=str(self._zone),
                remedy="take that change of the contract back; or give it another landing_directory and bronze_table, "
                "so that both tables are built from the start",
            )
        self._note(f"{change}: the source is read again from the start")
        return None

    def _recorded_bound(self) -> tuple[str | None, BoundOrigin | None]:
        consumed = frozenset(self._run.consumed)
        for manifest in reversed(self._complete):
            if manifest.files and consumed.issuperset(manifest.files):
                break
            if manifest.next is not None:
                return manifest.next, manifest.bound_of
        return self._run.checkpoint, self._run.checkpoint_of

    def _note(self, text: str) -> None:
        self._notes[redact(text)] = None

    def _free_id(self) -> str:
        """A folder without a manifest is not one of ours, so its name is taken too."""
        taken = {manifest.run_id for manifest in (*self._complete, *self._open)}
        names = (self._run.run_id, *(f"{self._run.run_id}-{number}" for number in range(2, 10_000)))
        return next(name for name in names if name not in taken and not os.path.lexists(self._zone / name))

    def _attempt(self, work: Callable[[SourceConnector], T], manifest: Callable[[], BatchManifest]) -> T:
        """Repeat after failures that may pass, until so many in a row have landed nothing."""
        run, failures, landed = self._run, 0, manifest().batches
        while True:
            connector = open_connector(self._request(manifest()))
            try:
                return work(connector)
            except SourceError as error:
                failures = 1 if manifest().batches > landed else failures + 1
                landed = manifest().batches
                after = error.retry_after
                too_long = after is not None and after > _LONGEST_RETRY_AFTER
                if not error.kind.is_transient or failures >= run.attempts or too_long:
                    raise
            finally:
                connector.close()
            run.check_cancelled()
            run.timing.wait(pause_before(failures, _FIRST_PAUSE, _LONGEST_PAUSE) if after is None else after)

    def _request(self, manifest: BatchManifest) -> SourceRequest:
        run = self._run
        return SourceRequest(
            ingestion=run.ingestion,
            settings=run.settings,
            run_id=manifest.run_id,
            started_at=datetime.fromisoformat(manifest.started_at),
            landed=tuple(each.origins for each in (*self._complete, manifest)),
            session=run.session,
            report=lambda extent: self._report(manifest, extent),
            note=self._note,
            check_cancelled=run.check_cancelled,
            timing=run.timing,
        )

    def _report(self, manifest: BatchManifest, extent: Extent) -> None:
        """`manifest`: as it was when this process, or this attempt, began."""
        if self._run.report is not None:
            seconds = self._run.timing.now() - self._began
            self._run.report(ReadProgress(self._run.ingestion.id, extent, manifest.batches, manifest.rows, seconds))


def _definition(contract_id: str, source: SourceRules) -> str:
    return str(blake3(repr((contract_id, source)).encode()).hexdigest(length=16))


def _require_own(manifests: Iterable[BatchManifest], ingestion: Ingestion, zone: Path) -> None:
    """A contract whose id was changed keeps what it has landed; another contract must not touch it."""
    for manifest in manifests:
        is_own = manifest.contract_id == ingestion.id or manifest.table == ingestion.source.table
        if manifest.table is None:
            is_own |= manifest.definition == _definition(manifest.contract_id, ingestion.source)
        if not is_own:
            table = f", which fills bronze.{manifest.table}" if manifest.table else ""
            raise LandingError(
                f"landing zone '{ingestion.source.zone}' belongs to contract '{manifest.contract_id}'{table}: "
                f"contract '{ingestion.id}' must not land files there",
                where=str(zone / MANIFESTS / f"{manifest.run_id}.json"),
                remedy="give this contract a landing_directory of its own; if it is the same contract, change its id "
                "and its bronze_table one after the other, with a run in between",
            )
