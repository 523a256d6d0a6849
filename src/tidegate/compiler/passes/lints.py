"""Lints: patterns that may cause errors later, with the severity that [lints] sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from tidegate.compiler.compiled import Compiled, CompiledModel, Diagnostic, DiagnosticSeverity, Edge, EdgeKind, Span
from tidegate.compiler.sql.locate import line_and_column, offset_of_star
from tidegate.names import TableName
from tidegate.project import Materialized

__all__ = ["lint"]

_SHOWN = 3

Reads = Mapping[str, Mapping[str, set[TableName]]]
"""Table → column in lower case → the models that read it by its name."""


def lint(compiled: Compiled, around_stars: Collection[TableName] | None = None) -> Iterator[Diagnostic]:
    """`around_stars`: the models that use `*`, and those that read them, where that is known."""
    if (level := compiled.settings.lints.blast_radius) != "off":
        among = compiled.models if around_stars is None else around_stars
        yield from _blast_radius(compiled, {t: compiled.models[t] for t in among}, DiagnosticSeverity(level))
    if (level := compiled.settings.lints.freshness_coverage) != "off":
        yield from _freshness(compiled, DiagnosticSeverity(level))


def _blast_radius(
    compiled: Compiled, among: Mapping[TableName, CompiledModel], severity: DiagnosticSeverity
) -> Iterator[Diagnostic]:
    """Columns that other models read by name, and that come through a `*` without being named."""
    stars = {str(table): model for table, model in among.items() if model.star}
    reads = _reads_by_name(among, stars) if stars else {}
    for table, model in stars.items():
        read = reads.get(table, {})
        columns = sorted(_unnamed(model) & read.keys())
        if not columns:
            continue
        readers = sorted(set().union(*(read[column] for column in columns)))
        above = _listed(other.short(compiled.namespace) for other in (*model.depends_on, *model.sources))
        below = _listed(reader.short(compiled.namespace) for reader in readers)
        message = (
            f"its * passes on whatever columns are in {above}, and {_listed(columns)} {_is_are(columns)} read by name"
            f" in {below}: a change above gets there unseen"
        )
        fix = "name the columns instead of *"
        short = model.model.table.short(compiled.namespace)
        yield Diagnostic(severity, "BlastRadius", message, short, _star(model), fix)


def _reads_by_name(models: Mapping[TableName, CompiledModel], tables: Collection[str]) -> Reads:
    reads: dict[str, dict[str, set[TableName]]] = {table: defaultdict(set) for table in tables}
    for table, model in models.items():
        for edge in model.edges:
            if edge.origin.table in reads and not (model.star and _is_passed_on(edge)):
                reads[edge.origin.table][edge.origin.column.lower()].add(table)
        for origin in model.conditions:
            if origin.table in reads:
                reads[origin.table][origin.column.lower()].add(table)
    return reads


def _unnamed(model: CompiledModel) -> set[str]:
    """The columns that come through a `*`, except those of landing files, which no model defines."""
    passed_on = (edge for edge in model.edges if _is_passed_on(edge))
    return {edge.column.lower() for edge in passed_on if not edge.origin.table.startswith("landing:")}


def _is_passed_on(edge: Edge) -> bool:
    """As a `*` would take it: unchanged, under its own name."""
    return edge.kind is EdgeKind.IDENTITY and edge.column.lower() == edge.origin.column.lower()


def _freshness(compiled: Compiled, severity: DiagnosticSeverity) -> Iterator[Diagnostic]:
    """Tables that others read, with a time column and without a freshness limit."""
    readers: dict[TableName, list[TableName]] = defaultdict(list)
    for table, model in compiled.models.items():
        for other in model.depends_on:
            readers[other].append(table)
    for table, model in compiled.models.items():
        settings = model.model.settings
        if settings.freshness is not None or settings.materialized is not Materialized.TABLE:
            continue
        column = _time_column(model)
        if column is None or not (readers[table] or table.layer.lower() == "gold"):
            continue
        short = [reader.short(compiled.namespace) for reader in sorted(readers[table])]
        why = f"is read by {_listed(short)}" if short else "is in gold"
        message = f"the table {why} and has times in '{column}', but says nowhere how fresh it must be"
        span = Span(model.model.file, 1)
        fix = f"add -- @freshness: {column} 24h to the top of the file"
        yield Diagnostic(severity, "FreshnessCoverage", message, table.short(compiled.namespace), span, fix)


def _time_column(model: CompiledModel) -> str | None:
    settings = model.model.settings
    times = [column.name for column in model.relation.columns if column.type.is_temporal]
    chosen = {name.lower() for name in (settings.time_column, settings.watermark_column) if name}
    return next((name for name in times if name.lower() in chosen), times[0] if times else None)


def _star(model: CompiledModel) -> Span:
    source, file = model.model.source, model.model.file
    offset = offset_of_star(source)
    if offset is None:
        return Span(file, 1)
    return Span(file, *line_and_column(source, offset))


def _is_are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _listed(names: Iterable[str]) -> str:
    """The first few, and how many more."""
    all_names = list(names)
    first = all_names[:_SHOWN]
    if len(all_names) > _SHOWN:
        return f"{', '.join(first)} and {len(all_names) - _SHOWN} more"
    return " and ".join([", ".join(first[:-1]), first[-1]]) if len(first) > 1 else "".join(first)
