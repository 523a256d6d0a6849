"""Rules about several rows: one row of each key, and no value of a `unique` column twice.

Each of them shuffles rows, so it is applied only where a count of distinct values shows that it has something to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.contracts.ingestion import COMMIT_TIME, SilverColumn, SilverRules
from tidegate.datatypes import parse_type
from tidegate.names import literal, quote
from tidegate.project.strategies import CONTRACT_STRATEGIES, STRATEGIES
from tidegate.transform.silver.silver_frame import DELETED, FAILURES, GONE, STAGE, UNIQUE, as_text, failure, shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["columns_text", "deduplicated_by", "flag_repeated", "keep_newest", "text_of", "unique_columns"]

_HOLDER, _RANK = "__tidegate_holder", "__tidegate_rank"


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


def flag_repeated(
    session: SparkSession, rows: DataFrame, rules: SilverRules, column: SilverColumn, target: str | None
) -> DataFrame:
    """Refuses the rows whose value another key holds: one of `target`, or one of a row before it."""
    value, own = quote(column.name), _key(rules)
    if target is not None:
        rows = rows.join(_held(session, rules, column, target), on=column.name, how="left")
        taken = "__held IS NOT NULL" if not rules.key else f"__held <> {own} OR __held_last <> {own}"
        other = f"CASE WHEN __held <> {own} THEN __held ELSE __held_last END" if rules.key else "__held"
        holder = (
            f"CASE WHEN {_contends(column)} AND ({taken}) THEN concat('a row of the table', {_named(rules, other)}) END"
        )
        rows = _refuse(rows.selectExpr("*", f"{holder} AS {_HOLDER}").drop("__held", "__held_last"), rules, column)
    # Rows that hold nothing each go into a partition of their own: one for all of them would be too large.
    apart = f"CASE WHEN {_contends(column)} THEN 0 ELSE xxhash64(_source_file, _source_row, _sequence) END"
    order = ", ".join(f"{part} ASC NULLS FIRST" for part in ("_commit_time", "_sequence", *map(quote, rules.key)))
    order += ", " + ", ".join(f"{part} ASC NULLS FIRST" for part in _fixed_order(rules))
    window = f"OVER (PARTITION BY {value}, {apart}, {STAGE} ORDER BY {order})"
    if rules.key:
        first = f"first_value({own}) {window}"
        ranked = rows.selectExpr("*", f"{first} AS {_RANK}")
        who = f"concat('an earlier row', {_named(rules, _RANK)})"
        holder = f"CASE WHEN {_contends(column)} AND {_RANK} <> {own} THEN {who} END"
    else:
        ranked = rows.selectExpr("*", f"row_number() {window} AS {_RANK}")
        holder = f"CASE WHEN {_contends(column)} AND {_RANK} > 1 THEN 'an earlier row' END"
    return _refuse(ranked.selectExpr("*", f"{holder} AS {_HOLDER}").drop(_RANK), rules, column)


def _contends(column: SilverColumn) -> str:
    return f"({STAGE} IS NULL AND NOT {DELETED} AND NOT {GONE} AND {quote(column.name)} IS NOT NULL)"


def _held(session: SparkSession, rules: SilverRules, column: SilverColumn, target: str) -> DataFrame:
    """The values of the table, each with the least and the greatest key that holds it."""
    table = session.table(target)
    value, names = quote(column.name), {name.lower() for name in table.columns}
    table = table.where(f"{value} IS NOT NULL")
    if "_is_deleted" in names:
        table = table.where("NOT coalesce(_is_deleted, false)")
    if "is_current" in names and rules.keeps_versions:
        table = table.where("is_current")
    own = _key(rules)
    return table.groupBy(column.name).agg(*_expressions(f"min({own}) AS __held", f"max({own}) AS __held_last"))


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
