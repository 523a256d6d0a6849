"""Rules about several rows: one row of each key, and no value of a `unique` column twice.

Each of them shuffles rows, so it is applied only where a count of distinct values shows that it has something to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidegate.contracts.ingestion import COMMIT_TIME, SilverColumn, SilverRules
from tidegate.datatypes import parse_type
from tidegate.names import literal, quote
from tidegate.project.strategies import CONTRACT_STRATEGIES, STRATEGIES
from tidegate.transform.silver.silver_frame import DELETED, FAILURES, GONE, STAGE, UNIQUE, as_text, failure, shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "are_taken",
    "columns_text",
    "deduplicated_by",
    "flag_repeated",
    "keep_newest",
    "taken_back",
    "text_of",
    "unique_columns",
    "with_standing",
]

_HOLDER, _RANK, _VALUE = "__tidegate_holder", "__tidegate_rank", "__tidegate_value"
_STANDING = "__tidegate_standing"
_AT = "struct(_commit_time, coalesce(_sequence, ''))"
_IS_LATE = f"coalesce(NOT {_AT} > {_STANDING}.came, false)"


def deduplicated_by(rules: SilverRules) -> tuple[str, ...]:
    """The columns of which the newest row stays; none where every row does."""
    traits = STRATEGIES[CONTRACT_STRATEGIES[rules.strategy]]
    if rules.key and traits.keeps_versions:
        return (*rules.key, COMMIT_TIME)
    return rules.key if traits.enforces_key else ()


def unique_columns(rules: SilverRules) -> tuple[SilverColumn, ...]:
    """Those that must be looked at: deduplication leaves a key of one column unique."""
    alone = rules.key if len(rules.key) == 1 and deduplicated_by(rules) else ()
    return tuple(column for column in rules.columns if column.unique and column.name not in alone)


def keep_newest(rows: DataFrame, rules: SilverRules) -> DataFrame:
    """Of each key the row with the greatest (`_commit_time`, `_sequence`). Where that one deletes and the table flags
    deleted rows, also the newest of the others, which is GONE."""
    keys = ", ".join(map(quote, deduplicated_by(rules)))
    order = ", ".join(f"{part} DESC NULLS LAST" for part in _order(rules))
    window = f"PARTITION BY {keys} ORDER BY {order}"
    gone = "false"
    if _flags_deleted(rules):
        rows_so_far = f"OVER ({window} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
        gone = f"NOT {DELETED} AND count_if(NOT {DELETED}) {rows_so_far} = 1"
    ranked = rows.selectExpr("*", f"row_number() OVER ({window}) AS {_RANK}", f"{gone} AS {GONE}")
    kept = ranked.where(f"{_RANK} = 1 OR {GONE}")
    return kept.selectExpr(*map(quote, rows.columns), f"{GONE} AND {_RANK} > 1 AS {GONE}")


def _flags_deleted(rules: SilverRules) -> bool:
    traits, deletion = STRATEGIES[CONTRACT_STRATEGIES[rules.strategy]], rules.deletion
    is_soft = deletion is not None and deletion.soft and not deletion.inferred
    return is_soft and traits.enforces_key and not traits.keeps_versions


def with_standing(
    session: SparkSession, rows: DataFrame, rules: SilverRules, columns: Sequence[SilverColumn], target: str
) -> DataFrame:
    """The rows, each with what the table has of its key: when that came, and its values of `columns`."""
    from pyspark.sql import functions as f

    keys = [f"{quote(name)} AS __key_{n}" for n, name in enumerate(rules.key)]
    values = [f"CASE WHEN __live THEN {quote(column.name)} END AS {_old(rules, column)}" for column in columns]
    standing = f"struct({', '.join([f'{_AT} AS came', *values])}) AS {_STANDING}"
    table = _current(session, rules, target).selectExpr(*keys, standing)
    same = " AND ".join(f"{quote(name)} = __key_{n}" for n, name in enumerate(rules.key))
    return rows.join(table, on=f.expr(same), how="left").drop(*(f"__key_{n}" for n in range(len(rules.key))))


def flag_repeated(
    session: SparkSession,
    rows: DataFrame,
    rules: SilverRules,
    column: SilverColumn,
    target: str | None,
    base: DataFrame | None = None,
) -> DataFrame:
    """Refuses the rows whose value another key holds: one of `target`, or one of a row before it. `base`: the rows out
    of `with_standing`. The table's row of a key does not hold what a row of these takes away from it; where that
    row is refused later, `taken_back` refuses those that took the value."""
    value, own, contends = quote(column.name), _key(rules), _contends(column, rows)
    if target is not None:
        rows = _joined(rows, column, _held(session, rules, column, target))
        if base is not None:
            rows = _joined(rows, column, _freed(base, rules, column))
            taken = " OR ".join(f"__{one} <> {own} AND NOT __{one} <=> __freed" for one in ("held", "held_last"))
            other = f"CASE WHEN __held <> {own} AND NOT __held <=> __freed THEN __held ELSE __held_last END"
            took = f"CASE WHEN {contends} AND __freed <> {own} THEN __freed END AS {_took(rules, column)}"
            rows = rows.selectExpr("*", took)
        else:
            taken = "__held IS NOT NULL" if not rules.key else f"__held <> {own} OR __held_last <> {own}"
            other = f"CASE WHEN __held <> {own} THEN __held ELSE __held_last END" if rules.key else "__held"
        holder = f"CASE WHEN {contends} AND ({taken}) THEN {_of_table(rules, other)} END"
        flagged = rows.selectExpr("*", f"{holder} AS {_HOLDER}").drop("__held", "__held_last", "__freed")
        rows = _refuse(flagged, rules, column)
    # Rows that hold nothing each go into a partition of their own: one for all of them would be too large.
    apart = f"CASE WHEN {contends} THEN 0 ELSE xxhash64(_source_file, _source_row, _sequence) END"
    order = ", ".join(f"{part} ASC NULLS FIRST" for part in ("_commit_time", "_sequence", *map(quote, rules.key)))
    order += ", " + ", ".join(f"{part} ASC NULLS FIRST" for part in _fixed_order(rules))
    window = f"OVER (PARTITION BY {value}, {apart}, {STAGE} ORDER BY {order})"
    if rules.key:
        first = f"first_value({own}) {window}"
        ranked = rows.selectExpr("*", f"{first} AS {_RANK}")
        who = f"concat('an earlier row', {_named(rules, _RANK)})"
        holder = f"CASE WHEN {contends} AND {_RANK} <> {own} THEN {who} END"
    else:
        ranked = rows.selectExpr("*", f"row_number() {window} AS {_RANK}")
        holder = f"CASE WHEN {contends} AND {_RANK} > 1 THEN 'an earlier row' END"
    return _refuse(ranked.selectExpr("*", f"{holder} AS {_HOLDER}").drop(_RANK), rules, column)


def are_taken(rows: DataFrame, rules: SilverRules, columns: Sequence[SilverColumn]) -> str:
    """The condition that a valid row has a value that a row of the table gives up for it."""
    took = " OR ".join(
        f"{_took(rules, column)} IS NOT NULL" for column in columns if _took(rules, column) in rows.columns
    )
    return f"{STAGE} IS NULL AND ({took})" if took else "false"


def taken_back(
    rows: DataFrame, rules: SilverRules, columns: Sequence[SilverColumn], *, everything: bool = False
) -> DataFrame:
    """Refuses the rows that took a value of a key whose row is refused by now, so that the table's row keeps it.
    `everything`: whatever took one."""
    from pyspark.sql import functions as f

    back = rows.where(f"{STAGE} IS NOT NULL AND NOT {GONE}").selectExpr(f"{_key(rules)} AS __back").distinct()
    for column in columns:
        took = _took(rules, column)
        if everything:
            joined = rows.selectExpr("*", f"{took} AS __back")
        else:
            joined = rows.join(back, on=f.expr(f"{took} = __back"), how="left")
        holder = f"CASE WHEN {STAGE} IS NULL AND __back IS NOT NULL THEN {_of_table(rules, took)} END"
        rows = _refuse(joined.selectExpr("*", f"{holder} AS {_HOLDER}").drop("__back"), rules, column)
    return rows


def _took(rules: SilverRules, column: SilverColumn) -> str:
    return f"__tidegate_took_{rules.columns.index(column)}"


def _old(rules: SilverRules, column: SilverColumn) -> str:
    return f"old_{rules.columns.index(column)}"


def _contends(column: SilverColumn, rows: DataFrame) -> str:
    """A row that is older than the table's row of its key holds nothing: it is not written."""
    late = f" AND NOT {_IS_LATE}" if _STANDING in rows.columns else ""
    return f"({STAGE} IS NULL AND NOT {DELETED} AND NOT {GONE} AND {quote(column.name)} IS NOT NULL{late})"


