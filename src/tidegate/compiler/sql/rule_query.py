"""A quality rule of a contract → its query over the valid rows of its table, which are all that it may read."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tidegate.compiler.sql.permitted import Permissions
from tidegate.compiler.sql.qualifiers import shorten_columns
from tidegate.compiler.sql.queries import ParsedQuery, SqlFault, check_permissions, parse_query
from tidegate.compiler.sql.sql_text import Edit, apply_edits
from tidegate.contracts.ingestion import QualityRule, TableRules
from tidegate.contracts.quality_query import filled, is_select, placeholder_mistakes
from tidegate.names import TableName, quote

__all__ = ["ROW", "RuleQuery", "read_rule_query", "rule_faults"]

ROW = "__tidegate_row"
"""What a condition is over: no name that it can write."""
_BEFORE = "SELECT ("


@dataclass(frozen=True, slots=True)
class RuleQuery:
    text: str
    """What Spark gets: a SELECT, or a condition over a row."""

    is_select: bool
    columns: tuple[str, ...]
    """The silver columns that it reads."""

    parsed: ParsedQuery
    """A condition as a SELECT of it."""


def read_rule_query(rule: QualityRule, rules: TableRules, view: str, layer: str = "silver") -> RuleQuery | SqlFault:
    """`view`: the name of the valid rows of the table, which is in `layer`."""
    mistake = next(placeholder_mistakes(rule.query, rule.column is not None), None)
    if mistake is not None:
        return SqlFault("InvalidContract", mistake, 0)
    rows = quote(view)
    written = filled(rule.query, rows, None if rule.column is None else quote(rule.column))
    select = is_select(rule.query)
    text = written if select else f"{_BEFORE}{written}\n) AS x FROM {rows} AS {ROW}"
    query = parse_query(text)
    if isinstance(query, SqlFault):
        return query
    if not select and not _is_one_condition(query):
        return SqlFault("SqlSyntax", "it is neither a SELECT nor one condition", 0)
    named: dict[int, TableName] = {}
    for reference in query.references:
        if reference.parts == (view,):
            continue
        *before, name = (part.lower() for part in reference.parts)
        if name not in {rules.name.lower(), rules.table.lower()} or before not in ([], [layer]):
            message = f"it reads '{'.'.join(reference.parts)}', and a rule reads only the rows of its object"
            fix = "write ${object}; compare tables in a SQL model, or in a test of one"
            return SqlFault("InvalidContract", message, reference.start, fix)
        named[reference.start] = TableName("", layer, reference.parts[-1])
    shortening = shorten_columns(query, named)
    edits = list(shortening.edits)
    for reference in query.references:
        if reference.start in named:
            alias = None if reference.alias else shortening.aliases.get(reference.start, reference.parts[-1])
            edits.append(Edit(reference.start, reference.end, rows + (f" AS {quote(alias)}" if alias else "")))
    start, end = (query.start, query.end) if select else (len(_BEFORE), len(_BEFORE) + len(written))
    read = {part.name.lower() for part in query.tree.find_all(exp.Column)}
    columns = tuple(column.name for column in rules.columns if column.name.lower() in read)
    return RuleQuery(apply_edits(text, edits, start, end)[0], select, columns, query)


def _is_one_condition(query: ParsedQuery) -> bool:
    """What is written cannot have closed the parenthesis around it."""
    values = query.tree.expressions if isinstance(query.tree, exp.Select) else []
    return len(values) == 1 and isinstance(values[0].unalias(), exp.Paren)


def rule_faults(query: RuleQuery, permissions: Permissions) -> tuple[SqlFault, ...]:
    refused, unlisted = check_permissions(query.parsed, permissions)
    return (*query.parsed.faults, *refused, *unlisted)
