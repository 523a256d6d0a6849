"""`ls` and `show`: the models and sources of the project, without a JVM."""

from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Iterator

import click

from tidegate.amounts import duration, plural, size, timestamp
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation
from tidegate.cli.shared_options import SelectingCommand, selection_options
from tidegate.cli.terminal import OutputLine, TextTable, clean
from tidegate.compiler.compiled import count_line
from tidegate.config import Settings
from tidegate.datatypes import Relation
from tidegate.errors import SourceError
from tidegate.names import TableName, quote
from tidegate.operations.listings import ListedModel, ModelList, SourceList, list_models, list_sources
from tidegate.operations.show import ModelFacts, gather_facts
from tidegate.state.run_records import QualityRecord

__all__ = ["ls", "show", "source_lines", "source_notes"]

_SHOWN_ELSEWHERE = ("strategy", "materialized", "description", "columns", "column_tags")


@click.command(cls=SelectingCommand)
@selection_options
@click.option("--sources", is_flag=True, help="List the tables of the sources instead; each source is queried.")
@common_options
@pass_invocation
def ls(invocation: Invocation, select: tuple[str, ...], exclude: tuple[str, ...], sources: bool) -> int:
    """List the models of the project.

    SELECT names models as for `tidegate run`; without it, all.

    \b
    Example:
      tidegate ls
      tidegate ls state:modified+
      tidegate ls --sources
    """
    workspace = open_workspace(invocation)
    if sources:
        if select or exclude:
            raise click.UsageError("--sources lists tables of sources, and SELECT names models: give one of them.")
        return _list_sources(invocation, workspace.settings)
    listing = list_models(workspace, select, exclude)
    invocation.output().show(listing.document(), lambda: _model_lines(listing, invocation.quiet))
    if listing.compiled.errors:
        invocation.output().note(
            f"The project has {count_line(listing.compiled.errors)}: `tidegate compile` shows them."
        )
    return 0


def _list_sources(invocation: Invocation, settings: Settings) -> int:
    listing = list_sources(settings)
    output = invocation.output()
    output.show(listing.document(), lambda: source_lines(listing))
    for line in source_notes(listing, invocation.debug):
        output.note(line, always=True)
    return listing.exit_code


def _model_lines(listing: ModelList, quiet: bool) -> Iterator[OutputLine]:
    if not listing.models:
        empty = "No models yet: put a SQL file into models/<layer>/."
        yield "No model is selected: none has the state that SELECT names." if listing.compiled.models else empty
    elif quiet:
        yield from (model.model for model in listing.models)
    else:
        yield TextTable(("model", "strategy", "upstreams", "tags", "last status"), map(_row, listing.models))


def _row(model: ListedModel) -> tuple[str, ...]:
    outside = [*(f"landing:{zone}" for zone in model.zones), *(f"lib:{name}" for name in model.functions)]
    inputs = ", ".join([*model.upstreams, *outside])
    return model.model, model.strategy, inputs or "-", ", ".join(model.tags) or "-", model.last_status or "never run"


@click.command()
@click.argument("model")
@common_options
@pass_invocation
def show(invocation: Invocation, model: str) -> None:
    """Show one model: settings, table, upstreams, runs and checks.

    \b
    Example:
      tidegate show silver.orders
    """
    workspace = open_workspace(invocation)
    facts = gather_facts(workspace, model)
    invocation.output().show(facts.document(), lambda: _lines(facts))


def _lines(facts: ModelFacts) -> Iterator[OutputLine]:
    compiled, settings = facts.compiled, facts.compiled.model.settings
    yield f"{facts.name}  ({settings.written_as})  {compiled.model.path}"
    if settings.description:
        yield f"  {clean(settings.description)}"
    yield ""
    outside = [*(f"landing:{zone}" for zone in compiled.zones), *(f"lib:{read.key}" for read in compiled.functions)]
    yield f"upstreams    {', '.join([*facts.upstreams, *outside]) or '-'}"
    yield f"downstreams  {', '.join(facts.downstreams) or '-'}"
    for name, value in facts.declared.items():
        if name not in _SHOWN_ELSEWHERE:
            yield f"{name:<12} {', '.join(map(str, value)) if isinstance(value, tuple) else value}"
    yield ""
    yield from _table_lines(facts)
    yield from _run_lines(facts)
    yield from _check_lines(facts)
    yield from _anomaly_lines(facts)
    if facts.code is not None:
        yield ""
        yield from (clean(line) for line in facts.code.splitlines())