def _freed(base: DataFrame, rules: SilverRules, column: SilverColumn) -> DataFrame:
    """Values that the table's row of a key gives up, because the newest row of the key has another one or deletes."""
    newest = base.where(f"{STAGE} IS NULL AND NOT {GONE} AND {_STANDING} IS NOT NULL AND NOT {_IS_LATE}")
    if rules.keeps_versions:
        keys, order = ", ".join(map(quote, rules.key)), ", ".join(f"{part} DESC NULLS LAST" for part in _order(rules))
        rank = f"row_number() OVER (PARTITION BY {keys} ORDER BY {order}) AS {_RANK}"
        newest = newest.selectExpr("*", rank).where(f"{_RANK} = 1")
    old = f"{_STANDING}.{_old(rules, column)}"
    freed = newest.where(f"{old} IS NOT NULL AND ({DELETED} OR NOT {quote(column.name)} <=> {old})")
    rows = freed.selectExpr(f"{old} AS {_VALUE}", f"{_key(rules)} AS __key")
    return rows.groupBy(_VALUE).agg(*_expressions("min(__key) AS __freed"))


def _joined(rows: DataFrame, column: SilverColumn, by_value: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return rows.join(by_value, on=f.expr(f"{quote(column.name)} = {_VALUE}"), how="left").drop(_VALUE)


def _held(session: SparkSession, rules: SilverRules, column: SilverColumn, target: str) -> DataFrame:
    """The values of the table, each with the least and the greatest key that holds it."""
    held = _current(session, rules, target).where(f"{quote(column.name)} IS NOT NULL AND __live")
    rows = held.selectExpr(f"{quote(column.name)} AS {_VALUE}", f"{_key(rules)} AS __key")
    return rows.groupBy(_VALUE).agg(*_expressions("min(__key) AS __held", "max(__key) AS __held_last"))


def _current(session: SparkSession, rules: SilverRules, target: str) -> DataFrame:
    """The rows of the table that are not outdated, and whether each is live."""
    table = session.sql(f"SELECT * FROM {target}")
    names = {name.lower() for name in table.columns}
    if "is_current" in names and rules.keeps_versions:
        table = table.where("is_current")
    live = "NOT coalesce(_is_deleted, false)" if "_is_deleted" in names else "true"
    return table.selectExpr("*", f"{live} AS __live")


def _of_table(rules: SilverRules, key: str) -> str:
    return f"concat('a row of the table', {_named(rules, key)})"


def _expressions(*texts: str) -> list[object]:
    from pyspark.sql import functions as f

    return [f.expr(text) for text in texts]


def _refuse(rows: DataFrame, rules: SilverRules, column: SilverColumn) -> DataFrame:
    value = shown(text_of(column))
    message = f"concat({literal(f'{column.name} ')}, {value}, ' is not unique: ', {_HOLDER}, ' holds it')"
    entry = failure(UNIQUE, column.name, "unique", message, value)
    others = [name for name in rows.columns if name not in (STAGE, FAILURES, _HOLDER)]
    return rows.selectExpr(
        *map(quote, others),
        f"CASE WHEN {_HOLDER} IS NOT NULL THEN '{UNIQUE}' ELSE {STAGE} END AS {STAGE}",
        f"CASE WHEN {_HOLDER} IS NOT NULL THEN array({entry}) ELSE {FAILURES} END AS {FAILURES}",
    )


def _key(rules: SilverRules) -> str:
    if not rules.key:
        return "true"
    return f"struct({', '.join(map(quote, rules.key))})"


def _named(rules: SilverRules, struct: str) -> str:
    """SQL of ` (id = 7)`, from a struct of the key."""
    pairs = ", ', ', ".join(f"{literal(f'{name} = ')}, CAST({struct}.{quote(name)} AS STRING)" for name in rules.key)
    return f"concat(' (', {pairs}, ')')" if rules.key else "''"


def columns_text(columns: list[SilverColumn]) -> str:
    """SQL of `id = 7, amount = -1`, from a row."""
    pairs = ", ', ', ".join(
        f"{literal(f'{column.name} = ')}, coalesce(left({text_of(column)}, 200), 'NULL')" for column in columns
    )
    return f"concat({pairs})" if columns else "''"


def text_of(column: SilverColumn) -> str:
    """A cast silver column as text."""
    kind = parse_type(column.type)
    return as_text(quote(column.name), kind.kind if kind else "string")


def _fixed_order(rules: SilverRules) -> list[str]:
    """An order of rows that does not depend on how they came, for those that nothing else orders."""
    hashed = ", ".join(text_of(column) for column in rules.columns)
    return ["_source_file", "_source_row", f"xxhash64({hashed})", DELETED]


def _order(rules: SilverRules) -> list[str]:
    return ["_commit_time", "_sequence", *_fixed_order(rules)]
