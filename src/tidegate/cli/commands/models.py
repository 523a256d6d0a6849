"""`ls` and `show`: the project's models and sources, without a JVM."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields

import click

from tidegate.amounts import duration, plural, size, timestamp
from tidegate.cli.context import Invocation, common_options, open_workspace, pass_invocation
from tidegate.cli.options import SelectingCommand, selection_options
from tidegate.cli.table import clean, text_table
from tidegate.compiler.values import CompiledModel, count_line
from tidegate.operations.show import ModelFacts, gather_facts
from tidegate.operations.workspace import Workspace
from tidegate.project.model import Materialized, ModelSettings
from tidegate.state import ModelRunRecord, QualityRecord

__all__ = ["ls", "show"]

_SHOWN_ELSEWHERE = ("strategy", "materialized", "description", "columns", "column_tags")


@click.command(cls=SelectingCommand)
@selection_options
@click.option("--sources", is_flag=True, help="List the tables of the sources instead; each of them is asked.")
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
    if not sources:
        return _list_models(invocation, workspace, select, exclude)
    if select or exclude:
        raise click.UsageError("--sources lists tables of sources, and SELECT names models: give one of them.")
    return _list_sources(invocation, workspace)


def _list_sources(invocation: Invocation, workspace: Workspace) -> int:
    from tidegate.cli.source_tables import discovery_document, discovery_lines, discovery_notes
    from tidegate.sources import known_tables

    found = known_tables(workspace.settings, refresh=True)
    output = invocation.output()
    output.show(discovery_document(found), lambda: discovery_lines(found, len(workspace.settings.sources)))
    for line in discovery_notes(found, invocation.debug):
        output.note(line, always=True)
    return 1 if found.failures else 0


def _list_models(
    invocation: Invocation, workspace: Workspace, select: tuple[str, ...], exclude: tuple[str, ...]
) -> int:
    compiled = workspace.compile()
    selected = workspace.select(compiled, select, exclude, ephemeral=True)
    with workspace.state() as state:
        latest = state.latest_of_each_model()
    names = sorted((table.short(compiled.namespace), table) for table in selected)
    models = [_listed(name, compiled.models[table], compiled.namespace, latest.get(name)) for name, table in names]

    def lines() -> Iterator[str]:
        if not models:
            empty = "No models yet: put a SQL file into models/<layer>/."
            yield "No model is selected: none is of the state that is asked for." if compiled.models else empty
            return
        if invocation.quiet:
            yield from (model.model for model in models)
            return
        yield from text_table(("model", "strategy", "upstreams", "tags", "last status"), map(_row, models))

    document = {"models": [asdict(m) for m in models], "diagnostics": [asdict(d) for d in compiled.diagnostics]}
    invocation.output().show(document, lines)
    if compiled.errors:
        invocation.output().note(f"The project has {count_line(compiled.errors)}: `tidegate compile` shows them.")
    return 0


@dataclass(frozen=True, slots=True)
class ListedModel:
    model: str
    strategy: str
    upstreams: tuple[str, ...]
    zones: tuple[str, ...]
    tags: tuple[str, ...]
    path: str
    description: str
    last_status: str | None
    last_run: str | None


def _listed(name: str, model: CompiledModel, namespace: str, last: ModelRunRecord | None) -> ListedModel:
    return ListedModel(
        model=name,
        strategy=kind_of(model),
        upstreams=tuple(upstream.short(namespace) for upstream in (*model.depends_on, *model.sources)),
        zones=model.zones,
        tags=model.model.settings.tags,
        path=str(model.model.path),
        description=model.model.settings.description,
        last_status=last.status if last else None,
        last_run=last.run_id if last else None,
    )


def _row(model: ListedModel) -> tuple[str, ...]:
    inputs = ", ".join([*model.upstreams, *(f"landing:{zone}" for zone in model.zones)])
    return model.model, model.strategy, inputs or "-", ", ".join(model.tags) or "-", model.last_status or "never run"


def kind_of(model: CompiledModel) -> str:
    settings = model.model.settings
    return str(settings.strategy) if settings.materialized is Materialized.TABLE else str(settings.materialized)


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


def _lines(facts: ModelFacts) -> Iterator[str]:
    compiled, settings = facts.compiled, facts.compiled.model.settings
    yield f"{facts.name}  ({kind_of(compiled)})  {compiled.model.path}"
    if settings.description:
        yield f"  {clean(settings.description)}"
    yield ""
    yield f"upstreams    {', '.join([*facts.upstreams, *(f'landing:{zone}' for zone in compiled.zones)]) or '-'}"
    yield f"downstreams  {', '.join(facts.downstreams) or '-'}"
    for name, value in _declared(settings):
        yield f"{name:<12} {value}"
    yield ""
    yield from _table_lines(facts)
    yield from _run_lines(facts)
    yield from _check_lines(facts)
    yield from _anomaly_lines(facts)


def _declared(settings: ModelSettings) -> Iterator[tuple[str, str]]:
    """What differs from the defaults."""
    default = ModelSettings()
    for field in fields(ModelSettings):
        value = getattr(settings, field.name)
        if field.name in _SHOWN_ELSEWHERE or value == getattr(default, field.name):
            continue
        yield field.name, ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _table_lines(facts: ModelFacts) -> Iterator[str]:
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
    tags = {name.lower(): f"[{', '.join(found)}]" for name, found in settings.column_tags.items()}
    said = {name: f"{settings.columns.get(name, '')} {tags.get(name.lower(), '')}".strip() for name, _ in table.columns}
    yield from text_table(("column", "type", "description"), [(n, t, said[n]) for n, t in table.columns])
    yield ""


def _run_lines(facts: ModelFacts) -> Iterator[str]:
    if not facts.runs:
        yield "runs         never run"
        return
    headers = ("run", "status", "how", "rows", "took", "ended (UTC)", "reason")
    yield from text_table(
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


def _check_lines(facts: ModelFacts) -> Iterator[str]:
    declared = {(str(check.stage), check.name): str(check.severity) for check in facts.compiled.checks}
    found: dict[tuple[str, str], list[QualityRecord]] = {}
    for check in facts.checks:
        found.setdefault((check.stage, check.name), []).append(check)
    rows = []
    for key in [*declared, *(key for key in found if key not in declared)]:
        history = found.get(key, [])
        last = history[0] if history else None
        value = "-" if last is None or last.value is None else str(last.value)
        severity = declared.get(key) or f"{last.severity if last else '-'} (no longer declared)"
        before = Counter(check.status for check in history[1:])
        told = ", ".join(f"{count} {status}" for status, count in before.most_common())
        when = timestamp(last.at) if last else "-"
        rows.append((key[1], key[0], severity, last.status if last else "not run", value, when, told or "-"))
    if rows:
        yield ""
        headers = ("check", "stage", "severity", "last status", "found", "checked (UTC)", "before that")
        yield from text_table(headers, rows)


def _anomaly_lines(facts: ModelFacts) -> Iterator[str]:
    if facts.anomalies:
        yield ""
        rows = [(clean(a.message), f"{a.deviation:.0%}", a.run_id, timestamp(a.at)) for a in facts.anomalies]
        yield from text_table(("unusual", "deviation", "run", "found (UTC)"), rows, widest=100)
