"""What a commit says of its rows, so that its readers need not look: a row keeps its key; which columns differ."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tidegate.lake.changes import CHANGED_COLUMNS, ROW_KEY
from tidegate.spark.session import settings_for_now

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["promised"]

_PROPERTY = "spark.sql.iceberg.snapshot-property"


@contextlib.contextmanager
def promised(session: SparkSession, key: Sequence[str], changed: Sequence[str] | None = None) -> Iterator[None]:
    """Commits made inside match rows by `key` and never update it. `changed`: no other column differs in any row."""
    said = {f"{_PROPERTY}.{ROW_KEY}": json.dumps(list(key))}
    if changed is not None:
        said[f"{_PROPERTY}.{CHANGED_COLUMNS}"] = json.dumps(list(changed))
    with settings_for_now(session, said):
        yield
