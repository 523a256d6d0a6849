"""How an error is told: what, where, and what to do about it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from tidegate.cli.context import Invocation
from tidegate.cli.diagnostics import render_diagnostics
from tidegate.cli.foreign_words import hint_for_option
from tidegate.cli.output import JsonOutput
from tidegate.cli.paint import Paint, plain
from tidegate.compiler.values import count_line
from tidegate.errors import ConfigError, FailureKind, ProjectError, RunCancelledError, StatementError, TidegateError
from tidegate.failures import kind_of

__all__ = ["error_document", "error_lines", "report"]

_OF_RUNS = ("run", "publish")


def report(invocation: Invocation, error: Exception) -> None:
    if isinstance(error, RunCancelledError) and invocation.command == "run":
        _add_way_on(error)
    if invocation.debug and not isinstance(error, click.ClickException):
        traceback.print_exception(error, file=sys.stderr)
    if invocation.json:
        command = invocation.command or _command_of(error)
        document = {**_shape(command, error), **error_document(error)}
        if command in _OF_RUNS:
            document["status"] = "cancelled" if isinstance(error, RunCancelledError) else "failed"
        JsonOutput(command).show({**document, "command": command}, lambda: ())
        sys.stdout.flush()
        return
    for line in error_lines(error, invocation.root, invocation.painter(sys.stderr)):
        print(line, file=sys.stderr)


def _add_way_on(error: RunCancelledError) -> None:
    """What a cancelled run has changed, and how to go on with it."""
    from tidegate.runs.result import result_of  # other commands need not load it

    result = result_of(error)
    if result is None:
        error.message = f"{error.message}, main is as it was"
        return
    if result.publish.tables:
        error.message = f"{error.message}; published before: {', '.join(result.publish.tables)}"
    elif not result.publish.in_doubt and result.branch == result.run_id:  # else it wrote main itself
        error.message = f"{error.message}, main is as it was"
    error.remedy = error.remedy or f"go on with it: tidegate run --resume {result.run_id}"


def error_document(error: Exception) -> dict[str, Any]:
    document: dict[str, Any] = {
        "status": "error",
        "error": _message(error),
        "where": getattr(error, "where", None),
        "remedy": _remedy(error),
        "failure_kind": str(_kind(error)),
    }
    if isinstance(error, ConfigError):
        document["problems"] = list(error.problems)
    if isinstance(error, ProjectError | StatementError):
        document["diagnostics"] = [asdict(diagnostic) for diagnostic in error.diagnostics]
    return document


def _kind(error: Exception) -> FailureKind:
    return FailureKind.QUERY_REJECTED if isinstance(error, click.ClickException) else kind_of(error)


def _command_of(error: Exception) -> str:
    """Where its own arguments could not be read."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    return (context.info_name or "") if context is not None and context.parent is not None else ""


def _shape(command: str, error: Exception) -> dict[str, Any]:
    """What a program that reads the results of runs expects, also of one that an error ended."""
    if command not in _OF_RUNS:
        return {}
    from tidegate.runs.result import document_before_run, result_of  # other commands need not load it

    result = result_of(error)
    return result.to_dict() if result is not None else document_before_run()


def error_lines(error: Exception, root: Path, paint: Paint = plain) -> Iterator[str]:
    if isinstance(error, StatementError):
        yield from render_diagnostics(error.diagnostics, root, paint, texts={error.file: error.text})
        return
    if isinstance(error, ProjectError):
        yield from render_diagnostics(error.diagnostics, root, paint)
    yield f"error: {_message(error)}"
    if isinstance(error, ConfigError):
        for problem in error.problems:
            yield f"  - {problem}"
    if isinstance(error, ProjectError) and error.diagnostics:
        yield f"  {count_line(error.diagnostics)}"
    where = getattr(error, "where", None)
    if where:
        yield f"  where: {where}"
    remedy = _remedy(error)
    if remedy:
        yield f"  fix: {remedy}"


def _message(error: Exception) -> str:
    if isinstance(error, TidegateError):
        return error.message
    if isinstance(error, click.NoSuchOption) and hint_for_option(error.option_name):
        return f"There is no option '{error.option_name}'"
    if isinstance(error, click.ClickException):
        return error.format_message()
    first = (str(error).strip().splitlines() or [""])[0]
    return f"unexpected error: {type(error).__name__}{': ' if first else ''}{first}"


def _remedy(error: Exception) -> str | None:
    if isinstance(error, TidegateError):
        return error.remedy
    if isinstance(error, click.NoSuchOption) and (hint := hint_for_option(error.option_name)):
        return hint
    if isinstance(error, click.UsageError):
        return f"See `{error.ctx.command_path if error.ctx else 'tidegate'} --help`."
    if isinstance(error, click.ClickException):
        return None
    return "Run the command again with --debug for the traceback, and `tidegate doctor` to check the machine."
