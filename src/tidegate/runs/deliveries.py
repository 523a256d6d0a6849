"""The landing files of one model's run: which to read, whether they held still, and that they are taken."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidegate.errors import FailureKind, LandingError
from tidegate.lake.consumed import Consumed, ConsumedFile, write_consumed
from tidegate.lake.progress import ZoneInput
from tidegate.planner.decide import Decision
from tidegate.planner.inputs import Inputs, ZoneState
from tidegate.project.landing import ZoneFile, verify_unchanged
from tidegate.transform import ZoneBatch

__all__ = ["Files", "require_unchanged", "take_files", "zone_batches"]

Files = Mapping[str, tuple[ZoneFile, ...]]
"""By zone."""


def zone_batches(inputs: Inputs, decision: Decision, root: Path) -> dict[str, ZoneBatch]:
    return {
        zone: ZoneBatch(
            folder=root / zone,
            fresh=_as_they_arrived(state) if decision.all_files else state.fresh.all,
            files=state.files,
            known_columns=state.consumed.columns if state.consumed else None,
        )
        for zone, state in inputs.zones.items()
    }


def _as_they_arrived(state: ZoneState) -> tuple[ZoneFile, ...]:
    """By the run that first consumed each file, whose id grows with time; what is new comes last; then by path."""
    consumed = state.consumed.files if state.consumed else ()
    runs = {(mark.path, mark.size, mark.mtime_ns): mark.run_id for mark in consumed}

    def arrival(file: ZoneFile) -> tuple[bool, str, str]:
        run_id = runs.get((file.path, file.size, file.mtime_ns))
        return run_id is None, run_id or "", file.path

    return tuple(sorted(state.files, key=arrival))


def require_unchanged(files: Files, root: Path) -> None:
    """Raise if a file was written to since it was listed: what was read of it may be half of it."""
    for zone, listed in files.items():
        for file in verify_unchanged(root / zone, listed):
            error = LandingError(
                f"{file.path} in landing zone {zone} changed while it was read",
                where=str(root / zone / file.path),
                remedy="Run again. Deliver files under a name that starts with _ and rename them when whole.",
            )
            error.kind = FailureKind.TRANSIENT
            raise error


def take_files(
    files: Files, columns: Mapping[str, str], inputs: Inputs, table_location: str, run_id: str
) -> dict[str, ZoneInput]:
    """Write down that the table has taken `files`, beside what it took before."""
    taken = {}
    for zone, state in inputs.zones.items():
        before = state.consumed.files if state.consumed else ()
        known = {file.path: file for file in before}
        for file in files.get(zone, ()):
            old = known.get(file.path)
            if old is None or (old.size, old.mtime_ns) != (file.size, file.mtime_ns):
                known[file.path] = ConsumedFile(file.path, file.size, file.mtime_ns, run_id)
        found = columns.get(zone) or (state.consumed.columns if state.consumed else None)
        consumed = Consumed(zone, tuple(known[path] for path in sorted(known)), found)
        taken[zone] = write_consumed(table_location, consumed)
    return taken
