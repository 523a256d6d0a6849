"""`-- @key: value` lines in the leading comment block of a SQL file, read from the text before any template runs, and
`# @key: value` lines in that of a Python file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from tidegate.names import nearest
from tidegate.problems import Place, Problem, did_you_mean

__all__ = [
    "Directive",
    "read_directives",
    "read_python_directives",
    "split_list",
    "unquote",
    "without_templates",
]


_DIRECTIVE = re.compile(r"\s*--\s*(?P<at>@(?P<key>[A-Za-z_][\w-]*))\s*(?P<colon>:?)[ \t]*(?P<value>.*?)\s*$")
_IN_PYTHON = re.compile(r"\s*#+\s*(?P<at>@(?P<key>[A-Za-z_][\w-]*))\s*(?P<colon>:?)[ \t]*(?P<value>.*?)\s*$")
_SPACED_IN_PYTHON = re.compile(r"\s*#+\s*(?P<at>@)\s+(?P<key>[A-Za-z_][\w-]*)\s*:[ \t]*(?P<value>.*?)\s*$")
_SPACED = re.compile(r"\s*--\s*(?P<at>@)\s+(?P<key>[A-Za-z_][\w-]*)\s*:[ \t]*(?P<value>.*?)\s*$")
_IN_BLOCK = re.compile(r"\s*(?:/?\*+)?\s*(?P<at>@)\s*(?P<key>[A-Za-z_][\w-]*)\s*:[ \t]*(?P<value>.*?)\s*(?:\*/.*)?$")
_BLOCKS = (("/*", "*/"), ("{#", "#}"))
_LINE_END = re.compile(r"(\r\n|\r|\n)")


@dataclass(frozen=True, slots=True)
class Directive:
    key: str
    value: str
    place: Place


def read_directives(source: str, file: str, keys: Collection[str]) -> tuple[tuple[Directive, ...], tuple[Problem, ...]]:
    """The header's directives, and the problems of their form; values are not checked."""
    return _read(_lines(source), file, keys, "--") if "@" in source else ((), ())


def read_python_directives(
    comments: Iterable[tuple[int, str, bool]], file: str, keys: Collection[str]
) -> tuple[tuple[Directive, ...], tuple[Problem, ...]]:
    """`comments`: those of a `PythonSource`."""
    return _read(((line, text, in_header, False) for line, text, in_header in comments), file, keys, "#")


def _read(
    lines: Iterable[tuple[int, str, bool, bool]], file: str, keys: Collection[str], sign: str
) -> tuple[tuple[Directive, ...], tuple[Problem, ...]]:
    directives: list[Directive] = []
    problems: list[Problem] = []
    pattern = _DIRECTIVE if sign == "--" else _IN_PYTHON
    for line, text, in_header, in_block in lines:
        match = pattern.match(text) if "@" in text and not in_block else None
        if match is None:
            problems += _not_read(text, in_block, Place(file, line), keys, sign) if "@" in text else ()
            continue
        key, place = match["key"], Place(file, line, match.start("at") + 1)
        if not match["colon"]:
            # Prose may mention @someone; only a known key without its colon is reported.
            if key in keys and in_header:
                message = f"directive @{key} lacks its colon"
                problems.append(Problem("MalformedDirective", message, place, suggestion=f"write {sign} @{key}: value"))
        elif key not in keys:
            names = tuple(f"@{name}" for name in nearest(key, keys))
            message = f"unknown directive @{key}"
            suggestion = did_you_mean(names) or f"known are {', '.join(sorted(keys))}"
            problems.append(Problem("UnknownDirective", message, place, suggestion=suggestion))
        elif not in_header:
            message = f"directive @{key} stands below the first line of code, where it has no effect"
            suggestion = "move it into the comment block at the top of the file"
            problems.append(Problem("MisplacedDirective", message, place, suggestion=suggestion))
        else:
            directives.append(Directive(key, match["value"], place))
    return tuple(directives), tuple(problems)


def _not_read(text: str, in_block: bool, place: Place, keys: Collection[str], sign: str) -> Iterator[Problem]:
    """A comment that looks like a directive but has the wrong form; prose may mention @someone."""
    as_block = in_block or text.lstrip().startswith("/*")
    spaced = _SPACED if sign == "--" else _SPACED_IN_PYTHON
    match = (_IN_BLOCK if as_block else spaced).match(text)
    if match is None:
        return
    written = match["key"].lower().replace("-", "_")
    key = written if written in keys else next(iter(nearest(written, keys, 1)), None)
    if key is None:
        return
    why = "stands in a block comment, where it is not read" if as_block else "has a space after its @"
    place = Place(place.file, place.line, match.start("at") + 1)
    right = f"write {sign} @{key}: {match['value']}".rstrip()
    yield Problem("MalformedDirective", f"directive @{key} {why}", place, suggestion=right)


def without_templates(source: str) -> str:
    """The text, as long as before, in which no directive of the header opens a template: its value is plain text."""
    if "@" not in source or "{" not in source:
        return source
    parts = _LINE_END.split(source)
    for number, text, in_header, in_block in _lines(source):
        if not in_header:
            break
        if "{" in text and not in_block and (match := _DIRECTIVE.match(text)) and match["colon"]:
            parts[2 * (number - 1)] = text.replace("{", " ")
    return "".join(parts)


def _lines(source: str) -> Iterator[tuple[int, str, bool, bool]]:
    """Each line: its number, its text, whether it is in the header, whether it begins inside a block comment of it.

    Comments of Jinja are left out, and `--` lines in a block comment: they were disabled on purpose.
    """
    in_header, closing = True, None
    for number, line in enumerate(source.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        stripped, in_block = line.strip(), closing == "*/"
        if closing:
            if closing not in stripped:
                if in_block and not stripped.startswith("--"):
                    yield number, line, True, True
                continue
            stripped, closing = stripped.partition(closing)[2].strip(), None
        while in_header and (block := next((b for b in _BLOCKS if stripped.startswith(b[0])), None)):
            parts = stripped[2:].partition(block[1])
            if not parts[1]:
                closing, stripped = block[1], ""
                break
            stripped = parts[2].strip()
        if in_header and stripped and not stripped.startswith("--"):
            in_header = False
        yield number, line, in_header, in_block


_QUOTES = "`\"'"


def split_list(text: str) -> tuple[str, ...]:
    """The items between commas outside quotes and parentheses. ValueError where one is empty or left open."""
    items, item, quote, depth = [], "", "", 0
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES:
            quote = char
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "," and depth == 0:
            items.append(item.strip())
            item = ""
            continue
        item += char
    if quote or depth:
        raise ValueError(f"a {'quote' if quote else 'parenthesis'} in '{text}' is not closed")
    items.append(item.strip())
    if not all(items):
        raise ValueError(f"'{text}' has an empty item; separate items by single commas")
    return tuple(items)


def unquote(text: str) -> str:
    """A column name without its quotes. ValueError where it needs some and has none."""
    if text and text[0] in _QUOTES:
        quote = text[0]
        inner = text[1:-1].replace(quote * 2, quote)
        if len(text) > 2 and text[-1] == quote and text[1:-1].count(quote) == inner.count(quote) * 2 and inner.strip():
            return inner
    elif re.fullmatch(r"[^\W\d]\w*|_\w*", text):
        return text
    raise ValueError(f"'{text}' is not a column name; quote a name that holds other signs than letters, digits and '_'")
