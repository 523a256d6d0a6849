"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import click

__all__ = ["Moment", "SelectingCommand", "check_times", "selection_options", "variables_option"]


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


_SELECTED = "tidegate.select"


class SelectingCommand(click.Command):
    """A command that takes SELECT, `--select` and `--exclude`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`--exclude a b` excludes both in dbt and would select b here: it is refused, whatever was meant."""
        before, current = "", ""
        for following in args:
            if following == "--":
                break
            excluded = current.startswith("--exclude=") or before == "--exclude"
            if excluded and not following.startswith("-"):
                raise click.UsageError(
                    f"--exclude takes one value, so it is not clear whether '{following}' is selected or excluded: "
                    f"write --exclude {following} or --select {following}.",
                    ctx,
                )
            before, current = current, following
        return super().parse_args(ctx, args)


def _keep_selected(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> None:
    ctx.meta[_SELECTED] = _split(ctx, param, values)


def _all_selected(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return (*_split(ctx, param, values), *ctx.meta.get(_SELECTED, ()))


def _split(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """One value may hold several patterns, as in `--select "silver.* tag:daily"`."""
    return tuple(pattern for value in values for pattern in value.split() or [value])


_SELECTION: tuple[Callable[..., Any], ...] = (
    click.argument("select", metavar="[SELECT]...", nargs=-1, callback=_all_selected),
    click.option(
        "-s",
        "--select",
        "selected",
        multiple=True,
        metavar="SELECT",
        expose_value=False,
        is_eager=True,
        callback=_keep_selected,
        help="The same as SELECT; may be repeated.",
    ),
    click.option(
        "--exclude", multiple=True, metavar="SELECT", callback=_split, help="Leave these out; may be repeated."
    ),
)


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`select` and `exclude`: patterns for `planner.selection`."""
    for option in reversed(_SELECTION):
        command = option(command)
    return command


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
