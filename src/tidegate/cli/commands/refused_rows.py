"""`quarantine`: rows that were refused, looked at without a JVM, replayed and waived."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from tidegate.amounts import plural, timestamp
from tidegate.cli.console import open_console
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation, worker_option
from tidegate.cli.shared_options import variables_option
from tidegate.cli.terminal import WIDEST_CELL, OutputLine, TextTable, cut_cells
from tidegate.jsontext import json_text, json_value
from tidegate.planner.replay import OPEN, STATUSES, QuarantineFilter

if TYPE_CHECKING:
    from tidegate.operations.quarantine.quarantined_rows import QuarantinedRows, QuarantineEntry, QuarantineList
    from tidegate.operations.quarantine.replay_and_waive import ChosenRows, ReplayResult, WaiveResult

__all__ = ["quarantine"]

_ALL = "all"

_FILTERS: tuple[Callable[..., Any], ...] = (
    click.option("--stage", metavar="STAGE", help="Only rows of this stage, such as cast or constraint."),
    click.option("--column", metavar="COLUMN", help="Only rows that were refused because of this column."),
    click.option("--rule", metavar="RULE", help="Only rows that break this rule, as `quarantine list` names it."),
    click.option("--run", metavar="RUN", help="Only rows that this run refused."),
    click.option("--file", metavar="FILE", help="Only rows of this landing file: zone and path."),
)

_status_option = click.option(
    "--status",
    type=click.Choice([*STATUSES, _ALL]),
    default=OPEN,
    show_default=True,
    help="Rows that are open, were replayed or waived, or all.",
)


def _filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`rows`: a QuarantineFilter."""

    @wraps(command)
    def filtered(
        *args: Any,
        stage: str | None,
        column: str | None,
        rule: str | None,
        run: str | None,
        file: str | None,
        status: str = OPEN,
        **others: Any,
    ) -> Any:
        rows = QuarantineFilter(stage, column, rule, run, file, _statuses(status))
        return command(*args, rows=rows, **others)

    options: Callable[..., Any] = filtered
    for option in reversed(_FILTERS):
        options = option(options)
    return options


@click.group()
@common_options
def quarantine() -> None:
    """Show refused rows and why; replay or waive them.

    \b
    Example:
      tidegate quarantine list
    """


@quarantine.command("list")
@click.argument("table", required=False)
@_status_option
@common_options
@pass_invocation
def list_(invocation: Invocation, table: str | None, status: str) -> None:
    """Count the refused rows of each table by stage, column and rule.

    A row that breaks several rules counts for each of them. Only published tables are looked at; Spark is not started.

    \b
    Example:
      tidegate quarantine list
      tidegate quarantine list silver.orders --status all
    """
    invocation.command = "quarantine list"
    from tidegate.operations.quarantine.quarantined_rows import (
        list_quarantine,  # only here: it imports what reads tables
    )

    listed = list_quarantine(open_workspace(invocation), table, _statuses(status))
    invocation.output().show(listed.document(), lambda: _list_lines(listed, status))


def _statuses(status: str) -> tuple[str, ...]:
    return STATUSES if status == _ALL else (status,)


def _list_lines(listed: QuarantineList, status: str) -> Iterator[OutputLine]:
    if not listed.tables:
        yield "No published table has a quarantine."
        return
    if listed.entries:
        yield _entries_table(listed.entries, with_status=status == _ALL)
    rows = sum(table.rows for table in listed.tables)
    what = plural(rows, "row" if status == _ALL else f"{status} row")
    closed = [(sum(table.replayed for table in listed.tables), "replayed")]
    closed += [(sum(table.waived for table in listed.tables), "waived")]
    others = ", ".join(f"{count} {name}" for count, name in closed if count and status == OPEN)
    beside = f" (beside {others})" if others else ""
    holding = sum(table.rows > 0 for table in listed.tables) or len(listed.tables)
    yield f"{what} in the quarantine of {plural(holding, 'table')}{beside}"
    if listed.entries:
        yield f"Show them with `tidegate quarantine show {listed.entries[0].table}`."


def _entries_table(entries: tuple[QuarantineEntry, ...], with_status: bool = False) -> TextTable:
    headers = ("table", "stage", "column", "rule", "rows", "last run", "at (UTC)")
    cells = [
        (e.table, e.stage, e.column or "-", e.rule, str(e.rows), e.run, timestamp(e.quarantined_at)) for e in entries
    ]
    if not with_status:
        return TextTable(headers, cells)
    return TextTable((*headers, "status"), [(*row, entry.status) for row, entry in zip(cells, entries, strict=True)])


@quarantine.command()
@click.argument("table")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most this many rows.")
@_filter_options
@_status_option
@click.option("--full", is_flag=True, help="Show long values whole.")
@common_options
@pass_invocation
def show(invocation: Invocation, table: str, limit: int, full: bool, rows: QuarantineFilter) -> None:
    """Show refused rows with their reasons.

    TABLE is the one that the rows would have gone to. Columns that are hidden there are shown as ***, and so is what
    a reason says of their values.

    \b
    Example:
      tidegate quarantine show silver.orders --stage cast --limit 5
    """
    invocation.command = "quarantine show"
    from tidegate.operations.quarantine.quarantined_rows import show_quarantine  # only here, as above

    shown = show_quarantine(open_workspace(invocation), table, limit, rows)
    invocation.output().show(shown.document(), lambda: _row_lines(shown, limit, full, rows.statuses))


