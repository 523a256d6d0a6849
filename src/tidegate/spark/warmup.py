"""`python -m tidegate.spark.warmup FILE`: run typical statements, then let the JVM write its classes to FILE."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tidegate.config import SparkSection
from tidegate.spark.jvm import running_jvm
from tidegate.spark.session import child_session, start_session

__all__ = ["warm_up"]


def warm_up(archive: str) -> None:
    with tempfile.TemporaryDirectory(prefix="tidegate-warmup-") as folder:
        conf = {"spark.driver.extraJavaOptions": f"-XX:ArchiveClassesAtExit={archive}"}
        root = start_session(SparkSection(memory="1g", conf=conf), Path(folder))
        prefix = "spark.sql.catalog.warm"
        catalog = {
            prefix: "org.apache.iceberg.spark.SparkCatalog",
            f"{prefix}.catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            f"{prefix}.uri": f"jdbc:sqlite:{folder}/catalog.db",
            f"{prefix}.jdbc.schema-version": "V1",
            f"{prefix}.warehouse": f"file:{folder}/warehouse",
            f"{prefix}.table-default.format-version": "3",
            f"{prefix}.table-default.write.merge.mode": "merge-on-read",
        }
        session = child_session(root, catalog, "warm")
        (Path(folder) / "a.csv").write_text("id,n\n1,a\n2,b\n")
        session.read.csv(f"{folder}/a.csv", header=True).createOrReplaceTempView("files")
        merge = (
            "MERGE INTO a.b.t t USING (SELECT 2L AS id, 'c' AS n UNION ALL SELECT 3L, 'd') s ON t.id <=> s.id"
            " WHEN MATCHED AND NOT (t.n <=> s.n) THEN UPDATE SET t.n = s.n WHEN NOT MATCHED THEN INSERT *"
        )
        for statement in (
            "CREATE NAMESPACE a.b",
            "CREATE OR REPLACE TABLE a.b.t USING iceberg AS SELECT CAST(id AS bigint) AS id, n FROM files",
            merge,
            "CREATE OR REPLACE VIEW a.b.v AS SELECT n, count(*) AS c FROM a.b.t GROUP BY n",
            "ALTER TABLE a.b.t SET TBLPROPERTIES ('warm' = 'up')",
            "SELECT *, row_number() OVER (PARTITION BY n ORDER BY id) FROM a.b.t JOIN a.b.v USING (n)",
        ):
            session.sql(statement).collect()
        jvm = running_jvm()  # its process writes the file after everything else has ended
        assert jvm is not None
        root.stop()
        jvm.wait()


if __name__ == "__main__":
    warm_up(sys.argv[1])
