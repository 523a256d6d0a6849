"""The state that the passes work on: each query of the project, from its template to its columns."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from tidegate.checks.check_registry import row_constraints
from tidegate.checks.check_values import Check
from tidegate.compiler.compiled import (
    CodeReads,
    Diagnostic,
    DiagnosticSeverity,
    Edge,
    FunctionRead,
    LandingRead,
    Origin,
    Span,
)
from tidegate.compiler.external_tables import ExternalTables
from tidegate.compiler.query_facts import QueryFacts
from tidegate.compiler.sql.locate import locate, offset_of_output
from tidegate.compiler.sql.permitted import Permissions
from tidegate.compiler.sql.queries import ParsedQuery, SqlFault
from tidegate.compiler.sql.row_by_row import Obstacle
from tidegate.compiler.table_index import TableIndex
from tidegate.config import Settings
from tidegate.datatypes import NOTHING_KNOWN, Relation
from tidegate.names import TableName
from tidegate.project import LoadedProject, MacroFile, Materialized, Model, Place, Severity
from tidegate.project.python_source import PythonSource
from tidegate.project.rendering import Templates
from tidegate.project.template_names import LandingCall, Rendered, TemplateContext

__all__ = [
    "CompilationState",
    "Draft",
    "DraftContent",
    "DraftStage",
    "Outcome",
    "Rendering",
    "refuses_rows",
    "templates_of",
]

# Inside quotes this is text, elsewhere a parameter: it can never be read as a column, nor has it a type.
_STARTED_AT = "@__run_started_at__"
_WATERMARK = "@__watermark_value__"


class DraftStage(Enum):
    """How far the passes have come with a draft."""

    NEW = 0
    CACHED = 1
    """The cache has a result for its file, valid if nothing that it reads has changed."""
    PARSED = 2
    DONE = 3


@dataclass(slots=True)
class Rendering:
    """A query as the first run renders it, or a later one."""

    later: bool
    landings: tuple[LandingCall, ...] = ()
    text: str | None = None
    """Dropped once the facts are known, as `query` is."""
    query: ParsedQuery | None = None
    unlisted: tuple[SqlFault, ...] = ()
    """Calls of functions that are neither Spark's nor declared."""
    facts: QueryFacts | None = None
    obstacle: Obstacle | None = None
    """Why its rows are not those of one relation, one by one. Computed for ephemeral models, and for those that take
    the latest of several rows."""


@dataclass(slots=True)
class DraftContent:
    """The results of the passes for one query."""

    names: frozenset[str] = frozenset()
    """The names that its template looks up."""
    places: dict[TableName, Place | tuple[bool, int]] = field(default_factory=dict)
    """Where it first names each model that it reads."""
    sources: set[TableName] = field(default_factory=set)
    """The tables that it reads and no model builds."""
    renderings: list[Rendering] = field(default_factory=list)
    """One, or two where a later run renders other SQL than the first."""
    landing_reads: list[LandingRead] = field(default_factory=list)
    functions: list[FunctionRead] = field(default_factory=list)
    """The table functions of the project that it calls, each call once."""
    relation: Relation | None = None
    """Its columns, as far as they are known; None before they were analyzed, or where that failed."""
    edges: tuple[Edge, ...] = ()
    conditions: tuple[Origin, ...] = ()
    code: CodeReads | None = None
    """Of a Python model."""
    changing: tuple[str, Place] | None = None
    """What makes the code of a Python model give other rows another time, and where."""


class Outcome(NamedTuple):
    """A finished draft, to be cached or sent to another process. The fields are those of `Draft`."""

    own: bytes
    whole: bytes
    interface: bytes
    failed: bool
    open: bool
    star: bool
    environment: tuple[tuple[str, str | None], ...]
    tables: tuple[TableName, ...]
    inputs: tuple[tuple[str, ...], ...]
    diagnostics: tuple[Diagnostic, ...]
    content: bytes
    """A pickled `DraftContent`: of ten thousand models few are read again."""


