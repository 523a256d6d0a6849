"""What the compiler returns: diagnostics, the compiled project, and queries bound to one run's values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from tidegate.amounts import plural
from tidegate.checks.check_values import Check
from tidegate.config import Settings, ZoneSettings
from tidegate.datatypes import NOTHING_KNOWN, Relation
from tidegate.names import TableName, literal, quote
from tidegate.project import LoadedProject, Materialized, Model
from tidegate.project.lib_functions import FunctionValue

if TYPE_CHECKING:
    from tidegate.contracts.ingestion import Ingestion
    from tidegate.sources.chunk_tables import ChunkTable

__all__ = [
    "SOURCE_UNAVAILABLE",
    "BoundQuery",
    "CodeReads",
    "Compiled",
    "CompiledModel",
    "Diagnostic",
    "DiagnosticSeverity",
    "Edge",
    "EdgeKind",
    "FunctionRead",
    "LandingRead",
    "Origin",
    "RunValues",
    "Span",
    "TableRead",
    "count_line",
    "in_order",
]

SOURCE_UNAVAILABLE = "SourceUnavailable"
"""The code of the one error that is not a mistake in the project."""


class DiagnosticSeverity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a source file; `line` and `col` count from 1, `file` is relative to the project."""

    file: str
    line: int
    col: int = 1


@dataclass(frozen=True, slots=True)
class Diagnostic:
    severity: DiagnosticSeverity
    code: str
    message: str
    model: str | None = None
    span: Span | None = None
    suggestion: str | None = None


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """By place, and the same every time."""

    def key(diagnostic: Diagnostic) -> tuple[str, int, int, str, str, str, str]:
        span = diagnostic.span
        place = (span.file, span.line, span.col) if span else ("", 0, 0)
        return (*place, diagnostic.code, diagnostic.message, diagnostic.model or "", diagnostic.suggestion or "")

    return tuple(sorted(diagnostics, key=key))


class EdgeKind(StrEnum):
    """How a column is derived from another, most direct first; a path is as direct as its least direct step."""

    IDENTITY = "identity"
    CAST = "cast"
    EXPRESSION = "expression"
    AGGREGATION = "aggregation"
    WINDOW = "window"
    CONDITION = "condition"
    """The other column decides which value is taken (CASE WHEN, IF, FILTER), without being part of it."""


class Origin(NamedTuple):
    """A column of something outside the query. `table`: the key of its source."""

    table: str
    column: str


class Edge(NamedTuple):
    """`column` of the query's result comes from `origin`."""

    column: str
    origin: Origin
    kind: EdgeKind


@dataclass(frozen=True, slots=True)
class CodeReads:
    """What the code of a Python model may read."""

    refs: tuple[TableName, ...] = ()
    """Tables, views and ephemeral models of which it takes all rows."""
    changes: tuple[TableName, ...] = ()
    """Tables of which it takes the rows that changed."""
    landings: tuple[LandingRead, ...] = ()
    """Each zone once."""
    this: bool = False
    """It asks for its own table."""
    whole: tuple[TableName, ...] = ()
    """Tables, views and sources that it reads other than by their changes: in `refs`, in ephemeral models of those, or
    only named in depends_on."""


