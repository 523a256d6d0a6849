"""Makes the lake that both sides start from: a project, and a source table of N rows.

python -m benchmarks.lake FOLDER ROWS
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.statements import SOURCE, SOURCE_COLUMNS, STATEMENTS
from tidegate.config import load_settings
from tidegate.lake import open_catalog
from tidegate.lake.branch_catalog import MAIN
from tidegate.spark.session import child_session, start_session

NAMESPACE = "bench"

# What is decided for one process only, and how Tidegate starts its JVM.
_PER_PROCESS = (
    "spark.app.",
    "spark.driver.port",
    "spark.driver.extraJavaOptions",
    "spark.executor.id",
    "spark.submit.",
    "spark.sql.warehouse.dir",
)


def main(folder: Path, rows: int) -> None:
    write_project(folder)
    settings = load_settings(folder)
    catalog = open_catalog(settings)
    root = start_session(settings.spark, folder / ".tidegate" / "logs", print)
    session = child_session(root, catalog.spark_conf(MAIN), catalog.spark_catalog(MAIN))
    layer, name = SOURCE.split(".")
    for namespace in (NAMESPACE, f"{NAMESPACE}.{layer}"):
        session.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
    columns = ", ".join(f"{expression} AS {column}" for column, expression in SOURCE_COLUMNS.items())
    session.sql(f"CREATE TABLE {NAMESPACE}.{layer}.{name} AS SELECT {columns} FROM range(0, {rows}, 1, 4)")
    spark_conf = {k: v for k, v in root.sparkContext.getConf().getAll() if not k.startswith(_PER_PROCESS)}
    plain = {
        "spark": {**spark_conf, **catalog.spark_conf(MAIN)},
        "catalog": catalog.spark_catalog(MAIN),
        "namespace": NAMESPACE,
    }
    (folder / "plain.json").write_text(json.dumps(plain, indent=2))
    root.stop()


def write_project(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "tidegate.toml").write_text(f'[project]\nname = "bench"\nnamespace = "{NAMESPACE}"\n')
    for table, select in STATEMENTS.items():
        layer, name = table.split(".")
        model = folder / "models" / layer / f"{name}.sql"
        model.parent.mkdir(parents=True, exist_ok=True)
        model.write_text(select.lstrip())


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), int(sys.argv[2]))
