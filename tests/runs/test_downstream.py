"""Which models are concerned by what happens to another."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from tidegate.compiler import compile_project
from tidegate.compiler.compiled import Compiled, RunValues
from tidegate.config import Settings, load_settings
from tidegate.names import TableName
from tidegate.project import LoadedProject, load_project
from tidegate.runs.context import RunContext
from tidegate.runs.reads import downstream_of


@dataclass(frozen=True)
class RunPart:
    """As much of a run as the question needs."""

    settings: Settings
    project: LoadedProject
    compiled: Compiled
    values: RunValues = RunValues("2026-11-15T00:00:00+00:00")  # noqa: RUF009 - frozen


MODELS = {
    "table": "SELECT 1 AS x\n",
    "view": "-- @materialized: view\nSELECT x FROM a.table\n",
    "above": "-- @materialized: view\nSELECT x FROM a.view\n",
    "reads_view": "SELECT x FROM a.above\n",
    "middle": "SELECT x FROM a.table\n",
    "reads_middle": "SELECT x FROM a.middle\n",
    "refers": "-- @constraint: references(x, a.table, x)\nSELECT 1 AS x\n",
    "tested": "SELECT 1 AS x\n",
    "apart": "SELECT 2 AS x\n",
}


@pytest.fixture
def run(tmp_path: Path) -> RunContext:
    (tmp_path / "tidegate.toml").write_text('[project]\nname = "shop"\n')
    for name, sql in MODELS.items():
        folder = tmp_path / "models" / "a" / name
        (folder / "tests" / "quality").mkdir(parents=True)
        (folder / "pipeline.sql").write_text(sql)
    test = tmp_path / "models/a/tested/tests/quality/known.sql"
    test.write_text("SELECT x FROM {{ this }} WHERE x NOT IN (SELECT x FROM a.above)\n")
    settings = load_settings(tmp_path)
    project = load_project(settings)
    compiled = compile_project(project, settings, (), {})
    assert not compiled.errors
    return cast(RunContext, RunPart(settings, project, compiled))


def concerned(run: RunContext, *selected: str) -> set[str]:
    names = {TableName("shop", "a", name) for name in selected}
    return {table.name for table in downstream_of(run, [TableName("shop", "a", "table")], names)}


def test_all_that_reads_a_table_or_looks_at_it_in_its_checks_is_concerned(run: RunContext) -> None:
    assert concerned(run, *MODELS) == {*MODELS} - {"apart"}


def test_what_reads_it_through_views_is_concerned_though_those_were_not_selected(run: RunContext) -> None:
    assert concerned(run, "table", "reads_view", "tested", "apart") == {"table", "reads_view", "tested"}


def test_what_reads_a_table_that_stays_as_it_is_is_not_concerned(run: RunContext) -> None:
    assert concerned(run, "table", "reads_middle") == {"table"}
