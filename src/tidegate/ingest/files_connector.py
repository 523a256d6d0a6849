"""Files of a folder that others write: each is copied into landing once, whatever its name.

`endpoint` is a pattern below `[contracts] files_root`, such as `orders/*.csv` or `**/*.json`. A full snapshot is all
files that match, copied again as soon as one of them is new, changed or gone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from blake3 import blake3

from tidegate.errors import FailureKind, SourceError
from tidegate.ingest.port import Batch, Bounds, Extent, OriginFile, SourceRequest
from tidegate.project.landing_files import ZoneFile, content_digest, file_format

__all__ = ["FilesConnector"]

_MOST_FILES = 100
_MOST_BYTES = 256 * 2**20
"""Of a batch of several files."""

_CHUNK = 2**20
_LEFT = "{}"
"""The state while files are left: which they are follows from those that are landed."""


@dataclass(frozen=True, slots=True)
class _MatchedFile:
    path: Path
    name: str
    """Relative to the root, or absolute."""

    size: int
    mtime_ns: int


class FilesConnector:
    def __init__(self, request: SourceRequest) -> None:
        self._request = request
        self._source = request.ingestion.source
        self._pattern = self._source.endpoint or ""
        self._contracts = request.settings.contracts
        known = [origin for run in request.landed for origin in run]
        self._newest = {origin.path: origin.digest for origin in known}
        self._contents = {(origin.path, origin.digest) for origin in known}
        self._digests = {(origin.path, origin.size, origin.mtime_ns): origin.digest for origin in known}
        self._now = {origin.digest for origin in request.landed[-1]}
        self._landed = self._now if self._source.full_snapshot else {origin.digest for origin in known}

    def upper_bound(self, lower: str | None) -> None:
        """Which files are new follows from those that were landed."""

    def batches(self, bounds: Bounds, state: str | None, folder: Path) -> Iterator[Batch]:
        matches = list(self._matches())
        if state is None and self._source.full_snapshot and self._is_as_before(matches):
            return
        waiting = [match for match in matches if not self._is_landed(match.name, self._known_digest(match))]
        done = 0
        groups = list(_groups(waiting))
        for number, group in enumerate(groups, 1):
            names: list[str] = []
            origins: list[OriginFile] = []
            for match in group:
                name = f"{len(names):05d}-{match.path.name}"
                if file_format(name) is None:
                    name = f"{name}.{self._source.format}"
                origin = self._copy(match, folder / name)
                done += 1
                self._request.report(Extent("files", done, total=len(waiting)))
                if self._is_landed(origin.path, origin.digest):
                    (folder / name).unlink()
                    continue
                self._landed.add(origin.digest)
                names.append(name)
                origins.append(origin)
            if names:
                left = None if number == len(groups) else _LEFT
                yield Batch(tuple(names), state=left, origins=tuple(origins))

    def close(self) -> None:
        """Nothing is open."""

    def _is_landed(self, path: str, digest: str | None) -> bool:
        """A file that has again the content that it had before another one is new: it replaces that one."""
        if digest is None or digest not in self._landed:
            return False
        is_back = (path, digest) in self._contents and self._newest[path] != digest
        return self._source.full_snapshot or not is_back

    def _is_as_before(self, matches: Iterable[_MatchedFile]) -> bool:
        """Whether the files are those of the snapshot before."""
        earlier = self._request.landed[:-1]
        before = {origin.digest for origin in earlier[-1]} if earlier else set()
        return {self._digest(match) for match in matches} == before

    def _digest(self, match: _MatchedFile) -> str:
        listed = ZoneFile(match.path.name, match.size, match.mtime_ns)
        digest = self._known_digest(match) or content_digest(match.path.parent, listed)
        if digest is None:
            raise self._changed(match)
        return digest

    def _known_digest(self, match: _MatchedFile) -> str | None:
        return self._digests.get((match.name, match.size, match.mtime_ns))

    def _matches(self) -> Iterator[_MatchedFile]:
        """In the order of their times."""
        root, pattern = self._root()
        found = []
        try:
            for path in root.glob(pattern):
                if not path.is_file() or any(part[:1] in "._" for part in path.relative_to(root).parts):
                    continue
                if not self._contracts.absolute_paths and not path.resolve().is_relative_to(root.resolve()):
                    raise self._error(f"'{path.name}' is a link out of the folder", FailureKind.QUERY_REJECTED, path)
                status = path.stat()
                name = path.relative_to(root).as_posix() if root == self._contracts.files_root else str(path)
                found.append(_MatchedFile(path, name, status.st_size, status.st_mtime_ns))
        except OSError as error:
            raise self._unreadable(error, root) from error
        yield from sorted(found, key=lambda match: (match.mtime_ns, match.name))

    def _root(self) -> tuple[Path, str]:
        pattern, root = self._pattern, self._contracts.files_root
        if ".." in Path(pattern).parts or not pattern:
            raise self._error(f"the endpoint '{pattern}' must not leave its folder", FailureKind.QUERY_REJECTED, root)
        if os.path.isabs(pattern):
            if not self._contracts.absolute_paths:
                message = f"the endpoint '{pattern}' is an absolute path, which this project does not allow"
                remedy = f"write it relative to {root}, or set absolute_paths = true in [contracts]"
                raise self._error(message, FailureKind.QUERY_REJECTED, root, remedy)
            root, pattern = Path("/"), pattern.lstrip("/")
        if not root.is_dir():
            raise self._error(f"there is no folder {root}", FailureKind.NOT_FOUND, root)
        return root, pattern

    def _copy(self, match: _MatchedFile, target: Path) -> OriginFile:
        digest = blake3()
        try:
            with match.path.open("rb") as source, target.open("xb") as copy:
                while chunk := source.read(_CHUNK):
                    self._request.check_cancelled()
                    digest.update(chunk)
                    copy.write(chunk)
            status = match.path.stat()
        except OSError as error:
            raise self._unreadable(error, match.path) from error
        if (status.st_size, status.st_mtime_ns) != (match.size, match.mtime_ns):
            raise self._changed(match)
        return OriginFile(match.name, match.size, match.mtime_ns, digest.hexdigest())

    def _changed(self, match: _MatchedFile) -> SourceError:
        message = f"the file '{match.name}' was changed while it was read"
        remedy = "repeat the command once it is complete; let writers rename files into the folder"
        return self._error(message, FailureKind.TRANSIENT, match.path, remedy)

    def _unreadable(self, error: OSError, path: Path) -> SourceError:
        missing = isinstance(error, FileNotFoundError)
        kind = FailureKind.NOT_FOUND if missing else FailureKind.AUTH_FAILED
        if not missing and not isinstance(error, PermissionError):
            kind = FailureKind.TRANSIENT
        return self._error(f"a file cannot be read: {error.strerror or error}", kind, Path(error.filename or path))

    def _error(self, message: str, kind: FailureKind, path: Path, remedy: str | None = None) -> SourceError:
        name = self._source.source
        return SourceError(
            f"source '{name}': {message}",
            source=name,
            kind=kind,
            where=str(path),
            remedy=remedy or "correct 'endpoint' of the contract, or files_root in [contracts]",
        )


def _groups(matches: Iterable[_MatchedFile]) -> Iterator[list[_MatchedFile]]:
    """The batches: of several files where they are small."""
    group: list[_MatchedFile] = []
    size = 0
    for match in matches:
        if group and (len(group) == _MOST_FILES or size + match.size > _MOST_BYTES):
            yield group
            group, size = [], 0
        group.append(match)
        size += match.size
    if group:
        yield group
