"""A project whose catalog file is gone while its warehouse holds tables: refused at once, before Spark is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Call
from tests.cli.test_moved_project import COMMANDS
from tests.lake.test_missing_files import write_table
from tidegate.config import load_settings
from tidegate.lake import open_catalog
from tidegate.names import TableName


@pytest.fixture
def lake(project: Path) -> Path:
    """A project with a published table; its catalog file is given."""
    (project / "models" / "a").mkdir(parents=True)
    (project / "models" / "a" / "b.sql").write_text("SELECT 1 AS x")
    settings = load_settings(project)
    catalog = open_catalog(settings)
    catalog.create_branch("begins-the-warehouse")
    table = TableName("shop", "silver", "orders")
    catalog.create_namespace("main", table)
    catalog.restore("main", table, write_table(settings.lake.warehouse))
    return settings.lake.catalog_path


@pytest.mark.parametrize("command", [*COMMANDS, ["test"], ["ls"]], ids=lambda command: command[0])
def test_a_lost_catalog_is_refused_before_spark_is_started(
    command: list[str], lake: Path, project: Path, tidegate: Call
) -> None:
    lake.rename(lake.with_suffix(".away"))
    outcome = tidegate(*command)
    text = outcome.out + outcome.err
    assert outcome.code == 1, text
    assert "the catalog file is missing, but the warehouse holds tables" in text
    assert f"restore {lake} from a backup" in text
    assert f"remove the folder {project / '.tidegate' / 'warehouse'}" in text
    assert "rows of landing files that were archived, deleted or replaced since they were read do not come back" in text
    assert not lake.exists()
    assert not (project / ".tidegate" / "logs").exists()


@pytest.mark.parametrize("command", ["run", "plan", "doctor"])
def test_an_empty_catalog_in_its_place_is_refused_too(command: str, lake: Path, tidegate: Call) -> None:
    lake.write_bytes(b"")
    outcome = tidegate(command)
    text = outcome.out + outcome.err
    assert outcome.code == 1
    assert "the catalog has no tables on main and is not the one that the warehouse belongs to" in text


def test_the_catalog_restored_works_as_before(lake: Path, tidegate: Call) -> None:
    away = lake.rename(lake.with_suffix(".away"))
    assert tidegate("plan").code == 1
    away.rename(lake)
    assert tidegate("plan").code == 0


def test_a_first_run_that_did_not_publish_leaves_a_lake_that_can_be_used(project: Path, tidegate: Call) -> None:
    settings = load_settings(project)
    open_catalog(settings).create_branch("run-1")
    write_table(settings.lake.warehouse)
    assert tidegate("plan").code == 0
    assert tidegate("doctor").code == 0


def test_a_warehouse_without_tables_needs_no_catalog(project: Path, tidegate: Call) -> None:
    (project / ".tidegate" / "warehouse" / "shop" / "silver" / "orders" / "metadata").mkdir(parents=True)
    assert tidegate("plan").code == 0
