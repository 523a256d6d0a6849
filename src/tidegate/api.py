"""A project for scripts and notebooks. Returns what the commands write as JSON as dicts, and rows as Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate import __version__
from tidegate.config.settings_file import find_project, load_settings
from tidegate.jsontext import json_value
from tidegate.operations.workspace import Workspace

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Project", "read"]


class Project:
    """The project in `path`, or the nearest one above it. Its settings are read once; its models each time.

    Everything that the commands report as an error is raised as a `TidegateError`, with its `where` and `remedy`.
    """

    def __init__(self, path: str | Path = ".") -> None:
        self._workspace = Workspace(load_settings(find_project(Path(path))))

    def __repr__(self) -> str:
        settings = self._workspace.settings
        return f"Project({settings.project.name!r} in {str(settings.root)!r})"

    def compile(self, *, vars: Mapping[str, str] | None = None, against: str | None = None) -> dict[str, Any]:
        """Every diagnostic of the project, as `tidegate compile --json` gives them. No JVM is started."""
        from tidegate.operations.compile import compile_workspace

        return _document("compile", compile_workspace(self._workspace, vars or {}, against).document())

    def plan(
        self,
        *select: str,
        exclude: Sequence[str] = (),
        full_refresh: bool = False,
        vars: Mapping[str, str] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
    ) -> dict[str, Any]:
        """What `run` would do and why, as `tidegate plan --json` gives it. No JVM is started."""
        from tidegate.operations.plan import plan_run

        view = plan_run(self._workspace, select, exclude, vars, full_refresh, from_, to)
        return _document("plan", view.document())

    def run(self, *select: str, **options: Any) -> dict[str, Any]:
        """Build, check and publish; the result as `tidegate run --json` gives it. `options`: see `RunOptions`.

        A model that fails is in the result, under `materializations`; what stops the whole run is raised.
        """
        from tidegate.operations.run import result_document, run_project
        from tidegate.runs.options import RunOptions

        result = run_project(self._workspace.settings, RunOptions(select=select, **options))
        return _document("run", result_document(self._workspace, result))

    def sql(self, query: str) -> pyarrow.Table:
        """The rows of one SELECT over the published tables, all as one publish left them."""
        from tidegate.operations.query import query_arrow

        return query_arrow(self._workspace.settings, query)

    def table(self, name: str) -> pyarrow.Table:
        """The rows of one published table."""
        return self.sql(f"SELECT * FROM {self._workspace.queryable(name).quoted}")


def read(name: str, project: str | Path = ".") -> pyarrow.Table:
    """The rows of one published table of a project."""
    return Project(project).table(name)


def _document(command: str, content: Mapping[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = json_value({"version": __version__, "command": command, **content})
    return document
