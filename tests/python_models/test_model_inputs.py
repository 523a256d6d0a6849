"""What Python models read besides tables, functions that Spark's workers run, and how changes are verified."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.projects import ProjectFolder, make_project, module_shop, run_types, shop
from tests.python_models.test_model_runs import MODES, OnMain, failed, on_main, project

if TYPE_CHECKING:
    from tidegate.runs import RunResult

__all__ = ["make_project", "module_shop", "on_main", "shop"]

pytestmark = pytest.mark.spark

FILES = {
    "landed": (
        "# @merge_strategy: append_only\n\ndef model(tg):\n    return tg.landing_zone('raw', format='csv').select('id')"
    ),
    "seen": "# @merge_strategy: append_only\n\nresult = tg.changes('src.orders').drop('_change_type')",
    "batches": (
        "import pandas as pd\nfrom pyspark.sql import functions as F\n\n"
        "@F.pandas_udf('long')\ndef doubled(x: pd.Series) -> pd.Series:\n    return x * 2\n\n"
        "def even(batches):\n    for frame in batches:\n        yield frame[frame['id'] % 2 == 0]\n\n"
        "def model(tg):\n    rows = tg.ref('src.orders').select('id', doubled('id').alias('twice'))\n"
        "    return rows.mapInPandas(even, rows.schema)"
    ),
    "verified": (
        "# @merge_strategy: incremental\n# @unique_key: id\n\ndef model(tg):\n    return tg.changes('src.orders')"
    ),
    "mistaken": (
        "# @merge_strategy: incremental\n# @unique_key: id\n\ndef model(tg):\n"
        "    return tg.changes('src.orders').where(\"_change_type <> 'delete'\")"
    ),
}


@pytest.mark.parametrize("mode", MODES)
def test_inputs_and_functions(make_project: Callable[[str], ProjectFolder], on_main: OnMain, mode: str) -> None:
    shop = project(make_project("shop"), mode)
    on_main(
        shop, "CREATE NAMESPACE shop.src", "CREATE TABLE shop.src.orders AS SELECT id, 'a' AS name FROM range(1, 5)"
    )
    shop.file("landing/raw/1.csv", "id\n1\n2\n")
    for name, source in FILES.items():
        shop.file(f"models/gold/{name}.py", source)
    assert failed(shop.run()) == {}
    on_main(shop, "DELETE FROM shop.src.orders WHERE id = 1", "INSERT INTO shop.src.orders VALUES (9, 'i')")
    shop.file("landing/raw/2.csv", "id\n3\n")
    result = shop.run(verify=True, allow_deletes=True)
    assert failed(result) == {}
    assert run_types(result)["gold.verified"] == "incremental"
    assert _reason(result, "gold.verified").endswith("verified")
    assert _reason(result, "gold.mistaken").endswith("verification failed")
    rows = shop.rows_of(*(f"gold.{name}" for name in FILES))
    now = [(2, "a"), (3, "a"), (4, "a"), (9, "i")]
    assert rows == {
        "gold.landed": [(1,), (2,), (3,)],
        "gold.seen": [(1, "a"), *now],
        "gold.batches": [(2, 4), (4, 8)],
        "gold.verified": now,
        "gold.mistaken": now,
    }


def _reason(result: RunResult, model: str) -> str:
    return next(m.reason for m in result.materializations if m.model == model)