@dataclass(frozen=True, slots=True)
class CompiledModel:
    """A model without errors: templates rendered, SQL parsed, names resolved."""

    model: Model
    depends_on: tuple[TableName, ...]
    """Models whose tables or views it reads, through ephemeral models (which have no table); itself left out."""
    sources: tuple[TableName, ...]
    """Tables it reads that no model builds."""
    zones: tuple[str, ...]
    """Landing zones it reads."""
    fingerprint: str
    deterministic: bool
    """The same inputs give the same rows another time."""
    manual: bool
    """Its template uses `watermark_value` or `is_incremental()`, so its author decides what is read."""
    uses_watermark: bool
    reads_itself: bool
    """It reads its own table."""
    inlined: tuple[TableName, ...] = ()
    """Ephemeral models that are part of its query."""
    relation: Relation = NOTHING_KNOWN
    """The columns of its result, as far as they are known."""
    edges: tuple[Edge, ...] = ()
    """Where the columns come from; ephemeral models count as tables here."""
    conditions: tuple[Origin, ...] = ()
    """Columns that decide which rows there are."""
    star: bool = False
    """It takes whatever columns its input has."""
    checks: tuple[Check, ...] = ()
    """Its checks, with other tables named in full."""
    checks_digest: str = ""
    """Changes with everything that decides the outcome of the checks; empty without any."""
    bad_records: bool = False
    """Records of its landing zones that cannot be parsed go to its quarantine."""
    functions: tuple[FunctionRead, ...] = ()
    """Table functions of the project that it calls: sources outside the lake."""
    repeatable: bool = True
    """It would be deterministic if these functions gave the same rows."""
    code: CodeReads | None = None
    """Of a Python model: what its code does with its inputs is not known."""

    @property
    def opaque(self) -> bool:
        """Its author decides how the result follows from the inputs: no query says it."""
        return self.manual or self.code is not None

    @property
    def quarantines(self) -> bool:
        """Whether it has a second table, for the rows and records that it refuses."""
        is_table = self.model.settings.materialized is Materialized.TABLE
        return is_table and (self.model.settings.quarantine or self.bad_records or self.model.is_silver)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A project with its settings, its models ready to be planned and bound, and its diagnostics."""

    models: Mapping[TableName, CompiledModel]
    """By table; ephemeral models, which have none, by their name."""
    waves: tuple[tuple[TableName, ...], ...]
    """Every model that has a table or view, in an order to build: each is in the first wave after its upstreams."""
    project: LoadedProject = field(repr=False, compare=False)
    """The files that were compiled: a query is bound to a run's values from their templates."""
    settings: Settings = field(repr=False, compare=False)
    diagnostics: tuple[Diagnostic, ...] = ()
    broken: frozenset[TableName] = frozenset()
    """Models with errors, or that cannot be built because of another's."""
    upstreams: Mapping[TableName, Collection[TableName]] = field(default_factory=dict, repr=False)
    """The models that are built before each that has a table or view: those that it reads, and those that its checks
    look at unless they are built from it."""
    tagged: bool = True
    """Whether columns may have tags; where it is False, no column of the project has one."""
    chunk_tables: Mapping[TableName, ChunkTable] = field(default_factory=dict, repr=False, compare=False)
    """The Delta tables of chunked loads, each as it was first read since this was compiled."""

    @property
    def namespace(self) -> str:
        return self.settings.project.namespace

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.diagnostics if d.severity is DiagnosticSeverity.ERROR)

    @property
    def project_errors(self) -> tuple[Diagnostic, ...]:
        """Without unavailable sources: those concern only the models that read them."""
        return tuple(error for error in self.errors if error.code != SOURCE_UNAVAILABLE)

    def model_of(self, key: str) -> CompiledModel | None:
        """The model of an origin's `table`; None for a landing zone and what is outside the lake."""
        parts = key.split(".")
        return self.models.get(TableName(*parts)) if len(parts) == 3 else None

    def runs_in_sandbox(self, table: TableName) -> bool:
        """Whether building and checking it runs Python of the project that is not trusted."""
        model = self.models[table]
        files = [self.project.functions[read.name.lower()].file for read in model.functions]
        files += [model.model.file] if model.code is not None else []
        files += [check.file for check in model.checks if check.file.endswith(".py")]
        return not all(map(self.settings.sandbox.is_trusted, files))

    def ingestions(self, tables: Collection[TableName]) -> Mapping[TableName, Ingestion]:
        """The contracts whose sources fill some of these bronze tables; files that are pushed need no reading."""
        stages = {table: self.models[table].model.stage for table in sorted(tables)}
        return {
            table: stage.ingestion
            for table, stage in stages.items()
            if stage is not None and not stage.is_silver and stage.ingestion.source.connector.reads_source
        }


@dataclass(frozen=True, slots=True)
class RunValues:
    """The values of a run that templates may use; times are UTC, ISO 8601."""

    run_started_at: str
    incremental: bool = False
    """The result of `is_incremental()`."""
    watermark_value: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    vars: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LandingRead:
    """One way in which a query reads a zone: declared settings with the call's own arguments on top."""

    zone: str
    settings: ZoneSettings


@dataclass(frozen=True, slots=True)
class FunctionRead:
    """One call of a table function of the project."""

    name: str

    arguments: tuple[tuple[str, FunctionValue], ...]
    """By the names of its parameters."""

    @property
    def key(self) -> str:
        """As it is recorded and shown: `gam_report(year => '2024')`."""
        return f"{self.name}({', '.join(f'{name} => {_constant(value)}' for name, value in self.arguments)})"


def _constant(value: FunctionValue) -> str:
    return literal(value) if isinstance(value, str) else "NULL" if value is None else str(value).lower()


@dataclass(frozen=True, slots=True)
class TableRead:
    """One place in `BoundQuery.sql` that reads a table: `sql[start:end]` is its name (fully qualified, quoted).

    Exactly one of `table`, `landing` and `function` is set.
    """

    start: int
    end: int
    alias: str | None
    """Its name in the query; None where the query gives it none."""
    driving: bool
    """It is on the path of leftmost FROM items from the root (through CTEs, subqueries in FROM and every branch of a
    UNION), so its rows become result rows; the others are looked up."""
    table: TableName | None = None
    landing: LandingRead | None = None
    function: FunctionRead | None = None

    @property
    def name(self) -> str:
        """Without what stands before the last dot."""
        if self.table is not None:
            return self.table.name
        return self.landing.zone if self.landing else self.function.name if self.function else "t"


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A model's SQL with templates rendered, ephemeral models inlined and every table name in full."""

    sql: str
    reads: tuple[TableRead, ...]
    columns: tuple[str, ...] = ()

    def substitute(self, replacement: Callable[[TableRead], str | None]) -> str:
        """The SQL with some reads replaced by other relations (a name or a parenthesised query); None keeps one."""
        text, last = [], 0
        for read in sorted(self.reads, key=lambda read: read.start):
            relation = replacement(read)
            if relation is None:
                continue
            alias = "" if read.alias else f" AS {quote(read.name)}"
            text += [self.sql[last : read.start], relation, alias]
            last = read.end
        return "".join([*text, self.sql[last:]])


def count_line(diagnostics: Iterable[Diagnostic]) -> str:
    """`2 errors, 1 warning`; empty where there are none."""
    severities = [diagnostic.severity for diagnostic in diagnostics]
    counts = [(severity.value, severities.count(severity)) for severity in DiagnosticSeverity]
    return ", ".join(plural(count, "note" if name == "info" else name) for name, count in counts if count)