@dataclass(slots=True)
class Draft:
    """A model, or one of its SQL tests, on its way through the passes."""

    model: Model
    test: Check | None = None
    """Set where the query is that of a SQL test of the model."""
    stage: DraftStage = DraftStage.NEW
    own: bytes = b""
    """Digest of the file and its settings."""
    whole: bytes = b""
    """Digest of `own` and of everything that it reads."""
    interface: bytes = b""
    """Digest of what readers of the model's table can see of it."""
    failed: bool = False
    """An error was found, so it will not be built."""
    open: bool = True
    """It may have other columns than those that are known."""
    star: bool = False
    """It takes whatever columns a table has."""
    environment: tuple[tuple[str, str | None], ...] = ()
    """The environment variables that its template reads, with their values."""
    tables: tuple[TableName, ...] = ()
    """The models that it reads."""
    inputs: tuple[tuple[str, ...], ...] = ()
    """Every name that it reads, as written; a zone has an empty part before it."""
    diagnostics: tuple[Diagnostic, ...] = ()
    _content: DraftContent | bytes = b""

    @property
    def content(self) -> DraftContent:
        if isinstance(self._content, bytes):
            self._content = pickle.loads(self._content) if self._content else DraftContent()
        return self._content

    @property
    def file(self) -> str:
        return self.test.place.file if self.test else self.model.file

    @property
    def key(self) -> str:
        """Of the query among all of the project."""
        return self.test.place.file if self.test else self.model.key

    @property
    def source(self) -> str:
        return self.test.source if self.test else self.model.source

    @property
    def python(self) -> PythonSource | None:
        """Of a model in Python; its tests are SQL."""
        return self.model.python if self.test is None else None

    @property
    def is_table(self) -> bool:
        return self.test is None and self.model.settings.materialized is Materialized.TABLE

    @property
    def landings(self) -> frozenset[str]:
        """The landing zones that it reads."""
        return frozenset(name[1] for name in self.inputs if not name[0])

    @property
    def relation(self) -> Relation | None:
        return self.content.relation

    @property
    def facts(self) -> Iterator[tuple[Rendering, QueryFacts]]:
        """Each rendering that could be parsed."""
        return ((rendering, rendering.facts) for rendering in self.content.renderings if rendering.facts is not None)

    def add_input(self, name: tuple[str, ...]) -> None:
        if name not in self.inputs:
            self.inputs += (name,)

    def add_table(self, table: TableName, place: Place | tuple[bool, int]) -> None:
        if table not in self.content.places:
            self.content.places[table] = place
            self.tables += (table,)

    def forget_trees(self) -> None:
        """Frees memory: the texts and trees of ten thousand queries do not fit."""
        for rendering in self.content.renderings:
            rendering.text = rendering.query = None

    def outcome(self) -> Outcome:
        content = (
            self._content if isinstance(self._content, bytes) else pickle.dumps(self._content, pickle.HIGHEST_PROTOCOL)
        )
        return Outcome(
            self.own,
            self.whole,
            self.interface,
            self.failed,
            self.open,
            self.star,
            self.environment,
            self.tables,
            self.inputs,
            self.diagnostics,
            content,
        )

    def restore(self, outcome: Outcome) -> None:
        (
            self.own,
            self.whole,
            self.interface,
            self.failed,
            self.open,
            self.star,
            self.environment,
            self.tables,
            self.inputs,
            self.diagnostics,
            self._content,
        ) = outcome
        self.stage = DraftStage.DONE


