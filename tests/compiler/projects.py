"""Small projects for tests: written from a mapping of paths to texts, then read and compiled."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tidegate.compiler import BoundQuery, Compiled, CompiledModel, RunValues, bind, bind_test, compile_project
from tidegate.config import Settings, load_settings
from tidegate.names import TableName
from tidegate.project import LoadedProject, load_project
from tidegate.sources import known_tables


@dataclass(frozen=True)
class Built:
    settings: Settings
    project: LoadedProject
    compiled: Compiled

    def bind(self, name: str, **values: object) -> BoundQuery:
        given = RunValues(**{"run_started_at": "2026-01-02T03:04:05+00:00", **values})  # type: ignore[arg-type]
        return bind(self.compiled, table(name), given)

    def bind_test(self, name: str, test: str) -> BoundQuery:
        found = next(t for t in self.compiled.models[table(name)].model.sql_tests if t.name == test)
        values = RunValues("2026-01-02T03:04:05+00:00")
        return bind_test(self.compiled, found, table(name), values)


def compiled_models(models: Mapping[TableName, CompiledModel], waves: tuple[tuple[TableName, ...], ...]) -> Compiled:
    """As if a project `shop` had these models."""
    return replace(_no_models(), models=models, waves=waves)


@cache
def _no_models() -> Compiled:
    with TemporaryDirectory() as folder:
        return build(Path(folder), {}).compiled


def table(name: str) -> TableName:
    return TableName.parse(name, "shop")


def write_project(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in {"tidegate.toml": '[project]\nname = "shop"\n', **files}.items():
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
    return root


def build(
    root: Path,
    files: Mapping[str, str],
    lake: Collection[str] = (),
    variables: Mapping[str, object] | None = None,
) -> Built:
    settings = load_settings(write_project(root, files), env={})
    project = load_project(settings)
    compiled = compile_project(
        project, settings, [table(name) for name in lake], variables or {}, known_tables(settings)
    )
    return Built(settings, project, compiled)
