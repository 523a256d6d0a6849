"""Rows that chunked loads rejected, with their reasons, from the errors files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from tidegate.chunks.chunk_project import ChunkProject, chunk_project
from tidegate.chunks.layout import ARCHIVED, RunFolder, run_of
from tidegate.chunks.processing_metadata import BronzeToSilverProcessingMetadata
from tidegate.chunks.requeued_files import unknown_raw_file
from tidegate.errors import StorageError
from tidegate.failures import first_line
from tidegate.operations.workspace import Workspace

__all__ = ["RejectedRows", "rejected_rows"]

_BATCH = 10_000


@dataclass(slots=True)
class RejectedRows:
    rows: list[dict[str, Any]] = field(default_factory=list)
    """The first ones, of the newest files first."""

    total: int = 0
    by_rule: Counter[tuple[str | None, ...]] = field(default_factory=Counter)
    """How many rows have which first failure: data source, stage, column, rule."""

    problems: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        names = ("data_source", "stage", "column", "rule")
        return {
            "total": self.total,
            "by_rule": [
                {**dict(zip(names, key, strict=True)), "rows": rows} for key, rows in self.by_rule.most_common()
            ],
            "rows": self.rows,
            "problems": list(self.problems),
        }


def rejected_rows(
    workspace: Workspace, source: str | None = None, file: str | None = None, limit: int = 20
) -> RejectedRows:
    """`file`: only of this raw file, by its path in bronze, its name or its run. Raises SelectionError."""
    project = chunk_project(workspace.settings)
    project.sources(source)
    found = RejectedRows()
    for folder, paths in _errors_files(project, source, file, found.problems):
        for path in paths:
            try:
                _read(project, folder, path, limit, found)
            except FileNotFoundError:
                continue
            except (pa.ArrowException, OSError) as error:
                found.problems.append(f"{path} cannot be read: {first_line(error)}")
    return found


def _errors_files(
    project: ChunkProject, source: str | None, file: str | None, problems: list[str]
) -> Iterator[tuple[RunFolder, list[str]]]:
    """By run, newest first."""
    errors: dict[RunFolder, list[str]] = {}
    parents: list[BronzeToSilverProcessingMetadata] = []
    for each in project.storage.list(ARCHIVED if source is None else f"{ARCHIVED}/{source}"):
        folder = run_of(each.path)
        if folder is None:
            continue
        if each.path.startswith(f"{folder.archive}/errors/"):
            errors.setdefault(folder, []).append(each.path)
        elif each.path == folder.metadata:
            try:
                parents.append(BronzeToSilverProcessingMetadata.load(project.storage, each.path))
            except (StorageError, FileNotFoundError) as error:
                problems.append(str(error))
    if file is not None:
        parents = [parent for parent in parents if file in _names(parent)]
        if not parents and not problems:
            raise unknown_raw_file(file)
    for parent in sorted(parents, key=lambda parent: parent.start_timestamp, reverse=True):
        yield parent.folder, sorted(errors.get(parent.folder, ()), key=lambda path: (len(path), path))


def _names(parent: BronzeToSilverProcessingMetadata) -> tuple[str | None, ...]:
    """What its raw file may be called."""
    raw = parent.input_raw_file
    return raw, raw.rpartition("/")[2], parent.run_id, parent.archived_raw_file


def _read(project: ChunkProject, folder: RunFolder, path: str, limit: int, found: RejectedRows) -> None:
    with project.storage.open(path) as stream:
        errors = parquet.ParquetFile(stream)
        found.total += errors.metadata.num_rows
        for batch in errors.iter_batches(_BATCH, columns=["stage", "column", "rule"]):
            columns = (batch.column(name).to_pylist() for name in ("stage", "column", "rule"))
            found.by_rule.update((folder.source, *key) for key in zip(*columns, strict=True))
        for batch in errors.iter_batches(_BATCH):
            missing = limit - len(found.rows)
            if missing <= 0:
                return
            rows = batch.slice(0, missing).to_pylist()
            found.rows += [{"data_source": folder.source, "run_id": folder.run, **row} for row in rows]