@dataclass(slots=True)
class CompilationState:
    """Everything that the passes of one compilation share."""

    project: LoadedProject
    settings: Settings
    external: ExternalTables
    tables: TableIndex
    vars: Mapping[str, object]
    templates: Templates
    drafts: list[Draft]
    models: Mapping[TableName, Draft]
    """The draft of each table, the first where two claim it."""
    unread_settings: frozenset[str]
    """Models, by short name, with a setting that could not be parsed."""
    ephemeral: frozenset[TableName]
    quarantines: Mapping[TableName, TableName] = field(default_factory=dict)
    """Tables that may hold refused rows, each with the table that it belongs to. There may be too many: the zones that
    a model reads are not known at first."""
    circular: bool = True
    """Whether models may read each other in a circle."""

    @classmethod
    def of(
        cls, project: LoadedProject, settings: Settings, external: ExternalTables, cli_vars: Mapping[str, object]
    ) -> CompilationState:
        drafts = [Draft(model) for model in project.models]
        models = {draft.model.table: draft for draft in reversed(drafts)}
        drafts += [Draft(model, test) for model in project.models for test in model.sql_tests]
        zones = any(zone.quarantines for zone in settings.landing.zones.values())
        refusing = (t for t, draft in models.items() if refuses_rows(draft) or (zones and draft.is_table))
        quarantines = {table.quarantine: table for table in refusing}
        other_tables = external.tables | project.unread | quarantines.keys()
        tables = TableIndex(models, other_tables, settings.project.namespace, external.unlisted)
        variables = {**settings.vars, **cli_vars}
        unread_settings = frozenset(p.model for p in project.problems if p.model and p.severity is Severity.ERROR)
        templates = templates_of(project.macros)
        ephemeral = frozenset(t for t, d in models.items() if d.model.settings.materialized is Materialized.EPHEMERAL)
        return cls(
            project,
            settings,
            external,
            tables,
            variables,
            templates,
            drafts,
            models,
            unread_settings,
            ephemeral,
            quarantines,
        )

    @property
    def without_errors(self) -> Iterator[Draft]:
        return (draft for draft in self.drafts if not draft.failed)

    @property
    def own_functions(self) -> frozenset[str]:
        return self.settings.spark.function_names

    def permissions(self, draft: Draft | None = None) -> Permissions:
        """`draft`: the owner of the text; a model may do more than a test, a check or a mask."""
        is_model = draft is not None and draft.test is None
        tables = frozenset(self.project.functions) if is_model else frozenset[str]()
        return Permissions(self.own_functions, is_model and self.settings.spark.allow_code, tables)

    @property
    def is_lenient(self) -> bool:
        """Without ANSI mode Spark casts any value silently."""
        return self.settings.spark.conf.get("spark.sql.ansi.enabled", "true").lower() == "false"

    def is_outside_lake(self, table: TableName) -> bool:
        """Whether Spark reads it where only a run finds it: in a source, or in the files of chunked loads."""
        from tidegate.sources.source_catalogs import has_source_catalog  # most projects have neither

        return table in self.external.chunk_tables or has_source_catalog(self.settings, table)

    def short(self, table: TableName) -> str:
        return table.short(self.settings.project.namespace)

    def context(self, draft: Draft, later: bool) -> TemplateContext:
        """The values of a run are placeholders here, so that a definition has one fingerprint."""
        model, namespace = draft.model, self.settings.project.namespace
        watermark = _WATERMARK if later else None
        return TemplateContext(
            model.table, namespace, model.settings.strategy, _STARTED_AT, later, watermark, vars=self.vars
        )

    def place(self, draft: Draft, later: bool, offset: int) -> Place:
        """The place in the draft's file of an offset in its rendered text."""
        if draft.python is not None:
            return Place(draft.file)
        context = self.context(draft, later)
        rendered = self.templates.render(draft.source, draft.file, context)
        if not isinstance(rendered, Rendered):
            return Place(draft.file)
        place = locate(self.templates, draft.source, draft.file, context, rendered.text, offset)
        if not draft.model.source_lines or draft.test is not None:
            return place
        return Place(draft.file, draft.model.source_lines[place.line - 1])

    def place_of_table(self, draft: Draft, table: TableName) -> Place:
        """The place where the draft first names the table."""
        place = draft.content.places[table]
        return place if isinstance(place, Place) else self.place(draft, *place)

    def place_of_column(self, draft: Draft, name: str) -> Place | None:
        """Where the draft's file names a column of its result; None where it does not, as with `*`."""
        if draft.python is not None:
            return None
        rendered = self.templates.render(draft.source, draft.file, self.context(draft, later=False))
        offset = offset_of_output(rendered.text, name) if isinstance(rendered, Rendered) else None
        return None if offset is None else self.place(draft, False, offset)

    def error(self, draft: Draft, code: str, message: str, place: Place, suggestion: str | None = None) -> Diagnostic:
        """Marks the draft as failed: it will not be built."""
        draft.failed = True
        return self.diagnostic(DiagnosticSeverity.ERROR, draft, code, message, place, suggestion)

    def warning(self, draft: Draft, code: str, message: str, place: Place, suggestion: str | None = None) -> Diagnostic:
        return self.diagnostic(DiagnosticSeverity.WARNING, draft, code, message, place, suggestion)

    def diagnostic(
        self, severity: DiagnosticSeverity, draft: Draft, code: str, message: str, place: Place, suggestion: str | None
    ) -> Diagnostic:
        span = Span(place.file, place.line, place.col)
        return Diagnostic(severity, code, message, self.short(draft.model.table), span, suggestion)


def refuses_rows(draft: Draft) -> bool:
    """Whether rows that break its constraints go to a table of their own."""
    model = draft.model
    if model.stage is not None:
        return model.is_silver
    return draft.is_table and model.settings.quarantine and bool(row_constraints(model.checks, NOTHING_KNOWN))


@lru_cache(maxsize=8)
def templates_of(macros: tuple[MacroFile, ...]) -> Templates:
    return Templates(macros)
