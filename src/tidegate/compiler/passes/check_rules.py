"""Checks that do not exist, or do not fit their table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tidegate.checks.check_kinds import CheckKind, bind, mistakes
from tidegate.checks.check_parameters import ParameterKind
from tidegate.checks.check_registry import BUILT_IN, DIRECTIVES, KEYED, SQL_TYPE, OtherTable, kind_of
from tidegate.checks.check_values import Check, CheckCall, QueryRule, RowRule
from tidegate.compiler.analysis.analyze import analyze
from tidegate.compiler.analysis.scoping import QuerySource
from tidegate.compiler.compiled import Diagnostic, DiagnosticSeverity
from tidegate.compiler.digests import tables_named_by_checks
from tidegate.compiler.drafts import CompilationState, Draft
from tidegate.compiler.sql.queries import NOT_PERMITTED, SqlFault, parse_permitted
from tidegate.compiler.table_columns import visible_columns
from tidegate.datatypes import NOTHING_KNOWN, Column, DataType, Relation
from tidegate.names import TableName, nearest
from tidegate.problems import did_you_mean
from tidegate.project import Materialized, Place

__all__ = ["check_checks", "check_other_tables"]

_STRINGS = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`""", re.DOTALL)

At = Callable[[int], Place]
"""From an offset in an argument to a place in a file."""


