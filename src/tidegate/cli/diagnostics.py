"""Diagnostics as a modern compiler shows them: the message, the place, the line itself with a marker, the help."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tidegate.cli.paint import Paint, plain
from tidegate.cli.table import clean, display_width
from tidegate.compiler.values import Diagnostic, DiagnosticSeverity, Span, count_line

__all__ = ["MOST_SHOWN", "render_diagnostics"]

MOST_SHOWN = 100
_MOST_ALIKE = 3
_MOST_PLACES = 5
_WIDEST_LINE = 160
_WORD = re.compile(r"[\w.`@$]+|\S")
_RANK = {severity: rank for rank, severity in enumerate(DiagnosticSeverity)}

Lines = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class _Shown:
    """A diagnostic, and those that say the same of other places."""

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

    One mistake can show in a thousand files: what says the same more than a few times is told once with its places,
    and of more than `most` the errors go before warnings.
    """
    found = _gathered(list(diagnostics))
    chosen = sorted(range(len(found)), key=lambda i: (_RANK[found[i].diagnostic.severity], i))[:most]
    given = {name: text.split("\n") for name, text in (texts or {}).items()}
    read = cache(lambda file: given[file] if file in given else _lines_of(root / file))
    for i in sorted(chosen):
        yield from _render(found[i], read, paint)
        yield ""
    seen = set(chosen)
    if hidden := [other for i, one in enumerate(found) if i not in seen for other in (one.diagnostic, *one.others)]:
        yield paint(f"… and {count_line(hidden)} more; `tidegate compile --json` has all", "quiet")
        yield ""


def _gathered(diagnostics: list[Diagnostic]) -> list[_Shown]:
    alike: dict[tuple[str, ...], list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        alike.setdefault(_saying(diagnostic), []).append(diagnostic)
    shown, told = [], set()
    for diagnostic in diagnostics:
        saying = _saying(diagnostic)
        same = alike[saying]
        if len(same) <= _MOST_ALIKE:
            shown.append(_Shown(diagnostic))
        elif saying not in told:
            told.add(saying)
            shown.append(_Shown(diagnostic, tuple(same[1:])))
    return shown


def _saying(diagnostic: Diagnostic) -> tuple[str, ...]:
    return diagnostic.severity, diagnostic.code, diagnostic.message, diagnostic.suggestion or ""


def _render(shown: _Shown, read: Lines, paint: Paint) -> Iterator[str]:
    diagnostic, span = shown.diagnostic, shown.diagnostic.span
    model = f" ({diagnostic.model})" if diagnostic.model and not span else ""
    head = paint(f"{diagnostic.severity.value}[{diagnostic.code}]", diagnostic.severity.value)
    yield f"{head}{paint(': ' + clean(diagnostic.message) + model, 'strong')}"
    margin = " " * len(str(span.line)) if span else ""
    if span:
        yield from _place(span, read, margin, paint, diagnostic.severity.value)
    if suggestion := diagnostic.suggestion or _usual_fix(diagnostic.code):
        yield f"{margin} {paint('=', 'place')} {paint('help:', 'help')} {clean(suggestion)}"
    if places := [f"{at.file}:{at.line}:{at.col}" for other in shown.others if (at := other.span)]:
        rest = len(places) - _MOST_PLACES
        more = f" and {rest} more" if rest > 0 else ""
        yield f"{margin} {paint('=', 'place')} {paint('also at:', 'help')} {', '.join(places[:_MOST_PLACES])}{more}"


def _usual_fix(code: str) -> str | None:
    """What helps with most diagnostics of this code."""
    # Most diagnostics bring a suggestion of their own, and do without the registry.
    from tidegate.compiler.registry import registry

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
    before = ("…" if first else "") + _shown(line[first:start])
    after = _shown(line[end:last]) + ("…" if last < len(line) else "")
    return before, _shown(line[start : min(end, last)]), after


def _shown(text: str) -> str:
    """A tab would move the marker away from what it marks."""
    return clean(text.replace("\t", " "))


def _lines_of(path: Path) -> Sequence[str]:
    try:
        # Not splitlines: a form feed or U+2028 begins no new line for the compiler.
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return ()
    return text.split("\n")