def _table_lines(facts: ModelFacts) -> Iterator[OutputLine]:
    if facts.table is None:
        yield "table        not published yet"
        yield ""
        return
    table = facts.table
    if table.is_view:
        yield f"view         {len(table.columns)} columns"
    else:
        yield (
            f"table        {plural(table.rows, 'row')}, {plural(table.files, 'file')}, {size(table.bytes)}, "
            f"{plural(table.snapshots, 'snapshot')}, last changed {timestamp(table.changed_at)} UTC"
        )
    if table.progress:
        mark = f", watermark {table.progress.watermark}" if table.progress.watermark else ""
        yield f"progress     {table.progress.run_type} by {table.progress.run_id}{mark}"
    yield ""
    settings = facts.compiled.model.settings
    tags = {name.lower(): f"[{', '.join(column_tags)}]" for name, column_tags in settings.column_tags.items()}
    descriptions = {
        name: f"{settings.columns.get(name, '')} {tags.get(name.lower(), '')}".strip() for name, _ in table.columns
    }
    yield TextTable(("column", "type", "description"), [(n, t, descriptions[n]) for n, t in table.columns])
    yield ""


def _run_lines(facts: ModelFacts) -> Iterator[OutputLine]:
    if not facts.runs:
        yield "runs         never run"
        return
    headers = ("run", "status", "how", "rows", "took", "ended (UTC)", "reason")
    yield TextTable(
        headers,
        (
            (
                run.run_id,
                run.status,
                run.run_type or "-",
                str(run.rows_written),
                duration(run.duration_ms),
                timestamp(run.finished_at),
                (run.error or run.reason).split("\n", 1)[0],
            )
            for run in facts.runs
        ),
    )


def _check_lines(facts: ModelFacts) -> Iterator[OutputLine]:
    declared = {(str(check.stage), check.name): str(check.severity) for check in facts.compiled.checks}
    by_check: dict[tuple[str, str], list[QualityRecord]] = {}
    for check in facts.checks:
        by_check.setdefault((check.stage, check.name), []).append(check)
    rows = []
    for key in [*declared, *(key for key in by_check if key not in declared)]:
        history = by_check.get(key, [])
        last = history[0] if history else None
        value = "-" if last is None or last.value is None else str(last.value)
        severity = declared.get(key) or f"{last.severity if last else '-'} (no longer declared)"
        before = Counter(check.status for check in history[1:])
        earlier = ", ".join(f"{count} {status}" for status, count in before.most_common())
        when = timestamp(last.at) if last else "-"
        rows.append((key[1], key[0], severity, last.status if last else "not run", value, when, earlier or "-"))
    if rows:
        yield ""
        headers = ("check", "stage", "severity", "last status", "found", "checked (UTC)", "before that")
        yield TextTable(headers, rows)


def _anomaly_lines(facts: ModelFacts) -> Iterator[OutputLine]:
    if facts.anomalies:
        yield ""
        rows = [(clean(a.message), f"{a.deviation:.0%}", a.run_id, timestamp(a.at)) for a in facts.anomalies]
        yield TextTable(("unusual", "deviation", "run", "found (UTC)"), rows, widest=100)


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def source_lines(sources: SourceList) -> Iterator[OutputLine]:
    discovery = sources.discovery
    if not sources.declared:
        yield "No sources yet: declare one as [sources.NAME] in tidegate.toml."
    elif discovery.tables:
        rows = [
            (table.source, table.kind, _query_name(table.table), _column_count(table.relation))
            for table in discovery.tables
        ]
        yield TextTable(("source", "kind", "table", "columns"), rows)
        names = {table.source for table in discovery.tables}
        yield f"{plural(len(discovery.tables), 'table')} in {plural(len(names), 'source')}."
    elif not discovery.failures:
        yield "The sources have no tables that could be read."


def source_notes(sources: SourceList, debug: bool = False) -> Iterator[str]:
    """What went wrong, one line for what and one for what to do; with `debug`, its traceback before that."""
    discovery = sources.discovery
    for table in discovery.tables:
        if table.problem:
            yield f"warning: the columns of {clean(_query_name(table.table))} are not known: {clean(table.problem)}"
    for warning in discovery.warnings:
        yield from _trace(warning.failure) if debug else ()
        yield f"warning: {clean(warning.message)}"
        yield from _fix(warning.failure)
    for failure in discovery.failures:
        yield from _trace(failure) if debug else ()
        yield f"error: {clean(failure.message)}"
        yield from _fix(failure)


def _trace(failure: SourceError) -> Iterator[str]:
    for part in traceback.format_exception(failure):
        yield from map(clean, part.rstrip("\n").split("\n"))


def _fix(failure: SourceError) -> Iterator[str]:
    if failure.where:
        yield f"  where: {clean(failure.where)}"
    if failure.remedy:
        yield f"  fix: {clean(failure.remedy)}"


def _query_name(table: TableName) -> str:
    """As a query names it: a part with other characters needs backticks."""
    parts = (table.namespace, table.layer, table.name)
    return ".".join(part if _PLAIN.fullmatch(part) else quote(part) for part in parts)


def _column_count(relation: Relation) -> str:
    count = len(relation.columns)
    if relation.complete:
        return str(count)
    return f"{count} known" if count else "-"
