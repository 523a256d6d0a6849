"""Which form of pagination a page shows, for `pagination: auto`.

Only what the page itself says counts: the address of the next page, a value that gives it, or the numbers of this page
and of all pages. A page that names none of these is the only one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tidegate.contracts.rest_pagination import (
    CursorPages,
    HeaderLinks,
    JsonLinks,
    NumberedPages,
    Pagination,
    SinglePage,
)
from tidegate.ingest.rest.rest_pages import ReadPage, next_link

__all__ = ["detected"]

_TOTALS = ("total_pages", "totalpages", "page_count", "pagecount", "pages")
_NUMBERS = ("page", "current_page", "currentpage", "page_number", "pagenumber", "number")
_ADDRESSES = ("href", "url")
_DEPTH = 3


def detected(page: ReadPage, headers: Mapping[str, str]) -> Pagination:
    """`page`: the first one. Raises ValueError where it has followers and does not say how to get them."""
    links = HeaderLinks()
    if next_link(links, page, headers):
        return links
    named = list(_entries(page.document))
    for path, key, value in named:
        found = _next(path, key, value)
        if found is not None:
            return found
    for path, key, value in named:
        if key.lower() in _TOTALS and _number(value) is not None:
            return _numbered(path, value, named)
    return SinglePage()


def _entries(document: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """Of the maps around the records, the outer ones first."""
    if not isinstance(document, dict) or len(path) > _DEPTH:
        return
    for key, value in document.items():
        if "." not in key or not path:
            yield path, key, value
    for key, value in document.items():
        if "." not in key:
            yield from _entries(value, (*path, key))


def _next(path: tuple[str, ...], key: str, value: Any) -> Pagination | None:
    """`next`, `next_page`, `nextPageToken`, `@odata.nextLink`, `next: {href: …}` and the like."""
    name = key.lower()
    if not name.startswith("next") and not name.endswith("nextlink"):
        return None
    if isinstance(value, dict):
        for inner in _ADDRESSES:
            if isinstance(value.get(inner), str):
                return JsonLinks(".".join((*path, key, inner)))
        return None
    if isinstance(value, bool) or value in (None, "") or not isinstance(value, str | int):
        return None
    at = ".".join((*path, key))
    if isinstance(value, str) and (value.startswith(("http://", "https://", "/", "?")) or name.endswith("nextlink")):
        return JsonLinks(at)
    return CursorPages(at, _parameter(key, value))


def _parameter(key: str, value: str | int) -> str:
    """`nextPageToken` gives `pageToken`, `next_cursor` gives `cursor`."""
    rest = key[len("next") :].lstrip("_-")
    if not rest:
        return "page" if isinstance(value, int) else "cursor"
    return rest[0].lower() + rest[1:]


def _numbered(path: tuple[str, ...], total: Any, named: list[tuple[tuple[str, ...], str, Any]]) -> Pagination:
    if (_number(total) or 0) <= 1:
        return SinglePage()
    beside = {key.lower(): (key, value) for at, key, value in named if at == path}
    for name in _NUMBERS:
        if name in beside and (first := _number(beside[name][1])) is not None:
            key = next(key for at, key, value in named if at == path and key.lower() in _TOTALS)
            return NumberedPages(first=first, total_path=".".join((*path, key)))
    raise ValueError("is one of several and does not say which: write pagination of kind page_number with 'first'")


def _number(value: Any) -> int | None:
    text = str(value)
    return int(text) if not isinstance(value, bool) and text.isdecimal() else None
