"""Whether the parts of a project answer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.lake.conftest import write_table as write_table
from tests.services.ports import free_port
from tidegate.config import Settings, load_settings
from tidegate.errors import FailureKind
from tidegate.lake import EmbeddedCatalog, Pointer
from tidegate.names import TableName
from tidegate.sources import Ping, ping_project
from tidegate.state import open_state

SOURCES = f"""
[sources.erp]
kind = "manual"
tables = ["public.orders"]
[sources.crm]
kind = "database"
url = "postgresql://127.0.0.1:{free_port()}/shop"
"""


def settings_of(root: Path, text: str = "") -> Settings:
    (root / "tidegate.toml").write_text(text)
    return load_settings(root)


def pings(settings: Settings) -> dict[str, Ping]:
    return {ping.name: ping for ping in ping_project(settings)}


def test_a_new_project_answers_and_stays_as_it_is(tmp_path: Path) -> None:
    found = ping_project(settings_of(tmp_path))
    assert [(ping.name, ping.kind, ping.ok) for ping in found] == [
        ("lake", "embedded", True),
        ("state", "sqlite", True),
    ]
    assert not (tmp_path / ".tidegate").exists()


def test_every_source_has_its_line_and_says_which_is_down(tmp_path: Path) -> None:
    found = ping_project(settings_of(tmp_path, SOURCES))
    assert [ping.name for ping in found] == ["lake", "state", "source erp", "source crm"]
    assert [ping.ok for ping in found] == [True, True, True, False]
    assert found[2].detail == "tables named in tidegate.toml: 1"
    failure = found[3].failure
    assert failure is not None
    assert failure.kind is FailureKind.CONNECTION_FAILED
    assert failure.message == f"source 'crm': {found[3].detail}"
    assert found[3].detail.startswith("the database cannot be reached")


@pytest.mark.parametrize(("file", "name"), [("catalog.db", "lake"), ("state.db", "state")])
def test_a_damaged_file_is_told(tmp_path: Path, file: str, name: str) -> None:
    (tmp_path / ".tidegate").mkdir()
    (tmp_path / ".tidegate" / file).write_text("nonsense" * 1000)
    found = pings(settings_of(tmp_path))
    assert [ping.name for ping in found.values() if not ping.ok] == [name]
    assert found[name].failure is not None
    assert found[name].failure.remedy  # type: ignore[union-attr]


@pytest.fixture
def with_a_table(tmp_path: Path, write_table: object) -> Settings:
    settings = settings_of(tmp_path)
    catalog = EmbeddedCatalog(settings.lake.catalog_path, settings.lake.warehouse)
    catalog.create_branch("run-1")
    pointer: Pointer = write_table(at=settings.lake.warehouse / "t")  # type: ignore[operator]
    table = TableName("shop", "silver", "orders")
    catalog.create_namespace("run-1", table)
    catalog.restore("run-1", table, pointer)
    catalog.publish("run-1", [table])
    with open_state(settings.state.url):
        pass
    return settings


def test_what_is_there_is_counted(with_a_table: Settings) -> None:
    found = pings(with_a_table)
    assert found["lake"].detail == "1 table on main, 1 other branch"
    assert found["state"].detail == "no run yet"


def test_a_warehouse_that_is_gone_is_told(with_a_table: Settings) -> None:
    with_a_table.lake.warehouse.rename(with_a_table.root / "elsewhere")
    failure = pings(with_a_table)["lake"].failure
    assert failure is not None
    assert failure.kind is FailureKind.CONNECTION_FAILED
    assert "[lake] warehouse" in str(failure.remedy)


def test_a_warehouse_that_cannot_be_written_is_told(with_a_table: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # Root may write everywhere.
    assert pings(with_a_table)["lake"].detail.startswith("the warehouse cannot be written: ")
