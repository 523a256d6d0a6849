"""Quality rules of contracts: what they may do, and the columns that they name."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.analysis.analyze import analyze
from tidegate.compiler.analysis.scoping import QuerySource
from tidegate.compiler.compiled import Diagnostic, DiagnosticSeverity
from tidegate.compiler.drafts import CompilationState, Draft
from tidegate.compiler.sql.queries import SqlFault
from tidegate.compiler.sql.rule_query import ROW, RuleQuery, read_rule_query, rule_faults
from tidegate.compiler.table_columns import ABOUT_DELIVERED
from tidegate.contracts.ingestion import QualityRule, SilverRules
from tidegate.datatypes import ANY, Column, Relation, parse_type

__all__ = ["check_quality_rules"]

_ROWS = "__tidegate_rows"


def check_quality_rules(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    stage = draft.model.stage
    if stage is None or not stage.is_silver or draft.test is not None:
        return
    rules = stage.ingestion.silver
    for rule, place in zip(rules.quality, stage.rule_places, strict=True):
        reported = set()
        for fault in _faults(work, rule, rules):
            if (fault.code, fault.offset) not in reported:
                reported.add((fault.code, fault.offset))
                message = fault.message.replace(_ROWS, rules.name).replace(ROW, rules.name)
                yield work.error(draft, fault.code, f"quality rule '{rule.name}': {message}", place, fault.suggestion)


def _faults(work: CompilationState, rule: QualityRule, rules: SilverRules) -> Iterator[SqlFault]:
    query = read_rule_query(rule, rules, _ROWS)
    if isinstance(query, SqlFault):
        yield query
        return
    yield from rule_faults(query, work.permissions())
    own = [Column(column.name, parse_type(column.type) or ANY) for column in rules.columns]
    names = {column.name.lower() for column in own}
    rows = Relation((*own, *(column for column in ABOUT_DELIVERED if column.name not in names)))
    sources = {id(reference.node): QuerySource(rules.name, rows) for reference in query.parsed.references}
    analysis = analyze(query.parsed.tree, sources, work.own_functions)
    found = [finding for finding in analysis.findings if finding.severity is DiagnosticSeverity.ERROR]
    for finding in found:
        if not (work.is_lenient and finding.code == "TypeMismatch"):
            yield SqlFault(finding.code, finding.message, finding.offset, finding.suggestion)
    if not found:
        yield from _faults_of_result(query, rules, analysis.relation)


def _faults_of_result(query: RuleQuery, rules: SilverRules, result: Relation) -> Iterator[SqlFault]:
    """A condition must be true or false; rows that a SELECT gives must be found by what it gives."""
    if not query.is_select:
        kind = result.columns[0].type if result.columns else ANY
        if kind.known and kind.kind not in ("boolean", "void"):
            fix = "write what is true for rows that fail"
            yield SqlFault("InvalidContract", f"it is a condition, and gives {kind}", 0, fix)
        return
    given = [column.name for column in result.columns]
    needed = list(rules.key) or [column.name for column in rules.columns]
    lacks = {name.lower() for name in needed} - {name.lower() for name in given}
    if result.complete and len(given) != 1 and lacks:
        message = f"it gives {', '.join(given)}, by which no row can be found"
        yield SqlFault("InvalidContract", message, 0, f"select one value, or rows with {', '.join(needed)}")
