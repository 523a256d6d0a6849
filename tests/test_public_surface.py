"""Whatever users and their programs rely on stays as it is recorded in tests/cases/surface, wherever its code moves."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.surface.documents import FAILURE
from tests.surface.lists import FOLDER, LISTS, changes, derive, document_paths, recorded
from tests.surface.source import source

_ACCEPT = "To accept this, run `python -m tests.record_surface`, and tell users of it in CHANGELOG.md."


@pytest.mark.parametrize("name", LISTS)
def test_surface_is_as_recorded(name: str) -> None:
    added, removed = changes(name, derive(name))
    told = [f"  removed: {entry}" for entry in removed] + [f"  added:   {entry}" for entry in added]
    assert not told, "\n".join([f"The public surface differs from {FOLDER.name}/{name}.txt:", *told, _ACCEPT])


def test_every_recorded_file_has_its_list() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {*LISTS}


def test_a_list_never_shrinks_to_nothing() -> None:
    """A name that moved out of sight must not be recorded as a surface without entries."""
    assert [name for name in LISTS if len(recorded(name)) < 20] == []


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "tidegate.toml": "[project]\nname = 'shop'\n[[hooks]]\nevents = '*'\ncommand = 'true'\n"
        "[sources.crm.tables.'public.people']\ncolumns = {id = 'bigint'}\n[sources.crm]\nkind = 'manual'\n",
        "models/silver/orders.sql": "-- @constraint: not_null(id)\nSELECT 1 AS id, 'a' AS name",
        "models/gold/totals.sql": "SELECT name, count(*) AS orders FROM silver.orders WHERE id > 0 GROUP BY name",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "branches",
        "chaos --list",
        "compile",
        "compile --explain UnknownDependency",
        "completion bash",
        "doctor",
        "history",
        "hooks test pipeline_error",
        "lineage gold.totals",
        "lineage silver.orders --down",
        "ls",
        "ls --sources",
        "maintain",
        "plan --explain",
        "reap",
        "show silver.orders",
        "tidegate",
    ],
)
def test_real_documents_have_only_recorded_keys(
    command: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "hooks test" if command.startswith("hooks test") else command.split()[0]
    document = _call(command.removeprefix("tidegate"), project, capsys)
    assert len(document) > 2, "a version and a command alone say nothing"
    assert _unrecorded(name, document) == []


@pytest.mark.parametrize("command", ["plan", "publish nothing", "run", "show nothing", "run --nonsense"])
def test_real_failures_have_only_recorded_keys(command: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "models/gold/totals.sql").write_text("{{ nonsense", "utf-8")
    (project / "models/gold/broken.sql").write_text("-- @kind: nonsense\nSELECT missing FROM silver.orders", "utf-8")
    document = _call(command, project, capsys)
    assert document["error"]
    assert _unrecorded(FAILURE, document) == []


def test_compile_of_a_broken_project_has_only_recorded_keys(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "models/gold/totals.sql").write_text("SELECT missing FROM silver.orders", "utf-8")
    document = _call("compile", project, capsys)
    assert document["diagnostics"]
    assert _unrecorded("compile", document) == []


def _call(command: str, project: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    source().value("run_cli")([*command.split(), "--json", "--project", str(project)])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def _unrecorded(command: str, document: Mapping[str, Any]) -> list[str]:
    prefix = f"{command}: "
    entries = [entry.removeprefix(prefix) for entry in recorded("json_keys") if entry.startswith(prefix)]
    forms = [re.compile(re.escape(entry).replace(r"\*", r"[^.\[]+")) for entry in entries]
    return sorted(path for path in document_paths(document) if not any(form.fullmatch(path) for form in forms))
