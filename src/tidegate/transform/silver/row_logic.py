"""`transformLogic`: one expression a column over the silver columns as text; a row for which it raises fails alone.

Spark's `try_to_binary` gives NULL for whatever is raised inside it, in classic and in Connect sessions alike. So the
text that the logic gives goes through it with a letter before it, which distinguishes NULL as a result from a failure.
Spark must not pull what two expressions share out of that guard: it does not look into functions of higher order, so
the guard is in one over an array of one element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp

from tidegate.compiler.sql.function_calls import calls_unknown_function, first_change
from tidegate.compiler.sql.queries import ParsedQuery, parse_query
from tidegate.contracts.ingestion import SilverColumn
from tidegate.errors import QueryError
from tidegate.names import literal, quote
from tidegate.spark.spark_errors import read_failure
from tidegate.transform.silver.silver_frame import shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["check_logic", "gives_the_same", "guarded", "guarded_text", "inputs_of", "shown_inputs"]

_LONGEST_SHOWN = 200
_QUOTE = literal("'")


def guarded(logic: str) -> str:
    """`V` and the text, `N` for NULL, and NULL where the logic raises."""
    # The line break ends a comment at the end of the logic.
    text = f"coalesce(concat('V', CAST(({logic}\n) AS STRING)), 'N')"
    return f"CAST(element_at(transform(array(1), __one -> try_to_binary({text}, 'utf-8')), 1) AS STRING)"


def guarded_text(value: str) -> str:
    """The text out of `guarded`."""
    return f"CASE WHEN startswith({value}, 'V') THEN substring({value}, 2) END"


def inputs_of(logic: str, names: Sequence[str]) -> tuple[str, ...]:
    """The silver columns that the logic reads, in the order in which silver has them. Raises QueryError."""
    try:
        parsed = sqlglot.parse_one(f"SELECT ({logic}\n) AS x", read="spark")
    except sqlglot.errors.SqlglotError as error:
        raise QueryError(f"the transformLogic {_cut(logic)} is not Spark SQL: {str(error).splitlines()[0]}") from None
    read = {part.parts[0].name.lower() for part in parsed.find_all(exp.Column)}
    return tuple(name for name in names if name.lower() in read)


def gives_the_same(logic: str) -> bool:
    """Whether the logic certainly gives a row the same text each time that it is computed."""
    query = parse_query(f"SELECT ({logic}\n) AS x")
    if not isinstance(query, ParsedQuery) or calls_unknown_function(query):
        return False
    return first_change(query, {token.text.upper() for token in query.tokens}) is None


def shown_inputs(inputs: Sequence[str]) -> tuple[str, str]:
    """SQL of what a failure shows of the inputs: in its message, and as its value."""
    if not inputs:
        return "''", "'NULL'"
    pairs = ", ', ', ".join(f"{literal(f'{name} = ')}, {_quoted(quote(name))}" for name in inputs)
    together = f"concat({pairs})"
    value = quote(inputs[0]) if len(inputs) == 1 else together
    return f"concat(' for ', {shown(together)})", shown(value)


def _quoted(text: str) -> str:
    return f"CASE WHEN {text} IS NULL THEN 'NULL' ELSE concat({_QUOTE}, left({text}, {_LONGEST_SHOWN}), {_QUOTE}) END"


def check_logic(frame: DataFrame, columns: Sequence[SilverColumn]) -> None:
    """Raises QueryError where the logic of a column is not one expression over these columns that gives text."""
    for column in columns:
        if column.transform is None:
            continue
        where = f"transformLogic of column '{column.name}'"
        try:
            kind = frame.selectExpr("*", f"({column.transform}\n) AS __logic").schema["__logic"].dataType
            assert frame.selectExpr("*", f"{guarded(column.transform)} AS __logic").schema
        except Exception as error:
            failure = read_failure(error)
            raise QueryError(f"the {where} cannot be used: {failure.message}", where=where) from error
        if kind.simpleString() not in ("string", "void"):
            raise QueryError(
                f"the {where} gives {kind.simpleString()}, and must give a string",
                where=where,
                remedy="Let the type of the column cast it, or write CAST(… AS STRING).",
            )


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
