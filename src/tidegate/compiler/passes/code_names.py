"""The tables and landing zones that the code of a Python model names, also in its SQL texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tidegate.compiler.code_facts import change_in_code
from tidegate.compiler.compiled import CodeReads, Diagnostic, DiagnosticSeverity, LandingRead
from tidegate.compiler.drafts import CompilationState, Draft
from tidegate.compiler.passes.parse import check_zone, suggested_name
from tidegate.compiler.sql.function_calls import first_change
from tidegate.compiler.sql.queries import ParsedQuery, SqlFault, check_permissions, parse_query
from tidegate.config import ZoneSettings
from tidegate.names import TableName
from tidegate.problems import Severity
from tidegate.project import Place
from tidegate.project.python_source import PythonQuery, PythonRead, PythonSource
from tidegate.project.template_names import LandingCall
from tidegate.python_inputs import ReadKind

__all__ = ["place_in_query", "read_code", "resolve_code"]

_WRITE_NAMES = "write each name as a text in the call itself, or list the tables: # @depends_on: silver.orders, …"


def read_code(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    """The problems of the file itself."""
    python = draft.python
    assert python is not None
    draft.content.names = frozenset(python.uses)
    draft.content.changing = change_in_code(python)
    for problem in python.problems:
        severity = DiagnosticSeverity.ERROR if problem.severity is Severity.ERROR else DiagnosticSeverity.WARNING
        draft.failed = draft.failed or severity is DiagnosticSeverity.ERROR
        yield work.diagnostic(severity, draft, problem.code, problem.message, problem.place, problem.suggestion)


def resolve_code(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    assert draft.python is not None
    resolution = _Resolution(work, draft, draft.python)
    yield from resolution.all()
    draft.content.code = resolution.reads()


@dataclass(slots=True)
class _Resolution:
    work: CompilationState
    draft: Draft
    python: PythonSource
    refs: dict[TableName, Place] = field(default_factory=dict)
    changes: dict[TableName, Place] = field(default_factory=dict)

    def reads(self) -> CodeReads:
        landings: dict[str, LandingRead] = {read.zone: read for read in self.draft.content.landing_reads}
        return CodeReads(
            refs=tuple(sorted(self.refs)),
            changes=tuple(sorted(self.changes)),
            landings=tuple(landings[zone] for zone in sorted(landings)),
            this=any(read.kind is ReadKind.THIS for read in self.python.reads),
        )

    def all(self) -> Iterator[Diagnostic]:
        for read in self.python.reads:
            if read.kind is ReadKind.THIS:
                self.draft.add_table(self.draft.model.table, read.place)
            elif read.name is None:
                yield from self._computed(read)
            elif read.kind is ReadKind.LANDING_ZONE:
                yield from self._zone(read, read.name)
            else:
                yield from self._table(read.kind, read.name.split("."), read.name, read.place)
        for query in self.python.queries:
            yield from self._query(query)

    def _computed(self, read: PythonRead) -> Iterator[Diagnostic]:
        """The tables of depends_on are what it may ask for."""
        if read.kind is ReadKind.LANDING_ZONE:
            message = "the name of the landing zone is computed, and its files are found before the code runs"
            fix = "write the zone's name as a text in the call itself"
            yield self.work.error(self.draft, "ComputedName", message, read.place, fix)
        elif not self.draft.model.settings.depends_on:
            message = f"the name that tg.{read.kind} is given is computed, so what the model reads is not known"
            yield self.work.error(self.draft, "ComputedName", message, read.place, _WRITE_NAMES)
        else:
            self._declared(read.kind, read.place)

    def _declared(self, kind: ReadKind, place: Place) -> None:
        for name in self.draft.model.settings.depends_on:
            table = self.work.tables.find(name.split("."))
            if table is not None:
                self._add(kind, table, place)

    def _table(self, kind: ReadKind, parts: Sequence[str], name: str, place: Place) -> Iterator[Diagnostic]:
        parts = tuple(part.strip().strip("`") for part in parts)
        self.draft.add_input(parts)
        table = self.work.tables.find(parts)
        if table is None:
            message = f"unknown table '{name}'"
            fix = suggested_name(self.work, self.draft, parts)
            if len(parts) not in (2, 3) and fix is None:
                fix = "write layer.name or namespace.layer.name"
            yield self.work.error(self.draft, "UnknownDependency", message, place, fix)
        else:
            self._add(kind, table, place)

    def _add(self, kind: ReadKind, table: TableName, place: Place) -> None:
        (self.changes if kind is ReadKind.CHANGES else self.refs).setdefault(table, place)
        draft, quarantines = self.draft, self.work.quarantines
        if table in self.work.tables.models:
            draft.add_table(table, place)
            return
        draft.content.sources.add(table)
        if table in quarantines:
            draft.add_table(quarantines[table], place)

    def _zone(self, read: PythonRead, zone: str) -> Iterator[Diagnostic]:
        before = next((r for r in self.draft.content.landing_reads if r.zone == zone), None)
        yield from check_zone(
            self.work, self.draft, LandingCall("", zone, read.zone or ZoneSettings()), lambda: read.place
        )
        if before is not None and self.draft.content.landing_reads[-1] != before:
            message = f"landing zone '{zone}' is read in two ways"
            fix = f"set its format once, in [landing.{zone}] of tidegate.toml"
            yield self.work.error(self.draft, "InvalidSetting", message, read.place, fix)

    def _query(self, query: PythonQuery) -> Iterator[Diagnostic]:
        if query.text is None:
            if not self.draft.model.settings.depends_on:
                message = "the text that tg.sql is given is computed, so what the model reads is not known"
                fix = "write it as one text, or list its tables: # @depends_on: silver.orders, …"
                yield self.work.error(self.draft, "ComputedName", message, query.place, fix)
            self._declared(ReadKind.REF, query.place)
            return
        parsed = parse_query(query.text)
        faults = [parsed] if isinstance(parsed, SqlFault) else self._faults(parsed)
        for fault in faults:
            place = place_in_query(query, fault.offset)
            yield self.work.error(self.draft, fault.code, fault.message, place, fault.suggestion)
        if isinstance(parsed, SqlFault):
            return
        for reference in parsed.references:
            place = place_in_query(query, reference.start)
            yield from self._table(ReadKind.REF, reference.parts, ".".join(reference.parts), place)
        change = first_change(parsed, {token.text.upper() for token in parsed.tokens})
        if change is not None and self.draft.content.changing is None:
            self.draft.content.changing = change[0], place_in_query(query, change[1])

    def _faults(self, parsed: ParsedQuery) -> list[SqlFault]:
        refused, unlisted = check_permissions(parsed, self.work.permissions())
        return [*parsed.faults, *refused, *unlisted]


def place_in_query(query: PythonQuery, offset: int) -> Place:
    """Of an offset in the text; within its first line the place of the text."""
    assert query.text is not None
    lines = query.text.count("\n", 0, offset)
    if not lines:
        return query.place
    return Place(query.place.file, query.place.line + lines, offset - query.text.rfind("\n", 0, offset))
