"""Paths inside a storage."""

from __future__ import annotations

from tidegate.errors import FailureKind, StorageError

__all__ = ["checked_folder", "checked_path", "leads_out"]


def checked_path(path: str, location: str) -> str:
    """Raises StorageError unless it names a file below the root."""
    if not path or path.endswith("/"):
        raise StorageError(
            f"'{path}' does not name a file", where=location, remedy="name a file below this folder", kind=_REFUSED
        )
    return checked_folder(path, location)


def checked_folder(path: str, location: str) -> str:
    """Without a slash at its end; empty for the root."""
    path = path.removesuffix("/")
    if path and any(part in ("", ".", "..") or "\0" in part for part in path.split("/")):
        raise leads_out(path, location)
    return path


def leads_out(path: str, location: str) -> StorageError:
    return StorageError(
        f"'{path}' leads out of the folder",
        where=location,
        remedy="name it relative to this folder, without '..'; where a link leads out of it, put the file itself there",
        kind=_REFUSED,
    )


_REFUSED = FailureKind.QUERY_REJECTED
