"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import click

__all__ = ["Moment", "check_times", "variables_option"]


class Moment(click.ParamType[datetime]):
    """A day or an ISO 8601 time; without a zone it is UTC."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        from tidegate.planner.intervals import parse_time

        if isinstance(value, datetime):
            return value
        try:
            return parse_time(value)
        except ValueError:
            self.fail(f"'{value}' is not a time: write 2026-11-15 or 2026-11-15T10:00:00.", param, ctx)


def check_times(full_refresh: bool, from_: datetime | None, to: datetime | None) -> None:
    if from_ is not None and to is not None and from_ >= to:
        raise click.UsageError(f"--from ({from_:%Y-%m-%d %H:%M}) must be before --to ({to:%Y-%m-%d %H:%M}).")
    if full_refresh and (from_ is not None or to is not None):
        raise click.UsageError("--full-refresh rebuilds a table whole; --from and --to alone rebuild those intervals.")


def _variables(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    variables = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name.isidentifier():
            raise click.BadParameter(f"'{value}' is not of the form name=value.", ctx, param)
        variables[name] = text
    return variables


variables_option: Callable[..., Any] = click.option(
    "--var", "variables", multiple=True, callback=_variables, metavar="NAME=VALUE", help="For var('NAME')."
)
