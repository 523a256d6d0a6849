"""The three jobs of chunked loads over all pending work; what goes wrong with one piece does not stop the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.chunks.chunk_bronze import chunk_tasks, do_chunk_task, result_of
from tidegate.chunks.chunk_file import ChunkedFile, ChunkProgress
from tidegate.chunks.chunk_project import chunk_project
from tidegate.chunks.layout import CHUNKED
from tidegate.chunks.process_bronze import ProcessedRun, ProcessProgress, pending_tasks, process_tasks
from tidegate.chunks.source_files import UnclaimedFile
from tidegate.errors import RawFileError, RunCancelledError, StorageError, TidegateError
from tidegate.operations.workspace import Workspace
from tidegate.spark.work import work_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.chunks.bronze_loader import LoadProgress, LoadResult

__all__ = ["ChunkResult", "FailedWork", "LoadsResult", "ProcessResult", "chunk", "load", "process"]

Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class FailedWork:
    """One piece of work that failed."""

    what: str
    error: TidegateError

    def document(self) -> dict[str, Any]:
        problems = list(getattr(self.error, "problems", ()))
        return {"what": self.what, "message": str(self.error), "problems": problems, "remedy": self.error.remedy}


@dataclass(slots=True)
class ChunkResult:
    files: list[ChunkedFile] = field(default_factory=list)
    unclaimed: list[UnclaimedFile] = field(default_factory=list)
    failures: list[FailedWork] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        return 1 if self.failures else 0

    def document(self) -> dict[str, Any]:
        return {
            "files": [result_of(file) for file in self.files],
            "unclaimed": [{"raw_file": file.path, "reason": file.reason} for file in self.unclaimed],
            "failures": [failure.document() for failure in self.failures],
        }


def chunk(
    workspace: Workspace,
    source: str | None = None,
    report: Callable[[ChunkProgress], None] = lambda progress: None,
) -> ChunkResult:
    """Raises SelectionError and ConfigError."""
    project = chunk_project(workspace.settings)
    tasks, unclaimed = chunk_tasks(project, source)
    result = ChunkResult(unclaimed=unclaimed if source is None else [])
    for task in tasks:
        try:
            done = do_chunk_task(project, task, report)
        except (RawFileError, StorageError) as error:
            result.failures.append(FailedWork(task["raw_file_s3_path"], error))
            continue
        if done is not None:
            result.files.append(done)
    return result


@dataclass(slots=True)
class ProcessResult:
    runs: list[ProcessedRun] = field(default_factory=list)
    failures: list[FailedWork] = field(default_factory=list)
    not_evaluated: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By source, what its contract asks for beside and nothing holds rows to."""

    warnings: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        return 1 if self.failures or self.warnings else 0

    def document(self) -> dict[str, Any]:
        return {
            "runs": [run.document() for run in self.runs],
            "not_evaluated": {name: list(texts) for name, texts in self.not_evaluated.items()},
            "warnings": list(self.warnings),
            "failures": [failure.document() for failure in self.failures],
        }


def process(
    workspace: Workspace,
    source: str | None = None,
    report: Callable[[ProcessProgress], None] = lambda progress: None,
    notify: Notify = lambda line: None,
    spark: SparkSession | None = None,
) -> ProcessResult:
    """Source after source. `spark`: None: the one of this process. Raises SelectionError and ConfigError."""
    project = chunk_project(workspace.settings)
    result = ProcessResult()

    def session() -> SparkSession:
        from tidegate.spark.session import open_spark

        sizes = [file.size for name in project.sources(source) for file in project.storage.list(f"{CHUNKED}/{name}")]
        return open_spark(workspace.settings, notify, spark, work_of(sum(sizes)))

    for name in project.sources(source):
        tasks = pending_tasks(project, name, result.warnings)
        if not tasks:
            continue
        try:
            runs, broken = process_tasks(project, tasks, session, report)
        except RunCancelledError:
            raise
        except TidegateError as error:
            result.failures.append(FailedWork(name, error))
            continue
        result.runs += runs
        if broken is not None:
            result.failures.append(FailedWork(name, broken))
        result.not_evaluated |= _not_evaluated(workspace, name)
    return result


def _not_evaluated(workspace: Workspace, name: str) -> dict[str, tuple[str, ...]]:
    from tidegate.chunks.rules.source_rules import source_rules

    asked = source_rules(workspace.settings.root, workspace.settings.chunks.sources[name]).not_evaluated
    return {name: asked} if asked else {}


@dataclass(slots=True)
class LoadsResult:
    loads: list[LoadResult] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    failures: list[FailedWork] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        return 1 if self.failures else 0

    def document(self) -> dict[str, Any]:
        return {
            "loads": [load.document() for load in self.loads],
            "warnings": list(self.warnings),
            "failures": [failure.document() for failure in self.failures],
        }


def load(
    workspace: Workspace,
    source: str | None = None,
    report: Callable[[LoadProgress], None] = lambda progress: None,
    notify: Notify = lambda line: None,
    spark: SparkSession | None = None,
) -> LoadsResult:
    """File after file, until nothing is left that can be loaded. A file that fails stops the later ones of its table
    alone. `spark`: with Delta; None: the one of this process. Raises SelectionError and ConfigError."""
    from tidegate.chunks.load_bronze import LoadListeners, do_load_task, load_tasks

    project = chunk_project(workspace.settings)
    result, stopped, idle = LoadsResult(), set[str](), set[str]()
    warnings: dict[str, None] = {}
    while True:
        tasks, found = load_tasks(project, source, idle)
        warnings |= dict.fromkeys(found.warnings)
        tasks = [task for task in tasks if task["parent_metadata_s3_path"] not in stopped]
        if not tasks:
            break
        for task in tasks:
            path = task["parent_metadata_s3_path"]
            try:
                done = do_load_task(project, task, spark, LoadListeners(notify, report))
            except RunCancelledError:
                raise
            except TidegateError as error:
                result.failures.append(FailedWork(path, error))
                stopped.add(path)
                continue
            warnings |= dict.fromkeys(done.warnings)
            if done.status == "busy":
                stopped.add(path)
            elif done.status == "partial":
                idle.add(path)  # what it lacks does not come by trying again now
            result.loads.append(done)
    result.warnings = list(warnings)
    return result
