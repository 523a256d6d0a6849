"""Lists and column names as directives write them: separated by commas, names quoted where they must be."""

from __future__ import annotations

import re

__all__ = ["split_list", "unquote"]

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
