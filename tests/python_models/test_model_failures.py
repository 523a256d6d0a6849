"""What goes wrong in the code of a model fails that model alone, and says where: the same in both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from tests.projects import ProjectFolder, make_project, module_shop, shop
from tests.python_models.test_model_runs import MODES, failed, project

__all__ = ["make_project", "module_shop", "shop"]

pytestmark = pytest.mark.spark


class Failure(NamedTuple):
    source: str
    where: str
    message: str
    """A part of it."""


READS = "def model(tg):\n    orders = tg.ref('silver.orders')\n"

DEPENDS = "# @depends_on: silver.orders\n"

FAILURES = {
    "raises": Failure(f"{READS}    return orders.limit(1 // 0)", "3", "ZeroDivisionError: integer division or modulo"),
    "returns": Failure(f"{READS}    return orders.count()", "1", "`model` returns int, which is no DataFrame"),
    "nothing": Failure(f"{READS}    if orders.count() > 9:\n        return orders", "1", "`model` returns nothing"),
    "column": Failure(f"{READS}\n    return orders.select('idd')", "4", "with name `idd` cannot be resolved"),
    "collects": Failure(
        f"{READS}    x = orders.selectExpr('CAST(name AS int) AS n')\n    return x.toPandas()",
        "4",
        "The value 'a' of the",
    ),
    "lazily": Failure(
        "from pyspark.sql import functions as f\n\n"
        f"{READS}    casted = f.col('name').cast('int')\n    return orders.select('id', casted.alias('n'))",
        "5",
        "The value 'a' of the type",
    ),
    "worker": Failure(
        "from pyspark.sql.functions import udf\n\n@udf('int')\ndef broken(x):\n    return 1 // 0\n\n"
        "def model(tg):\n    return tg.ref('silver.orders').select(broken('id').alias('n'))",
        "5",
        "ZeroDivisionError",
    ),
    "twice": Failure(f"{READS}    return orders.join(orders, 'id')", "", "two columns 'name'"),
    "index": Failure(
        f"{READS}    return orders.toPandas().set_index('id')", "1", "an index 'id', which would not be written"
    ),
    "arrow_type": Failure(
        "import pyarrow as pa\n\ndef model(tg):\n    return pa.table({'t': pa.array([1], pa.duration('s'))})",
        "3",
        "column 't' of the result is of Arrow's type duration[s]",
    ),
    "label": Failure(f"{READS}    return orders.selectExpr('*', '1 AS _change_type')", "", "column _change_type"),
    "this": Failure("result = tg.this()", "1", "gold.this has no table yet"),
    "var": Failure("result = tg.var('nope')", "1", "there is no such variable"),
}
COMPUTED = {
    "sql": Failure(f"{DEPENDS}result = tg.sql(' '.join(['SELECT id FRM', 'silver.orders']))", "2", "FRM"),
    "sql_table": Failure(
        f"{DEPENDS}result = tg.sql(' '.join(['SELECT 1 AS one FROM', 'silver.others']))", "2", "silver.others"
    ),
}
"""SQL that only a run sees, which only trusted code may have."""

ORDERS = "SELECT * FROM VALUES (1, 'a'), (2, '2') AS t(id, name)"


@pytest.mark.parametrize("mode", MODES)
def test_failures_say_where(make_project: Callable[[str], ProjectFolder], mode: str) -> None:
    shop = project(make_project("shop"), mode)
    shop.model("silver.orders", ORDERS)
    expected = FAILURES if mode == "sandbox" else {**FAILURES, **COMPUTED}
    for name, failure in expected.items():
        shop.file(f"models/gold/{name}.py", failure.source)
    shop.file("models/gold/good.py", "result = tg.ref('silver.orders')")
    failures = failed(shop.run())
    assert failures.keys() == {f"gold.{name}" for name in expected}
    for name, failure in expected.items():
        kind, where, message = failures[f"gold.{name}"]
        line = f":{failure.where}" if failure.where else ""
        assert (name, kind, where) == (name, "QueryRejected", f"models/gold/{name}.py{line}")
        assert failure.message in str(message), (name, message)
        assert "tidegate_" not in str(message), (name, message)
        assert "global_temp" not in str(message), (name, message)
    assert shop.rows("gold.good") == [(1, "a"), (2, "2")]
    traces = {event.model: event.data["traceback"] for event in shop.events if event.data.get("phase") == "traceback"}
    assert traces["gold.raises"].splitlines()[1] == '  File "models/gold/raises.py", line 3, in model'


LIMITS = {
    "endless": (
        "# @timeout: 2s\n\ndef model(tg):\n    while True:\n        pass\n    return tg.ref('silver.orders')",
        "Timeout",
        "was ended after 2s",
    ),
    "bomb": (
        "def model(tg):\n    x = []\n    while True:\n        x.append(bytearray(10_000_000))\n    return x",
        "QueryRejected",
        "needed more than 600",
    ),
    "prints": (
        "def model(tg):\n    while True:\n        print('x' * 1000)\n    return None",
        "QueryRejected",
        "printed without end, and was stopped",
    ),
}


def test_code_that_takes_too_much_fails_alone(make_project: Callable[[str], ProjectFolder]) -> None:
    shop = make_project("shop")
    settings = shop.root / "tidegate.toml"
    settings.write_text(f'{settings.read_text()}\n[sandbox]\ntimeout = "20s"\nmemory = "600m"\n')
    shop.model("silver.orders", ORDERS)
    for name, (source, _kind, _message) in LIMITS.items():
        shop.file(f"models/gold/{name}.py", source)
    shop.file("models/gold/good.py", "result = tg.ref('silver.orders')")
    failures = failed(shop.run())
    assert failures.keys() == {f"gold.{name}" for name in LIMITS}
    for name, (_source, kind, message) in LIMITS.items():
        assert failures[f"gold.{name}"][0] == kind, failures
        assert message in str(failures[f"gold.{name}"][2])
    assert shop.rows("gold.good") == [(1, "a"), (2, "2")]
