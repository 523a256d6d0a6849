"""The name of a branch, and the settings that make its catalog known to Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tidegate.errors import BranchExistsError, BranchMissingError, FailureKind, LakeError
from tidegate.lake.branch_catalog import MAIN
from tidegate.names import TableName

__all__ = [
    "branch_catalog_name",
    "branch_exists_error",
    "branch_missing_error",
    "catalog_settings",
    "spark_catalog",
    "table_missing_error",
]

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
    # Not Path.as_uri(): Hadoop does not decode the text after `file:`, so a %20 would be part of the name.
    all_options = {**options, "warehouse": f"file:{warehouse}", **_RULES}
    return {prefix: "org.apache.iceberg.spark.SparkCatalog"} | {f"{prefix}.{k}": v for k, v in all_options.items()}


_BRANCH_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,199}")


def branch_catalog_name(branch: str) -> str:
    """A name that Spark SQL takes without quotes. Raises LakeError where `branch` cannot be a branch."""
    catalog = branch.replace("-", "_")
    if not _BRANCH_NAME.fullmatch(branch) or catalog.lower() in (MAIN, "spark_catalog"):
        raise LakeError(
            f"'{branch}' cannot be the name of a branch",
            remedy="use letters, digits, '-' and '_', beginning with a letter",
        )
    return catalog


def spark_catalog(branch: str) -> str:
    return MAIN if branch == MAIN else branch_catalog_name(branch)


def branch_exists_error(branch: str, where: str) -> BranchExistsError:
    return BranchExistsError(
        f"branch '{branch}' exists already", where=where, remedy="use another name or drop the branch"
    )


def table_missing_error(table: TableName, where: str) -> LakeError:
    error = LakeError(f"{table} is gone", where=where, remedy="another process dropped it meanwhile: run again")
    error.kind = FailureKind.NOT_FOUND
    return error


def branch_missing_error(branch: str, where: str) -> BranchMissingError:
    return BranchMissingError(
        f"there is no branch '{branch}'",
        where=where,
        remedy="it was published, dropped or reaped; `tidegate branches` lists the existing ones",
    )
