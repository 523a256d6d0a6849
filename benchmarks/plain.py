"""The other side: the statements one after the other, as anyone would write them. Nothing of Tidegate is imported.

python -m benchmarks.plain FILE, where FILE is JSON: Spark's settings, and the statement of each table.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession


def main(file: str) -> None:
    script = json.loads(Path(file).read_text())
    builder = SparkSession.builder.appName("plain")
    for key, value in script["spark"].items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    for layer in sorted({table.split(".")[0] for table in script["statements"]}):
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {layer}")
    for table, select in script["statements"].items():
        spark.sql(f"CREATE OR REPLACE TABLE {table} AS {select}")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
