"""Reading the sources of contracts before a run is planned, so that what they landed is part of the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from tidegate.amounts import plural
from tidegate.compiler.compiled import Compiled
from tidegate.contracts.ingestion import Ingestion
from tidegate.errors import RunCancelledError, TidegateError
from tidegate.http_client import Timing
from tidegate.ingest.bronze_position import bronze_position
from tidegate.ingest.logical_run import LandedRun, LogicalRun, land
from tidegate.ingest.port import ReadProgress
from tidegate.lake.branch_catalog import MAIN, BranchCatalog
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.runs.builder import Builder
from tidegate.runs.clock import Clock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SourceReading", "ingest_contracts"]


@dataclass(frozen=True, slots=True)
class SourceReading:
    """What a run gives to the reading of its sources."""

    run_id: str
    builder: Callable[[], Builder]
    """Its Spark, which is started where a source needs it."""

    emit: Callable[[str, str | None, Mapping[str, Any]], None]
    check_cancelled: Callable[[], None]
    clock: Clock


def ingest_contracts(
    contracts: Mapping[TableName, Ingestion], compiled: Compiled, catalog: BranchCatalog, reading: SourceReading
) -> Mapping[TableName, TidegateError]:
    """Why each contract that could not be read was not; what it has landed is continued by the next run."""
    failures: dict[TableName, TidegateError] = {}
    main, clock = BranchView(catalog, MAIN), reading.clock
    timing = Timing(clock.monotonic, clock.sleep, clock.now)

    @cache
    def session() -> SparkSession:
        """One for all contracts: each leaves an open handle on the catalog."""
        sessions = reading.builder().session_factory(catalog)
        assert sessions is not None
        return sessions(MAIN)

    for table, ingestion in contracts.items():
        reading.check_cancelled()
        name = table.short(compiled.namespace)
        position = bronze_position(main.table(table), ingestion.source.zone)

        def report(progress: ReadProgress, name: str = name) -> None:
            data = {"phase": "ingest", "message": progress.text, "rows_written": progress.extent.rows}
            reading.emit("phase", name, data)

        request = LogicalRun(
            ingestion=ingestion,
            settings=compiled.settings,
            run_id=reading.run_id,
            checkpoint=position.checkpoint,
            checkpoint_of=position.checkpoint_of,
            consumed=position.consumed,
            session=session,
            report=report,
            check_cancelled=reading.check_cancelled,
            timing=timing,
        )
        try:
            landed = land(request)
        except RunCancelledError:
            raise
        except TidegateError as error:
            failures[table] = error  # of this contract alone, whatever is wrong with its source
        else:
            for text in (_landed_text(name, ingestion, landed), *(f"{name}: {note}" for note in landed.notes)):
                reading.emit("phase", None, {"phase": "ingest", "message": text})
    return failures


def _landed_text(name: str, ingestion: Ingestion, landed: LandedRun) -> str:
    source = ingestion.source
    if not landed.files:
        return f"{name}: nothing new in {source.connector.name} {source.source}"
    rows = f"{plural(landed.rows, 'row')} in " if landed.rows is not None else ""
    files, resumed = plural(len(landed.files), "file"), ", continued" if landed.resumed else ""
    return f"{name}: {rows}{files} landed from {source.connector.name} {source.source}{resumed}"
