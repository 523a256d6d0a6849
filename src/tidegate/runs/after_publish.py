"""What a run does after its publish: reports anomalies, archives landing files, maintains the lake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from tidegate.compiler.compiled import Compiled
from tidegate.config import AnomaliesSection, Settings
from tidegate.errors import StateError, TidegateError
from tidegate.faults import fault
from tidegate.hooks.events import Emit
from tidegate.lake.branch_catalog import MAIN, BranchCatalog
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.project.model import ModelSettings
from tidegate.quality.anomaly_rules import MOST_RUNS, Anomaly, ProfiledRun, find_anomalies
from tidegate.runs.archive import archive_consumed
from tidegate.runs.context import RunContext
from tidegate.runs.recorder import profile_of_record
from tidegate.runs.tally import Tally
from tidegate.state import StateReader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Maintain", "archive_landing_files", "report_anomalies", "run_maintenance"]


class _Report(Protocol):
    @property
    def summary(self) -> str:
        """What was done, in one line; empty for nothing."""

    @property
    def errors(self) -> tuple[str, ...]:
        """One line for each step that failed."""


Maintain = Callable[
    [Settings, BranchCatalog, Callable[[str], "SparkSession"] | None, tuple[TableName, ...], Callable[[], datetime]],
    _Report,
]
"""Settings, catalog, what gives a session on a branch, the tables that were published, the clock."""


def report_anomalies(run: RunContext, tally: Tally, history: StateReader) -> None:
    """Compare what was built with what earlier runs built. A history that does not answer is the run's error."""
    try:
        for table, outcome in sorted(tally.outcomes.items()):
            if outcome.profile is None or not outcome.publishable or tally.cancelled:
                continue
            name, settings = run.short(table), run.compiled.models[table].model.settings
            now = ProfiledRun(run.run_id, run.started_at, outcome.profile)
            for anomaly in _find_unusual(history, name, settings, now, run.settings.anomalies):
                tally.anomalies.append(anomaly)
                run.emit("anomaly_detected", name, asdict(anomaly))
    except StateError as error:
        tally.error = tally.error or error


def archive_landing_files(compiled: Compiled, settings: Settings, catalog: BranchCatalog, emit: Emit) -> None:
    fault("before_archive")
    try:
        moved, notes = archive_consumed(compiled, settings, BranchView(catalog, MAIN))
    except TidegateError as error:
        moved, notes = 0, (f"landing files were not archived: {error}",)
    fault("after_archive")
    if moved:
        files = f"{moved} landing file{'' if moved == 1 else 's'}"
        message = f"Archived {files} to _processed/ in {'its zone' if moved == 1 else 'their zones'}"
        emit("phase", None, {"phase": "archive", "message": message})
    for note in notes:
        emit("warning", None, {"message": note})


def run_maintenance(run: RunContext, maintain: Maintain, published: tuple[TableName, ...]) -> None:
    fault("before_maintenance")
    sessions = run.builder.session_factory(run.catalog)
    report = maintain(run.settings, run.catalog, sessions, published, run.clock.now)
    fault("after_maintenance")
    if report.summary:
        run.emit("phase", None, {"phase": "maintenance", "message": f"Maintenance: {report.summary}"})
    for line in report.errors:
        run.emit("warning", None, {"message": f"maintenance: {line}"})


def _find_unusual(
    reader: StateReader, model: str, settings: ModelSettings, now: ProfiledRun, section: AnomaliesSection
) -> Iterator[Anomaly]:
    """Compared with the last runs of the model that were published."""
    thresholds = section.thresholds(settings.anomaly_threshold)
    if any(thresholds.values()):
        records = reader.profiles(model, MOST_RUNS, now.profile.scope, but_run=now.run_id)
        history = [ProfiledRun(record.run_id, record.at, profile_of_record(record)) for record in records]
        yield from find_anomalies(model, now, history, thresholds)
