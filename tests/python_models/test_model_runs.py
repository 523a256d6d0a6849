"""Python models in runs: each kind of result, each input, the same table in both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.projects import ProjectFolder, make_project, module_shop, run_types, shop
from tidegate.names import TableName
from tidegate.runs import RunResult
from tidegate.spark.session import child_session

__all__ = ["make_project", "module_shop", "shop"]

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MODES = ("sandbox", "trusted")

RESULTS = {
    "spark": (
        "def model(tg):\n    frame = tg.ref('silver.orders').where('id > 1')\n    print('begin')\n"
        "    frame.select('id').show()\n    frame.select('id').printSchema()\n    return frame"
    ),
    "columns": (
        "from pyspark.sql import functions as f\n\ndef model(tg):\n"
        "    return tg.ref('silver.orders').where(f.col('id') > 1).select('id', 'name', 'price', 'at', 'day')"
    ),
    "sql": "def model(tg):\n    return tg.sql('SELECT * FROM silver.orders WHERE orders.id > 1')",
    "pandas": "def model(tg):\n    frame = tg.ref('silver.orders').toPandas()\n    return frame[frame['id'] > 1]",
    "arrow": (
        "import pyarrow.compute as pc\n\ndef model(tg):\n    table = tg.ref('silver.orders').toArrow()\n"
        "    return table.filter(pc.greater(table['id'], 1))"
    ),
    "reader": (
        "import pyarrow.compute as pc\nfrom tidegate import tg\n\ntable = tg.ref('silver.orders').toArrow()\n"
        "result = table.filter(pc.greater(table['id'], 1)).to_reader()"
    ),
    "udf": (
        "from pyspark.sql import functions as f\nfrom pyspark.sql.types import BooleanType\n\n"
        "def above(x):\n    return x > 1\n\ndef model(tg):\n"
        "    return tg.ref('silver.orders').where(f.udf(above, BooleanType())('id'))"
    ),
}
"""Each gives the rows of orders but the first."""

ORDERS = """
SELECT * FROM VALUES
  (CAST(1 AS bigint), 'a', CAST(1.50 AS decimal(38, 18)), timestamp'2024-01-01 01:02:03.000004', date'2024-01-01'),
  (2, NULL, NULL, timestamp'1999-12-31 23:59:59', date'1970-01-01'),
  (3, 'c', 3, NULL, NULL) AS t(id, name, price, at, day)
"""


def project(folder: ProjectFolder, mode: str) -> ProjectFolder:
    settings = folder.root / "tidegate.toml"
    settings.write_text(f'{settings.read_text()}\n[sandbox]\nmode = "{mode}"\n')
    return folder


OnMain = Callable[..., None]


@pytest.fixture
def on_main(spark: SparkSession) -> OnMain:
    """Another program that writes tables straight to main."""

    def write(shop: ProjectFolder, *statements: str) -> None:
        session = child_session(spark, shop.catalog.spark_conf("main"), shop.catalog.spark_catalog("main"))
        for statement in statements:
            session.sql(statement)

    return write


def failed(result: RunResult) -> dict[str, tuple[str | None, str | None, str | None]]:
    """By model: the kind, the place and the message of each failure."""
    return {
        m.model: (m.failure_kind, m.where, m.error) for m in result.materializations if m.status not in ("completed",)
    }


SHOWN = ["begin", "+---+", "| id|", "+---+", "|  2|", "|  3|", "+---+", "root", " |-- id: long"]


@pytest.mark.parametrize("mode", MODES)
def test_every_kind_of_result_gives_the_same_table(
    make_project: Callable[[str], ProjectFolder], mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it shows is in its log, and not in the output of the command."""
    shop = project(make_project("shop"), mode)
    shop.model("silver.orders", ORDERS)
    for name, source in RESULTS.items():
        shop.file(f"models/gold/{name}.py", source)
    assert failed(shop.run()) == {}
    assert capsys.readouterr().out == ""
    logged = [e.data["message"] for e in shop.events if (e.model, e.data.get("phase")) == ("gold.spark", "log")]
    assert [line.partition(" (")[0] for line in logged if line] == SHOWN
    tables = [f"gold.{name}" for name in RESULTS]
    rows = {table: shop.rows(f"SELECT * FROM {table}") for table in tables}
    assert rows == dict.fromkeys(tables, rows["gold.spark"])
    assert [row[:2] for row in rows["gold.spark"]] == [(2, None), (3, "c")]
    fields = {table: _types(shop, table) for table in tables}
    assert fields == dict.fromkeys(tables, fields["gold.spark"])


