"""Checks of the machine and the project. Each gives findings and raises nothing."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.amounts import plural, size
from tidegate.compiler.compiled import count_line
from tidegate.errors import ConfigError, TidegateError
from tidegate.operations.workspace import Workspace

if TYPE_CHECKING:
    from tidegate.spark.jars import Jar

__all__ = ["DoctorFinding", "DoctorReport", "examine"]

OLDEST_PYTHON = (3, 11)
PACKAGES = ("pyspark", "pyiceberg", "sqlglot", "sqlalchemy", "jinja2", "click", "rich", "pyyaml", "blake3", "psycopg")
LITTLE_SPACE = 2 * 2**30
NO_SPACE = 100 * 2**20


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    name: str
    status: str
    """ok, warn or fail."""

    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class DoctorReport:
    findings: tuple[DoctorFinding, ...]

    @property
    def failed(self) -> int:
        return sum(finding.status == "fail" for finding in self.findings)

    @property
    def exit_code(self) -> int:
        return 1 if self.failed else 0

    def document(self) -> dict[str, Any]:
        findings = [asdict(finding) for finding in self.findings]
        return {"status": "error" if self.failed else "success", "checks": findings}


def examine(
    project: Workspace | ConfigError, explicit: bool, start_spark: bool, notify: Callable[[str], None]
) -> DoctorReport:
    """`project`: opened, or the error that prevented it. `explicit`: the user named a project; otherwise a missing
    project is only a warning, because the machine can be checked alone."""
    return DoctorReport(tuple(_findings(project, explicit, start_spark, notify)))


def _findings(
    project: Workspace | ConfigError, explicit: bool, start_spark: bool, notify: Callable[[str], None]
) -> Iterator[DoctorFinding]:
    yield from _machine()
    if isinstance(project, ConfigError):
        problems = "".join(f"\n       - {problem}" for problem in project.problems)
        status = "fail" if project.problems or explicit else "warn"
        yield DoctorFinding("project", status, f"{project.message}{problems}", project.remedy or "")
        if start_spark:
            yield DoctorFinding("spark", "fail", "not started: there is no project whose settings it could use")
        return
    settings = project.settings
    yield DoctorFinding("project", "ok", f"{settings.project.name} in {settings.root}")
    yield from _project(project)
    if start_spark:
        yield _spark(project, notify)


def _machine() -> Iterator[DoctorFinding]:
    from tidegate.spark.jars import JARS

    yield _python()
    yield from _packages()
    yield _java()
    yield from _jars(JARS)
    yield _sandbox()


def _python() -> DoctorFinding:
    python_version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        return DoctorFinding("python", "fail", f"{python_version} is too old", "Install Python 3.11 or newer.")
    return DoctorFinding("python", "ok", f"{python_version} ({sys.executable})")


def _packages() -> Iterator[DoctorFinding]:
    installed, missing = [], []
    for name in PACKAGES:
        try:
            installed.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        yield DoctorFinding("packages", "fail", f"missing: {', '.join(missing)}", "Install Tidegate again with pip.")
    else:
        yield DoctorFinding("packages", "ok", ", ".join(installed))


def _java() -> DoctorFinding:
    from tidegate.spark.java import find_java

    try:
        java = find_java()
    except TidegateError as error:
        return _failed("java", error)
    return DoctorFinding("java", "ok", f"{java.version} in {java.home} ({java.origin})")


def _jars(jars: tuple[Jar, ...]) -> Iterator[DoctorFinding]:
    from tidegate.spark.jars import JarState, jars_status

    for status in jars_status(jars):
        if status.state is JarState.READY:
            yield DoctorFinding("jar", "ok", str(status.path))
        elif status.state is JarState.MISSING:
            yield DoctorFinding("jar", "warn", f"{status.jar.file_name} is not here yet", "The first run fetches it.")
        else:
            fix = f"Delete {status.path}; the next run fetches it again."
            yield DoctorFinding("jar", "warn", f"{status.jar.file_name} is damaged", fix)


def _sandbox() -> DoctorFinding:
    """The walls that this machine can put up around Python of a project. Only projects with such code need them."""
    from tidegate.config.sandbox_settings import SandboxSection
    from tidegate.python_models.sandbox.sandbox import Sandbox

    try:
        with tempfile.TemporaryDirectory() as folder, Sandbox(SandboxSection(), Path(folder), preload=()) as sandbox:
            walls = sandbox.walls()
    except TidegateError as error:
        return DoctorFinding("sandbox", "warn", error.message, error.remedy or "")
    active = ", ".join(wall.name for wall in walls if wall.active)
    absent = "".join(f"; not {wall.name}: {wall.detail}" for wall in walls if not wall.active)
    return DoctorFinding("sandbox", "ok", f"{active}{absent}")


def _project(workspace: Workspace) -> Iterator[DoctorFinding]:
    from tidegate.spark.project_jars import jars_of

    settings = workspace.settings
    yield from _jars(jars_of(settings))
    yield _place("warehouse", settings.lake.warehouse, "[lake] warehouse")
    if settings.lake.catalog == "embedded":
        yield _place("catalog", settings.lake.catalog_path.parent, "[lake] catalog_path")
    if settings.state.url.startswith("sqlite:"):
        yield _place("state", Path(settings.state.url.removeprefix("sqlite:///")).parent, "[state] url")
    yield from _pings(workspace)
    yield from _files(workspace)
    yield _compile(workspace)


def _place(name: str, folder: Path, setting: str) -> DoctorFinding:
    """Whether the folder, or the nearest one above it that exists, can be written and has space."""
    name = f"{name} folder"
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    elsewhere = f"or name another place under {setting} in tidegate.toml."
    if not existing.is_dir():
        return DoctorFinding(name, "fail", f"{existing} is not a folder", f"Move it away, {elsewhere}")
    if not os.access(existing, os.W_OK | os.X_OK):
        return DoctorFinding(
            name, "fail", f"{existing} cannot be written", f"Make it writable for this user, {elsewhere}"
        )
    free = shutil.disk_usage(existing).free
    if free < NO_SPACE:
        return DoctorFinding(name, "fail", f"{folder}: only {size(free)} free", f"Free some space, {elsewhere}")
    if free < LITTLE_SPACE:
        return DoctorFinding(name, "warn", f"{folder}: only {size(free)} free", f"Free some space, {elsewhere}")
    return DoctorFinding(name, "ok", f"{folder} ({size(free)} free)")


def _pings(workspace: Workspace) -> Iterator[DoctorFinding]:
    from tidegate.sources.pings import ping_project

    for ping in ping_project(workspace.settings):
        if ping.failure is None:
            yield DoctorFinding(ping.name, "ok", ping.detail)
        else:
            where = f" ({ping.failure.where})" if ping.failure.where else ""
            yield DoctorFinding(ping.name, "fail", f"{ping.detail}{where}", ping.failure.remedy or "")


def _files(workspace: Workspace) -> Iterator[DoctorFinding]:
    """Whether every file is there that main's tables refer to; nothing where the lake itself does not answer."""
    try:
        heads = workspace.heads()
    except TidegateError:
        return  # the ping has reported it
    if not heads:
        return
    from tidegate.lake.missing_files import damages

    try:
        errors = [damage.error(workspace.settings.project.namespace) for damage in damages(heads)]
    except TidegateError as error:
        yield _failed("files", error)
        return
    yield from (_failed("files", error) for error in errors)
    if not errors:
        yield DoctorFinding("files", "ok", f"every file of {plural(len(heads), 'table')} on main is there")


