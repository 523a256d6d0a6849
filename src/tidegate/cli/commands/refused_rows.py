"""`quarantine`: rows that were refused, without a JVM."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tidegate.amounts import plural, timestamp
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation
from tidegate.cli.terminal import WIDEST_CELL, OutputLine, TextTable, cut_cells
from tidegate.jsontext import json_text, json_value

if TYPE_CHECKING:
    from tidegate.operations.quarantined_rows import QuarantinedRows, QuarantineList

__all__ = ["quarantine"]


@click.group()
@common_options
def quarantine() -> None:
    """Show which rows were refused, and why.

    \b
    Example:
      tidegate quarantine list
    """


@quarantine.command("list")
@click.argument("table", required=False)
@common_options
@pass_invocation
def list_(invocation: Invocation, table: str | None) -> None:
    """Count the refused rows of each table by stage, column and rule.

    A row that breaks several rules counts for each of them. Only published tables are looked at; Spark is not started.

    \b
    Example:
      tidegate quarantine list
      tidegate quarantine list silver.orders
    """
    invocation.command = "quarantine list"
    from tidegate.operations.quarantined_rows import list_quarantine  # only here: it imports what reads tables

    listed = list_quarantine(open_workspace(invocation), table)
    invocation.output().show(listed.document(), lambda: _list_lines(listed))


def _list_lines(listed: QuarantineList) -> Iterator[OutputLine]:
    if not listed.tables:
        yield "No published table has a quarantine."
        return
    if listed.entries:
        headers = ("table", "stage", "column", "rule", "rows", "last run", "at (UTC)")
        yield TextTable(
            headers,
            [
                (e.table, e.stage, e.column or "-", e.rule, str(e.rows), e.run, timestamp(e.quarantined_at))
                for e in listed.entries
            ],
        )
    rows = sum(listed.tables.values())
    yield f"{plural(rows, 'row')} in the quarantine of {plural(len(listed.tables), 'table')}"
    if listed.entries:
        yield f"Show them with `tidegate quarantine show {listed.entries[0].table}`."


@quarantine.command()
@click.argument("table")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most this many rows.")
@click.option("--stage", metavar="STAGE", help="Only rows of this stage, such as cast or constraint.")
@click.option("--column", metavar="COLUMN", help="Only rows that were refused because of this column.")
@click.option("--run", metavar="RUN", help="Only rows that this run refused.")
@click.option("--full", is_flag=True, help="Show long values whole.")
@common_options
@pass_invocation
def show(
    invocation: Invocation, table: str, limit: int, stage: str | None, column: str | None, run: str | None, full: bool
) -> None:
    """Show refused rows with their reasons.

    TABLE is the one that the rows would have gone to. Columns that are hidden there are shown as ***, and so is what
    a reason says of their values.

    \b
    Example:
      tidegate quarantine show silver.orders --stage cast --limit 5
    """
    invocation.command = "quarantine show"
    from tidegate.operations.quarantined_rows import show_quarantine  # only here, as above

    rows = show_quarantine(open_workspace(invocation), table, limit, stage, column, run)
    invocation.output().show(rows.document(), lambda: _row_lines(rows, limit, full))


_NOT_SHOWN = ("_columns", "_failures", "_quarantined_at", "_contract_id", "_contract_version", "_op", "_commit_time")
"""Of the columns about a row, on a terminal: --json has them all."""


def _row_lines(rows: QuarantinedRows, limit: int, full: bool) -> Iterator[OutputLine]:
    about = [name for name in ("_stage", "_reasons", "_run_id") if name in rows.columns]
    names = [*about, *(name for name in rows.columns if name not in (*about, *_NOT_SHOWN, "_sequence"))]
    cells = [[_cell(row[name]) for name in names] for row in rows.rows]
    if rows.rows:
        yield TextTable(names, cells, None if full else WIDEST_CELL)
    more = f", and more: see --limit (now {limit})" if rows.more else ""
    yield f"{plural(len(rows.rows), 'row')}{more}"
    if not full and (cut := cut_cells(cells)):
        yield f"{plural(cut, 'value')} cut at {WIDEST_CELL} characters: --full or --json shows all of them."


def _cell(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "; ".join(map(str, value))
    plain = json_value(value)
    return plain if isinstance(plain, str) else json_text(plain)
