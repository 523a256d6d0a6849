"""One row in a thousand updated: what the delta costs beside the full rebuild of the same tables, writes included.

python -m benchmarks.deltas FOLDER ROWS COLUMNS ROUNDS ANSWER writes the medians to the file ANSWER, as JSON.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.compiling import Target
from benchmarks.running import run_process, say
from tidegate.config import SparkSection
from tidegate.lake.changes import TableChange, change_since
from tidegate.lake.embedded import EmbeddedCatalog
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.planner.deltas.rewrite import rewrite
from tidegate.planner.deltas.values import DeltaQuery, InputTable
from tidegate.project.model import ModelSettings, Strategy
from tidegate.spark.session import child_session, start_session
from tidegate.transform.deltas import bind_images, result_sql, touched_keys
from tidegate.write import WriteRequest, write
from tidegate.write.regions import write_region

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["CELLS", "Cell", "Measured", "Took", "delta_targets", "measure_deltas"]

NARROW, WIDE = 5, 25
MODELS = ("filter", "left join", "GROUP BY")
UPDATED = 1000
"""One row in so many."""
MEMORY = "6g"
BRANCH = "run-1"

ORDERS, CUSTOMERS = (TableName("bench", "raw", name) for name in ("orders", "customers"))
KEYED = ModelSettings(strategy=Strategy.INCREMENTAL, unique_key=("id",))


class Cell(NamedTuple):
    rows: int
    columns: int


CELLS = (Cell(1_000_000, NARROW), Cell(5_000_000, NARROW), Cell(20_000_000, NARROW), Cell(3_000_000, WIDE))

_LIMITS = {
    Cell(20_000_000, NARROW): {"filter": 0.25, "left join": 0.20, "GROUP BY": 0.40},
    Cell(3_000_000, WIDE): dict.fromkeys(MODELS, 0.20),
}
_GROWTH = (Cell(5_000_000, NARROW), Cell(20_000_000, NARROW), 1.5)


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds."""

    full: float
    delta: float

    @property
    def share(self) -> float:
        return self.delta / self.full


Measured = Mapping[Cell, Mapping[str, Took]]


def measure_deltas(work: Path, cells: Sequence[Cell], rounds: int) -> Measured:
    """Each cell in a process and a JVM of its own."""
    measured = {}
    for cell in cells:
        say(f"{cell.rows:,} rows of {cell.columns} columns")
        answer = work / "deltas.json"
        arguments = [str(work / f"deltas-{cell.rows}-{cell.columns}"), str(cell.rows), str(cell.columns), str(rounds)]
        run_process([sys.executable, "-m", "benchmarks.deltas", *arguments, str(answer)], work)
        measured[cell] = {model: Took(**took) for model, took in json.loads(answer.read_text()).items()}
        for model, took in measured[cell].items():
            say(f"  {model}: full {took.full:.2f} s, delta {took.delta:.2f} s ({took.share:.0%})")
    return measured


def delta_targets(measured: Measured) -> list[Target]:
    """What was promised, as far as it was measured."""
    found = []
    for cell, limits in _LIMITS.items():
        for model, limit in limits.items():
            if cell in measured:
                about = f"{cell.rows // 1_000_000} million rows of {cell.columns} columns, {model}"
                found.append(Target(about, 100 * measured[cell][model].share, 100 * limit, " %"))
    small, large, limit = _GROWTH
    if small in measured and large in measured:
        for model in MODELS:
            times = measured[large][model].delta / measured[small][model].delta
            found.append(Target(f"{model}, 20 million rows against 5", times, limit, " times"))
    return found


def models(columns: int) -> dict[str, str]:
    more = "".join(f", {name}" for name in _more(columns))
    return {
        "filter": f"SELECT id, customer_id, amount * 2 AS amount, status, at{more} FROM {ORDERS.quoted}"
        " WHERE status < 7",
        "left join": f"SELECT o.id, o.amount, o.status, c.name, c.region{more} FROM {ORDERS.quoted} AS o"
        f" LEFT JOIN {CUSTOMERS.quoted} AS c ON o.customer_id = c.customer_id",
        "GROUP BY": "SELECT customer_id, count(*) AS orders, sum(amount) AS total, max(at) AS last_at"
        f" FROM {ORDERS.quoted} GROUP BY customer_id",
    }


def _more(columns: int) -> dict[str, str]:
    """Columns beyond the five, by turns numbers, texts, decimals and times, each from the row's number alone."""
    kinds = (
        "pmod(xxhash64(id, {n}), 1000000)",
        "concat('text ', pmod(xxhash64(id, {n}), 100000))",
        "CAST(pmod(xxhash64(id, {n}), 1000000) / 100 AS DECIMAL(12,2))",
        "timestamp_seconds(1767225600 + pmod(xxhash64(id, {n}), 7776000))",
    )
    return {f"more{n}": kinds[n % len(kinds)].format(n=10 + n) for n in range(columns - NARROW)}


