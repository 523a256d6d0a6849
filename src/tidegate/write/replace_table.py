"""Replace a table or a view: one atomic commit that keeps the table's history."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.errors import StrategyError
from tidegate.lake.branch_catalog import PointerKind
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.write.commits import existing_rows
from tidegate.write.few_rows import for_few_rows_read
from tidegate.write.observed_rows import ObservedRows, observe, record_profile
from tidegate.write.request import WriteRequest
from tidegate.write.spark_sql import literal, unquote
from tidegate.write.write_columns import TableColumn, TableColumns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["PartitionField", "drop_other_kind", "is_rebuilt", "refuse_untyped", "replace_table", "write_view"]


_UNSORTED, _ROWS = "__tidegate_unsorted", "__tidegate_rows"
_TRANSFORM = re.compile(r"(year|month|day|hour)s?\s*\((.+)\)|(bucket|truncate|identity)\s*\((.+)\)", re.IGNORECASE)
_WIDTH = re.compile(r"(?:(\d+)\s*,\s*(.+)|(.+?)\s*,\s*(\d+))")
_SORT = re.compile(r"(.+?)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PartitionField:
    """`transform` is identity, year, month, day, hour, bucket or truncate; `width` belongs to the last two."""

    transform: str
    column: TableColumn
    width: int | None = None

    @property
    def sql(self) -> str:
        if self.transform == "identity":
            return self.column.quoted
        if self.width is not None:
            return f"{self.transform}({self.width}, {self.column.quoted})"
        return f"{self.transform}s({self.column.quoted})"

    @property
    def order_sql(self) -> str:
        return self.sql if self.transform == "identity" else f"system.{self.sql}"


def is_rebuilt(request: WriteRequest) -> bool:
    return request.rebuild or request.lake.table(request.table) is None


def replace_table(
    request: WriteRequest,
    query: str | DataFrame,
    columns: TableColumns,
    default_partitions: tuple[PartitionField, ...] = (),
    observed: ObservedRows | None = None,
) -> int:
    """CREATE OR REPLACE from rows, in one commit. Returns the number of rows. `columns` are theirs.

    `observed` also hashes what is written; the profile of the rows is taken in any case.
    """
    observed = observed or observe(request, columns)
    refuse_untyped(request.table, columns)
    partitions = _partitions(request, columns) or default_partitions
    order = [_sort_term(request, columns, term) for term in request.settings.sorted_by]
    drop_other_kind(request, PointerKind.TABLE)
    if request.lake.pointer(request.table) is None:
        request.lake.create_namespace(request.table)
    rows = request.session.sql(query) if isinstance(query, str) else query
    with for_few_rows_read(request):
        if partitions or order:
            _write_laid_out(request, rows, observed, partitions, order)
        else:
            observed.of(rows).writeTo(request.table.quoted).using("iceberg").createOrReplace()
    count = existing_rows(request)
    record_profile(request, observed, count, "table", columns, request.table)
    return count


def _write_laid_out(
    request: WriteRequest,
    rows: DataFrame,
    observed: ObservedRows,
    partitions: Sequence[PartitionField],
    order: Sequence[str],
) -> None:
    """In SQL, because PySpark's writer does not know all transforms and no order."""
    session, target, clauses = request.session, request.table.quoted, ""
    with ExitStack() as views:
        if order:
            # A sort order can only be given to a table that exists; the rows of this first write are sorted here.
            terms = ", ".join([*(field.order_sql for field in partitions), *order])
            rows = session.sql(
                f"SELECT * FROM {views.enter_context(_named(request, rows, _UNSORTED))} ORDER BY {terms}"
            )
        if partitions:
            clauses += f" PARTITIONED BY ({', '.join(field.sql for field in partitions)})"
        if partitions and order:
            clauses += " TBLPROPERTIES ('write.distribution-mode' = 'none', 'write.spark.fanout.enabled' = 'true')"
        view = views.enter_context(_named(request, observed.of(rows), _ROWS))
        session.sql(f"CREATE OR REPLACE TABLE {target} USING iceberg{clauses} AS SELECT * FROM {view}")
    if order:
        session.sql(f"ALTER TABLE {target} WRITE ORDERED BY {', '.join(order)}")
    if partitions and order:
        session.sql(f"ALTER TABLE {target} UNSET TBLPROPERTIES ('write.spark.fanout.enabled')")


