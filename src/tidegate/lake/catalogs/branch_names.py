"""What a branch may be called, and the name of its catalog in Spark."""

from __future__ import annotations

import re

from tidegate.errors import BranchExistsError, BranchMissingError, LakeError
from tidegate.lake.port import MAIN

__all__ = ["branch_catalog", "exists_already", "is_missing", "spark_catalog"]

_BRANCH_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,199}")


def branch_catalog(branch: str) -> str:
    """A name that Spark SQL takes without quotes. Raises LakeError where `branch` cannot be a branch."""
    catalog = branch.replace("-", "_")
    if not _BRANCH_NAME.fullmatch(branch) or catalog.lower() in (MAIN, "spark_catalog"):
        raise LakeError(
            f"'{branch}' cannot be the name of a branch",
            remedy="use letters, digits, '-' and '_', beginning with a letter",
        )
    return catalog


def spark_catalog(branch: str) -> str:
    return MAIN if branch == MAIN else branch_catalog(branch)


def exists_already(branch: str, where: str) -> BranchExistsError:
    return BranchExistsError(
        f"branch '{branch}' exists already", where=where, remedy="use another name or drop the branch"
    )


def is_missing(branch: str, where: str) -> BranchMissingError:
    return BranchMissingError(
        f"there is no branch '{branch}'",
        where=where,
        remedy="it was published, dropped or reaped; `tidegate branches` lists those that stand",
    )
