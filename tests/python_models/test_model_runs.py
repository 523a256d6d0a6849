"""Python models in runs: each kind of result, each input, the same table in both modes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from tests.projects import ProjectFolder, make_project, module_shop, shop
from tidegate.runs import RunResult

__all__ = ["make_project", "module_shop", "shop"]

pytestmark = pytest.mark.spark

MODES = ("trusted",)

RESULTS = {
    "spark": "def model(tg):\n    return tg.ref('silver.orders').where('id > 1')",
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

ORDERS = (
    "SELECT * FROM VALUES (CAST(1 AS bigint), 'a', CAST(1.50 AS decimal(38, 18)),"
    " timestamp'2024-01-01 01:02:03.000004', date'2024-01-01'), (2, NULL, NULL, timestamp'1999-12-31 23:59:59', date'1970-01-01'), (3, 'c', 3, NULL, NULL)"
    " AS t(id, name, price, at, day)"
)


def project(folder: ProjectFolder, mode: str) -> ProjectFolder:
    settings = folder.root / "tidegate.toml"
    settings.write_text(f'{settings.read_text()}\n[sandbox]\nmode = "{mode}"\n')
    return folder


def failed(result: RunResult) -> dict[str, tuple[str | None, str | None, str | None]]:
    """By model: the kind, the place and the message of each failure."""
    return {
        m.model: (m.failure_kind, m.where, m.error) for m in result.materializations if m.status not in ("completed",)
    }


@pytest.mark.parametrize("mode", MODES)
def test_every_kind_of_result_gives_the_same_table(make_project: Callable[[str], ProjectFolder], mode: str) -> None:
    shop = project(make_project("shop"), mode)
    shop.model("silver.orders", ORDERS)
    for name, source in RESULTS.items():
        shop.file(f"models/gold/{name}.py", source)
    assert failed(shop.run()) == {}
    tables = [f"gold.{name}" for name in RESULTS]
    expected = [
        (2, None, None, datetime(1999, 12, 31, 23, 59, 59, tzinfo=UTC), date(1970, 1, 1)),
        (3, "c", Decimal("3.000000000000000000"), None, None),
    ]
    rows = {table: shop.rows(f"SELECT * FROM {table}") for table in tables}
    assert rows == dict.fromkeys(tables, rows["gold.spark"])
    types = {table: shop.rows(f"SELECT schema_of_json(to_json(struct(*))) FROM {table}")[:1] for table in tables}
    assert types == dict.fromkeys(tables, types["gold.spark"])
    assert [row[0] for row in rows["gold.spark"]] == [row[0] for row in expected]
