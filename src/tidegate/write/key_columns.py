"""Key columns: found, deduplicated and checked in one query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidegate.errors import DuplicateKeysError, NullKeysError, StrategyError
from tidegate.write.request import WriteRequest
from tidegate.write.spark_sql import any_of
from tidegate.write.write_columns import TableColumns

if TYPE_CHECKING:
    from pyspark.sql import Row

__all__ = [
    "check_keys",
    "deduplicated_rows",
    "keeps_latest",
    "key_columns",
    "key_examples",
    "latest_rows",
    "match_keys",
]

_EXAMPLES = 5
_RANK = "__tidegate_rank"
_REMEDY = "Declare @watermark_column, so that the newest row wins, or make the key unique in the query."


def key_columns(request: WriteRequest, columns: TableColumns, setting: str = "unique_key") -> TableColumns:
    names: tuple[str, ...] = getattr(request.settings, setting)
    if not names:
        raise StrategyError(
            f"strategy {request.settings.strategy.value} needs {setting}",
            where=str(request.table),
            remedy=f"Add {setting}: the columns that identify {'a group' if setting == 'group_key' else 'a row'}.",
        )
    keys = TableColumns(tuple(columns.require(name, setting, request.table) for name in names))
    for key in keys:
        if key.type.contains("map", "variant"):
            raise StrategyError(
                f"{setting} names column '{key.name}' of type {key.type_text}, by which rows cannot be found",
                where=str(request.table),
                remedy="Take a column of a plain type as key.",
            )
    return keys


def match_keys(request: WriteRequest, keys: TableColumns, left: str, right: str) -> str:
    """The join condition; NULLs are equal where `null_keys` says so, and do not occur elsewhere."""
    operator = "<=>" if request.settings.null_keys == "match" else "="
    return " AND ".join(f"{left}.{key.quoted} {operator} {right}.{key.quoted}" for key in keys)


def keeps_latest(request: WriteRequest) -> bool:
    """Whether one of several rows with a key is taken (else they are an error)."""
    return request.settings.watermark_column is not None and request.settings.on_duplicate != "fail"


def deduplicated_rows(request: WriteRequest, source: str, columns: TableColumns, keys: TableColumns) -> str:
    """The rows of an incremental result that are to be written: of several with one key as few as the settings say."""
    if keeps_latest(request):
        return latest_rows(request, source, columns, keys)
    return _distinct_rows(source, columns) if request.arrival else f"SELECT * FROM {source}"


def _distinct_rows(source: str, columns: TableColumns) -> str:
    """Each row once: arrivals of one commit that are the same in every column are one."""
    values = ", ".join(column.comparable() for column in columns)
    return (
        f"SELECT {columns.sql()} FROM (SELECT *, row_number() OVER"
        f" (PARTITION BY {values} ORDER BY 1) AS {_RANK} FROM {source}) WHERE {_RANK} = 1"
    )


def latest_rows(request: WriteRequest, source: str, columns: TableColumns, keys: TableColumns) -> str:
    """One row per key: the newest watermark wins (NULL is oldest), ties go by the other columns in their order.

    Rows with a NULL key that are about to be refused all stay, so that they can be counted.
    """
    watermark = request.settings.watermark_column
    first = [columns.require(watermark, "watermark_column", request.table)] if watermark else []
    others = columns.without([*keys.names, *(column.name for column in first)])
    order = [f"{column.comparable()} DESC NULLS LAST" for column in [*first, *others]] or ["1"]
    keep = f"{_RANK} = 1"
    if request.settings.null_keys != "match":
        keep += f" OR {_any_null(keys)}"
    return (
        f"SELECT {columns.sql()} FROM (SELECT *, row_number() OVER"
        f" (PARTITION BY {keys.sql()} ORDER BY {', '.join(order)}) AS {_RANK} FROM {source}) WHERE {keep}"
    )


def check_keys(
    request: WriteRequest, relation: str, keys: TableColumns, *, unique: bool, setting: str = "unique_key"
) -> None:
    """NULL keys (unless they match) and, if `unique`, duplicate ones: counted, with examples, in one aggregate."""
    nulls = _any_null(keys) if request.settings.null_keys != "match" else "false"
    if not unique and nulls == "false":
        return
    where = "" if unique else f" WHERE {nulls}"
    having = f" HAVING count(*) > 1 OR {nulls}" if unique else ""
    columns = f"{_shown_keys(keys)}, {nulls} AS __missing, count(*) AS __n"
    order = _order_of_shown(keys)
    rows = request.session.sql(
        "SELECT *, sum(IF(__missing, __n, 0)) OVER () AS missing_rows, count_if(NOT __missing) OVER () AS repeated"
        f" FROM (SELECT {columns} FROM {relation}{where} GROUP BY {keys.sql()}{having})"
        f" ORDER BY __missing DESC, __n DESC, {order} LIMIT {_EXAMPLES}"
    ).collect()
    if rows and rows[0]["__missing"]:
        raise _null_keys(request, keys, [row for row in rows if row["__missing"]], setting)
    if rows:
        raise _duplicate_keys(request, keys, rows)


def key_examples(request: WriteRequest, relation: str, keys: TableColumns, most: int) -> str:
    """Some keys of the relation, those with most rows first."""
    query = (
        f"SELECT {_shown_keys(keys)}, count(*) AS __n FROM {relation} GROUP BY {keys.sql()}"
        f" ORDER BY __n DESC, {_order_of_shown(keys)} LIMIT {most}"
    )
    return _examples(request, keys, request.session.sql(query).collect())


def _shown_keys(keys: TableColumns) -> str:
    return ", ".join(f"CAST({key.quoted} AS string) AS __k{number}" for number, key in enumerate(keys))


def _order_of_shown(keys: TableColumns) -> str:
    return ", ".join(f"__k{number}" for number in range(len(keys)))


def _any_null(keys: TableColumns) -> str:
    return f"({any_of(f'{key.quoted} IS NULL' for key in keys)})"


def _null_keys(request: WriteRequest, keys: TableColumns, rows: Sequence[Row], setting: str) -> NullKeysError:
    count = rows[0]["missing_rows"]
    return NullKeysError(
        f"{count} row{'s have' if count != 1 else ' has'} NULL in {setting} ({', '.join(keys.names)}): "
        f"{_examples(request, keys, rows)}",
        where=str(request.table),
        remedy="Filter the rows out or fill the key in the query, or set null_keys: match to treat NULLs as equal.",
    )


def _duplicate_keys(request: WriteRequest, keys: TableColumns, rows: Sequence[Row]) -> DuplicateKeysError:
    count = rows[0]["repeated"]
    if request.arrival:
        return DuplicateKeysError(
            f"{count} key{'s' if count != 1 else ''} of unique_key ({', '.join(keys.names)}) "
            f"{'have' if count != 1 else 'has'} several rows that differ in one commit: "
            f"{_examples(request, keys, rows)}. Which of them arrived last is not known: {request.arrival}",
            where=str(request.table),
            remedy=_REMEDY,
        )
    obstacle = request.obstacle
    why = f". Which of them arrived last is not known: {obstacle.reason}" if obstacle else ""
    first = f"{obstacle.remedy[:1].upper()}{obstacle.remedy[1:]}. Or: " if obstacle and obstacle.remedy else ""
    return DuplicateKeysError(
        f"{count} key{'s' if count != 1 else ''} of unique_key ({', '.join(keys.names)}) "
        f"{'have' if count != 1 else 'has'} more than one row: {_examples(request, keys, rows)}{why}",
        where=str(request.table),
        remedy=f"{first}{_REMEDY}",
    )


def _examples(request: WriteRequest, keys: TableColumns, rows: Sequence[Row]) -> str:
    def describe(row: Row) -> str:
        values = ((key.name, row[f"__k{number}"]) for number, key in enumerate(keys))
        shown_values = ((name, "***" if value and name.lower() in request.hidden else value) for name, value in values)
        pairs = (f"{name}={_value(value)}" for name, value in shown_values)
        return f"{', '.join(pairs)} ({row['__n']} row{'s' if row['__n'] != 1 else ''})"

    return "; ".join(describe(row) for row in rows)


def _value(text: str | None) -> str:
    if text is None:
        return "NULL"
    return text if len(text) <= 60 else text[:57] + "..."
