"""Which of several rows with one key arrived last: the order of a table's rows, and the query for the newest.

An append_only model that projects or filters one landing zone appends its rows in the order in which they arrive, and
records since which commit that holds. A merge over such a table takes the newest arrival of each key: by commit
(`_last_updated_sequence_number`), inside one commit by `_row_id`. Both survive compaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.compiler.compiled import BoundQuery, CompiledModel
from tidegate.lake.metadata import Snapshot, TableMetadata, arrival_order
from tidegate.lake.progress import WHOLE, Order, Progress
from tidegate.planner.delta_rule import input_tables
from tidegate.planner.inputs import Inputs
from tidegate.project.model import Materialized

if TYPE_CHECKING:
    from tidegate.compiler.newest_arrival import Reading
    from tidegate.compiler.sql.row_by_row import Obstacle, RowQuery

__all__ = ["Arrival", "by_arrival", "keeps_order", "order_after"]

_MOST_EXCEPTIONS = 100


@dataclass(frozen=True, slots=True)
class Arrival:
    """A query for the newest arrival of each key."""

    query: BoundQuery
    unknown: str
    """Why some commits of the table have no order inside, so that the query gives all rows of a key's newest commit
    there; empty: all have one."""


def by_arrival(model: CompiledModel, inputs: Inputs, bound: Callable[[], BoundQuery]) -> Arrival | Obstacle | None:
    """None where the settings ask for something else, or the key is proven to be unique. An obstacle where which of
    several rows with one key arrived last is not known."""
    settings = model.model.settings
    if not settings.traits.merges_by_key or settings.materialized is not Materialized.TABLE:
        return None
    if settings.watermark_column or settings.on_duplicate == "fail" or not settings.unique_key:
        return None
    # Imported here and below: a run in which nothing changed ends without a parser.
    from tidegate.compiler.newest_arrival import arrival_obstacle
    from tidegate.compiler.sql.row_by_row import Obstacle, read_row_query
    from tidegate.planner.deltas.rewrite import newest_rows

    rows: RowQuery | Obstacle | None = None

    def shape() -> Obstacle | None:
        nonlocal rows
        rows = read_row_query(bound().sql)
        return rows if isinstance(rows, Obstacle) else None

    obstacle = arrival_obstacle(settings, _reading(model, inputs), shape)
    if obstacle is not None or rows is None or isinstance(rows, Obstacle):
        return obstacle
    ((name, metadata),) = inputs.metadata.items()
    if metadata.format_version < 3:
        reason = f"{inputs.short(name)} is of format version {metadata.format_version}, which does not number rows"
        return Obstacle(reason, f"build {inputs.short(name)} again with --full-refresh")
    order = _order(metadata)
    sql = newest_rows(rows, settings.unique_key, input_tables(inputs), order)
    if sql is None or isinstance(sql, Obstacle):
        return sql
    unknown = "" if order == WHOLE else _why_unordered(inputs.short(name), metadata)
    return Arrival(replace(bound(), sql=sql, reads=()), unknown)


def _reading(model: CompiledModel, inputs: Inputs) -> Reading:
    """A merge or rebuild gives a row a new commit or leaves its old one, whichever is cheaper. So the strategy of the
    last write counts, not the one that the model has now."""
    from tidegate.compiler.newest_arrival import Reading

    names = [str(table) for table in (*model.depends_on, *model.sources)]
    upstream = ""
    if len(names) == 1 and names[0] in inputs.tables:
        metadata = inputs.metadata.get(names[0])
        upstream = "view" if metadata is None else metadata.progress.strategy if metadata.progress else ""
    tables = tuple(map(inputs.short, names))
    by_code = model.code is not None
    return Reading(tables, model.zones, upstream, model.manual, model.reads_itself, model.deterministic, by_code)


def keeps_order(model: CompiledModel, bound: Callable[[], BoundQuery]) -> bool:
    """Whether the model's rows are those of one landing zone, one by one, in the order of their arrival."""
    if not model.model.settings.traits.keeps_arrival_order or model.opaque:
        return False
    query = bound()
    if len(query.reads) != 1 or query.reads[0].landing is None:
        return False
    from tidegate.compiler.sql.row_by_row import is_row_by_row

    return is_row_by_row(query.sql)


def order_after(metadata: TableMetadata, former: Progress | None, run_id: str, *, rebuilt: bool) -> Order | None:
    """The commits of an ordered table whose rows are in order of arrival, once `run_id` wrote the table.

    None: it is written in another order. What another program wrote has none, nor has what was written before.
    """
    if arrival_order(metadata) is None:
        return None
    before = former.order if former and not rebuilt else None
    others: list[int] = []
    oldest = 0
    for commit in metadata.ancestors():
        if former and not rebuilt and commit.id == former.snapshot_id:
            if before is None:
                return _order_since(commit.sequence_number + 1, others)
            return _order_since(before.since, [*others, *before.without])
        if _adds_rows(commit):
            oldest = commit.sequence_number
            if commit.summary.get("tidegate.run-id") != run_id:
                others.append(commit.sequence_number)
    if former is None or rebuilt or former.snapshot_id is None or (before == WHOLE and not others):
        return _order_since(0, others)  # a column was widened by writing all rows again: in the order that they had
    return _order_since(oldest + 1, others)


def _order_since(since: int, without: Sequence[int]) -> Order:
    if len(without) > _MOST_EXCEPTIONS:
        return Order(max(without) + 1)
    return Order(since, tuple(sorted(number for number in without if number >= since)))


def _adds_rows(commit: Snapshot) -> bool:
    """Deleted rows do not change the order of the others."""
    return commit.changed_rows and ("added-records" in commit.summary or "total-records" not in commit.summary)


def _order(metadata: TableMetadata) -> Order:
    """The commits whose rows are in order of arrival now."""
    progress = metadata.progress
    newest = metadata.last_change
    nowhere = Order(newest.sequence_number + 1 if newest else 0)
    if progress is None or progress.order is None or arrival_order(metadata) is None:
        return nowhere
    others: list[int] = []
    for commit in metadata.ancestors():
        if commit.id == progress.snapshot_id:
            return _order_since(progress.order.since, [*others, *progress.order.without])
        if _adds_rows(commit):
            others.append(commit.sequence_number)
    return nowhere if others else progress.order


def _why_unordered(table: str, metadata: TableMetadata) -> str:
    if metadata.partition_fields or metadata.sort_fields:
        return f"{table} is written sorted or partitioned, so its rows do not stand in the order of their arrival"
    if metadata.progress is None or metadata.progress.order is None:
        return f"{table} does not take the rows of one landing zone one by one"
    return f"rows of {table} were updated or written by something else than its model, or before their order was kept"
