"""The settings that make a catalog known to Spark, with the rules that every one of ours has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["catalog_settings"]

_RULES = {
    "cache-enabled": "false",
    "unique-table-location": "true",
    "table-default.format-version": "3",
    "table-default.write.delete.mode": "merge-on-read",
    "table-default.write.update.mode": "merge-on-read",
    "table-default.write.merge.mode": "merge-on-read",
    "table-default.write.parquet.compression-codec": "zstd",
    # Files are shared between branches, so only the sweep, which sees all branches, may delete any.
    "table-override.gc.enabled": "false",
    "table-override.write.metadata.delete-after-commit.enabled": "false",
}


def catalog_settings(name: str, warehouse: Path, options: Mapping[str, str]) -> dict[str, str]:
    prefix = f"spark.sql.catalog.{name}"
    # Not Path.as_uri(): Hadoop takes the text after `file:` as it is, a %20 would be part of the name.
    all_options = {**options, "warehouse": f"file:{warehouse}", **_RULES}
    return {prefix: "org.apache.iceberg.spark.SparkCatalog"} | {f"{prefix}.{k}": v for k, v in all_options.items()}
