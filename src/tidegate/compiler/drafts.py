"""What the passes work on: each query of the project, from its template to its columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from tidegate.compiler.catalog import TableIndex
from tidegate.compiler.facts import QueryFacts
from tidegate.compiler.locate import locate
from tidegate.compiler.outside import Outside
from tidegate.compiler.queries import Query
from tidegate.compiler.values import Diagnostic, DiagnosticSeverity, Edge, LandingRead, Origin, Span
from tidegate.config import Settings
from tidegate.datatypes import Relation
from tidegate.names import TableName
from tidegate.project import MacroFile, Materialized, Model, Place, Project, QualityTest
from tidegate.project.template_names import LandingCall, TemplateContext
from tidegate.project.templates import Rendered, Templates

__all__ = ["Draft", "Progress", "Rendering", "Workspace", "templates_of"]

_STARTED_AT = "__run_started_at__"
_WATERMARK = "__watermark_value__"


class Progress(Enum):
    UNREAD = 0
    READ = 1
    UNDERSTOOD = 2


@dataclass(slots=True)
class Rendering:
    """A query as a first (or `later`) run would have it. `text` and `query` are gone once the facts are known."""

    later: bool
    landings: tuple[LandingCall, ...] = ()
    text: str | None = None
    query: Query | None = None
    facts: QueryFacts | None = None


@dataclass(slots=True)
class Draft:
    """A model, or (`test` set) one of its quality tests. `failed`: an error was found, so it will not be built.

    `renderings` are those that differ; `names`: what its template looks up. `relation`: the columns of its result as
    far as they are known, None where nothing was understood.
    """

    model: Model
    test: QualityTest | None = None
    renderings: list[Rendering] = field(default_factory=list)
    names: frozenset[str] = frozenset()
    failed: bool = False
    tables: dict[TableName, Place | tuple[bool, int]] = field(default_factory=dict)
    sources: set[TableName] = field(default_factory=set)
    landings: set[str] = field(default_factory=set)
    landing_reads: list[LandingRead] = field(default_factory=list)
    relation: Relation | None = None
    edges: tuple[Edge, ...] = ()
    conditions: tuple[Origin, ...] = ()
    progress: Progress = Progress.UNREAD
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def source(self) -> str:
        return self.test.source if self.test else self.model.source

    @property
    def file(self) -> str:
        return (self.test.path if self.test else self.model.path).as_posix()

    @property
    def is_table(self) -> bool:
        return self.test is None and self.model.settings.materialized is Materialized.TABLE

    def forget_trees(self) -> None:
        """The texts and trees of ten thousand queries would fill the memory."""
        for rendering in self.renderings:
            rendering.text = rendering.query = None

    @property
    def facts(self) -> Iterator[tuple[Rendering, QueryFacts]]:
        """Each rendering that was understood."""
        return ((rendering, rendering.facts) for rendering in self.renderings if rendering.facts is not None)


@dataclass(slots=True)
class Workspace:
    """The state of one compilation. `models`: the draft of each table, the first where two claim it."""

    project: Project
    settings: Settings
    outside: Outside
    tables: TableIndex
    vars: Mapping[str, object]
    templates: Templates
    drafts: list[Draft]
    models: Mapping[TableName, Draft]

    @classmethod
    def of(cls, project: Project, settings: Settings, outside: Outside, cli_vars: Mapping[str, object]) -> Workspace:
        drafts = [Draft(model) for model in project.models]
        models = {draft.model.table: draft for draft in reversed(drafts)}
        drafts += [Draft(model, test) for model in project.models for test in model.tests]
        tables = TableIndex(models, outside.tables, settings.project.namespace)
        variables = {**settings.vars, **cli_vars}
        return cls(project, settings, outside, tables, variables, templates_of(project.macros), drafts, models)

    @property
    def sound(self) -> Iterator[Draft]:
        return (draft for draft in self.drafts if not draft.failed)

    def short(self, table: TableName) -> str:
        return table.short(self.settings.project.namespace)

    def context(self, draft: Draft, later: bool) -> TemplateContext:
        """The canonical values: those of a run are placeholders, so that a definition has one meaning."""
        model, namespace = draft.model, self.settings.project.namespace
        watermark = _WATERMARK if later else None
        return TemplateContext(
            model.table, namespace, model.settings.strategy, _STARTED_AT, later, watermark, vars=self.vars
        )

    def place(self, draft: Draft, later: bool, offset: int) -> Place:
        """Where in the draft's file an offset of its rendered text comes from."""
        context = self.context(draft, later)
        rendered = self.templates.render(draft.source, draft.file, context)
        if not isinstance(rendered, Rendered):
            return Place(draft.file)
        return locate(self.templates, draft.source, draft.file, context, rendered.text, offset)

    def place_of_table(self, draft: Draft, table: TableName) -> Place:
        """Where the draft first names the table."""
        named = draft.tables[table]
        return named if isinstance(named, Place) else self.place(draft, *named)

    def error(self, draft: Draft, code: str, message: str, place: Place, suggestion: str | None = None) -> Diagnostic:
        """An error in a draft, which will then not be built."""
        draft.failed = True
        return self.told(DiagnosticSeverity.ERROR, draft, code, message, place, suggestion)

    def warning(self, draft: Draft, code: str, message: str, place: Place, suggestion: str | None = None) -> Diagnostic:
        return self.told(DiagnosticSeverity.WARNING, draft, code, message, place, suggestion)

    def told(
        self, severity: DiagnosticSeverity, draft: Draft, code: str, message: str, place: Place, suggestion: str | None
    ) -> Diagnostic:
        span = Span(place.file, place.line, place.col)
        return Diagnostic(severity, code, message, self.short(draft.model.table), span, suggestion)

    def materialized(self, tables: Iterable[TableName], kind: Materialized) -> Iterator[TableName]:
        """Those of `tables` that are models of this kind."""
        for table in tables:
            found = self.models.get(table)
            if found is not None and found.model.settings.materialized is kind:
                yield table


@lru_cache(maxsize=8)
def templates_of(macros: tuple[MacroFile, ...]) -> Templates:
    return Templates(macros)
