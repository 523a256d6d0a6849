"""Unit tests that name what is not there: a model, an input, a column; and values that are not of a column's type."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.compiled import Diagnostic, DiagnosticSeverity, Span
from tidegate.compiler.drafts import CompilationState, Draft
from tidegate.compiler.inlining import ephemeral_through
from tidegate.compiler.passes.settings_rules import dates_of
from tidegate.compiler.sql.queries import SqlFault, parse_permitted
from tidegate.compiler.table_columns import visible_columns
from tidegate.compiler.unit_test_inputs import UnitInputs, misfit
from tidegate.datatypes import ANY, NOTHING_KNOWN, Column, Relation, parse_type
from tidegate.names import TableName, nearest
from tidegate.problems import did_you_mean
from tidegate.project import Place
from tidegate.project.unit_test_files import DeclaredRows, UnitTest

__all__ = ["check_unit_tests"]


def check_unit_tests(work: CompilationState) -> Iterator[Diagnostic]:
    """Tests of a model with errors are only matched to it, not checked further."""
    first: dict[tuple[TableName, str], Place] = {}
    for test in work.project.unit_tests:
        table = work.tables.find(test.table)
        draft = work.models.get(table) if table else None
        if draft is None:
            yield from _unknown_model(work, test)
            continue
        before = first.setdefault((draft.model.table, test.name), test.place)
        if before is not test.place:
            message = f"the model has another test '{test.name}', in {before.file}:{before.line}"
            yield _error(work, test, "InvalidUnitTest", message, test.place, "give it a name of its own")
        if not any(part.failed for part in (draft, *ephemeral_through(work, draft))):
            yield from _Check(work, draft, test).all()


def _unknown_model(work: CompilationState, test: UnitTest) -> Iterator[Diagnostic]:
    if test.table in work.project.unread:
        return
    name = work.short(test.table)
    near = nearest(name, [work.short(table) for table in work.models])
    fix = did_you_mean(near) or "`tidegate ls` lists the models"
    yield _error(work, test, "UnknownTestModel", f"there is no model '{name}' that could be tested", test.place, fix)


def _error(
    work: CompilationState, test: UnitTest, code: str, message: str, place: Place, suggestion: str | None = None
) -> Diagnostic:
    span = Span(place.file, place.line, place.col)
    return Diagnostic(DiagnosticSeverity.ERROR, code, message, work.short(test.table), span, suggestion)


class _Check:
    """One test of a model without errors."""

    def __init__(self, work: CompilationState, draft: Draft, test: UnitTest) -> None:
        self.work = work
        self.draft = draft
        self.test = test
        self.name = work.short(draft.model.table)
        self.read = [draft, *ephemeral_through(work, draft)]
        tables = frozenset[TableName]().union(*(part.tables for part in self.read))
        sources = frozenset[TableName]().union(*(part.content.sources for part in self.read))
        own = draft.model.table
        zones = frozenset[str]().union(*(part.landings for part in self.read))
        namespace = work.settings.project.namespace
        self.inputs = UnitInputs(own, own in tables, (tables | sources) - {own}, zones, namespace)

    def error(self, code: str, message: str, place: Place, suggestion: str | None = None) -> Diagnostic:
        return _error(self.work, self.test, code, message, place, suggestion)

    def all(self) -> Iterator[Diagnostic]:
        yield from self._dates()
        names: dict[TableName | str, str] = {}
        for test_input in self.test.given:
            source = self.inputs.find(test_input.name)
            if source is None:
                yield self._unknown_input(test_input.name, test_input.place)
                continue
            if source in names:
                message = f"'{test_input.name}' and '{names[source]}' are the same input"
                yield self.error("InvalidUnitTest", message, test_input.place, "give all its rows in one place")
            names[source] = test_input.name
            yield from self._rows(test_input.rows, self._relation(source), test_input.name)
        yield from self._rows(self.test.expect, self.draft.relation or NOTHING_KNOWN, self.name)

    def _dates(self) -> Iterator[Diagnostic]:
        used = {word for part in self.read for word, _ in dates_of(self.work, part)}
        dates = {"start_date": self.test.start_date, "end_date": self.test.end_date}
        for word in sorted(used):
            name = word.removeprefix("tg.").removeprefix("@")
            if dates[name] is None:
                what = "query" if self.draft.python is None else "code"
                message = f"the {what} uses {word}, and the test does not set it"
                yield self.error("InvalidUnitTest", message, self.test.place, f"add '{name}' to the test")

    def _unknown_input(self, name: str, place: Place) -> Diagnostic:
        names = self.inputs.names
        fix = did_you_mean(nearest(name, names)) or (f"it reads {', '.join(names)}" if names else "it reads nothing")
        message = "the query does not read its own table" if name == "this" else f"{self.name} does not read '{name}'"
        return self.error("UnknownTestInput", message, place, fix)

    def _relation(self, source: TableName | str) -> Relation:
        if isinstance(source, str):
            return self._zone(source)
        upstream = self.work.models.get(source)
        published = self.work.external.relation(source)
        return published if upstream is None else visible_columns(upstream.model, upstream.relation, published)

    def _zone(self, zone: str) -> Relation:
        reads = (read for part in self.read for read in part.content.landing_reads if read.zone == zone)
        declared = next((read.settings.columns for read in reads if read.settings.columns), None)
        if not declared:
            return NOTHING_KNOWN
        return Relation(tuple(Column(name, parse_type(kind) or ANY) for name, kind in declared.items()))

    def _rows(self, rows: DeclaredRows, relation: Relation, of: str) -> Iterator[Diagnostic]:
        if rows.sql is not None:
            yield from self._sql(rows, rows.sql)
        for at, name in enumerate(rows.columns):
            column = relation.find(name)
            if column is None:
                if relation.complete:
                    names = [candidate.name for candidate in relation.columns]
                    fix = did_you_mean(nearest(name, names)) or f"it has {', '.join(names)}"
                    yield self.error("UnknownTestColumn", f"{of} has no column '{name}'", rows.places[name], fix)
                continue
            reason = next(filter(None, (misfit(row[at], column.type) for row in rows.rows)), None)
            if reason:
                message = f"column '{column.name}' of {of}: {reason}"
                yield self.error("InvalidUnitTest", message, rows.places[name])

    def _sql(self, rows: DeclaredRows, sql: str) -> Iterator[Diagnostic]:
        query = parse_permitted(sql, self.work.permissions())
        if isinstance(query, SqlFault):
            yield self.error("InvalidUnitTest", f"sql: {query.message}", rows.place, query.suggestion)
        elif query.references:
            name = ".".join(query.references[0].parts)
            message = f"rows given as sql may not read tables, and '{name}' is one"
            yield self.error("InvalidUnitTest", message, rows.place, "write SELECT without FROM, or VALUES")
