"""What a person does with rows of a contract's quarantine: replays them through the contract, or waives them."""

from __future__ import annotations

import getpass
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tidegate.errors import OptionsError, ProjectError, PublishConflictError, SelectionError
from tidegate.faults import fault
from tidegate.hooks.events import Listener
from tidegate.lake.view import BranchView
from tidegate.operations.quarantine.quarantined_rows import Quarantine, QuarantineEntry, count_by_rule, find_quarantine
from tidegate.operations.run import run_project
from tidegate.operations.workspace import Workspace
from tidegate.planner.replay import QuarantineFilter, ReplayRequest, count_chosen
from tidegate.results import ModelResult
from tidegate.runs.options import RunOptions
from tidegate.runs.result import RunResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ChosenRows", "ReplayResult", "WaiveResult", "replay_quarantine", "waive_quarantine"]

_TRIES = 5


@dataclass(frozen=True, slots=True)
class ChosenRows:
    table: str
    rows: int
    """Open rows that were chosen."""

    entries: tuple[QuarantineEntry, ...]
    """By stage, column and rule."""

    dry_run: bool
    others: tuple[QuarantineEntry, ...] = ()
    """Where none was chosen by a filter: the open ones."""

    def document(self) -> dict[str, Any]:
        quarantine = [asdict(entry) for entry in self.entries]
        return {"table": self.table, "rows": self.rows, "dry_run": self.dry_run, "quarantine": quarantine}


@dataclass(frozen=True, slots=True)
class ReplayResult:
    chosen: ChosenRows
    run: RunResult | None = None
    """None: there was nothing to replay, or it was not to be done."""

    @property
    def exit_code(self) -> int:
        return self.run.exit_code if self.run is not None else 0

    @property
    def replayed(self) -> ModelResult | None:
        """The model that took the rows, if it was published."""
        table = self.chosen.table
        if self.run is None or table not in self.run.publish.tables:
            return None
        return next((model for model in self.run.materializations if model.model == table), None)


@dataclass(frozen=True, slots=True)
class WaiveResult:
    chosen: ChosenRows
    waived: int
    by: str
    note: str | None

    def document(self) -> dict[str, Any]:
        return {**self.chosen.document(), "waived": self.waived, "by": self.by, "note": self.note}


def replay_quarantine(
    workspace: Workspace,
    name: str,
    rows: QuarantineFilter,
    *,
    dry_run: bool = False,
    variables: Mapping[str, str] | None = None,
    listeners: Sequence[Listener] = (),
) -> ReplayResult:
    """Run the silver table of a contract, and what is built from it, with open rows of its quarantine alone."""
    quarantine = _of_contract(workspace, name)
    _require_replayable(workspace, quarantine, variables or {})
    chosen = _choose(workspace, quarantine, rows, dry_run)
    if dry_run or not chosen.rows:
        return ReplayResult(chosen)
    options = RunOptions(
        select=(f"{chosen.table}+",),
        vars=variables or {},
        no_ingest=True,
        replay=ReplayRequest(str(quarantine.owner), _user(), rows),
    )
    return ReplayResult(chosen, run_project(workspace.settings, options, listeners))


def waive_quarantine(
    workspace: Workspace,
    name: str,
    rows: QuarantineFilter,
    *,
    note: str | None = None,
    dry_run: bool = False,
    report: Callable[[str], None] = lambda line: None,
    root: SparkSession | None = None,
) -> WaiveResult:
    """Mark open rows as waived, in one commit of the quarantine. The silver table stays as it is."""
    quarantine = _of_contract(workspace, name)
    chosen, by = _choose(workspace, quarantine, rows, dry_run), _user()
    if dry_run or not chosen.rows:
        return WaiveResult(chosen, 0, by, note)
    from tidegate.planner.plan_size import work_on_tables
    from tidegate.spark.session import child_session, open_spark
    from tidegate.write.quarantine_status import StatusChange, waive_rows

    catalog, now = workspace.catalog(), datetime.now(UTC)
    root = open_spark(workspace.settings, report, root, work_on_tables(catalog.head(), [quarantine.table]))
    for left in reversed(range(_TRIES)):
        branch = f"waive-{now:%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:8]}"
        catalog.create_branch(branch)
        try:
            waived = count_chosen(BranchView(catalog, branch), quarantine.owner, rows)
            if waived:
                session = child_session(root, catalog.spark_conf(branch), catalog.spark_catalog(branch))
                waive_rows(session, quarantine.table, rows, StatusChange(by, now, note=note))
                fault("before_publish")
                catalog.publish(branch, [quarantine.table])
                fault("after_publish")
            return WaiveResult(chosen, waived, by, note)
        except PublishConflictError:
            if not left:  # a run publishes the table again and again
                raise
        finally:
            catalog.drop_branch(branch)
    raise AssertionError("the last try returns or raises")


def _choose(workspace: Workspace, quarantine: Quarantine, rows: QuarantineFilter, dry_run: bool) -> ChosenRows:
    counts = count_by_rule(quarantine, rows)
    table = quarantine.owner.short(workspace.settings.project.namespace)
    others = (
        () if counts.rows or rows.takes_all else tuple(count_by_rule(quarantine, QuarantineFilter()).entries(table))
    )
    return ChosenRows(table, counts.rows, tuple(counts.entries(table)), dry_run, others)


def _of_contract(workspace: Workspace, name: str) -> Quarantine:
    quarantine = find_quarantine(workspace, name)
    if quarantine.is_of_contract:
        return quarantine
    table = quarantine.owner.short(workspace.settings.project.namespace)
    if "_line" in quarantine.columns:
        raise SelectionError(
            f"the quarantine of {table} holds records of landing files that cannot be read, and no rows of a contract",
            remedy="Deliver the corrected records in a new file, which the next run reads. These entries stay: they "
            "say what was left out.",
        )
    raise SelectionError(
        f"{table} is not made by a contract: the rows of its quarantine have no stages to go through again",
        remedy=f"Correct the rows where they come from, or the model's constraints, and run it: tidegate run {table}",
    )


def _require_replayable(workspace: Workspace, quarantine: Quarantine, variables: Mapping[str, str]) -> None:
    compiled = workspace.compile(variables)
    if compiled.project_errors:
        raise ProjectError("The project has errors; nothing was run", diagnostics=compiled.diagnostics)
    table, model = quarantine.owner.short(compiled.namespace), compiled.models.get(quarantine.owner)
    if model is None or not model.model.is_silver:
        raise SelectionError(
            f"no contract of the project makes {table} any more",
            remedy="Restore the contract below contracts/; `tidegate contract validate` reports what is wrong with it.",
        )
    if model.model.settings.traits.replaces_partitions:
        raise OptionsError(
            f"{table} is written as a snapshot: a partition holds the rows that came last, so single rows cannot be "
            "added to it",
            where=str(model.model.path),
            remedy="Deliver the whole partition again with the corrected rows; or rebuild the table: "
            f"tidegate run {table} --full-refresh",
        )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run under an id without a name
        return "unknown"
