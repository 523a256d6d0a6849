"""What the passes work on: each query of the project, from its template to its resolved tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from tidegate.compiler.catalog import TableIndex
from tidegate.compiler.locate import locate
from tidegate.compiler.queries import Query, Reference
from tidegate.compiler.values import Diagnostic, DiagnosticSeverity, LandingRead, Span
from tidegate.config import Settings
from tidegate.names import TableName
from tidegate.project import MacroFile, Model, Place, Project, QualityTest
from tidegate.project.template_names import TemplateContext
from tidegate.project.templates import Rendered, Templates

__all__ = ["Draft", "Rendering", "Workspace", "templates_of"]

_STARTED_AT = "__run_started_at__"
_WATERMARK = "__watermark_value__"


@dataclass(slots=True)
class Rendering:
    """A template rendered for a first or a later run, and what was understood of it so far."""

    context: TemplateContext
    rendered: Rendered
    query: Query | None = None


@dataclass(slots=True)
class Draft:
    """A model, or (`test` set) one of its quality tests. `failed`: an error was found, later passes leave it aside."""

    model: Model
    test: QualityTest | None = None
    renderings: list[Rendering] = field(default_factory=list)
    failed: bool = False
    tables: dict[TableName, Place | tuple[Rendering, Reference]] = field(default_factory=dict)
    sources: set[TableName] = field(default_factory=set)
    landings: set[str] = field(default_factory=set)
    landing_reads: list[LandingRead] = field(default_factory=list)

    @property
    def source(self) -> str:
        return self.test.source if self.test else self.model.source

    @property
    def file(self) -> str:
        return (self.test.path if self.test else self.model.path).as_posix()


@dataclass(slots=True)
class Workspace:
    """The state of one compilation. `models`: the draft of each table, the first where two claim it."""

    project: Project
    settings: Settings
    tables: TableIndex
    vars: Mapping[str, object]
    templates: Templates
    drafts: list[Draft]
    models: Mapping[TableName, Draft]

    @classmethod
    def of(
        cls, project: Project, settings: Settings, lake_tables: Collection[TableName], cli_vars: Mapping[str, object]
    ) -> Workspace:
        drafts = [Draft(model) for model in project.models]
        models = {draft.model.table: draft for draft in reversed(drafts)}
        drafts += [Draft(model, test) for model in project.models for test in model.tests]
        tables = TableIndex(models, lake_tables, settings.project.namespace)
        variables = {**settings.vars, **cli_vars}
        return cls(project, settings, tables, variables, templates_of(project.macros), drafts, models)

    @property
    def sound(self) -> Iterator[Draft]:
        return (draft for draft in self.drafts if not draft.failed)

    def short(self, table: TableName) -> str:
        return table.short(self.settings.project.namespace)

    def contexts(self, draft: Draft) -> Iterator[TemplateContext]:
        """The canonical values: those of a run are placeholders, so that a definition has one meaning."""
        model, namespace = draft.model, self.settings.project.namespace
        yield TemplateContext(model.table, namespace, model.settings.strategy, _STARTED_AT, vars=self.vars)
        if draft.test is None:
            yield TemplateContext(
                model.table, namespace, model.settings.strategy, _STARTED_AT, True, _WATERMARK, vars=self.vars
            )

    def place(self, draft: Draft, rendering: Rendering, offset: int) -> Place:
        text = rendering.rendered.text
        return locate(self.templates, draft.source, draft.file, rendering.context, text, offset)

    def place_of_table(self, draft: Draft, table: TableName) -> Place:
        """Where the draft first names the table."""
        named = draft.tables[table]
        return named if isinstance(named, Place) else self.place(draft, named[0], named[1].start)

    def error(self, draft: Draft, code: str, message: str, place: Place, suggestion: str | None = None) -> Diagnostic:
        """An error in a draft, which later passes then leave aside."""
        draft.failed = True
        return self._told(DiagnosticSeverity.ERROR, draft, code, message, place, suggestion)

    def warning(self, draft: Draft, code: str, message: str, place: Place, suggestion: str | None = None) -> Diagnostic:
        return self._told(DiagnosticSeverity.WARNING, draft, code, message, place, suggestion)

    def _told(
        self, severity: DiagnosticSeverity, draft: Draft, code: str, message: str, place: Place, suggestion: str | None
    ) -> Diagnostic:
        span = Span(place.file, place.line, place.col)
        return Diagnostic(severity, code, message, self.short(draft.model.table), span, suggestion)


@lru_cache(maxsize=8)
def templates_of(macros: tuple[MacroFile, ...]) -> Templates:
    return Templates(macros)
