"""What is recorded of a raw file (the parent) and of each of its chunks, as JSON on the storage.

A parent is complete when it has an `end_timestamp`: nothing of its file is pending.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, computed_field

from tidegate.chunks.layout import RunFolder, delta_table, metadata_path, processed_path
from tidegate.errors import FailureKind, StorageError
from tidegate.storage import Storage

__all__ = [
    "BronzeToSilverProcessingMetadata",
    "ChunkProcessingMetadata",
    "PendingBatch",
    "ProcessingMetrics",
]


class _Record(BaseModel):
    """Unknown keys are left out: the computed fields are written too, and a later version may write more."""

    model_config = ConfigDict(extra="ignore")


class _Stored(_Record):
    @classmethod
    def load(cls, storage: Storage, path: str) -> Self:
        """Raises FileNotFoundError, and StorageError where the file is no metadata of this kind."""
        data = storage.read(path)
        try:
            return cls.model_validate_json(data)
        except ValidationError as error:
            raise StorageError(
                f"the metadata {path} cannot be read: {_first(error)}",
                where=f"{storage.location}/{path}",
                remedy="restore it, or copy the raw file into bronze again: it is beside its metadata in the archive",
                kind=FailureKind.QUERY_REJECTED,
            ) from None

    def save(self, storage: Storage, path: str) -> None:
        """Whole or not at all."""
        storage.write(path, self.as_json())

    def as_json(self) -> bytes:
        return self.model_dump_json(indent=2).encode() + b"\n"


class ProcessingMetrics(_Record):
    """Rows."""

    success: int = Field(default=0, ge=0)
    failed: int = Field(default=0, ge=0)

    def __add__(self, other: ProcessingMetrics) -> ProcessingMetrics:
        return ProcessingMetrics(success=self.success + other.success, failed=self.failed + other.failed)


class PendingBatch(_Record):
    """What one MERGE takes; saved before it begins, so that it is finished first after a crash."""

    number: int = Field(ge=1)
    chunk_metadata_s3_paths: list[str]


class ChunkProcessingMetadata(_Stored):
    parent_metadata_s3_path: str
    data_source: str
    input_chunk_s3_path: str
    errors_s3_path: str | None = None
    """Only where a row was rejected."""

    metrics: ProcessingMetrics = Field(default_factory=ProcessingMetrics)
    run_id: str
    start_timestamp: datetime
    end_timestamp: datetime | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def output_processed_s3_path(self) -> str:
        return processed_path(self.input_chunk_s3_path)

    @property
    def metadata_s3_path(self) -> str:
        """Where this is saved."""
        return metadata_path(self.input_chunk_s3_path)


class BronzeToSilverProcessingMetadata(_Stored):
    input_raw_file: str
    data_source: str
    chunks_size: int
    bucket_name: str
    archived_raw_file: str | None = None
    """None: the sender replaced the file before it was archived; its chunks have its rows."""

    raw_chunks: list[str] = Field(default_factory=list)
    processed_chunks: list[str] = Field(default_factory=list)
    """Those that the table has, by the paths that they had."""

    errors_s3_path: list[str] = Field(default_factory=list)
    requeued_raw_file: str | None = None
    metrics: ProcessingMetrics = Field(default_factory=ProcessingMetrics)
    run_id: str
    start_timestamp: datetime
    end_timestamp: datetime | None = None
    is_chunked: bool = False
    """Every chunk is there and the raw file is archived: it may be processed."""

    batch: PendingBatch | None = None
    batches_done: int = 0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def output_delta_table(self) -> str:
        return delta_table(self.data_source)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def n_chunks(self) -> int:
        return len(self.raw_chunks)

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.data_source, self.run_id)

    @property
    def metadata_s3_path(self) -> str:
        """Where this is saved."""
        return self.folder.metadata

    def completed(self) -> Self:
        return self.model_copy(update={"end_timestamp": datetime.now(UTC)})


def _first(error: ValidationError) -> str:
    mistake = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(step) for step in mistake["loc"])
    return f"{where}: {mistake['msg']}" if where else str(mistake["msg"])
