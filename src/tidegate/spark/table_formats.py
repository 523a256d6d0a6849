"""What a table format beside Iceberg needs of Spark: jars, a session extension and settings.

Only projects that use the format fetch and load them. Its jars follow the others on the class path, so that the
archive of classes which all projects share remains valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegate.config import Settings
from tidegate.spark.ivy import Coordinates
from tidegate.spark.jars import Jar

__all__ = ["DELTA", "TableFormat", "formats_of"]


@dataclass(frozen=True, slots=True)
class TableFormat:
    name: str
    jars: tuple[Jar, ...]
    extension: str
    """The class to add to spark.sql.extensions, which only a new Spark reads."""
    conf: Mapping[str, str] = field(default_factory=dict)
    local_conf: Mapping[str, str] = field(default_factory=dict)
    """Besides, where Spark runs on one machine."""


DELTA = TableFormat(
    "Delta",
    (
        Jar(
            Coordinates("io.delta", "delta-spark_4.1_2.13", "4.4.0"),
            "75a9400986853c061f5109f012547de2545a5759e5e752e5ef633dabe16a4f10",
            9471929,
        ),
        Jar(
            Coordinates("io.delta", "delta-storage", "4.4.0"),
            "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
            113863,
        ),
    ),
    "io.delta.sql.DeltaSparkSessionExtension",
    {"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"},
    # Delta reads its log with a task for each, 50 by default, also that of a table of a few files.
    {"spark.databricks.delta.snapshotPartitions": "2"},
)


def formats_of(settings: Settings) -> tuple[TableFormat, ...]:
    """Those of the project's tables beside Iceberg."""
    return (DELTA,) if settings.chunks.has_delta_tables else ()
