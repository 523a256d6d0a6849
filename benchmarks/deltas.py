"""One row in a thousand updated: what the delta costs beside the full rebuild of the same tables, writes included.

python -m benchmarks.deltas FOLDER ROWS COLUMNS ROUNDS ANSWER writes the medians to the file ANSWER, as JSON.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.compiling import Target
from benchmarks.running import run_process, say
from tidegate.compiler import bind, compile_from_disk
from tidegate.compiler.compiled import RunValues
from tidegate.config import load_settings
from tidegate.lake import open_catalog
from tidegate.lake.branch_catalog import MAIN
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.operations.run import run_project
from tidegate.planner.make_plan import PlanRequest, make_plan
from tidegate.runs import RunOptions
from tidegate.spark.session import child_session, start_session
from tidegate.write.commits import row_key_recorded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["CELLS", "Cell", "Measured", "Took", "delta_targets", "measure_deltas"]

NARROW, WIDE = 5, 25
MODELS = ("filter", "left join", "GROUP BY")
UPDATED = 1000
"""One row in so many."""
WARM_ROWS, WARM_ROUNDS = 500_000, 6
"""A smaller project, in the same JVM, until its compiler has seen every query."""
MEMORY = "6g"
NAMESPACE = "bench"
ORDERS = TableName(NAMESPACE, "raw", "orders")


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
    """Seconds. `picked`: the plan chose the delta."""

    full: float
    delta: float
    picked: bool

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
            way = "delta" if took.picked else "full"
            say(f"  {model}: full {took.full:.2f} s, delta {took.delta:.2f} s ({took.share:.0%}); the plan: {way}")
    return measured


def delta_targets(measured: Measured) -> list[Target]:
    """The promised figures, as far as they were measured."""
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
    took = [took for models in measured.values() for took in models.values()]
    if len(took) >= len(MODELS):
        worst = max(took.share if took.picked else 1.0 for took in took)
        found.append(Target("what the plan chose, against a full rebuild, at worst", 100 * worst, 110, " %"))
        dearer = sum(took.picked != (took.delta < took.full) for took in took)
        found.append(Target(f"cells of {len(took)} in which the plan chose the dearer way", dearer, len(took) // 10))
    return found


def models(columns: int) -> dict[str, str]:
    """Each reads every column that there is."""
    more = _more(columns)
    named = "".join(f", {name}" for name in more)
    largest = "".join(f", max({name}) AS {name}" for name in more)
    return {
        "filter": f"SELECT id, customer_id, amount * 2 AS amount, status, at{named} FROM raw.orders WHERE status < 7",
        "left join": f"SELECT o.id, o.amount, o.status, c.name, c.region{named} FROM raw.orders AS o"
        " LEFT JOIN raw.customers AS c ON o.customer_id = c.customer_id",
        "GROUP BY": "SELECT customer_id, count(*) AS orders, sum(amount) AS total, max(at) AS last_at"
        f"{largest} FROM raw.orders GROUP BY customer_id",
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
    """A project with two tables, of which one changes, and the models over them; every figure is a run's own."""

    def __init__(self, folder: Path, cell: Cell) -> None:
        self.folder, self.cell = folder, cell
        customers = cell.rows // 20
        values = {
            "customer_id": f"pmod(xxhash64(id, 1), {customers})",
            "amount": "CAST(pmod(xxhash64(id, 2), 100000) / 100 AS DECIMAL(12,2))",
            "status": "CAST(pmod(xxhash64(id, 3), 10) AS INT)",
            "at": "timestamp_seconds(1767225600 + pmod(xxhash64(id, 4), 7776000))",
            **_more(cell.columns),
        }
        selected = ", ".join(f"{value} AS {name}" for name, value in values.items())
        toml = f'[project]\nname = "bench"\nnamespace = "{NAMESPACE}"\n\n[spark]\nmemory = "{MEMORY}"\n'
        self._file("tidegate.toml", toml)
        keyed = "-- @merge_strategy: incremental\n-- @unique_key: {}\n"
        orders = f"SELECT id, {selected} FROM range(0, {cell.rows}, 1, 8)"
        self._file("models/raw/orders.sql", keyed.format("id") + orders)
        names = "concat('name ', id) AS name, CAST(pmod(xxhash64(id, 5), 100) AS INT) AS region"
        people = f"SELECT id AS customer_id, {names} FROM range(0, {customers}, 1, 2)"
        self._file("models/raw/customers.sql", keyed.format("customer_id") + people)
        self.models = models(cell.columns)
        for model in MODELS:
            self._model(model, "auto")
        self.settings = load_settings(folder)
        self.catalog = open_catalog(self.settings)
        self.lake = BranchView(self.catalog, MAIN)
        self.root = start_session(self.settings.spark, folder / "logs")
        self._run()

    def _file(self, path: str, text: str) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def _model(self, model: str, deltas: str) -> None:
        self._file(f"models/gold/{_table(model)}.sql", f"-- @deltas: {deltas}\n{self.models[model]}\n")

    def _run(self, *select: str, full_refresh: bool = False) -> tuple[str | None, float]:
        """How the last model was built, and in how many seconds."""
        result = run_project(self.settings, RunOptions(select=select, full_refresh=full_refresh))
        if result.status != "success":
            raise SystemExit(f"the run ended as {result.status}: {[m.error for m in result.materializations]}")
        last = result.materializations[-1]
        return last.run_type, last.duration_ms / 1000

    def session(self) -> SparkSession:
        properties = {"spark.sql.iceberg.snapshot-property.tidegate.run-id": "bench"}
        return child_session(
            self.root, {**self.catalog.spark_conf(MAIN), **properties}, self.catalog.spark_catalog(MAIN)
        )

    def update(self, round_number: int) -> None:
        """Amount and status of one order in a thousand, with what a run of its model would say of the commit."""
        session, rows = self.session(), self.cell.rows
        batch = f"SELECT DISTINCT pmod(xxhash64(id, {100 + round_number}), {rows}) AS id FROM range({rows // UPDATED})"
        with row_key_recorded(session, ("id",), ("amount", "status")):
            session.sql(
                f"MERGE INTO {ORDERS.quoted} o USING ({batch}) u ON o.id = u.id WHEN MATCHED THEN UPDATE"
                " SET amount = CAST(o.amount + 1 AS DECIMAL(12,2)), status = (o.status + 1) % 10"
            )

    def picked(self, model: str) -> str:
        """How a run would build it now."""
        compiled, _ = compile_from_disk(self.settings, self.lake.heads(), {})
        request = PlanRequest(datetime.now(UTC))
        values = RunValues(request.now.isoformat(), incremental=True)
        query = partial(bind, compiled, values=values)
        selected = [TableName(NAMESPACE, "gold", _table(model))]
        plan = make_plan(compiled, selected, self.lake, request, query, preview=True)
        return str(plan.steps[0].run_type)

    def content(self, model: str) -> tuple[int, int]:
        table = TableName(NAMESPACE, "gold", _table(model)).quoted
        hashed = "sum(CAST(xxhash64(*) AS DECIMAL(38,0)))"
        row = self.session().sql(f"SELECT count(*) AS n, {hashed} AS h FROM {table}").collect()[0]
        return row["n"], int(row["h"])

    def measure(self, round_number: int) -> dict[str, Took]:
        """The delta, then the full rebuild over the same input, which must give the same rows."""
        self.update(round_number)
        took = {}
        for model in MODELS:
            picked = self.picked(model)
            self._model(model, "always")
            run_type, delta = self._run(f"gold.{_table(model)}")
            if run_type != "incremental":
                raise SystemExit(f"{model} was not built from changes but as {run_type}")
            found = self.content(model)
            self._model(model, "auto")
            _, full = self._run(f"gold.{_table(model)}", full_refresh=True)
            if found != self.content(model):
                raise SystemExit(f"{model}: the delta gave other rows than the full rebuild")
            took[model] = Took(full, delta, picked == "incremental")
        return took


def _table(model: str) -> str:
    return model.replace(" ", "_").lower()


def main(folder: Path, cell: Cell, rounds: int, answer: Path) -> None:
    warm = Bench(folder / "warm", Cell(WARM_ROWS, cell.columns))
    for number in range(WARM_ROUNDS):
        warm.measure(number)
    bench = Bench(folder / "measured", cell)
    found = [bench.measure(number) for number in range(rounds + 1)][1:]
    medians = {
        model: Took(
            full=statistics.median(took[model].full for took in found),
            delta=statistics.median(took[model].delta for took in found),
            picked=found[-1][model].picked,
        )
        for model in MODELS
    }
    answer.write_text(json.dumps({model: asdict(took) for model, took in medians.items()}))
    bench.root.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Cell(int(sys.argv[2]), int(sys.argv[3])), int(sys.argv[4]), Path(sys.argv[5]))
