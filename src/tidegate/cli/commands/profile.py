"""`profile`: what a published table looks like, column by column."""

from __future__ import annotations

from collections.abc import Iterator

import click

from tidegate.amounts import plural, timestamp
from tidegate.cli.context import Invocation, common_options, open_workspace, pass_invocation
from tidegate.cli.table import clean, text_table
from tidegate.operations.profile import TableProfile, profile_model

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
    output = invocation.output()
    told = profile_model(open_workspace(invocation), model, now, output.note)
    output.show(told.document(), lambda: _lines(told))


def _lines(told: TableProfile) -> Iterator[str]:
    profile = told.profile
    rows = plural(profile.rows, "row")
    if profile.scope == "written":
        rows = f"{rows} that the run brought, of a table of {profile.table_rows}"
    when = f"by {told.run_id}, {timestamp(told.at)} UTC" if told.run_id else f"now, {timestamp(told.at)} UTC"
    yield f"{told.model}  {rows}  ({when})"
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