@contextmanager
def _named(request: WriteRequest, rows: DataFrame, view: str) -> Iterator[str]:
    rows.createOrReplaceTempView(view)
    try:
        yield view
    finally:
        with suppress(Exception):  # the session may be gone; the view goes with it
            request.session.catalog.dropTempView(view)


def drop_other_kind(request: WriteRequest, kind: PointerKind) -> None:
    """A view that becomes a table is removed first, by its pointer alone: DROP VIEW would delete the view's metadata
    file, which main still refers to until the run is published."""
    pointer = request.lake.pointer(request.table)
    if pointer is not None and pointer.kind is not kind:
        request.lake.restore(request.table, None)


def refuse_untyped(table: TableName, columns: TableColumns) -> None:
    for column in columns:
        if column.type.contains("void"):
            raise StrategyError(
                f"column '{column.name}' is never anything but NULL, so it has no type",
                where=str(table),
                remedy=f"Give it a type: CAST(NULL AS string) AS {column.quoted}; in Python `.cast('string')` of Spark,"
                " or `.astype('string')` of pandas.",
            )


def _partitions(request: WriteRequest, columns: TableColumns) -> tuple[PartitionField, ...]:
    return tuple(_partition(request, columns, term) for term in request.settings.partitioned_by)


def _partition(request: WriteRequest, columns: TableColumns, term: str) -> PartitionField:
    def column(name: str) -> TableColumn:
        return columns.require(name, "partitioned_by", request.table)

    match = _TRANSFORM.fullmatch(term.strip())
    if match is None or columns.get(unquote(term)) is not None:
        return PartitionField("identity", column(term))
    if match[1]:
        return PartitionField(match[1].lower(), column(match[2]))
    transform, arguments = match[3].lower(), match[4].strip()
    if transform == "identity":
        return PartitionField("identity", column(arguments))
    split = _WIDTH.fullmatch(arguments)
    if split is None:
        raise StrategyError(
            f"partitioned_by has '{term}', which lacks a number or a column",
            where=str(request.table),
            remedy=f"Write {transform}(16, column).",
        )
    return PartitionField(transform, column(split[2] or split[3]), int(split[1] or split[4]))


def _sort_term(request: WriteRequest, columns: TableColumns, term: str) -> str:
    match = _SORT.fullmatch(term.strip())
    name, direction, nulls = (match[1], match[2], match[3]) if match else (term, None, None)
    column = columns.require(name, "sorted_by", request.table)
    return " ".join([column.quoted, (direction or "asc").upper(), *([f"NULLS {nulls.upper()}"] if nulls else [])])


def write_view(
    session: SparkSession, lake: BranchView, table: TableName, sql: str, properties: Mapping[str, str]
) -> None:
    """CREATE OR REPLACE VIEW on the branch; a table of that name goes first. `sql` must not name a catalog.

    When the view cannot be created, what was there before is restored.
    """
    before = lake.pointer(table)
    pairs = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in properties.items())
    try:
        if before is None:
            lake.create_namespace(table)
        elif before.kind is PointerKind.TABLE:
            session.sql(f"DROP TABLE {table.quoted}")
        session.sql(f"CREATE OR REPLACE VIEW {table.quoted}{f' TBLPROPERTIES ({pairs})' if pairs else ''} AS {sql}")
    except BaseException:
        if lake.pointer(table) != before:
            lake.restore(table, before)
        raise
