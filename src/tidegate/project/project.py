"""A project as read from disk."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.names import TableName
from tidegate.project.model import Model
from tidegate.project.problems import Place, Problem
from tidegate.project.templates.fill import MacroFile
from tidegate.project.unit_tests import UnitTest

__all__ = ["Project"]


@dataclass(frozen=True, slots=True)
class Project:
    """`unread`: tables whose model is there and could not be read. `own_checks`, `own_masks`: names
    that its own checks and masks have."""

    models: tuple[Model, ...] = ()
    macros: tuple[MacroFile, ...] = ()
    problems: tuple[Problem, ...] = ()
    unread: frozenset[TableName] = frozenset()
    unit_tests: tuple[UnitTest, ...] = ()
    own_checks: tuple[str, ...] = ()
    own_masks: tuple[str, ...] = ()

    def origin(self, model: Model, *settings: str) -> Place:
        """Where the first of `settings` that was written stands; else the model's first line."""
        return next((model.origins[name] for name in settings if name in model.origins), Place(model.file))