def _compile(workspace: Workspace) -> DoctorFinding:
    try:
        compiled = workspace.compile()
    except TidegateError as error:
        return _failed("models", error)
    count = plural(len(compiled.models), "model")
    if compiled.errors:
        first = compiled.errors[0]
        place = f"{first.span.file}:{first.span.line}: " if first.span else ""
        detail = f"{count}, {count_line(compiled.diagnostics)}; the first: {place}{first.message}"
        return DoctorFinding("models", "fail", detail, first.suggestion or "`tidegate run` shows all of them.")
    if compiled.diagnostics:
        return DoctorFinding(
            "models", "warn", f"{count}, {count_line(compiled.diagnostics)}", "`tidegate run` shows them."
        )
    return DoctorFinding("models", "ok", f"{count} compiled")


def _spark(workspace: Workspace, notify: Callable[[str], None]) -> DoctorFinding:
    from tidegate.spark.session import open_spark
    from tidegate.spark.work import Work

    own = replace(workspace.settings.spark, keep_alive=timedelta())  # whether it starts, not whether one runs
    try:
        session = open_spark(replace(workspace.settings, spark=own), notify, work=Work.SHORT)
    except TidegateError as error:
        return _failed("spark", error)
    try:
        session.sql("SELECT 1").collect()
        return DoctorFinding("spark", "ok", f"Spark {session.version} on {workspace.settings.spark.master}")
    except Exception as error:
        first = str(error).strip().splitlines()[0]
        return DoctorFinding("spark", "fail", f"SELECT 1 failed: {first}", "See .tidegate/logs/spark.log.")
    finally:
        session.stop()


def _failed(name: str, error: TidegateError) -> DoctorFinding:
    where = f" ({error.where})" if error.where else ""
    return DoctorFinding(name, "fail", f"{error.message}{where}", error.remedy or "")
