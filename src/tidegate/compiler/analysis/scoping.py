"""Name resolution: which column a name means at its place in a query, as Spark decides it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from sqlglot import exp

from tidegate.compiler.analysis.attributes import IDENTITY, Attribute, Frame, FromItem
from tidegate.compiler.analysis.column_errors import report_ambiguous, report_field, report_unknown
from tidegate.compiler.analysis.expressions.typed import UNKNOWN, Typed, field_type
from tidegate.compiler.analysis.query_tokens import WrittenCall, written_calls
from tidegate.compiler.compiled import DiagnosticSeverity, Edge, Origin
from tidegate.compiler.sql.scopes import offset_of
from tidegate.datatypes import ANY, BIGINT, DATE, STRING, TIMESTAMP, DataType, Relation

__all__ = [
    "CALLED_WITHOUT_PARENTHESES",
    "NOT_FOUND",
    "Analysis",
    "AnalysisContext",
    "Cte",
    "QueryFinding",
    "QueryScope",
    "QuerySource",
    "ResolvedColumn",
    "Result",
    "column_parts",
]

CALLED_WITHOUT_PARENTHESES: dict[str, tuple[str, DataType]] = {
    "current_date": ("current_date()", DATE),
    "current_time": ("current_time(6)", ANY),
    "current_timestamp": ("current_timestamp()", TIMESTAMP),
    "current_user": ("current_user()", STRING),
    "grouping__id": ("grouping__id", BIGINT),
    "session_user": ("current_user()", STRING),
    "user": ("current_user()", STRING),
}
"""Names that are calls where no column has the name: the name and type of the result in Spark."""

_HARDLY_COLUMNS = frozenset({"current_date", "current_time", "current_timestamp", "grouping__id"})
"""Those of them that are read as calls even where unknown columns might have the name."""

_METADATA = frozenset(
    ["_metadata", "_file", "_pos", "_partition", "_spec_id", "_deleted", "_row_id", "_last_updated_sequence_number"]
)
"""Metadata columns of Iceberg tables and of files."""


@dataclass(frozen=True, slots=True)
class QuerySource:
    """A table or landing zone that a query reads."""

    key: str
    """The full name of the table (`shop.silver.orders`) or of the zone (`landing:orders`)."""
    relation: Relation
    open: bool = False
    """Unknown columns are not reported: they become known when it is read."""


@dataclass(frozen=True, slots=True)
class QueryFinding:
    """An error or warning in a query."""

    severity: DiagnosticSeverity
    code: str
    message: str
    offset: int
    """The place in the text of the query."""
    suggestion: str | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """The result of analyzing one query."""

    relation: Relation
    edges: tuple[Edge, ...] = ()
    """The lineage of its columns."""
    conditions: tuple[Origin, ...] = ()
    """Columns that decide which rows there are (WHERE, HAVING, QUALIFY, ON, GROUP BY, DISTINCT)."""
    findings: tuple[QueryFinding, ...] = ()
    taken_apart: frozenset[str] = frozenset()
    """Columns, in lower case, of which a dotted name takes a field."""


class Result:
    """The columns of a query, in order.

    `nodes`: the SELECT item of each.
    `conditions`: the origins that decide its rows.
    `unknown`: there may be other columns.
    """

    __slots__ = ("attributes", "conditions", "nodes", "unknown")

    def __init__(
        self,
        attributes: list[Attribute],
        nodes: list[Any],
        unknown: Any = None,
        conditions: set[tuple[str, str]] | None = None,
    ) -> None:
        self.attributes = attributes
        self.nodes = nodes
        self.unknown = unknown
        self.conditions: set[tuple[str, str]] = set() if conditions is None else conditions

    @property
    def is_vague(self) -> bool:
        """Whether the name of one of its columns is not known."""
        return any(not attribute.name for attribute in self.attributes)


class Cte:
    """A CTE and whether anything reads it."""

    __slots__ = ("read", "result")

    def __init__(self, result: Result) -> None:
        self.result = result
        self.read = False


class AnalysisContext:
    """State shared by the parts of one analysis: the sources, the findings, and the results for each node."""

    def __init__(
        self,
        sources: Mapping[int, QuerySource],
        own_functions: frozenset[str],
        query: Callable[[Any, QueryScope | None, AnalysisContext], Result],
        words: Sequence[Any] = (),
    ) -> None:
        self.calls: Mapping[int, WrittenCall] = written_calls(words)
        self.sources = sources
        self.own_functions = own_functions
        self.table_functions: frozenset[str] = frozenset()
        """Table functions of the project, in lower case."""
        self.findings: list[QueryFinding] = []
        self.columns: dict[int, ResolvedColumn] = {}
        self.ctes: dict[int, Cte] = {}
        self.taken_apart: set[str] = set()
        self.new_ids: Iterator[int] = count()
        self._query = query
        self.results: dict[int, Result] = {}

    def query(self, node: Any, outer: QueryScope | None) -> Result:
        """The result of a query, analyzed once."""
        result = self.results.get(id(node))
        if result is None:
            result = self.results[id(node)] = self._query(node, outer, self)
        return result

    def report(
        self,
        code: str,
        message: str,
        node: Any,
        suggestion: str | None = None,
        severity: DiagnosticSeverity = DiagnosticSeverity.ERROR,
    ) -> None:
        self.findings.append(QueryFinding(severity, code, message, offset_of(node), suggestion))


class ResolvedColumn(NamedTuple):
    """The column that a name refers to."""

    attribute: Attribute | None
    typed: Typed
    fields: int = 0
    """How many of the last parts of the name are fields of the column."""
    by_alias: bool = False
    """It is an earlier SELECT item."""
    name: str | None = None
    """Its name in a result; None: as it is written; empty: not certain."""

    @property
    def whole(self) -> bool:
        """It is the column itself and no field of it."""
        return self.fields == 0


NOT_FOUND = ResolvedColumn(None, UNKNOWN)


class QueryScope:
    """The columns visible at one place: in its frames, in order; then earlier SELECT items; then the outer scope."""

    __slots__ = ("aliases", "context", "frames", "outer", "own_functions", "report", "windows")

    def __init__(
        self, context: AnalysisContext, frames: tuple[Frame, ...] = (), outer: QueryScope | None = None
    ) -> None:
        self.context = context
        self.frames = frames
        self.outer = outer
        self.own_functions = context.own_functions
        self.report = context.report
        self.aliases: dict[str, list[Attribute]] = {}
        self.windows: Mapping[str, Any] = {}

    def with_frames(self, *frames: Frame) -> QueryScope:
        """The scope of another clause of the same SELECT, which sees these frames."""
        scope = QueryScope(self.context, frames, self.outer)
        scope.windows = self.windows
        return scope

    def column(self, node: Any) -> Typed:
        return self.resolve(node).typed

    def subquery(self, node: Any) -> Typed:
        attributes = self.result(node).attributes
        return Typed(attributes[0].type, True) if attributes else UNKNOWN

    def width(self, node: Any) -> int | None:
        result = self.result(node)
        return len(result.attributes) if result.unknown is None else None

    def written(self, node: Any) -> WrittenCall | None:
        return self.context.calls.get(node.meta.get("start", -1))

    def result(self, node: Any) -> Result:
        """The result of a subquery in an expression, which sees the columns of this scope too."""
        while type(node) is exp.Subquery and not node.args.get("with_"):
            node = node.this
        return self.context.query(node, self)

    def resolve(self, node: Any) -> ResolvedColumn:
        column = self.context.columns.get(id(node))
        if column is None:
            column = self.context.columns[id(node)] = self._resolve(node)
        return column

    def _resolve(self, node: Any) -> ResolvedColumn:
        parts = column_parts(node)
        return self.resolve_parts(parts, node) if parts else NOT_FOUND

    def resolve_parts(self, parts: list[Any], node: Any) -> ResolvedColumn:
        """`parts`: the identifiers of a name, which is `node` or a part of it."""
        names = tuple(part.this for part in parts)
        ambiguous: list[Attribute] = []
        unknown: list[_Assumed] = []
        scope: QueryScope | None = self
        while scope is not None:
            for frame in scope.frames:
                matches, used = frame.find(names, self.context.new_ids)
                if len(matches) == 1:
                    if used == 1 and len(names) > 1 and not _is_of_its_namesake(matches[0]):
                        self.context.taken_apart.add(names[0].lower())
                    # A table in a nearer scope with unknown columns may have that column too.
                    certain = used > 1 or not unknown
                    return self._field(matches[0], parts, used) if certain else NOT_FOUND
                if matches and not ambiguous:
                    ambiguous = matches
            if ambiguous:
                report_ambiguous(self, names, ambiguous, node)
                return NOT_FOUND
            here = [_Assumed(frame, item) for frame in scope.frames for item in frame.doubtful_items()]
            if len(names) == 1 and (call := CALLED_WITHOUT_PARENTHESES.get(names[0].lower())) is not None:
                if not here and not unknown:
                    return ResolvedColumn(None, Typed(call[1], False), name=call[0])
                if names[0].lower() in _HARDLY_COLUMNS:
                    return ResolvedColumn(None, Typed(call[1]), name="")
            if scope.aliases and (earlier := scope.aliases.get(names[0].lower())):
                return self._alias(earlier, here, parts)
            unknown += here
            scope = scope.outer
        if len(unknown) == 1:
            frame, item = unknown[0]
            return self._field(frame.assume(names[0], item, self.context.new_ids), parts, 1)
        if not unknown and not (self._reads_source() and any(name.lower() in _METADATA for name in names)):
            report_unknown(self, names, parts[0])
        return NOT_FOUND

    def _reads_source(self) -> bool:
        scope: QueryScope | None = self
        while scope is not None:
            if any(item.is_source for frame in scope.frames for item in frame.items):
                return True
            scope = scope.outer
        return False

    def _alias(self, earlier: list[Attribute], unknown: list[_Assumed], parts: list[Any]) -> ResolvedColumn:
        name = str(parts[0].this)
        if len(earlier) > 1:
            self.report(
                "AmbiguousColumn",
                f"ambiguous column '{name}': {len(earlier)} earlier columns of this SELECT have that name",
                parts[0],
                "give them different names",
            )
            return NOT_FOUND
        attribute = earlier[0]
        if not unknown:
            return self._field(attribute, parts, 1)._replace(by_alias=True)
        # A table may have a column of that name, which takes precedence; `f(x) AS x` shows that it has.
        for _, item in unknown:
            key = item.unknown.key if item.unknown else None
            if key is not None and (key, name) in attribute.lineage:
                own = Attribute(name, ANY, None, {(key, name): IDENTITY}, attribute.identity, item)
                return ResolvedColumn(own, UNKNOWN, len(parts) - 1, by_alias=True)
        return ResolvedColumn(attribute, UNKNOWN, len(parts) - 1, by_alias=True)

    def _field(self, attribute: Attribute, parts: list[Any], used: int) -> ResolvedColumn:
        fields = len(parts) - used
        if not fields:
            return ResolvedColumn(attribute, Typed(attribute.type, attribute.nullable))
        kind = attribute.type
        # Types here do not record whether a field may be NULL.
        nullable = True if attribute.nullable else None
        for part in parts[used:]:
            if kind.kind in ("?", "void", "variant"):
                return ResolvedColumn(attribute, Typed(ANY, nullable), fields)
            inner = field_type(kind, str(part.this))
            if inner is None:
                report_field(self, kind, part, parts)
                return ResolvedColumn(attribute, UNKNOWN, fields)
            nullable = True if kind.kind == "map" else nullable
            kind = inner
        return ResolvedColumn(attribute, Typed(kind, nullable), fields)


def _is_of_its_namesake(attribute: Attribute) -> bool:
    """`LATERAL VIEW explode(…) tag AS tag`: `tag.name` means the same, whether `tag` is the view or its column."""
    item = attribute.item
    return item is not None and item.is_untyped and item.qualifier == (attribute.folded,)


class _Assumed(NamedTuple):
    frame: Frame
    item: FromItem


def column_parts(node: Any) -> list[Any]:
    """The identifiers of a dotted name, in order; empty where it contains anything but names."""
    if type(node) is exp.Column:
        parts: list[Any] = node.parts
        return parts if type(parts[-1]) is exp.Identifier else []
    fields: list[Any] = []
    while type(node) is exp.Dot:
        if type(node.expression) is not exp.Identifier:
            return []
        fields.append(node.expression)
        node = node.this
    if type(node) is not exp.Column or type(node.this) is not exp.Identifier:
        return []
    return [*node.parts, *reversed(fields)]
