"""Models, tests and queries that read a Delta table of chunked loads, with Spark."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.projects import ProjectFolder, run_types, statuses
from tests.runs.test_chunk_tables import SOURCES
from tests.services.delta import delta_session
from tidegate.errors import QueryError
from tidegate.operations.preview import preview
from tidegate.operations.query import query
from tidegate.operations.workspace import Workspace
from tidegate.runs.build import spark_builder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


class DeltaShop(ProjectFolder):
    """The session has Delta's extension, which the one that all tests share lacks."""

    def add(self, *rows: str) -> None:
        """Rows as SQL, such as `1 AS id`."""
        assert self.spark is not None
        frame = self.spark.sql(" UNION ALL ".join(f"SELECT {row}" for row in rows))
        frame.write.format("delta").mode("append").save(self.place)

    @property
    def place(self) -> str:
        return str(self.root / "silver/dataset_1/records.delta")

    def change(self, statement: str) -> None:
        assert self.spark is not None
        self.spark.sql(statement.replace("{table}", f"delta.`{self.place}`"))


@pytest.fixture(scope="module")
def delta(spark: SparkSession) -> SparkSession:
    return delta_session(spark)


@pytest.fixture
def lake(tmp_path: Path, delta: SparkSession, monkeypatch: pytest.MonkeyPatch) -> DeltaShop:
    monkeypatch.setattr(spark_builder, "open_spark", lambda settings, report=None, **how: delta)
    lake = DeltaShop(tmp_path / "shop", delta)
    file = lake.root / "tidegate.toml"
    file.write_text(file.read_text() + SOURCES)
    lake.add("1 AS id, CAST(2.50 AS DECIMAL(10,2)) AS amount", "2, 0.25")
    return lake


def test_a_model_reads_the_version_that_was_planned(lake: DeltaShop) -> None:
    """The table moves after the first model was built: the second reads the version that the first read."""
    lake.model("gold.sums", "SELECT sum(amount) AS total FROM silver.dataset_1 AS d")
    lake.model("gold.shares", "SELECT id, amount / total AS share FROM silver.dataset_1, gold.sums")
    lake.file("models/gold/sums/tests/quality/all.sql", "SELECT id FROM silver.dataset_1 WHERE amount > 100")
    added: list[str] = []

    def add_row(event: object) -> None:
        if getattr(event, "name", "") == "after_model_run" and not added:
            added.append("3, 97.25")
            lake.add("3 AS id, CAST(97.25 AS DECIMAL(10,2)) AS amount")

    assert statuses(lake.run(listener=add_row)) == {"gold.sums": "completed", "gold.shares": "completed"}
    assert lake.rows("SELECT id FROM gold.shares") == [(1,), (2,)]
    assert lake.rows("SELECT CAST(total AS STRING) AS t FROM gold.sums") == [("2.75",)]
    assert run_types(lake.run()) == {"gold.sums": "full", "gold.shares": "full"}
    assert lake.rows("SELECT CAST(total AS STRING) AS t FROM gold.sums") == [("100.00",)]
    assert run_types(lake.run()) == {"gold.sums": "skip", "gold.shares": "skip"}


def test_queries_read_delta_beside_the_lake(lake: DeltaShop) -> None:
    lake.model("gold.names", "SELECT 1 AS id, 'one' AS name")
    lake.run()
    joined = "SELECT name, dataset_1.amount FROM silver.dataset_1 JOIN gold.names ON dataset_1.id = names.id"
    assert [tuple(map(str, row)) for row in lake.rows(joined)] == [("one", "2.50")]
    assert lake.rows(
        "SELECT count(*) AS n FROM (SELECT * FROM silver.dataset_1 UNION ALL SELECT * FROM Silver.DATASET_1)"
    ) == [(4,)]
    with pytest.raises(QueryError, match="Delta table"):
        query(lake.settings, "SELECT * FROM silver.dataset_1 VERSION AS OF 0", root=lake.spark)


def test_a_preview_shows_the_first_rows(lake: DeltaShop) -> None:
    result = preview(Workspace(lake.settings), "silver.dataset_1", 1, root=lake.spark)
    assert (result.columns, len(result.rows)) == ((("id", "int"), ("amount", "decimal(10,2)")), 1)


SUMS = "SELECT region, count(*) AS n, sum(amount) AS total FROM silver.dataset_1 GROUP BY region"
LARGE = "SELECT id, region, amount FROM silver.dataset_1 WHERE amount > 10"
JOINED = "SELECT d.id, d.amount, r.name FROM silver.dataset_1 AS d LEFT JOIN gold.regions AS r ON d.region = r.region"
CHANGES = (
    "INSERT INTO {table} VALUES (4, 'east', 40), (5, NULL, 50)",
    "UPDATE {table} SET amount = amount + 1 WHERE id IN (1, 4)",
    "UPDATE {table} SET region = 'west' WHERE id = 1",
    "DELETE FROM {table} WHERE id = 2",
    """
    MERGE INTO {table} t
    USING (SELECT * FROM VALUES (3, 'north', 5), (6, 'north', 60), (7, 'west', 70) AS v(id, region, amount)) s
    ON t.id = s.id WHEN MATCHED AND s.id = 3 THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
    """,
    "DELETE FROM {table} WHERE region = 'north'",
    "OPTIMIZE {table}",
    "UPDATE {table} SET amount = 0 WHERE region IS NULL",
    "INSERT INTO {table} VALUES (8, 'west', 80)",
    "DELETE FROM {table} WHERE id = 8",
    "INSERT INTO {table} VALUES (9, 'east', 90)",
)
"""Enough for a checkpoint."""


def test_models_are_updated_from_the_change_feed(lake: DeltaShop) -> None:
    """Whatever changes, and however many versions a run catches up with, each model is what its query gives."""
    shutil.rmtree(lake.place)
    fields = "id INT, region STRING, amount INT"
    lake.change(f"CREATE TABLE {{table}} ({fields}) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    lake.change("INSERT INTO {table} VALUES (1, 'east', 10), (2, 'west', 20), (3, 'south', 30)")
    queries = {"gold.sums": SUMS, "gold.large": LARGE, "gold.joined": JOINED}
    keys = {"gold.sums": "region", "gold.large": "id", "gold.joined": "id"}
    for name, sql in queries.items():
        lake.model(name, sql, unique_key=keys[name], null_keys="match", deltas="always")
    lake.model("gold.regions", "SELECT * FROM VALUES ('east', 'East'), ('west', 'West') AS t(region, name)")
    lake.run()
    kinds = []
    for changes in (CHANGES[:1], CHANGES[1:2], CHANGES[2:4], CHANGES[4:5], CHANGES[5:7], CHANGES[6:7], CHANGES[7:]):
        for change in changes:
            lake.change(change)
        result = lake.run()
        assert {*statuses(result).values()} <= {"completed", "skipped"}
        kinds.append({run_types(result)[name] for name in queries})
        found = lake.rows_of(*queries, *queries.values())
        for name, sql in queries.items():
            assert found[name] == found[sql], (changes, name)
    assert kinds == [{"incremental"}] * 5 + [{"skip"}, {"incremental"}]
