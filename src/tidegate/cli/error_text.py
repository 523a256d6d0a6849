"""Errors and diagnostics as text and JSON: what happened, where, and what to do about it."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import click

from tidegate.cli.dbt_hints import hint_for_option
from tidegate.cli.invocation import Invocation, JsonOutput
from tidegate.cli.terminal import Paint, clean, display_width, plain
from tidegate.compiler.compiled import Diagnostic, DiagnosticSeverity, Span, count_line
from tidegate.errors import ConfigError, FailureKind, ProjectError, RunCancelledError, StatementError, TidegateError
from tidegate.failures import kind_of

__all__ = ["MOST_SHOWN", "error_document", "error_lines", "render_diagnostics", "report"]

MOST_SHOWN = 100
_MOST_ALIKE = 3
_MOST_PLACES = 5
_WIDEST_LINE = 160
_WORD = re.compile(r"[\w.`@$]+|\S")
_RANK = {severity: rank for rank, severity in enumerate(DiagnosticSeverity)}

Lines = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class _Group:
    """A diagnostic, and those with the same message at other places."""

    diagnostic: Diagnostic
    others: tuple[Diagnostic, ...] = ()


def render_diagnostics(
    diagnostics: Iterable[Diagnostic],
    root: Path,
    paint: Paint = plain,
    most: int = MOST_SHOWN,
    texts: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Each with its source line and an empty line after it, in the order given. `root`: what spans are relative to.
    `texts`: what stands in no file, by the name that its spans have.

    One mistake can show in a thousand files: a message that occurs more than a few times is shown once with its
    places, and of more than `most` diagnostics errors are shown before warnings.
    """
    groups = _group(list(diagnostics))
    chosen = sorted(range(len(groups)), key=lambda i: (_RANK[groups[i].diagnostic.severity], i))[:most]
    texts_by_name = {name: text.split("\n") for name, text in (texts or {}).items()}
    read = cache(lambda file: texts_by_name[file] if file in texts_by_name else _lines_of(root / file))
    for i in sorted(chosen):
        yield from _render(groups[i], read, paint)
        yield ""
    rendered = set(chosen)
    if hidden := [
        other for i, group in enumerate(groups) if i not in rendered for other in (group.diagnostic, *group.others)
    ]:
        yield paint(f"… and {count_line(hidden)} more; `tidegate compile --json` has all", "quiet")
        yield ""


def _group(diagnostics: list[Diagnostic]) -> list[_Group]:
    alike: dict[tuple[str, ...], list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        alike.setdefault(_message_key(diagnostic), []).append(diagnostic)
    groups, grouped = [], set()
    for diagnostic in diagnostics:
        message = _message_key(diagnostic)
        same = alike[message]
        if len(same) <= _MOST_ALIKE:
            groups.append(_Group(diagnostic))
        elif message not in grouped:
            grouped.add(message)
            groups.append(_Group(diagnostic, tuple(same[1:])))
    return groups


def _message_key(diagnostic: Diagnostic) -> tuple[str, ...]:
    return diagnostic.severity, diagnostic.code, diagnostic.message, diagnostic.suggestion or ""


def _render(group: _Group, read: Lines, paint: Paint) -> Iterator[str]:
    diagnostic, span = group.diagnostic, group.diagnostic.span
    model = f" ({diagnostic.model})" if diagnostic.model and not span else ""
    head = paint(f"{diagnostic.severity.value}[{diagnostic.code}]", diagnostic.severity.value)
    yield f"{head}{paint(': ' + clean(diagnostic.message) + model, 'strong')}"
    margin = " " * len(str(span.line)) if span else ""
    if span:
        yield from _place(span, read, margin, paint, diagnostic.severity.value)
    if suggestion := diagnostic.suggestion or _usual_fix(diagnostic.code):
        yield f"{margin} {paint('=', 'place')} {paint('help:', 'help')} {clean(suggestion)}"
    if places := [f"{at.file}:{at.line}:{at.col}" for other in group.others if (at := other.span)]:
        remaining = len(places) - _MOST_PLACES
        more = f" and {remaining} more" if remaining > 0 else ""
        yield f"{margin} {paint('=', 'place')} {paint('also at:', 'help')} {', '.join(places[:_MOST_PLACES])}{more}"


def _usual_fix(code: str) -> str | None:
    """What helps with most diagnostics of this code."""
    # Most diagnostics bring a suggestion of their own, and do without the registry.
    from tidegate.compiler.diagnostic_registry import registry

    kind = registry().get(code)
    return kind.fix if kind else None


def _place(span: Span, read: Lines, margin: str, paint: Paint, role: str) -> Iterator[str]:
    yield f"{margin}{paint('-->', 'place')} {span.file}:{span.line}:{span.col}"
    lines = read(span.file)
    if not 0 < span.line <= len(lines):
        return
    before, marked, after = _split(lines[span.line - 1].rstrip(), span.col)
    bar = paint("|", "place")
    yield f"{margin} {bar}"
    yield f"{paint(str(span.line), 'place')} {bar} {before}{marked}{after}".rstrip()
    yield f"{margin} {bar} {' ' * display_width(before)}{paint('^' * max(1, display_width(marked)), role)}"


def _split(line: str, col: int) -> tuple[str, str, str]:
    """What is before, at and after the column. Of a very long line, only the surroundings."""
    start = min(max(col - 1, 0), len(line))
    word = _WORD.match(line, start)
    end = word.end() if word else start
    first = max(0, start - _WIDEST_LINE // 2) if len(line) > _WIDEST_LINE else 0
    last = min(len(line), first + _WIDEST_LINE)
    before = ("…" if first else "") + _printable(line[first:start])
    after = _printable(line[end:last]) + ("…" if last < len(line) else "")
    return before, _printable(line[start : min(end, last)]), after


def _printable(text: str) -> str:
    """A tab would move the marker away from what it marks."""
    return clean(text.replace("\t", " "))


def _lines_of(path: Path) -> Sequence[str]:
    try:
        # Not splitlines: a form feed or U+2028 begins no new line for the compiler.
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return ()
    return text.split("\n")


_OF_RUNS = ("run", "publish")


def report(invocation: Invocation, error: Exception) -> None:
    if isinstance(error, RunCancelledError) and invocation.command == "run":
        _add_resume(error)
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


def _add_resume(error: RunCancelledError) -> None:
    """Add what a cancelled run has changed, and how to resume it."""
    from tidegate.runs.result import result_of  # other commands need not load it

    result = result_of(error)
    if result is None:
        error.message = f"{error.message}, main is unchanged"
        return
    if result.publish.tables:
        error.message = f"{error.message}; published before: {', '.join(result.publish.tables)}"
    elif not result.publish.in_doubt and result.branch == result.run_id:  # else it wrote main itself
        error.message = f"{error.message}, main is unchanged"
    error.remedy = error.remedy or f"resume it: tidegate run --resume {result.run_id}"


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
