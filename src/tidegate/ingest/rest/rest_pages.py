"""What can be seen in a page without changing it: its records, the next page, the greatest value of a column."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from tidegate.config.file_formats import FILE_FORMATS
from tidegate.contracts.rest_pagination import (
    CursorPages,
    HeaderCursors,
    HeaderLinks,
    JsonLinks,
    NumberedPages,
    OffsetPages,
    Pagination,
)
from tidegate.ingest.rest.page_server import with_parameters

__all__ = [
    "NoContentError",
    "ReadPage",
    "absent_path",
    "first_target",
    "greatest",
    "next_link",
    "next_parameters",
    "read_page",
]

_LINK = re.compile(r'<([^>]*)>\s*((?:;\s*[\w*]+\s*=\s*(?:"[^"]*"|[^",;\s]+)\s*)*)')
_REL = re.compile(r';\s*rel\s*=\s*(?:"([^"]*)"|([^",;\s]+))', re.IGNORECASE)


_MOST_KEYS = 10


class NoContentError(ValueError):
    """The page has not what `content_path` names."""


@dataclass(frozen=True, slots=True)
class ReadPage:
    document: Any
    """None where the page is not JSON by its format, or is JSON lines."""

    records: list[Any] | None
    """None where they cannot be counted without reading the format."""

    is_empty: bool


def read_page(body: bytes, file_format: str, multiline: bool | None, content_path: str) -> ReadPage:
    """Raises ValueError with what is wrong, for a sentence that begins with 'the page'."""
    form = FILE_FORMATS[file_format]
    if form.reader != "json":
        return ReadPage(None, None, is_empty=not body.strip())
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8 text") from None
    if form.by_line:
        lines = _lines(text)
        return ReadPage(None, lines, is_empty=not lines)
    try:
        document = _parse(text)
    except ValueError:
        if multiline is not False:
            raise ValueError("is not JSON") from None
        lines = _lines(text)
        return ReadPage(None, lines, is_empty=not lines)
    records = _records(document, content_path)
    return ReadPage(document, records, is_empty=not records)


def first_target(pagination: Pagination, target: str) -> str:
    match pagination:
        case OffsetPages():
            first = {pagination.limit_parameter: str(pagination.limit), pagination.offset_parameter: "0"}
            return with_parameters(target, first)
        case NumberedPages():
            size = {pagination.size_parameter: str(pagination.size)} if pagination.size else {}
            return with_parameters(target, {**size, pagination.parameter: str(pagination.first)})
    return target


def next_link(pagination: Pagination, page: ReadPage, headers: Mapping[str, str]) -> str | None:
    """The address of the next page, as this one gives it. Raises ValueError."""
    match pagination:
        case JsonLinks():
            value = _at(page.document, pagination.path)
            if value in (None, "", False):
                return None
            if not isinstance(value, str):
                raise ValueError(f"has no address at '{pagination.path}' but {_short(value)}")
            return value
        case HeaderLinks():
            for address, attributes in _LINK.findall(headers.get("link", "")):
                rel = _REL.search(attributes)
                if rel and pagination.rel.lower() in (rel[1] or rel[2]).lower().split():
                    return str(address)
    return None


def absent_path(pagination: Pagination, page: ReadPage) -> str | None:
    """The path that should lead to the next page, where the page has no such key, not even with null."""
    if not isinstance(pagination, JsonLinks | CursorPages) or not isinstance(page.document, dict):
        return None
    if pagination.path in page.document:
        return None
    try:
        _step_down(page.document, pagination.path)
    except LookupError:
        return pagination.path
    return None


def next_parameters(
    pagination: Pagination, page: ReadPage, headers: Mapping[str, str], number: int, records: int
) -> Mapping[str, str] | None:
    """The query parameters of the next page. `records`: of all pages so far, of which this is the `number`th.
    `headers`: of the page, with names in lower case. Raises ValueError."""
    if _is_last(pagination, page, number, records):
        return None
    match pagination:
        case OffsetPages():
            return {pagination.offset_parameter: str(records)}
        case NumberedPages():
            return {pagination.parameter: str(pagination.first + number)}
        case CursorPages():
            value = _at(page.document, pagination.path)
            if value in (None, "", False):
                return None
            if isinstance(value, dict | list):
                raise ValueError(f"has no cursor at '{pagination.path}' but {_short(value)}")
            return {pagination.parameter: str(value)}
        case HeaderCursors():
            cursor = headers.get(pagination.header.lower(), "").strip()
            return {pagination.parameter: cursor} if cursor else None
    return None


def _is_last(pagination: Pagination, page: ReadPage, number: int, records: int) -> bool:
    """As the page itself says, where the form looks for that. Raises ValueError."""
    if not isinstance(pagination, OffsetPages | NumberedPages | CursorPages):
        return False
    if pagination.has_more_path:
        more = _at(page.document, pagination.has_more_path)
        if str(more).lower() not in ("true", "false"):
            raise ValueError(f"has neither true nor false at has_more_path '{pagination.has_more_path}'")
        if str(more).lower() == "false":
            return True
    if isinstance(pagination, CursorPages) or not pagination.total_path:
        return False
    total = str(_at(page.document, pagination.total_path))
    if not total.isdecimal():
        raise ValueError(f"has no number at total_path '{pagination.total_path}'")
    return (records if isinstance(pagination, OffsetPages) else number) >= int(total)


def greatest(column: str, records: Iterable[Any], bound: str | None) -> str | None:
    """The greatest value of the column, or the bound where none is greater; as text, as it was delivered. Raises
    ValueError."""
    best = None if bound is None else (_rank(bound, column), bound)
    for record in records:
        value = _at(record, column)
        if value is None or value == "":
            continue
        text = str(value)
        rank = _rank(text, column)
        if best is not None and rank[0] != best[0][0]:
            raise ValueError(f"has {_short(text)} in '{column}', which cannot be compared with {_short(best[1])}")
        if best is None or rank > best[0]:
            best = rank, text
    return None if best is None else best[1]


def _rank(text: str, column: str) -> tuple[str, Any]:
    """Numbers compare as numbers, ISO dates and times as times, in UTC where they have no zone."""
    try:
        number = Decimal(text)
        if number.is_finite():
            return "number", number
    except InvalidOperation:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"has {_short(text)} in '{column}', which is neither a number nor an ISO time") from None
    return "time", moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _records(document: Any, content_path: str) -> list[Any]:
    try:
        content = _step_down(document, content_path)
    except LookupError:
        keys = f", only {', '.join(list(document)[:_MOST_KEYS])}" if isinstance(document, dict) and document else ""
        raise NoContentError(f"has nothing at content_path '{content_path}'{keys}") from None
    if content is None:
        return []
    if isinstance(content, list):
        return content
    if isinstance(content, dict):
        return [content] if content else []
    raise ValueError(f"has no records at content_path '{content_path}' but {_short(content)}")


def _at(document: Any, path: str) -> Any:
    """None where there is nothing."""
    if isinstance(document, dict) and path in document:
        return document[path]
    try:
        return _step_down(document, path)
    except LookupError:
        return None


def _step_down(document: Any, path: str) -> Any:
    for step in path.removeprefix("$").split("."):
        if not step:
            continue
        if isinstance(document, list) and step.isdecimal():
            document = document[int(step)]
        elif isinstance(document, dict):
            document = document[step]
        else:
            raise LookupError(step)
    return document


def _lines(text: str) -> list[Any]:
    return list(_parsed_lines(text))


def _parsed_lines(text: str) -> Iterator[Any]:
    for line in text.split("\n"):
        if line.strip():
            try:
                yield _parse(line)
            except ValueError:
                raise ValueError("is not JSON, line by line") from None


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_float=Decimal)
    except RecursionError:
        raise ValueError("too deeply nested") from None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
