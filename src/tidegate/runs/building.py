"""Builds the models of a run, and publishes them by its publish mode."""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import replace

from tidegate.errors import FailureKind, LakeError, LakeUnavailableError, RunCancelledError, TidegateError
from tidegate.names import TableName
from tidegate.runs.checks import check_published
from tidegate.runs.context import Phases, RunContext
from tidegate.runs.publishing import publish_tables
from tidegate.runs.scheduling import build_models
from tidegate.runs.tally import ModelOutcome, Outcomes, Tally
from tidegate.spark.session import local_cores

__all__ = ["Building"]

_NOT_TWICE = "What main has already is not built a second time."
_REFUSED = (FailureKind.AUTH_FAILED, FailureKind.QUOTA_EXCEEDED)
"""With these the lake has answered, and main has not moved."""


class Building:
    """The models of one run."""

    def __init__(self, run: RunContext, phases: Phases, tally: Tally, tables: Collection[TableName]) -> None:
        self.run = run
        self.phases = phases
        self.tally = tally
        self.tables = tables
        configured = run.options.concurrency or run.settings.run.concurrency
        self.concurrency = configured or local_cores(run.settings.spark.master)
        self.publishing = threading.Lock()

    def build_and_publish(self) -> None:
        if self._publishes("wave"):
            outcomes = self._build_by_wave()
        elif self._publishes("model"):
            outcomes = build_models(self.run, self.tables, self.concurrency, self._publish_model)
        else:
            outcomes = build_models(self.run, self.tables, self.concurrency)
        self.tally.outcomes = {**outcomes, **self.tally.outcomes}
        if self.run.cancellation.requested:
            self.tally.cancelled = True
            return
        everything = all(outcome.usable for outcome in outcomes.values())
        if self._publishes("run") or (self._publishes("all") and everything):
            self._check_published(self._publish(outcomes))
            self.tally.cancelled = not self.tally.published and self.run.cancellation.requested
        elif self._publishes("all"):
            self._held_back(outcomes, "every table")

    def _build_by_wave(self) -> Outcomes:
        """A wave waits until all earlier ones are published or held back: none reads what may yet be held back."""
        outcomes: Outcomes = {}
        held: set[TableName] = set()
        for wave in self.run.compiled.waves:
            tables = [table for table in wave if table in self.tables]
            built = build_models(self.run, tables, self.concurrency, earlier=outcomes, held=held)
            held.update(self._publish_wave(built) if built else ())
            outcomes.update(built)
        return outcomes

    def _publishes(self, mode: str) -> bool:
        return self.run.publish_mode == mode and not self.run.options.no_publish

    def _publish(self, outcomes: Outcomes) -> Collection[TableName]:
        """Returns what was published."""
        if not _built(outcomes):
            return ()
        self.run.check_record()
        try:
            with self.phases.timed("branch_resolution"):
                whole = self.run.publish_mode in ("all", "wave")
                published = publish_tables(self.run, outcomes, self._rebuild, whole)
        except RunCancelledError:
            return ()
        except TidegateError as error:
            if isinstance(error, LakeUnavailableError) and error.kind not in _REFUSED:
                # The answer may have been lost on the way, so it is unknown whether main has moved.
                self.tally.in_doubt = True
                error.remedy = f"{error.remedy or 'Run again'}. {_NOT_TWICE}"
            self.tally.error = self.tally.error or error
            return ()
        self.tally.conflicts += published.conflicts
        self.tally.outcomes.update(published.rebuilt)
        if published.error is not None:
            self.tally.error = published.error
            return ()
        moved = [change.table for change in published.changes]
        self.tally.published.update(dict.fromkeys(moved))
        if moved:
            self.run.emit("published", None, {"tables": [self.run.short(table) for table in moved]})
        return moved

    def _check_published(self, tables: Collection[TableName]) -> None:
        self.run.builder.restart()
        phases = Phases(self.run.clock, self.run.spans)
        with phases.timed("quality_tests"):
            results = check_published(self.run, tables)
        with self.publishing:
            self.tally.after_publish.extend(results)
            self.phases.add(phases)

    def _rebuild(self, tables: Collection[TableName]) -> Outcomes:
        return build_models(self.run, tables, self.concurrency)

    def _publish_model(self, table: TableName, outcome: ModelOutcome) -> ModelOutcome:
        if not outcome.publishable:
            return outcome
        with self.publishing:
            published = self._publish({table: outcome})
        self._check_published(published)
        return self._after_publish(table, outcome)

    def _publish_wave(self, outcomes: Outcomes) -> Collection[TableName]:
        """A wave is published whole or not at all; what is held back blocks its readers."""
        if all(outcome.usable for outcome in outcomes.values()):
            self._check_published(self._publish(outcomes))
            for table in outcomes:
                outcomes[table] = self._after_publish(table, outcomes[table])
        else:
            self._held_back(outcomes, "the rest of its wave")
        return [table for table in _built(outcomes) if table not in self.tally.published and not self._unchanged(table)]

    def _held_back(self, outcomes: Outcomes, what: str) -> None:
        """Emit which tables stay on the branch, and because of which models."""
        built = sorted(map(self.run.short, _built(outcomes)))
        if not built or self.run.cancellation.requested:
            return
        ends = {self.run.short(table): outcome.result.status for table, outcome in sorted(outcomes.items())}
        because = ", ".join(f"{name} {status}" for name, status in ends.items() if status in ("failed", "blocked"))
        mode = self.run.publish_mode
        message = f"Not published: {', '.join(built)}. {because}, and --publish {mode} holds back {what}."
        self.run.emit("phase", None, {"phase": "publish", "message": message})

    def _unchanged(self, table: TableName) -> bool:
        try:
            return table not in {change.table for change in self.run.catalog.changed_tables(self.run.branch)}
        except LakeError as error:
            self.tally.error = self.tally.error or error
            return False

    def _after_publish(self, table: TableName, outcome: ModelOutcome) -> ModelOutcome:
        rebuilt = self.tally.outcomes.get(table, outcome)
        if self.tally.error is None or table in self.tally.published or not rebuilt.publishable:
            return rebuilt
        error = self.tally.error
        failed = replace(
            rebuilt.result,
            status="failed",
            failure_kind=str(error.kind),
            error=str(error),
            remedy=error.remedy,
        )
        return replace(rebuilt, result=failed)


def _built(outcomes: Outcomes) -> set[TableName]:
    return {table for table, outcome in outcomes.items() if outcome.publishable}
