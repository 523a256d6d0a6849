"""Running a project, with the upkeep of the lake that follows a publish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegate.config import Settings
from tidegate.hooks.events import Listener
from tidegate.operations.maintain import maintain_after_run
from tidegate.operations.workspace import Workspace
from tidegate.runs import lifecycle
from tidegate.runs.build.spark_builder import open_spark_builder
from tidegate.runs.clock import Clock
from tidegate.runs.options import RunOptions
from tidegate.runs.result import RunResult

__all__ = ["result_document", "run_project"]


def run_project(
    settings: Settings,
    options: RunOptions = RunOptions(),  # noqa: B008 - frozen
    listeners: Sequence[Listener] = (),
    clock: Clock | None = None,
) -> RunResult:
    """Raises only what stops a run before its first model; everything else is in the result."""
    return lifecycle.run_project(
        settings, options, listeners, clock, open_builder=open_spark_builder, maintain=maintain_after_run
    )


def result_document(workspace: Workspace, result: RunResult) -> Mapping[str, Any]:
    """Where an earlier run recorded the result, without the values of columns that are hidden now."""
    document = result.to_dict()
    if not result.repeated:
        return document
    from tidegate.operations.redact import HiddenColumnRedactor  # only here: most runs have a result of their own

    return HiddenColumnRedactor(workspace).result(document) or {}
