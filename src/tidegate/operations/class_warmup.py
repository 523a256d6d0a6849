"""`python -m tidegate.operations.class_warmup FILE`: do what users do, then let the JVM write its classes to FILE.

The sample shop is run twice, without its Python models: it must not take long. Whatever fails leaves only some
classes out of the file.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tidegate.config import Settings, load_settings
from tidegate.errors import TidegateError
from tidegate.operations.new_project import deliver, write_demo
from tidegate.operations.run import run_project
from tidegate.spark.jvm import Jvm, running_jvm

__all__ = ["warm_up"]

_CHANGED_ZONES = ("customers", "orders")
"""What the second run reads: merges and deltas need no more."""

# Both are brought up to date from what day 2 changes.
_MODELS = {
    "gold/order_lines.sql": """
-- @unique_key: order_id
-- @deltas: always
SELECT o.order_id, o.amount, c.name, c.city
FROM silver.orders AS o LEFT JOIN silver.customers AS c ON c.customer_id = o.customer_id AND c.is_current
""",
    "gold/order_totals.sql": """
-- @deltas: always
SELECT status, ordered_on, count(*) AS n, sum(amount) AS amount, count(DISTINCT customer_id) AS customers
FROM silver.orders GROUP BY status, ordered_on
""",
}


def warm_up(archive: str) -> None:
    with tempfile.TemporaryDirectory(prefix="tidegate-warmup-") as folder:
        shop = Path(folder) / "shop"
        write_demo(shop)
        for code in (shop / "models").rglob("*.py"):
            code.unlink()
        for name, text in _MODELS.items():
            (shop / "models" / name).write_text(text.lstrip())
        settings = load_settings(shop)
        conf = {**settings.spark.conf, "spark.driver.extraJavaOptions": f"-XX:ArchiveClassesAtExit={archive}"}
        _use(replace(settings, spark=replace(settings.spark, conf=conf)), shop)
        jvm = running_jvm()  # its process writes the file after everything else has ended
        if isinstance(jvm, Jvm):
            _stop_spark()
            jvm.wait()


def _use(settings: Settings, shop: Path) -> None:
    with contextlib.suppress(TidegateError):
        run_project(settings)
        for arrived in deliver(shop, "day-2"):
            if arrived.parent.name not in _CHANGED_ZONES:
                (shop / arrived).unlink()
        run_project(settings)


def _stop_spark() -> None:
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is not None:
        context.stop()


if __name__ == "__main__":
    warm_up(sys.argv[1])
