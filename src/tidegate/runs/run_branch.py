"""The branch that a run builds on: created or resumed, and at the end dropped or kept."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from dataclasses import replace

from tidegate.errors import BranchExistsError, BranchMissingError, LakeError, TidegateError
from tidegate.faults import fault
from tidegate.hooks.events import Emit
from tidegate.lake.branch_catalog import MAIN, BranchCatalog
from tidegate.lake.branch_or_main import BranchOrMain
from tidegate.names import TableName
from tidegate.runs.context import Phases, RunContext
from tidegate.runs.control.cancellation import Cancellation
from tidegate.runs.control.heartbeat import Heartbeat
from tidegate.runs.ledger import Ledger
from tidegate.runs.options import RunOptions
from tidegate.runs.tally import Tally
from tidegate.state import RunRecord

__all__ = ["RunBranch"]


class RunBranch:
    """`name`: where the run writes, and `mode`: how it publishes; both change where no branch can be made and main may
    be written itself. `kept_for`: what the branch is still there for, once the run has left it."""

    def __init__(
        self,
        record: RunRecord,
        options: RunOptions,
        ledger: Ledger,
        tally: Tally,
        cancellation: Cancellation,
        heartbeat: Heartbeat,
        emit: Emit,
    ) -> None:
        self.run_id = record.run_id
        self.name = record.run_id
        self.mode = record.publish_mode
        self.kept_for: str | None = None
        self._resumes = record.resumes
        self._options = options
        self._ledger = ledger
        self._tally = tally
        self._cancellation = cancellation
        self._heartbeat = heartbeat
        self._emit = emit

    @contextlib.contextmanager
    def held(self, run: RunContext, tables: Collection[TableName], phases: Phases) -> Iterator[RunContext]:
        """The branch goes whatever the outcome, but for `--no-publish`, which keeps it for `tidegate publish`, and for
        `--publish all`, where one model's failure holds the others back until the run is resumed."""
        catalog = run.catalog
        stands = self.left_behind(catalog)
        try:
            with phases.timed("branch_creation"):
                fault("before_branch")
                if not stands or not self._took_up(run, tables):
                    if self._resumes:
                        self._clear_away(catalog)
                    catalog.create_branch(self.run_id)
                if isinstance(catalog, BranchOrMain) and catalog.failure is not None:
                    run = self._on_main(run, catalog.failure)
                fault("after_branch")
        except BranchExistsError:
            raise
        except BaseException:
            if not stands:
                with contextlib.suppress(TidegateError):
                    catalog.drop_branch(self.run_id)
            raise
        try:
            yield run
        finally:
            fault("before_cleanup")
            self._leave(catalog)
            fault("after_cleanup")

    def left_behind(self, catalog: BranchCatalog) -> bool:
        """Whether the branch of an earlier try still exists."""
        return self._resumes > 0 and any(branch.name == self.run_id for branch in catalog.list_branches())

    def _took_up(self, run: RunContext, tables: Collection[TableName]) -> bool:
        """False where the earlier try was killed while it created its branch: there is nothing to resume."""
        try:
            self._ledger.resume_branch(run.catalog, self.run_id, run.compiled, tables)
        except BranchMissingError:
            return False
        return True

    def _clear_away(self, catalog: BranchCatalog) -> None:
        """The branch of that name is incomplete: its creation was interrupted, or it was written to after it was
        dropped."""
        with contextlib.suppress(LakeError):
            catalog.drop_branch(self.run_id)

    def _on_main(self, run: RunContext, failure: LakeError) -> RunContext:
        """The run without a branch: writing a model publishes it."""
        if self._options.no_publish:
            error = LakeError(
                f"no branch could be made ({failure}), and --no-publish is there to keep one; nothing was run",
                where=failure.where,
                remedy="Fix what keeps the catalog from creating branches; without --no-publish, main is written.",
            )
            error.kind = failure.kind
            raise error
        self.name, self.mode = MAIN, "model"
        message = (
            f"NO ISOLATION: this run writes main itself, because its branch could not be made ({failure}) and [lake]"
            ' on_branch_failure is "direct". Readers see each table as soon as it is written; one that fails its checks'
            " is restored."
        )
        self._emit("warning", None, {"message": message})
        return replace(run, publish_mode=self.mode)

    def _leave(self, catalog: BranchCatalog) -> None:
        """Never raises: a lake that does not answer must not lose the run's result."""
        self._heartbeat.check_record()
        if self._heartbeat.taken_over:
            return
        if self._is_resumable():
            self.kept_for = "resume"
            return
        keep = self._options.no_publish and self._worth_keeping()
        try:
            if keep:
                catalog.keep_branch(self.run_id)
                self.kept_for = "publish"
            else:
                catalog.drop_branch(self.run_id)
        except TidegateError as error:
            if keep:
                self._tally.error = self._tally.error or error
            later = "`tidegate reap` removes it once the lake answers again"
            message = f"the branch {self.run_id} could not be {'kept' if keep else 'removed'}: {error}; {later}"
            self._emit("warning", None, {"message": message})

    def _worth_keeping(self) -> bool:
        outcomes = self._tally.outcomes.values()
        statuses = {outcome.result.status for outcome in outcomes}
        whole = statuses <= {"completed", "skipped"}
        unrestored = any(outcome.unrestored for outcome in outcomes)
        fit = ("completed" in statuses or self._tally.reused) and not unrestored and (whole or self.mode != "all")
        return fit and not self._cancellation.requested

    def _is_resumable(self) -> bool:
        """Nothing was published because not everything can be."""
        outcomes = self._tally.outcomes.values()
        failed = self._tally.error is not None or not all(outcome.usable for outcome in outcomes)
        held_back = self.mode == "all" and not self._options.no_publish and failed and not self._tally.published
        return held_back and any(outcome.publishable for outcome in outcomes) and not self._cancellation.requested