def check_checks(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    """The errors of a model's checks that its own columns show."""
    if draft.test is not None or not draft.model.checks:
        return
    yield from _of_ephemeral(work, draft)
    table = NOTHING_KNOWN if draft.relation is None else visible_columns(draft.model, draft.relation)
    for check in draft.model.checks:
        if check.call is not None:
            yield from _check(work, draft, check, check.call, table)


def check_other_tables(work: CompilationState) -> Iterator[Diagnostic]:
    """Other tables that arguments name, and their columns."""
    for draft in work.drafts:
        if draft.test is None and draft.model.checks:
            yield from _others(work, draft)


def _of_ephemeral(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    if draft.model.settings.materialized is Materialized.EPHEMERAL and not draft.model.sql_tests:
        check = draft.model.checks[0]
        message = f"an ephemeral model has no table, so check '{check.name}' cannot run"
        yield work.error(draft, "TestOfEphemeral", message, check.place, "move it to a model that reads this one")


def _check(
    work: CompilationState, draft: Draft, check: Check, call: CheckCall, table: Relation
) -> Iterator[Diagnostic]:
    kind = kind_of(check)
    if kind is None:
        near = did_you_mean(nearest(call.name, (*BUILT_IN, *work.project.own_checks)))
        if call.name in KEYED or call.name == SQL_TYPE:
            near = "it is a type of [[checks]] in a settings file"
        message = f"there is no check '{call.name}'"
        yield work.error(draft, "UnknownCheck", message, check.place, near or "docs/checks.md lists the checks")
        return
    if not call.keyed and check.stage not in kind.stages:
        yield _misplaced(work, draft, check, kind)
    if kind.of_kind(ParameterKind.FILE) and _is_without_file(work, check):
        return
    wrong = mistakes(kind, call, table, work.settings.project.namespace, check.source)
    for mistake in wrong:
        place = _place(check, call, mistake.argument)
        yield work.error(draft, mistake.code, str(mistake), place, mistake.suggestion)
    if not wrong:
        yield from _conditions(work, draft, check, call, kind, table)


def _misplaced(work: CompilationState, draft: Draft, check: Check, kind: CheckKind) -> Diagnostic:
    words = {stage: word for word, stage in DIRECTIVES.items()}
    allowed = " or ".join(f"@{word}" for word, stage in DIRECTIVES.items() if stage in kind.stages)
    message = f"{kind.name} cannot be used as {_article(words[check.stage])}"
    return work.error(draft, "MisplacedCheck", message, check.place, f"write it as {allowed}")


def _article(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def _is_without_file(work: CompilationState, check: Check) -> bool:
    """The missing file is reported separately."""
    return any(p.code == "MissingCheckFile" and p.place == check.place for p in work.project.problems)


def _place(check: Check, call: CheckCall, argument: int | None, offset: int = 0) -> Place:
    if argument is None or argument >= len(call.columns):
        return check.place
    if call.lines:
        return Place(check.place.file, call.lines[argument], call.columns[argument])
    return Place(check.place.file, check.place.line, call.columns[argument] + offset)


def _columns(work: CompilationState, table: TableName) -> Relation:
    draft = work.models.get(table)
    if draft is None:
        return work.external.relation(table)
    if draft.relation is None:
        return NOTHING_KNOWN
    return visible_columns(draft.model, draft.relation, work.external.relation(table))


def _conditions(
    work: CompilationState, draft: Draft, check: Check, call: CheckCall, kind: CheckKind, table: Relation
) -> Iterator[Diagnostic]:
    if kind.name in BUILT_IN or call.keyed:
        for position, parameter in kind.of_kind(ParameterKind.CONDITION, ParameterKind.EXPRESSION):
            if position < len(call.arguments) and (text := call.arguments[position]):
                asks = "({})" if parameter.kind is ParameterKind.CONDITION else "({}) IS NULL"

                def at(offset: int, position: int = position) -> Place:
                    return _place(check, call, position, offset)

                yield from _sql_of_row(work, draft, table, text, asks, at)
    if check.source and kind.name not in BUILT_IN:
        yield from _own_sql(work, draft, check, call, kind, table)


def _own_sql(
    work: CompilationState, draft: Draft, check: Check, call: CheckCall, kind: CheckKind, table: Relation
) -> Iterator[Diagnostic]:
    form = kind.build(bind(kind, call, table, work.settings.project.namespace))
    if isinstance(form, RowRule):
        yield from _sql_of_row(work, draft, table, form.violates, "({})", lambda _: check.place)
    elif isinstance(form, QueryRule):
        text = form.sql.replace("{table}", draft.model.table.quoted)
        yield from _analyzed(work, draft, text, table, form.other, lambda _: check.place)


def _sql_of_row(
    work: CompilationState, draft: Draft, table: Relation, text: str, asks: str, at: At
) -> Iterator[Diagnostic]:
    if fault := _fault_of_text(text):
        yield work.error(draft, "WrongCheckArgument", fault, at(0))
        return
    before = f"SELECT 1 FROM {draft.model.table.quoted} WHERE "
    shift = len(before) + asks.index("{")

    def within(offset: int) -> Place:
        return at(min(max(offset - shift, 0), len(text)))

    yield from _analyzed(work, draft, before + asks.format(text), table, (), within, alone=True)


def _fault_of_text(text: str) -> str | None:
    """Text that would change the query it is inserted into."""
    bare, depth = _STRINGS.sub("''", text), 0
    if "--" in bare or "/*" in bare:
        return "a condition cannot hold a comment"
    for char in bare:
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth < 0:
            break
    return f"the parentheses of '{text}' do not match" if depth else None


def _analyzed(
    work: CompilationState,
    draft: Draft,
    text: str,
    table: Relation,
    others: tuple[str, ...],
    at: At,
    *,
    alone: bool = False,
) -> Iterator[Diagnostic]:
    """`alone`: it is a condition on rows of one table, so it may hold no query."""
    own = draft.model.table
    readable = {name.lower() for name in (str(own), *others)}
    query = parse_permitted(text, work.permissions())
    if isinstance(query, SqlFault):
        is_sql = query.code in NOT_PERMITTED
        code, message = (
            (query.code, query.message) if is_sql else ("WrongCheckArgument", f"this is not SQL: {query.message}")
        )
        yield work.error(draft, code, message, at(query.offset), query.suggestion if is_sql else None)
        return
    sources = {}
    for number, reference in enumerate(query.references):
        name = ".".join(reference.parts)
        if name.lower() not in readable or (number and alone):
            message = f"a condition cannot read '{name}'" if alone else f"the check cannot read '{name}'"
            fix = "write a SQL test in tests/quality" if alone else "name the table in an argument of kind table"
            yield work.error(draft, "WrongCheckArgument", message, at(reference.start), fix)
            return
        relation = table if name.lower() == str(own).lower() else NOTHING_KNOWN
        sources[id(reference.node)] = QuerySource(name, relation, open=True)
    for finding in analyze(query.tree, sources, work.own_functions).findings:
        if finding.severity is DiagnosticSeverity.ERROR and not (work.is_lenient and finding.code == "TypeMismatch"):
            yield work.error(draft, finding.code, finding.message, at(finding.offset), finding.suggestion)


def _others(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    for check, other, other_table in tables_named_by_checks(work, draft):
        assert check.call is not None
        place = _place(check, check.call, other.position)
        if other_table is None:
            fix = did_you_mean(work.tables.near(other.name.split(".")))
            message = f"check '{check.name}' names an unknown table '{other.name}'"
            yield work.error(draft, "UnknownDependency", message, place, fix)
        elif reason := _cannot_be_read(work, other_table):
            yield work.error(draft, "WrongCheckArgument", f"{other.name} {reason}", place)
        elif other.key is not None:
            table = _columns(work, draft.model.table)
            yield from _key(work, draft, check, other, _columns(work, other_table), table)


def _cannot_be_read(work: CompilationState, table: TableName) -> str | None:
    if table in work.ephemeral:
        return "is ephemeral and has no table to compare with"
    return "is outside the lake: read it with a model, and name that" if work.is_outside_lake(table) else None


def _key(
    work: CompilationState, draft: Draft, check: Check, other: OtherTable, theirs: Relation, table: Relation
) -> Iterator[Diagnostic]:
    assert check.call is not None
    assert other.key is not None
    position, name = other.key
    place = _place(check, check.call, position)
    key = theirs.find(name)
    if key is None:
        if theirs.complete:
            columns = [column.name for column in theirs.columns]
            fix = did_you_mean(nearest(name, columns)) or f"it has {', '.join(columns)}"
            yield work.error(draft, "UnknownColumn", f"{other.name} has no column '{name}'", place, fix)
        return
    column = table.find(check.call.arguments[0])
    if column is not None and not _go_together(column, key):
        message = f"column '{column.name}' is {column.type} and {other.name}.{key.name} is {key.type}"
        yield work.error(draft, "CheckColumnType", message, place, "compare columns of the same type")


def _go_together(column: Column, key: Column) -> bool:
    if not column.type.known or not key.type.known:
        return True
    return column.type == key.type or _family(column.type) == _family(key.type) is not None


def _family(kind: DataType) -> str | None:
    return "number" if kind.is_numeric else "time" if kind.is_temporal else None
