"""A project whose chunks are worked on: its settings and its storage."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate.config import ChunkSource, Settings, find_project, load_settings
from tidegate.errors import SelectionError
from tidegate.names import nearest
from tidegate.storage import Storage, open_storage

__all__ = ["ChunkProject", "chunk_project", "open_chunk_project"]


@dataclass(frozen=True, slots=True)
class ChunkProject:
    settings: Settings
    storage: Storage

    def sources(self, name: str | None) -> dict[str, ChunkSource]:
        """All, or the one of a name. Raises SelectionError."""
        sources = dict(self.settings.chunks.sources)
        return sources if name is None else {name: self.source(name)}

    def source(self, name: str) -> ChunkSource:
        """Raises SelectionError."""
        sources = self.settings.chunks.sources
        if name not in sources:
            close = nearest(name, sources)
            meant = f"; did you mean {' or '.join(close)}?" if close else ""
            known = f"Known are {', '.join(sources)}." if sources else "Add [chunks.sources.NAME] to tidegate.toml."
            raise SelectionError(f"there is no source '{name}' in [chunks.sources]{meant}", remedy=known)
        return sources[name]

    def task(self, **values: Any) -> dict[str, Any]:
        """A unit of work as a plain dict, which any process can do."""
        return {"project": str(self.settings.root), **values}


def open_chunk_project(project: str | Path) -> ChunkProject:
    """`project`: a folder in the project. Raises ConfigError."""
    return chunk_project(load_settings(find_project(Path(project))))


def chunk_project(settings: Settings) -> ChunkProject:
    return ChunkProject(settings, open_storage(settings.chunks.root, settings.s3))
