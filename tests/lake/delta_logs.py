"""Logs of Delta tables as Delta writes them, made without Spark; the tables have no rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = (("id", "long"), ("amount", "decimal(10,2)"))


def metadata(columns: Iterable[tuple[str, Any]] = COLUMNS, table_id: str = "one", feed: bool = False) -> dict[str, Any]:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns]
    schema = json.dumps({"type": "struct", "fields": fields})
    configuration = {"delta.enableChangeDataFeed": "true"} if feed else {}
    return {"metaData": {"id": table_id, "schemaString": schema, "configuration": configuration}}


def counted(**metrics: int) -> dict[str, Any]:
    """What a commit says of itself."""
    return {"commitInfo": {"operationMetrics": {name: str(value) for name, value in metrics.items()}}}


def added(file: str, changes_rows: bool = True) -> dict[str, Any]:
    return {"add": {"path": file, "size": 1, "dataChange": changes_rows}}


def removed(file: str, changes_rows: bool = True) -> dict[str, Any]:
    return {"remove": {"path": file, "dataChange": changes_rows}}


class DeltaLog:
    def __init__(self, table: Path) -> None:
        self.folder = table / "_delta_log"
        self.folder.mkdir(parents=True)
        self.version = -1

    def commit(self, *actions: dict[str, Any]) -> None:
        self.version += 1
        lines = [*actions, {"protocol": {"minReaderVersion": 1}}]
        self._file("json").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def checkpoint(self, *actions: dict[str, Any], parts: int = 1) -> None:
        """Of the last commit; without the commits so far."""
        rows = [action.get("metaData") for action in actions]
        configuration = ("configuration", pa.map_(pa.string(), pa.string()))
        column = pa.array(rows, pa.struct([("id", pa.string()), ("schemaString", pa.string()), configuration]))
        for part in range(parts):
            name = "checkpoint.parquet" if parts == 1 else f"checkpoint.{part + 1:010}.{parts:010}.parquet"
            rows_of_part = column if part == parts - 1 else column.slice(0, 0)
            pq.write_table(pa.table({"metaData": rows_of_part}), self._file(name))
        for version in range(self.version + 1):
            self._file("json", version).unlink(missing_ok=True)

    def _file(self, ending: str, version: int | None = None) -> Path:
        return self.folder / f"{self.version if version is None else version:020}.{ending}"
