"""An archived raw file is put into bronze again, where the next *chunk* takes it as a new delivery."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Any

from tidegate.chunks.chunk_project import ChunkProject
from tidegate.chunks.layout import ARCHIVED, METADATA, lease_folder, run_of
from tidegate.chunks.processing_metadata import BronzeToSilverProcessingMetadata
from tidegate.chunks.table_lease import leased
from tidegate.errors import FailureKind, SelectionError, StorageError
from tidegate.faults import fault

__all__ = ["RequeuedFile", "requeue", "unknown_raw_file"]


@dataclass(frozen=True, slots=True)
class RequeuedFile:
    raw_file: str
    archived_raw_file: str
    parent_metadata_s3_path: str

    def document(self) -> dict[str, Any]:
        return {
            "requeued_raw_file": self.raw_file,
            "archived_raw_file": self.archived_raw_file,
            "parent_metadata_s3_path": self.parent_metadata_s3_path,
        }


def requeue(project: ChunkProject, name: str) -> RequeuedFile:
    """`name`: an archived raw file, its run, its metadata, or the path or the name that it had in bronze (then the
    newest of that name). Raises SelectionError, and StorageError where its metadata cannot be read."""
    storage, parent = project.storage, _find(project, name)
    archived, target = parent.archived_raw_file, parent.input_raw_file
    if archived is None or not storage.exists(archived):
        raise SelectionError(
            f"the raw file of {parent.metadata_s3_path} is not in the archive",
            remedy=f"Deliver it again as {target}.",
        )
    if storage.exists(target):
        raise SelectionError(
            f"there is a file at {target} already", remedy="`tidegate chunks chunk` takes it; then requeue this one."
        )
    with storage.open(archived) as file, storage.writer(target) as copy:
        shutil.copyfileobj(file, copy, 1 << 20)
    fault("after_requeue")
    path = parent.metadata_s3_path
    # A load of the file replaces its metadata too.
    with leased(storage, lease_folder(parent.data_source)) as lease:
        if lease is None:
            raise SelectionError(
                f"{parent.output_delta_table} is being loaded; {target} is in bronze again, which {path} does not say",
                remedy="Nothing is missing: the next `tidegate chunks chunk` takes the file.",
            )
        current = BronzeToSilverProcessingMetadata.load(storage, path)
        current.model_copy(update={"requeued_raw_file": target}).save(storage, path)
    return RequeuedFile(target, archived, path)


def _find(project: ChunkProject, name: str) -> BronzeToSilverProcessingMetadata:
    storage = project.storage
    name = name.strip("/").removeprefix(f"{storage.location.strip('/')}/")
    folder = run_of(name) or run_of(f"{name}/{METADATA}")
    if folder is not None:
        try:
            return BronzeToSilverProcessingMetadata.load(storage, folder.metadata)
        except FileNotFoundError:
            raise unknown_raw_file(name) from None
    found, broken = list[BronzeToSilverProcessingMetadata](), list[StorageError]()
    for file in storage.list(ARCHIVED):
        if not file.path.endswith(f"/{METADATA}"):
            continue
        try:
            parent = BronzeToSilverProcessingMetadata.load(storage, file.path)
        except StorageError as error:
            if error.kind is not FailureKind.QUERY_REJECTED:
                raise
            broken.append(error)  # what is damaged hides no other
            continue
        if name in (parent.input_raw_file, parent.input_raw_file.rpartition("/")[2], parent.run_id):
            found.append(parent)
    if not found:
        raise broken[0] if broken else unknown_raw_file(name)
    return max(found, key=lambda parent: parent.start_timestamp)


def unknown_raw_file(name: str) -> SelectionError:
    return SelectionError(
        f"no raw file '{name}' is archived", remedy="`tidegate chunks status` lists the files, with their runs."
    )