class Bench:
    """A lake with two tables, of which one changes, and the models over them."""

    def __init__(self, session: SparkSession, lake: BranchView, cell: Cell) -> None:
        self.session, self.lake, self.cell = session, lake, cell
        customers = cell.rows // 20
        values = {
            "customer_id": f"pmod(xxhash64(id, 1), {customers})",
            "amount": "CAST(pmod(xxhash64(id, 2), 100000) / 100 AS DECIMAL(12,2))",
            "status": "CAST(pmod(xxhash64(id, 3), 10) AS INT)",
            "at": "timestamp_seconds(1767225600 + pmod(xxhash64(id, 4), 7776000))",
            **_more(cell.columns),
        }
        self.columns = ("id", *values)
        self.values = ", ".join(f"{value} AS {name}" for name, value in values.items())
        self._write(ORDERS, f"SELECT id, {self.values} FROM range(0, {cell.rows}, 1, 8)", ModelSettings())
        names = "concat('name ', id) AS name, CAST(pmod(xxhash64(id, 5), 100) AS INT) AS region"
        self._write(CUSTOMERS, f"SELECT id AS customer_id, {names} FROM range(0, {customers}, 1, 2)", ModelSettings())
        self.models = models(cell.columns)
        for model in self.models:
            self.rebuild(model)

    def _write(self, table: TableName, query: str, settings: ModelSettings) -> None:
        write(self._request(table, query, settings))

    def _request(self, table: TableName, query: str, settings: ModelSettings) -> WriteRequest:
        now = datetime.now(UTC)
        return WriteRequest(self.session, self.lake, table, self.session.sql(query), settings, now, complete=False)

    def table(self, model: str) -> TableName:
        return TableName("bench", "gold", model.replace(" ", "_").lower())

    def metadata(self, table: TableName) -> TableMetadata:
        found = self.lake.table(table)
        assert found is not None
        return found

    def update(self, round_number: int) -> TableMetadata:
        """Amount and status of one order in a thousand; gives the table as it was."""
        then, rows = self.metadata(ORDERS), self.cell.rows
        kept = ", ".join(f"o.{name}" for name in self.columns if name not in ("amount", "status"))
        batch = f"SELECT DISTINCT pmod(xxhash64(id, {100 + round_number}), {rows}) AS id FROM range({rows // UPDATED})"
        self._write(
            ORDERS,
            f"SELECT {kept}, CAST(o.amount + 1 AS DECIMAL(12,2)) AS amount, (o.status + 1) % 10 AS status"
            f" FROM {ORDERS.quoted} AS o JOIN ({batch}) AS u ON o.id = u.id",
            KEYED,
        )
        return then

    def rebuild(self, model: str) -> None:
        self._write(self.table(model), self.models[model], ModelSettings())

    def delta(self, model: str, then: TableMetadata) -> None:
        """As the engine does it, from the recorded state of the input to the written table."""
        change = change_since(self.metadata(ORDERS), then.table_input())
        if not isinstance(change, TableChange):
            raise SystemExit(f"the change cannot be traced: {change}")
        inputs = {
            ORDERS: InputTable(self.columns, (frozenset({"id"}),), True, frozenset(change.keyed_by or ()) or None),
            CUSTOMERS: InputTable(("customer_id", "name", "region"), (frozenset({"customer_id"}),)),
        }
        delta = rewrite(self.models[model], inputs)
        if not isinstance(delta, DeltaQuery):
            raise SystemExit(f"{model} cannot be answered from changes: {delta.construct}")
        with (
            bind_images(self.session, self.lake, delta.reads, {ORDERS: change}),
            touched_keys(self.session, delta) as touched,
        ):
            query = result_sql(delta, touched.nulls)
            request = replace(self._request(self.table(model), query, ModelSettings()), touched=touched.keys)
            if write_region(request, unique=delta.unique, nulls=touched.nulls) is None:
                raise SystemExit(f"{model} had to be made anew")

    def content(self, model: str) -> tuple[int, int]:
        hashed = "sum(CAST(xxhash64(*) AS DECIMAL(38,0)))"
        row = self.session.sql(f"SELECT count(*) AS n, {hashed} AS h FROM {self.table(model).quoted}").collect()[0]
        return row["n"], int(row["h"])

    def measure(self, round_number: int) -> dict[str, Took]:
        """The delta, then the full rebuild over the same input, which must give the same rows."""
        then, took = self.update(round_number), {}
        for model in MODELS:
            delta = _seconds(self.delta, model, then)
            found = self.content(model)
            full = _seconds(self.rebuild, model)
            if found != self.content(model):
                raise SystemExit(f"{model}: the delta gave other rows than the full rebuild")
            took[model] = Took(full, delta)
        return took


def _seconds(work: Callable[..., None], *arguments: object) -> float:
    started = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - started


def main(folder: Path, cell: Cell, rounds: int, answer: Path) -> None:
    catalog = EmbeddedCatalog(folder / "catalog.db", folder / "warehouse")
    root = start_session(SparkSection(memory=MEMORY), folder / "logs")
    catalog.create_branch(BRANCH)
    session = child_session(root, catalog.spark_conf(BRANCH), catalog.spark_catalog(BRANCH))
    bench = Bench(session, BranchView(catalog, BRANCH), cell)
    found = [bench.measure(number) for number in range(rounds + 1)][1:]
    medians = {
        model: Took(
            full=statistics.median(took[model].full for took in found),
            delta=statistics.median(took[model].delta for took in found),
        )
        for model in MODELS
    }
    answer.write_text(json.dumps({model: asdict(took) for model, took in medians.items()}))
    root.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Cell(int(sys.argv[2]), int(sys.argv[3])), int(sys.argv[4]), Path(sys.argv[5]))
