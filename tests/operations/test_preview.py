"""`tidegate preview` of a table needs no Spark; whatever it cannot read itself goes to Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tidegate.cli.main import run_cli
from tidegate.config import load_settings
from tidegate.lake import open_catalog
from tidegate.operations import query as queries
from tidegate.operations.preview import preview
from tidegate.operations.query_result import QueryResult
from tidegate.operations.workspace import Workspace

MODEL = "-- @column: email: [pii]\nSELECT 1 AS id, 'a@b.c' AS email\n"


@pytest.fixture
def shop(tmp_path: Path) -> Workspace:
    """Its table `silver.people` was written without Spark; a model of that name tags a column."""
    (tmp_path / "tidegate.toml").write_text('[project]\nname = "shop"\n')
    (tmp_path / "models" / "silver").mkdir(parents=True)
    (tmp_path / "models" / "silver" / "people.sql").write_text(MODEL)
    settings = load_settings(tmp_path)
    catalog = open_catalog(settings)
    catalog.create_branch("b")  # makes the database
    catalog.drop_branch("b")
    database = settings.root / ".tidegate" / "catalog.db"
    lake = SqlCatalog("main", uri=f"sqlite:///{database}", warehouse=f"file://{settings.root}/.tidegate/warehouse")
    lake.create_namespace("shop.silver")
    rows = pa.table({"id": [1, 2, 3], "email": ["a@b.c", None, "x@y.z"]})
    lake.create_table("shop.silver.people", rows.schema).append(rows)
    lake.engine.dispose()
    return Workspace(settings)


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "open_spark", lambda *_: pytest.fail("Spark was started"))


@pytest.mark.usefixtures("no_spark")
def test_rows_are_those_of_the_files_without_hidden_values(shop: Workspace) -> None:
    result = preview(shop, "people", 2)
    assert result.columns == (("id", "bigint"), ("email", "string"))
    assert result.rows == ({"id": 1, "email": "***"}, {"id": 2, "email": None})
    assert result.more
    assert not preview(shop, "silver.people", 3).more


@pytest.mark.usefixtures("no_spark")
def test_the_command_shows_them(shop: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["preview", "silver.people", "--limit", "1", "--json", "--project", str(shop.settings.root)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["rows"] == [{"id": 1, "email": "***"}]


def test_what_cannot_be_read_here_goes_to_spark(shop: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def by_spark(settings: object, sql: str, limit: int, *_: object) -> QueryResult:
        asked.append(sql)
        return QueryResult((("id", "bigint"), ("email", "string")), ({"id": 1, "email": "a@b.c"},))

    monkeypatch.setattr(queries, "query", by_spark)
    for file in (shop.settings.root / ".tidegate").rglob("*.parquet"):
        file.unlink()
    assert preview(shop, "people", 2).rows == ({"id": 1, "email": "***"},)
    assert asked == ["SELECT * FROM `shop`.`silver`.`people`"]


def test_nothing_large_is_imported_for_it(shop: Workspace) -> None:
    """Neither PySpark nor pandas, each of which takes as long to load as all the rest."""
    program = (
        "import sys; from tidegate.cli.main import run_cli; "
        f"run_cli(['preview', 'people', '--project', {str(shop.settings.root)!r}]); "
        "print([name for name in ('pyspark', 'pandas', 'sqlalchemy', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout
