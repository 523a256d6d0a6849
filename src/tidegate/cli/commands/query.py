"""`sql` and `preview`: look at published data."""

from __future__ import annotations

from collections.abc import Iterator

import click

from tidegate.amounts import plural
from tidegate.cli.context import Invocation, common_options, open_workspace, pass_invocation
from tidegate.cli.table import WIDEST_CELL, cut_cells, text_table
from tidegate.jsontext import json_text, json_value
from tidegate.operations.query import QueryResult, query
from tidegate.operations.query import preview as preview_table

__all__ = ["preview", "sql"]


@click.command()
@click.argument("statement", metavar='"SELECT …"')
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="At most this many rows.")
@click.option("--full", is_flag=True, help="Show long values whole.")
@common_options
@pass_invocation
def sql(invocation: Invocation, statement: str, limit: int, full: bool) -> None:
    """Run one read-only query over the published tables.

    All tables are read as one publish left them; with VERSION AS OF or TIMESTAMP AS OF, one as it was before.

    \b
    Example:
      tidegate sql "SELECT count(*) FROM silver.orders"
    """
    workspace = open_workspace(invocation)
    _show(invocation, query(workspace.settings, statement, limit, say=invocation.output().note), limit, full)


@click.command()
@click.argument("model")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most this many rows.")
@click.option("--full", is_flag=True, help="Show long values whole.")
@common_options
@pass_invocation
def preview(invocation: Invocation, model: str, limit: int, full: bool) -> None:
    """Show the first rows of a published table.

    Columns that are masked or personal (tagged pii, or made of such a one) are shown as ***.

    \b
    Example:
      tidegate preview gold.revenue --limit 5
    """
    workspace = open_workspace(invocation)
    _show(invocation, preview_table(workspace, model, limit, invocation.output().note), limit, full)


def _show(invocation: Invocation, result: QueryResult, limit: int, full: bool) -> None:
    def lines() -> Iterator[str]:
        names = [name for name, _type in result.columns]
        cells = [[_cell(row[name]) for name in names] for row in result.rows]
        yield from text_table(names, cells, None if full else WIDEST_CELL)
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
