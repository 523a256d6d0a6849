"""The landing files of one build: which to read, whether they changed meanwhile, and recording them as consumed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from tidegate.contracts.ingestion import ContractStage
from tidegate.errors import FailureKind, LandingError, QualityError
from tidegate.ingest.bronze_position import (
    CHECKPOINT_PROPERTY,
    PARTIAL_PROPERTY,
    bronze_position,
    checkpoint_text,
    partial_snapshots,
    position_after,
)
from tidegate.lake.consumed import Consumed, ConsumedFile, write_consumed
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.progress import ZoneInput
from tidegate.planner.decide import Decision
from tidegate.planner.inputs import Inputs, ZoneState
from tidegate.project.landing_files import ZoneFile, content_digest, verify_unchanged
from tidegate.transform import ZoneBatch
from tidegate.transform.landing.delivery import Delivery, DeliveryRun

__all__ = ["Files", "bronze_properties", "delivery_warnings", "require_unchanged", "take_files", "zone_batches"]

Files = Mapping[str, tuple[ZoneFile, ...]]
"""By zone."""


def zone_batches(
    inputs: Inputs, decision: Decision, root: Path, run_id: str, started_at: datetime
) -> dict[str, ZoneBatch]:
    return {
        zone: ZoneBatch(
            folder=root / zone,
            fresh=_as_they_arrived(state) if decision.all_files else state.fresh.all,
            files=state.files,
            known_columns=_known_columns(state, decision),
            new=state.fresh.all,
            delivery=Delivery(run_id, _arrival(state, started_at), zone, _earlier_runs(state)),
        )
        for zone, state in inputs.zones.items()
    }


def _arrival(state: ZoneState, started_at: datetime) -> datetime:
    """When the rows of new files came, which orders them where the source does not: after all that the table has, also
    where the clock went back, or a run that began later was published before."""
    marks = state.consumed.files if state.consumed else ()
    last = max((datetime.fromisoformat(mark.ingested_at) for mark in marks if mark.ingested_at), default=None)
    return started_at if last is None else max(started_at, last + timedelta(microseconds=1))


def _earlier_runs(state: ZoneState) -> dict[str, DeliveryRun]:
    """Of the files that are not new, as far as it is known."""
    fresh = {file.path for file in state.fresh.all}
    return {
        mark.path: DeliveryRun(mark.run_id, datetime.fromisoformat(mark.ingested_at))
        for mark in (state.consumed.files if state.consumed else ())
        if mark.ingested_at is not None and mark.path not in fresh
    }


def _known_columns(state: ZoneState, decision: Decision) -> str | None:
    """Columns of earlier deliveries. A table that is rebuilt has just those of the files that are there."""
    if state.consumed is None or (decision.rebuild and state.files):
        return None
    return state.consumed.columns


def _as_they_arrived(state: ZoneState) -> tuple[ZoneFile, ...]:
    """By delivery, as they were published; what is new comes last; then as they are listed.

    Before those with a number come those that were consumed without one, by the id of their run, which grows with the
    time of its start.
    """
    marks = {mark.path: mark for mark in (state.consumed.files if state.consumed else ())}
    fresh = set(state.fresh.all)

    def arrival(file: ZoneFile) -> tuple[bool, int, str]:
        if file in fresh:
            return True, 0, ""
        mark = marks[file.path]
        return False, mark.delivery or 0, "" if mark.delivery else mark.run_id

    return tuple(sorted(state.files, key=arrival))


def require_unchanged(files: Files, root: Path) -> None:
    """Raise if a file was modified after it was listed: it may have been read in part."""
    for zone, listed in files.items():
        for file in verify_unchanged(root / zone, listed):
            raise _changed(zone, root / zone / file.path)


def _changed(zone: str, path: Path) -> LandingError:
    error = LandingError(
        f"{path.name} in landing zone {zone} changed while it was read",
        where=str(path),
        remedy="Run again. Deliver files under a name that starts with _ and rename them when whole.",
    )
    error.kind = FailureKind.TRANSIENT
    return error


def delivery_warnings(inputs: Inputs, decision: Decision) -> tuple[str, ...]:
    """Notes about files that were delivered before, or that will be read twice."""
    lines = []
    for zone, state in sorted(inputs.zones.items()):
        runs = {mark.path: mark.run_id for mark in (state.consumed.files if state.consumed else ())}
        stays = "" if decision.all_files else "; the rows of its former content stay"
        for file in state.fresh.replaced:
            lines.append(
                f"{file.path} in landing zone {zone} has other content than when {runs[file.path]} read it, "
                f"and is read again{stays}"
            )
        for path, original in state.fresh.copies.items():
            by = f", which {runs[original]} read" if original in runs else ""
            lines.append(
                f"{path} in landing zone {zone} has the same content as {original}{by}: its rows are read once more. "
                "If that is not meant, remove the file and build the table again with --full-refresh"
            )
    return tuple(lines)


def take_files(
    files: Files,
    columns: Mapping[str, str],
    inputs: Inputs,
    root: Path,
    table_location: str,
    run_id: str,
    started_at: datetime,
) -> dict[str, ZoneInput]:
    """Record that the table consumed `files`, in addition to earlier ones, with the digest and delivery of each.

    Digests are taken while the files are known to be as they were listed. A file that was only touched gets its new
    time, so that it need not be read for its digest again.
    """
    zone_inputs = {}
    for zone, state in inputs.zones.items():
        consumed_files = {mark.path: mark for mark in (state.consumed.files if state.consumed else ())}
        read, fresh = set(files.get(zone, ())), set(state.fresh.all)
        # A run that another one overtook is built again on what that one published: numbers follow the publishes.
        next_delivery = (state.consumed.last_delivery if state.consumed else 0) + 1
        together = sum(file in read and (file in fresh or file.path not in consumed_files) for file in state.files)
        started = _arrival(state, started_at).isoformat()
        for file in state.files:
            old = None if file in fresh else consumed_files.get(file.path)
            if old is None and file not in read:
                continue
            digest = (old.digest if old else None) or content_digest(root / zone, file)
            if digest is None:
                raise _changed(zone, root / zone / file.path)
            if old is None:
                old = ConsumedFile(file.path, 0, 0, run_id, None, next_delivery, started, together)
            consumed_files[file.path] = replace(old, size=file.size, mtime_ns=file.mtime_ns, digest=digest)
        zone_columns = columns.get(zone) or (state.consumed.columns if state.consumed else None)
        consumed = Consumed(zone, tuple(consumed_files[path] for path in sorted(consumed_files)), zone_columns)
        zone_inputs[zone] = write_consumed(table_location, consumed)
    return zone_inputs


def bronze_properties(
    stage: ContractStage | None,
    own: TableMetadata,
    files: Files,
    inputs: Inputs,
    root: Path,
    rows: int,
    rebuilt: bool,
) -> dict[str, str]:
    """What a bronze table records of its source; nothing for other tables. Raises for a snapshot without a row, from
    which the deletion of everything would follow, and for one that may be more than the files that were read."""
    if stage is None or stage.is_silver:
        return {}
    zone, deletion = stage.ingestion.source.zone, stage.ingestion.silver.deletion
    if deletion is not None and deletion.inferred and files.get(zone) and not rows:
        raise QualityError(
            f"the snapshot in landing zone {zone} is empty, and every row of the table would count as deleted",
            where=str(root / zone),
            remedy="Deliver the snapshot again; the next run reads it instead. If the source really is empty, set "
            "deletion_enabled to false, or delete the rows in the source one by one.",
        )
    if deletion is not None and deletion.inferred and files.get(zone):
        _require_whole_snapshot(zone, inputs.zones.get(zone), files[zone], root)
    before = bronze_position(own, zone)
    read = {file.path for file in files.get(zone, ())}
    properties = {CHECKPOINT_PROPERTY: checkpoint_text(position_after(root / zone, read, before))}
    state = inputs.zones.get(zone)
    if rebuilt and state is not None and state.consumed is not None:
        there = {file.path for file in state.files} - {file.path for file in state.fresh.all}
        partial = partial_snapshots(state.consumed.files, there, stage.ingestion.source.connector)
        if partial or PARTIAL_PROPERTY in own.properties:
            properties[PARTIAL_PROPERTY] = json.dumps(partial)
    return properties


def _require_whole_snapshot(zone: str, state: ZoneState | None, read: tuple[ZoneFile, ...], root: Path) -> None:
    """A file that was written again with the content that it had is not read again, but its rows may be part of the
    snapshot: without them, their keys would count as deleted."""
    again = sorted(file.path for file in state.fresh.touched if file not in read) if state is not None else []
    if not again:
        return
    others = f" and {len(again) - 1} more" if len(again) > 1 else ""
    raise QualityError(
        f"{again[0]}{others} in landing zone {zone} came again with the content that was read before, so it is unclear "
        "whether it is part of the new snapshot, and which keys are deleted",
        where=str(root / zone / again[0]),
        remedy="If it is part of it, deliver it under a new name; if not, remove it from the zone.",
    )
