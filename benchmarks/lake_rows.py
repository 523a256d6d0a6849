"""The rows of the source, written and changed by plain Spark between what is measured, and the tables compared."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.bench_project import NAMESPACE, BenchProject
from benchmarks.statements import SOURCE, SOURCE_COLUMNS, update_statement
from tidegate.config import SparkSection
from tidegate.lake.branch_catalog import MAIN
from tidegate.spark.jvm import running_jvm
from tidegate.spark.session import child_session, start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Content", "LakeRows"]

Content = Mapping[str, tuple[int, int]]
"""Of each table the number of rows and a hash that does not depend on their order."""

_PATIENT = {"spark.network.timeout": "24h", "spark.storage.blockManagerHeartbeatTimeoutMs": "24h"}
"""While it stands still its executor is not heard of."""


class LakeRows:
    """A Spark of the benchmark's own process; it stands still while something else is measured."""

    def __init__(self, folder: Path) -> None:
        self._root = start_session(SparkSection(memory="1g", conf=_PATIENT), folder / "logs", print)

    @contextmanager
    def paused(self) -> Iterator[None]:
        jvm = running_jvm()
        assert jvm is not None
        os.kill(jvm.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(jvm.process.pid, signal.SIGCONT)

    def recreate(self, project: BenchProject, rows: int) -> None:
        """A lake with the source and nothing else."""
        session = self._session(project.lake_conf(), MAIN)
        source, layer = SOURCE.split(".")[:2]
        for namespace in (f"{source}.{layer}", f"{NAMESPACE}.silver", f"{NAMESPACE}.gold"):
            for part in (namespace.split(".")[0], namespace):
                session.sql(f"CREATE NAMESPACE IF NOT EXISTS {part}")
            for table in session.sql(f"SHOW TABLES IN {namespace}").collect():
                session.sql(f"DROP TABLE {namespace}.{table['tableName']}")
        warehouse = project.folder / ".tidegate" / "warehouse"
        for folder in (source, NAMESPACE):
            shutil.rmtree(warehouse / folder, ignore_errors=True)
        columns = ", ".join(f"{value} AS {name}" for name, (_, value) in SOURCE_COLUMNS.items())
        session.sql(f"CREATE TABLE {SOURCE} AS SELECT {columns} FROM range(0, {rows}, 1, 4)")

    def update(self, project: BenchProject, batch: int, *, views_only: bool) -> None:
        self._session(project.lake_conf(), MAIN).sql(update_statement(SOURCE, batch, views_only=views_only))

    def content(self, conf: Mapping[str, str], catalog: str, tables: Collection[str], namespace: str = "") -> Content:
        session = self._session(conf, catalog)
        found = {}
        for table in tables:
            hashed = "count(*) AS n, sum(CAST(xxhash64(*) AS DECIMAL(38,0))) AS h"
            row = session.sql(f"SELECT {hashed} FROM {namespace}{table}").collect()[0]
            found[table] = (int(row["n"]), int(row["h"] or 0))
        return found

    def close(self) -> None:
        self._root.stop()
        if (jvm := running_jvm()) is not None:
            jvm.end()

    def _session(self, conf: Mapping[str, str], catalog: str) -> SparkSession:
        return child_session(self._root, conf, catalog)
