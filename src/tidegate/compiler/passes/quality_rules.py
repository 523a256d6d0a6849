"""Quality rules of contracts: what they may do, and the columns that they name."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.analysis.analyze import analyze
from tidegate.compiler.analysis.scoping import QuerySource
from tidegate.compiler.compiled import Diagnostic, DiagnosticSeverity
from tidegate.compiler.drafts import CompilationState, Draft
from tidegate.compiler.sql.queries import SqlFault
from tidegate.compiler.sql.rule_query import ROW, RuleQuery, read_rule_query, rule_faults
from tidegate.compiler.table_columns import ABOUT_DELIVERED, visible_columns
from tidegate.contracts.ingestion import QualityRule, SilverRules, TableRules
from tidegate.datatypes import ANY, Column, Relation, parse_type
from tidegate.problems import Place

__all__ = ["check_quality_rules"]

_ROWS = "__tidegate_rows"


def check_quality_rules(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    """Of the contract that drives the model, and of the one that its table must keep."""
    stage, contract = draft.model.stage, draft.model.contract
    if draft.test is not None:
        return
    if stage is not None and stage.is_silver:
        rules = stage.ingestion.silver
        for rule, place in zip(rules.quality, stage.rule_places, strict=True):
            yield from _reported(work, draft, rule, place, rules, _silver_faults(work, rule, rules))
    if contract is not None and contract.rows is not None:
        for term in contract.rows.quality:
            faults = _table_faults(work, draft, term.value, contract.rows.table)
            yield from _reported(work, draft, term.value, term.place, contract.rows.table, faults)


def _reported(
    work: CompilationState,
    draft: Draft,
    rule: QualityRule,
    place: Place,
    rules: TableRules,
    faults: Iterator[SqlFault],
) -> Iterator[Diagnostic]:
    reported = set()
    for fault in faults:
        if (fault.code, fault.offset) not in reported:
            reported.add((fault.code, fault.offset))
            message = fault.message.replace(_ROWS, rules.name).replace(ROW, rules.name)
            yield work.error(draft, fault.code, f"quality rule '{rule.name}': {message}", place, fault.suggestion)


def _table_faults(work: CompilationState, draft: Draft, rule: QualityRule, rules: TableRules) -> Iterator[SqlFault]:
    query = read_rule_query(rule, rules, _ROWS, draft.model.table.layer)
    if isinstance(query, SqlFault):
        yield query
        return
    rows = visible_columns(draft.model, draft.relation)
    faults, result = _analyzed(work, query, rules, rows)
    yield from faults
    if result is not None and not query.is_select:
        yield from _faults_of_condition(result)


def _silver_faults(work: CompilationState, rule: QualityRule, rules: SilverRules) -> Iterator[SqlFault]:
    query = read_rule_query(rule, rules, _ROWS)
    if isinstance(query, SqlFault):
        yield query
        return
    own = [Column(column.name, parse_type(column.type) or ANY) for column in rules.columns]
    names = {column.name.lower() for column in own}
    rows = Relation((*own, *(column for column in ABOUT_DELIVERED if column.name not in names)))
    faults, result = _analyzed(work, query, rules, rows)
    yield from faults
    if result is not None:
        yield from _faults_of_result(query, rules, result)


def _analyzed(
    work: CompilationState, query: RuleQuery, rules: TableRules, rows: Relation
) -> tuple[list[SqlFault], Relation | None]:
    """What is wrong with the query, and the columns of its result where they are certain."""
    faults = list(rule_faults(query, work.permissions()))
    sources = {
        id(reference.node): QuerySource(rules.name, rows, open=not rows.complete)
        for reference in query.parsed.references
    }
    analysis = analyze(query.parsed.tree, sources, work.own_functions)
    found = [finding for finding in analysis.findings if finding.severity is DiagnosticSeverity.ERROR]
    faults += [
        SqlFault(finding.code, finding.message, finding.offset, finding.suggestion)
        for finding in found
        if not (work.is_lenient and finding.code == "TypeMismatch")
    ]
    return faults, None if found else analysis.relation


def _faults_of_condition(result: Relation) -> Iterator[SqlFault]:
    kind = result.columns[0].type if result.columns else ANY
    if kind.known and kind.kind not in ("boolean", "void"):
        message, fix = f"it is a condition, and gives {kind}", "write what is true for rows that fail"
        yield SqlFault("InvalidContract", message, 0, fix)


def _faults_of_result(query: RuleQuery, rules: SilverRules, result: Relation) -> Iterator[SqlFault]:
    """A condition must be true or false; rows that a SELECT gives must be found by what it gives."""
    if not query.is_select:
        yield from _faults_of_condition(result)
        return
    given = [column.name for column in result.columns]
    needed = list(rules.key) or [column.name for column in rules.columns]
    lacks = {name.lower() for name in needed} - {name.lower() for name in given}
    if result.complete and len(given) != 1 and lacks:
        message = f"it gives {', '.join(given)}, by which no row can be found"
        yield SqlFault("InvalidContract", message, 0, f"select one value, or rows with {', '.join(needed)}")