_NOT_SHOWN = (
    "_columns",
    "_failures",
    "_quarantined_at",
    "_contract_id",
    "_contract_version",
    "_op",
    "_commit_time",
    "_sequence",
    "_status_run_id",
)
"""Of the columns about a row, on a terminal: --json has them all."""


def _row_lines(rows: QuarantinedRows, limit: int, full: bool, statuses: tuple[str, ...]) -> Iterator[OutputLine]:
    about = [name for name in ("_status", "_stage", "_reasons", "_run_id") if name in rows.columns]
    names = [*about, *(name for name in rows.columns if name not in (*about, *_NOT_SHOWN))]
    if statuses == (OPEN,):
        names = [name for name in names if not name.startswith("_status")]
    cells = [[_cell(row[name]) for name in names] for row in rows.rows]
    if rows.rows:
        yield TextTable(names, cells, None if full else WIDEST_CELL)
    more = f", and more: see --limit (now {limit})" if rows.more else ""
    yield f"{plural(len(rows.rows), 'row')}{more}"
    if not rows.rows:
        yield f"`tidegate quarantine list {rows.table} --status all` lists what there is."
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


@quarantine.command()
@click.argument("table")
@_filter_options
@variables_option
@click.option("--dry-run", is_flag=True, help="Only count the rows that would be replayed.")
@worker_option
@common_options
@pass_invocation
def replay(invocation: Invocation, table: str, rows: QuarantineFilter, variables: dict[str, str], dry_run: bool) -> int:
    """Send open rows through their contract as it is now.

    A run takes them, and nothing new: rows that pass go to TABLE, others are quarantined again with their new reasons,
    and what is built from TABLE is brought up to date. All of it is published in one step, or nothing. No source is
    read. A changed contract holds for all other rows with the next ordinary run.

    \b
    Example:
      tidegate quarantine replay silver.orders --rule pattern
    """
    invocation.command = "quarantine replay"
    from tidegate.operations.quarantine.replay_and_waive import replay_quarantine  # only here, as above
    from tidegate.operations.run import result_document

    workspace = open_workspace(invocation)
    with open_console(invocation) as console:
        result = replay_quarantine(workspace, table, rows, dry_run=dry_run, variables=variables, listeners=[console])
        if result.run is not None:
            console.show(result.run)
    run = result_document(workspace, result.run) if result.run is not None else None
    invocation.output().show({**result.chosen.document(), "run": run}, lambda: _replay_lines(result))
    return result.exit_code


def _replay_lines(result: ReplayResult) -> Iterator[OutputLine]:
    chosen = result.chosen
    if not chosen.rows:
        yield from _nothing_lines("replay", chosen)
    elif chosen.dry_run:
        yield _entries_table(chosen.entries)
        yield f"{plural(chosen.rows, 'row')} of {chosen.table} would be replayed"
    elif (model := result.replayed) is None:
        yield f"Nothing of {chosen.table} was published: its rows stay open."
    elif model.run_type == "incremental":
        stages = model.stages
        refused = sum(rows for stage, rows in stages.items() if stage.startswith("quarantined_"))
        yield (
            f"{plural(stages['read'], 'row')} of {chosen.table} replayed: {stages['valid']} passed, "
            f"{refused} quarantined again"
        )
        if (missing := chosen.rows - stages["read"]) > 0:
            yield f"{plural(missing, 'row')} cannot be replayed: bronze has them no more. They stay open."


def _nothing_lines(verb: str, chosen: ChosenRows) -> Iterator[OutputLine]:
    yield f"Nothing to {verb}: no open row in the quarantine of {chosen.table} matches."
    if chosen.others:
        yield "These are open:"
        yield _entries_table(chosen.others)


@quarantine.command()
@click.argument("table")
@_filter_options
@click.option("--all", "every", is_flag=True, help="All open rows of TABLE.")
@click.option("--note", metavar="TEXT", help="Why the rows need not be corrected; stands beside them.")
@click.option("--dry-run", is_flag=True, help="Only count the rows that would be waived.")
@common_options
@pass_invocation
def waive(
    invocation: Invocation, table: str, rows: QuarantineFilter, every: bool, note: str | None, dry_run: bool
) -> None:
    """Mark open rows as waived: accepted as missing, no longer listed, and not replayed. It cannot be undone.

    Choose rows by a filter, or all with --all. TABLE itself is not touched. A row that is refused again for other
    reasons, when a changed contract judges all rows again, is open again.

    \b
    Example:
      tidegate quarantine waive silver.orders --file orders/2024.csv --note "test data"
    """
    invocation.command = "quarantine waive"
    from tidegate.operations.quarantine.replay_and_waive import waive_quarantine  # only here, as above

    if rows.takes_all != every:
        message = "--all and a filter contradict each other" if every else "say which rows to waive"
        raise click.UsageError(f"{message}: a filter, such as --rule, or --all")
    output = invocation.output()
    result = waive_quarantine(open_workspace(invocation), table, rows, note=note, dry_run=dry_run, report=output.note)
    output.show(result.document(), lambda: _waive_lines(result))


def _waive_lines(result: WaiveResult) -> Iterator[OutputLine]:
    chosen = result.chosen
    if not chosen.rows:
        yield from _nothing_lines("waive", chosen)
    elif chosen.dry_run:
        yield _entries_table(chosen.entries)
        yield f"{plural(chosen.rows, 'row')} of {chosen.table} would be waived"
    else:
        yield f"{plural(result.waived, 'row')} of {chosen.table} waived by {result.by}"
