"""Loading every processed chunk there is: one file of each table at a time, until nothing is left that can be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.chunks.bronze_loader import LoadResult
from tidegate.chunks.chunk_project import ChunkProject
from tidegate.chunks.load_bronze import SILENT, LoadListeners, do_load_task, load_tasks
from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["LoadReport", "load_all"]


@dataclass(slots=True)
class LoadReport:
    results: list[LoadResult] = field(default_factory=list)
    """One of each file."""

    failures: list[tuple[str, TidegateError]] = field(default_factory=list)
    """By the parent's path: what stopped its load, and that of later files of its table."""

    warnings: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        return 1 if self.failures else 0

    def document(self) -> dict[str, Any]:
        return {
            "status": "failed" if self.failures else "success",
            "loads": [result.document() for result in self.results],
            "failures": [
                {
                    "parent_metadata_s3_path": path,
                    "kind": str(error.kind),
                    "error": error.message,
                    "remedy": error.remedy,
                }
                for path, error in self.failures
            ],
            "warnings": list(self.warnings),
        }


def load_all(
    project: ChunkProject,
    source: str | None = None,
    listeners: LoadListeners = SILENT,
    spark: SparkSession | None = None,
) -> LoadReport:
    """`spark`: as `do_load_task` takes it. A file that cannot be loaded stops the later ones of its table alone."""
    report = LoadReport()
    stopped: set[str] = set()
    idle: set[str] = set()
    warnings: dict[str, None] = {}
    while True:
        tasks, found = load_tasks(project, source, idle)
        warnings |= dict.fromkeys(found.warnings)
        todo = [task for task in tasks if task["parent_metadata_s3_path"] not in stopped]
        for task in todo:
            path = task["parent_metadata_s3_path"]
            try:
                result = do_load_task(project, task, spark, listeners)
            except TidegateError as error:
                report.failures.append((path, error))
                stopped.add(path)
                continue
            warnings |= dict.fromkeys(result.warnings)
            if result.status == "busy":
                stopped.add(path)
            elif result.status == "partial":
                idle.add(path)  # what it lacks does not come by trying again now
            report.results.append(result)
        if not todo:
            report.warnings = list(warnings)
            return report
