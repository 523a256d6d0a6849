"""`profile`: what a published table looks like, column by column."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict
from datetime import UTC, datetime

import click

from tidegate.amounts import plural, timestamp
from tidegate.cli.context import Invocation, common_options, open_workspace, pass_invocation
from tidegate.cli.table import clean, text_table
from tidegate.compiler.hidden import hidden_of
from tidegate.compiler.values import Compiled, CompiledModel
from tidegate.errors import SelectionError
from tidegate.operations.profile import TableProfile, profile_now, recorded_profile
from tidegate.operations.workspace import Workspace
from tidegate.project.model import Materialized

__all__ = ["profile"]


@click.command()
@click.argument("model")
@click.option("--now", is_flag=True, help="Read the table as it is now, instead of what its last run put down.")
@common_options
@pass_invocation
def profile(invocation: Invocation, model: str, now: bool) -> None:
    """Show rows, NULLs, different values, least, greatest and mean of a table.

    It is what the last run that wrote the table has put down while writing. Where there is nothing of that kind, and
    with --now, the table is read once.

    \b
    Example:
      tidegate profile silver.orders
    """
    workspace = open_workspace(invocation)
    compiled = workspace.compile()
    found = workspace.find_model(compiled, model)
    name = found.model.table.short(compiled.namespace)
    output = invocation.output()
    told = _profile(workspace, compiled, found, name, now, output.note)
    document = {
        "model": name,
        "run_id": told.run_id,
        "at": told.at,
        "changed_since": told.changed,
        **asdict(told.profile),
    }
    output.show(document, lambda: _lines(name, told))


def _profile(
    workspace: Workspace, compiled: Compiled, model: CompiledModel, name: str, now: bool, say: Callable[[str], None]
) -> TableProfile:
    from tidegate.lake import TableMetadata

    table, kind = model.model.table, model.model.settings.materialized
    if kind is Materialized.EPHEMERAL:
        raise SelectionError(
            f"'{name}' is ephemeral, so it has no table",
            remedy="Its query is part of the models that read it: look at one of those.",
        )
    metadata = workspace.metadata(table)
    if metadata is None:
        raise SelectionError(f"'{name}' has not been published yet", remedy=f"`tidegate run +{name}` builds it.")

    def hidden(columns: Collection[str]) -> frozenset[str]:
        return hidden_of(compiled, table, columns)

    if not isinstance(metadata, TableMetadata):
        if not now:
            raise SelectionError(
                f"'{name}' is a view: no run writes its rows", remedy="`--now` reads them, with all that it reads."
            )
    elif not now:
        with workspace.state() as state:
            recorded = recorded_profile(state, name, metadata, hidden(metadata.column_names))
        if recorded is not None:
            return recorded
        say(f"No run has put down a profile of {name}: reading the table.")
    return profile_now(workspace.settings, table, hidden, datetime.now(UTC), say=say)


def _lines(name: str, told: TableProfile) -> Iterator[str]:
    profile = told.profile
    rows = plural(profile.rows, "row")
    if profile.scope == "written":
        rows = f"{rows} that the run brought, of a table of {profile.table_rows}"
    when = f"by {told.run_id}, {timestamp(told.at)} UTC" if told.run_id else f"now, {timestamp(told.at)} UTC"
    yield f"{name}  {rows}  ({when})"
    if told.changed:
        yield "The table has been changed since: --now reads it as it is."
    if not profile.columns:
        yield "The run counted its rows and looked no closer: --now reads the table."
        return
    yield ""
    cells = [
        (
            column.name,
            column.type,
            str(column.nulls),
            _cell(column.distinct),
            _cell(column.min),
            _cell(column.max),
            _cell(column.mean),
        )
        for column in profile.columns
    ]
    yield from text_table(("column", "type", "nulls", "distinct ~", "min", "max", "mean"), cells, widest=40)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else clean(str(value))
