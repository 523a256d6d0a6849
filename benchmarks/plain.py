"""The other side: the statements one after the other, as anyone would write them. Nothing of Tidegate is imported.

python -m benchmarks.plain CONF, where CONF is a JSON file with Spark's settings and the name of the catalog.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.statements import STATEMENTS


def main(conf_file: str) -> None:
    conf = json.loads(Path(conf_file).read_text())
    builder = SparkSession.builder.appName("plain")
    for key, value in conf["spark"].items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sql(f"USE `{conf['catalog']}`")
    layers = sorted({table.split(".")[0] for table in STATEMENTS})
    for layer in layers:
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {conf['namespace']}.{layer}")
    tables = re.compile(rf"\b(?:raw|{'|'.join(layers)})\.\w+")
    for table, select in STATEMENTS.items():
        query = tables.sub(lambda name: f"{conf['namespace']}.{name.group()}", select)
        spark.sql(f"CREATE OR REPLACE TABLE {conf['namespace']}.{table} AS {query}")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
