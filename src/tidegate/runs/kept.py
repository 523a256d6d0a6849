"""Publishing a branch that `run --no-publish` kept."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.compiler import compile_from_disk
from tidegate.config import Settings
from tidegate.errors import BranchMissingError, TidegateError
from tidegate.lake import open_catalog
from tidegate.lake.port import MAIN, BranchCatalog
from tidegate.lake.view import BranchView
from tidegate.runs.clock import Clock, SystemClock
from tidegate.runs.events import Event, Listener
from tidegate.runs.finished_files import archive_consumed
from tidegate.runs.publishing import compacted_only
from tidegate.runs.recorder import Recorder
from tidegate.runs.result import Publish, RunResult
from tidegate.state import open_state

__all__ = ["publish_run"]


def publish_run(
    settings: Settings, run_id: str, listeners: Sequence[Listener] = (), clock: Clock | None = None
) -> RunResult:
    """Move everything on the kept branch to main in one step, or raise PublishConflictError and change nothing."""
    clock = clock or SystemClock()
    started_at, started = clock.now(), clock.monotonic()
    catalog = open_catalog(settings)
    if not any(branch.name == run_id and branch.kept for branch in catalog.list_branches()):
        raise BranchMissingError(
            f"There is no branch {run_id} waiting to be published",
            remedy="`tidegate branches` lists them; `tidegate run --no-publish` keeps one.",
        )
    with open_state(settings.state.url) as store:
        wanted = [change.table for change in catalog.changed_tables(run_id)]
        changes = catalog.publish(run_id, wanted, compacted_only(catalog, run_id, wanted))
        tables = tuple(change.table.short(settings.project.namespace) for change in changes)
        everyone: tuple[Listener, ...] = (Recorder(store), *listeners)
        for listener in everyone:
            listener(Event("published", run_id, clock.now(), None, {"tables": list(tables)}))
        catalog.drop_branch(run_id)
        warnings = _archive(settings, catalog)
        duration = round((clock.monotonic() - started) * 1000)
        return RunResult(
            run_id=run_id,
            status="success",
            branch=run_id,
            publish=Publish("run", tables),
            started_at=started_at,
            duration_ms=duration,
            phase_profiles={"branch_resolution": duration},
            materializations=(),
            warnings=warnings,
        )


def _archive(settings: Settings, catalog: BranchCatalog) -> tuple[str, ...]:
    """The publish is done: what goes wrong now is told, not raised."""
    try:
        _, compiled, _ = compile_from_disk(settings, catalog.head(MAIN), {})
        return () if compiled.errors else archive_consumed(compiled, settings, BranchView(catalog, MAIN))[1]
    except TidegateError as error:
        return (f"landing files were not archived: {error}",)
