"""Landing what is new in the source of a contract. No table is built: `tidegate run` reads what was landed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.contracts.ingestion import Ingestion
from tidegate.contracts.read_ingestion import read_ingestion
from tidegate.contracts.stage_contract import StageContract
from tidegate.contracts.stage_problems import read_stages
from tidegate.contracts.yaml_document import read_yaml
from tidegate.errors import ContractValidationError, SelectionError
from tidegate.http_client import Timing
from tidegate.ingest.bronze_position import bronze_position
from tidegate.ingest.logical_run import LandedRun, LogicalRun, land
from tidegate.ingest.port import ReadProgress
from tidegate.names import TableName, nearest
from tidegate.operations.contract_tools.contract_validation import project_contracts
from tidegate.operations.workspace import Workspace
from tidegate.project.contract_models import BRONZE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["IngestOptions", "IngestResult", "ingest"]

_ENDINGS = (".yml", ".yaml")


@dataclass(frozen=True, slots=True)
class IngestOptions:
    restart: bool = False
    """Discard what an unfinished read has landed."""

    run_id: str | None = None
    """None: by the time."""

    report: Callable[[ReadProgress], None] | None = None
    notify: Callable[[str], None] = lambda line: None
    """Receives that Spark starts, for a source that is read with it."""

    timing: Timing | None = None


@dataclass(frozen=True, slots=True)
class IngestResult:
    contract: str
    """Its id."""

    file: str
    """Relative to the project where it is in it."""

    zone: str
    table: str
    """The bronze table that reads the zone."""

    is_read: bool
    """False: others put files into the zone."""

    landed: LandedRun

    @property
    def status(self) -> str:
        if not self.is_read:
            return "pushed"
        return "landed" if self.landed.batches else "nothing_new"

    def document(self) -> dict[str, Any]:
        landed = self.landed
        return {
            "contract": self.contract,
            "file": self.file,
            "zone": self.zone,
            "table": self.table,
            "status": self.status,
            "run_id": landed.run_id,
            "resumed": landed.resumed,
            "bounds": asdict(landed.bounds),
            "checkpoint_value": landed.checkpoint,
            "batches": landed.batches,
            "rows": landed.rows,
            "files": list(landed.files),
            "notes": list(landed.notes),
        }


def ingest(workspace: Workspace, name: str, options: IngestOptions | None = None) -> IngestResult:
    """`name`: a contract by its file, its id, or the name of one of its objects. Raises SelectionError,
    ContractValidationError, SourceError or LandingError; what was landed is continued by the next call."""
    options = options or IngestOptions()
    settings = workspace.settings
    path = _find(workspace, name)
    ingestion = _read(path, _shown(workspace, path))
    source = ingestion.source
    table = TableName(settings.project.namespace, BRONZE, source.table)
    position = bronze_position(workspace.metadata(table), source.zone)
    timing = options.timing or Timing()

    def session() -> SparkSession:
        from tidegate.spark.session import open_spark

        return open_spark(settings, options.notify)

    landed = land(
        LogicalRun(
            ingestion,
            settings,
            run_id=options.run_id or _run_id(timing.wall()),
            checkpoint=position.checkpoint,
            checkpoint_of=position.checkpoint_of,
            consumed=position.consumed,
            restart=options.restart,
            session=session,
            report=options.report,
            timing=timing,
        )
    )
    return IngestResult(
        contract=ingestion.id,
        file=_shown(workspace, path),
        zone=source.zone,
        table=table.short(settings.project.namespace),
        is_read=source.connector.reads_source,
        landed=landed,
    )


def _find(workspace: Workspace, name: str) -> Path:
    settings = workspace.settings
    if name.lower().endswith(_ENDINGS):
        candidates = (Path(name), settings.root / name, settings.contracts.location / name)
        file = next((path for path in candidates if path.is_file()), None)
        if file is None:
            raise SelectionError(f"there is no file '{name}'", remedy="Name the contract's file, its id or its object.")
        return file.absolute()
    names: dict[str, list[Path]] = {}
    for path in project_contracts(settings):
        for known in _names(path):
            names.setdefault(known, []).append(path)
    files = list(dict.fromkeys(names.get(name, ())))
    if len(files) == 1:
        return files[0]
    if files:
        shown = " and ".join(_shown(workspace, path) for path in files)
        raise SelectionError(f"'{name}' is in several contracts: {shown}", remedy="Name the contract's file.")
    close = nearest(name, names)
    meant = f"; did you mean {' or '.join(close)}?" if close else ""
    remedy = "Name the contract's file, its id, or one of its objects; `tidegate contract validate` lists the files."
    raise SelectionError(f"there is no contract '{name}'{meant}", remedy=remedy)


def _names(path: Path) -> set[str]:
    """By which a contract with a source is found; none for a file that cannot be read."""
    try:
        document, _ = read_yaml(_text(path), path.name)
    except ContractValidationError:
        return set()
    if document is None or not isinstance(document.value, dict):
        return set()
    contract = StageContract(document.value)
    if not contract.sources:
        return set()
    texts = (contract.root.text("id"), *(table.text("name") for table in contract.objects))
    return {text for text in texts if text}


def _read(path: Path, shown: str) -> Ingestion:
    reading = read_stages(_text(path), shown)
    if reading.contract is None or reading.problems:
        raise reading.error()
    ingestion = read_ingestion(reading.contract)
    if ingestion is None:
        raise ContractValidationError("for landing", ["it has no object with a connector"], shown)
    return ingestion


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ContractValidationError("text", ["it is not UTF-8 text"], str(path)) from None
    except OSError as error:
        raise ContractValidationError("text", [f"it cannot be read: {error.strerror or error}"], str(path)) from error


def _shown(workspace: Workspace, path: Path) -> str:
    root = workspace.settings.root
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _run_id(moment: datetime) -> str:
    moment = moment.astimezone(UTC)
    return f"run-{moment:%Y%m%d-%H%M%S}-{moment.microsecond // 1000:03d}"
