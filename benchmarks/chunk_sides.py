"""One side of the comparison of chunked loads, in a process of its own; prints what it took as JSON.

python -m benchmarks.chunk_sides write|plain|chunks|pydantic FOLDER ROWS
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from benchmarks.measured import peak_kib

__all__ = ["COLUMNS", "CONTRACT", "write_rows"]

COLUMNS: Mapping[str, str] = {
    "id": "bigint",
    "customer": "bigint",
    "amount": "decimal(12,2)",
    "quantity": "int",
    "status": "string",
    "email": "string",
    "code": "string",
    "note": "string",
    "ordered": "date",
    "created": "timestamp",
    "active": "boolean",
}

CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: orders
version: 1.0.0
status: active
schema:
  - name: orders
    properties:
      - {name: id, logicalType: integer, physicalType: bigint, primaryKey: true, required: true}
      - {name: customer, logicalType: integer, physicalType: bigint, required: true}
      - {name: amount, logicalType: number, physicalType: "decimal(12,2)", logicalTypeOptions: {minimum: 0}}
      - {name: quantity, logicalType: integer, physicalType: int, logicalTypeOptions: {minimum: 1, maximum: 100}}
      - name: status
        logicalType: string
        quality:
          - {metric: invalidValues, arguments: {validValues: [new, paid, sent, done]}, mustBe: 0}
      - {name: email, logicalType: string, logicalTypeOptions: {maxLength: 80}}
      - {name: code, logicalType: string, logicalTypeOptions: {pattern: "^[A-Z]{2}-[0-9]{4}$"}}
      - {name: note, logicalType: string}
      - {name: ordered, logicalType: date}
      - {name: created, logicalType: timestamp, required: true}
      - {name: active, logicalType: boolean}
"""

_VALID = (
    "id IS NOT NULL AND customer IS NOT NULL AND created IS NOT NULL AND coalesce(amount >= 0, true)"
    " AND coalesce(quantity BETWEEN 1 AND 100, true) AND coalesce(length(email) <= 80, true)"
    " AND coalesce(status IN ('new', 'paid', 'sent', 'done'), true)"
    " AND coalesce(code RLIKE '^[A-Z]{2}-[0-9]{4}$', true)"
)
_BATCH = 10_000
_STATUS = ("new", "paid", "sent", "done")


def write_rows(path: Path, rows: int) -> None:
    """JSON lines; one row of a hundred has an amount that is refused."""
    with path.open("w") as file:
        for number in range(rows):
            amount = "-1.50" if number % 100 == 0 else f"{number % 100_000}.25"
            file.write(
                f'{{"id":{number},"customer":{number % 100_000},"amount":{amount},"quantity":{number % 50 + 1},'
                f'"status":"{_STATUS[number % 4]}","email":"user{number % 100_000}@example.com",'
                f'"code":"AB-{number % 10_000:04}","note":"note of row {number}, {number * 2654435761 % 2**32:x}",'
                f'"ordered":"2024-{number % 12 + 1:02}-{number % 28 + 1:02}",'
                f'"created":"2024-01-{number % 28 + 1:02}T{number % 24:02}:00:00Z",'
                f'"active":{"true" if number % 2 else "false"}}}\n'
            )


def plain(folder: Path, rows: int) -> dict[str, Any]:
    """As anyone would write it: read, cast, check, take one row of each key, merge."""
    from tidegate.config import SparkSection
    from tidegate.spark.session import start_session
    from tidegate.spark.table_formats import DELTA

    session = start_session(SparkSection(conf={"spark.sql.runSQLOnFiles": "true"}), folder / "logs", formats=(DELTA,))
    texts = ", ".join(f"{name} STRING" for name in COLUMNS)
    casts = [f"try_cast({name} AS {kind}) AS {name}" for name, kind in COLUMNS.items()]
    kinds = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    table = f"delta.`{folder / 'plain'}`"
    typed = session.read.schema(texts).json(str(folder / "orders.json")).selectExpr(*casts)
    typed.where(_VALID).dropDuplicates(["id"]).createOrReplaceTempView("orders")
    session.sql(f"CREATE TABLE {table} ({kinds}) USING delta")
    session.sql(
        f"MERGE INTO {table} t USING orders s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    return {"rows": session.table(table).count()}


def chunks(folder: Path, rows: int) -> dict[str, Any]:
    """The three jobs, one after the other. `folder` is the project."""
    from tidegate.chunks import chunk_bronze
    from tidegate.chunks.chunk_project import open_chunk_project
    from tidegate.chunks.process_bronze import pending_tasks, process_tasks
    from tidegate.operations.chunks.jobs import load
    from tidegate.operations.workspace import Workspace

    project = open_chunk_project(folder)
    seconds = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        result = work()
        seconds[name] = time.perf_counter() - started
        return result

    timed("chunk", lambda: [chunk_bronze.process_task(task) for task in chunk_bronze.get_tasks(folder)])
    timed("process", lambda: process_tasks(project, pending_tasks(project, None)))
    report = timed("load", lambda: load(Workspace(project.settings)))
    if report.failures:
        raise report.failures[0].error
    (result,) = report.loads
    return {"rows": result.inserted, "merges": result.batches, **seconds}


def row_by_row(folder: Path, rows: int) -> dict[str, Any]:
    """Each line through a pydantic model; valid rows to Parquet, ten thousand at a time. Nothing is merged."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pydantic import BaseModel, Field, ValidationError

    class Order(BaseModel):
        id: int
        customer: int
        amount: Decimal | None = Field(ge=0, max_digits=12, decimal_places=2)
        quantity: int | None = Field(ge=1, le=100)
        status: Literal["new", "paid", "sent", "done"] | None
        email: str | None = Field(max_length=80)
        code: str | None = Field(pattern=r"^[A-Z]{2}-[0-9]{4}$")
        note: str | None
        ordered: date | None
        created: datetime
        active: bool | None

    valid = 0
    with (folder / "orders.json").open("rb") as file:
        for number, lines in enumerate(_batches(file)):
            good = []
            for line in lines:
                try:
                    good.append(Order.model_validate_json(line).model_dump())
                except ValidationError:
                    continue
            valid += len(good)
            pq.write_table(pa.Table.from_pylist(good), folder / f"rows_{number}.parquet")
    return {"rows": valid}


def _batches(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    while batch := list(islice(lines, _BATCH)):
        yield batch


def main(side: str, folder: Path, rows: int) -> None:
    started = time.perf_counter()
    if side == "write":
        write_rows(folder / "orders.json", rows)
        found: dict[str, Any] = {}
    else:
        found = {"plain": plain, "chunks": chunks, "pydantic": row_by_row}[side](folder, rows)
        if found["rows"] != rows - -(-rows // 100):
            raise SystemExit(f"One row of a hundred should have been refused: {found}")
    print(json.dumps({**found, "seconds": time.perf_counter() - started, "python_mib": peak_kib() / 1024}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
