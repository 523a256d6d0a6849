"""A project as it lies on disk, compiled with what is known of its sources and of earlier compilations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from tidegate.compiler.cache import CompileCache
from tidegate.compiler.compile import compile_project, without_collecting
from tidegate.compiler.values import Compiled
from tidegate.config import Settings
from tidegate.lake.port import Heads
from tidegate.names import TableName
from tidegate.project import Project, load_project
from tidegate.sources import Discovery, known_tables

__all__ = ["compile_from_disk"]

_caches: dict[Path, CompileCache] = {}


def compile_from_disk(
    settings: Settings, lake: Heads | Collection[TableName], cli_vars: Mapping[str, object]
) -> tuple[Project, Compiled, Discovery]:
    """Sources are asked only if that is long ago. A second compilation in this process needs no file to remember."""
    with without_collecting():
        cache = _caches.get(settings.root)
        if cache is None:
            cache = _caches[settings.root] = CompileCache.open(settings.root)
        project = load_project(settings)
        discovery = known_tables(settings) if settings.sources else Discovery()
        compiled = compile_project(project, settings, lake, cli_vars, discovery, cache)
        cache.save()
    return project, compiled, discovery
