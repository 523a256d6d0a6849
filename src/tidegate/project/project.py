"""A project as read from disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tidegate.names import TableName
from tidegate.project.model import Model
from tidegate.project.problems import Place, Problem
from tidegate.project.templates import MacroFile

__all__ = ["Project"]


@dataclass(frozen=True, slots=True)
class Project:
    """`origins`: for each model's path, where its settings were written, by their names in ModelSettings.

    `unread`: tables whose model is there and could not be read.
    """

    models: tuple[Model, ...] = ()
    macros: tuple[MacroFile, ...] = ()
    problems: tuple[Problem, ...] = ()
    origins: Mapping[PurePosixPath, Mapping[str, Place]] = field(default_factory=dict)
    unread: frozenset[TableName] = frozenset()

    def origin(self, model: Model, *settings: str) -> Place:
        """Where the first of `settings` that was written stands; else the model's first line."""
        written = self.origins.get(model.path, {})
        return next((written[name] for name in settings if name in written), Place(model.path.as_posix()))
