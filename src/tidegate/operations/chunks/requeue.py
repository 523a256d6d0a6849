"""Sending an archived raw file round again."""

from __future__ import annotations

from tidegate.chunks.chunk_project import chunk_project
from tidegate.chunks.requeued_files import RequeuedFile, requeue
from tidegate.operations.workspace import Workspace

__all__ = ["requeue_file"]


def requeue_file(workspace: Workspace, name: str) -> RequeuedFile:
    """Raises SelectionError."""
    return requeue(chunk_project(workspace.settings), name)
