"""What a commit says of itself, so that its readers need not look: a row keeps its key; which columns differ; that the
write goes on."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tidegate.lake.changes import CHANGED_COLUMNS, ROW_KEY
from tidegate.lake.unfinished_writes import PARTIAL
from tidegate.spark.session import settings_for_now

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["partly_written", "promised"]

_PROPERTY = "spark.sql.iceberg.snapshot-property"


@contextlib.contextmanager
def promised(session: SparkSession, key: Sequence[str], changed: Sequence[str] | None = None) -> Iterator[None]:
    """Commits made inside match rows by `key` and never update it. `changed`: no other column differs in any row."""
    said = {f"{_PROPERTY}.{ROW_KEY}": json.dumps(list(key))}
    if changed is not None:
        said[f"{_PROPERTY}.{CHANGED_COLUMNS}"] = json.dumps(list(changed))
    with settings_for_now(session, said):
        yield


@contextlib.contextmanager
def partly_written(session: SparkSession, *, if_any: bool = True) -> Iterator[None]:
    """Commits made inside are not the last of their write. `if_any` False: they are, and nothing is marked."""
    with settings_for_now(session, {f"{_PROPERTY}.{PARTIAL}": "true"} if if_any else {}):
        yield
