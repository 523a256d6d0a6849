"""`sql`, `preview` and `profile`: look at published data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tidegate.amounts import plural, timestamp
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation, worker_option
from tidegate.cli.terminal import WIDEST_CELL, OutputLine, TextTable, clean, cut_cells
from tidegate.jsontext import json_text, json_value

if TYPE_CHECKING:
    from tidegate.operations.profile import TableProfile
    from tidegate.operations.query_result import QueryResult

__all__ = ["preview", "profile", "sql"]


@click.command()
@click.argument("statement", metavar='"SELECT …"')
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="At most this many rows.")
@click.option("--full", is_flag=True, help="Show long values whole.")
@worker_option
@common_options
@pass_invocation
def sql(invocation: Invocation, statement: str, limit: int, full: bool) -> None:
    """Run one read-only query over the published tables.

    All tables are read as one publish left them; with VERSION AS OF or TIMESTAMP AS OF, one as it was before.

    \b
    Example:
      tidegate sql "SELECT count(*) FROM silver.orders"
    """
    from tidegate.operations.query import query  # only here: a recorded profile does not need what it imports

    workspace = open_workspace(invocation)
    _show(invocation, query(workspace.settings, statement, limit, notify=invocation.output().note), limit, full)


@click.command()
@click.argument("model")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most this many rows.")
@click.option("--full", is_flag=True, help="Show long values whole.")
@worker_option
@common_options
@pass_invocation
def preview(invocation: Invocation, model: str, limit: int, full: bool) -> None:
    """Show the first rows of a published table.

    Columns that are masked or personal (tagged pii, or built from such a column) are shown as ***. A table is read
    from its files at once; for a view, and for the few tables that only Spark can read, Spark is started.

    \b
    Example:
      tidegate preview gold.revenue --limit 5
    """
    from tidegate.operations.preview import preview as preview_table  # only here: it imports the compiler

    workspace = open_workspace(invocation)
    _show(invocation, preview_table(workspace, model, limit, invocation.output().note), limit, full)


def _show(invocation: Invocation, result: QueryResult, limit: int, full: bool) -> None:
    def lines() -> Iterator[OutputLine]:
        names = [name for name, _type in result.columns]
        cells = [[_cell(row[name]) for name in names] for row in result.rows]
        yield TextTable(names, cells, None if full else WIDEST_CELL)
        more = f", and more: see --limit (now {limit})" if result.more else ""
        yield f"{plural(len(result.rows), 'row')}{more}"
        if not full and (cut := cut_cells(cells)):
            yield f"{plural(cut, 'value')} cut at {WIDEST_CELL} characters: --full or --json shows all of them."

    invocation.output().show(result.document(), lines)


def _cell(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    plain = json_value(value)
    return plain if isinstance(plain, str) else json_text(plain)


@click.command()
@click.argument("model")
@click.option("--now", is_flag=True, help="Read the table as it is now, instead of what its last run recorded.")
@worker_option
@common_options
@pass_invocation
def profile(invocation: Invocation, model: str, now: bool) -> None:
    """Show rows, NULLs, different values, least, greatest and mean of a table.

    It is what the last run that wrote the table recorded while writing. Where nothing was recorded, and with --now,
    the table is read once.

    \b
    Example:
      tidegate profile silver.orders
    """
    from tidegate.operations.profile import profile_model  # only here: the other commands need none of what it imports

    output = invocation.output()
    table_profile = profile_model(open_workspace(invocation), model, now, output.note)
    output.show(table_profile.document(), lambda: _profile_lines(table_profile))


def _profile_lines(table_profile: TableProfile) -> Iterator[OutputLine]:
    profile = table_profile.profile
    rows = plural(profile.rows, "row")
    if profile.scope == "written":
        rows = f"{rows} written by the run, of a table of {profile.table_rows}"
    when = (
        f"by {table_profile.run_id}, {timestamp(table_profile.at)} UTC"
        if table_profile.run_id
        else f"now, {timestamp(table_profile.at)} UTC"
    )
    yield f"{table_profile.model}  {rows}  ({when})"
    if table_profile.changed:
        yield "The table has been changed since: --now reads it as it is."
    if not profile.columns:
        yield "The run recorded the number of rows only: --now reads the table."
        return
    yield ""
    cells = [
        (
            column.name,
            column.type,
            str(column.nulls),
            _profile_cell(column.distinct),
            _profile_cell(column.min),
            _profile_cell(column.max),
            _profile_cell(column.mean),
        )
        for column in profile.columns
    ]
    yield TextTable(("column", "type", "nulls", "distinct ~", "min", "max", "mean"), cells, widest=40)


def _profile_cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else clean(str(value))