def _types(shop: ProjectFolder, table: str) -> list[tuple[str, str]]:
    metadata = shop.main.table(TableName.parse(table, "shop"))
    assert metadata is not None
    return [(field.name, str(field.type)) for field in metadata.fields]


SOURCES = (
    "CREATE NAMESPACE shop.src",
    "CREATE TABLE shop.src.orders AS SELECT * FROM VALUES (1, 'a'), (2, 'b'), (3, 'c') AS t(id, name)",
    "CREATE TABLE shop.src.names AS SELECT * FROM VALUES (1, 'x'), (4, 'x') AS t(id, more)",
)
CHANGES = (
    "UPDATE shop.src.orders SET name = 'a2' WHERE id = 1",
    "DELETE FROM shop.src.orders WHERE id = 2",
    "INSERT INTO shop.src.orders VALUES (4, 'd')",
)

STRATEGIES = {
    "full_refresh": "# @merge_strategy: full_refresh\n\ndef model(tg):\n    return tg.ref('src.orders')",
    "labelled": (
        "# @merge_strategy: incremental\n# @unique_key: id\n\ndef model(tg):\n    return tg.changes('src.orders')"
    ),
    "looked_up": (
        "from tidegate import tg\nfrom pyspark.sql import functions as f\n\n"
        "@tg.model(strategy='incremental', unique_key=['id'])\ndef model(tg):\n"
        "    names = tg.ref('src.names')\n"
        "    return tg.changes('src.orders').join(names, 'id', 'left').withColumn('name', f.upper('name'))"
    ),
    "groups": (
        "# @merge_strategy: delete_insert\n# @unique_key: id\n\ndef model(tg):\n"
        "    rows = tg.changes('src.orders')\n    return rows.unionAll(rows)"
    ),
    "appended": ("# @merge_strategy: append_only\n\ndef model(tg):\n    return tg.changes('src.orders')"),
    "versions": "# @merge_strategy: scd2\n# @unique_key: id\n\nresult = tg.ref('src.orders')",
    "partitions": ("# @merge_strategy: snapshot\n# @partition_column: id\n\nresult = tg.ref('src.orders')"),
    "own": (
        "# @merge_strategy: incremental\n# @unique_key: id\n# @watermark_column: id\n\ndef model(tg):\n"
        "    rows = tg.ref('src.orders')\n"
        "    if tg.is_incremental():\n"
        "        before = tg.this().count()\n        tg.log(f'{before} rows, newest {tg.watermark_value}')\n"
        "        rows = rows.where(rows['id'] > int(tg.watermark_value))\n"
        "    return rows"
    ),
}


@pytest.mark.parametrize("mode", MODES)
def test_strategies(make_project: Callable[[str], ProjectFolder], on_main: OnMain, mode: str) -> None:
    shop = project(make_project("shop"), mode)
    on_main(shop, *SOURCES)
    for name, source in STRATEGIES.items():
        shop.file(f"models/gold/{name}.py", source)
    assert failed(shop.run()) == {}
    on_main(shop, *CHANGES)
    shop.events.clear()
    result = shop.run(allow_deletes=True)
    assert failed(result) == {}
    types = {name.removeprefix("gold."): kind for name, kind in run_types(result).items()}
    assert types == {
        "full_refresh": "full",
        "labelled": "incremental",
        "looked_up": "incremental",
        "groups": "incremental",
        "appended": "incremental",
        "versions": "full",
        "partitions": "full",
        "own": "incremental",
    }
    logged = [event.data["message"] for event in shop.events if event.data.get("phase") == "log"]
    assert logged == ["3 rows, newest 3"]
    rows = shop.rows_of(*(f"gold.{name}" for name in STRATEGIES if name not in ("versions", "own")))
    now = [(1, "a2"), (3, "c"), (4, "d")]
    assert rows == {
        "gold.full_refresh": now,
        "gold.labelled": now,
        "gold.looked_up": [(1, "A2", "x"), (3, "C", None), (4, "D", "x")],
        "gold.groups": sorted([*now, *now]),
        "gold.appended": [(1, "a"), (2, "b"), (3, "c"), (4, "d")],
        "gold.partitions": [(1, "a2"), (2, "b"), (3, "c"), (4, "d")],
    }
    versions = shop.rows("SELECT id, name, is_current FROM gold.versions")
    assert versions == [(1, "a", False), (1, "a2", True), (2, "b", False), (3, "c", True), (4, "d", True)]
    assert shop.rows("gold.own") == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
