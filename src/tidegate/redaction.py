"""Secret values that this process has read, and any text without them.

A value is registered where it is read: by `env_var()`, `var()` and `--var`, and for `${VAR}` of a settings file, if its
name looks like that of a secret. Of an address or a connection string, under any name, the passwords in it are. It is
redacted where text leaves: console, state, hooks, logs, caches.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, TextIO
from urllib.parse import quote, quote_plus, unquote

__all__ = [
    "REDACTED",
    "RedactingStream",
    "holds_secret",
    "log_pattern",
    "looks_secret",
    "passwords_in",
    "redact",
    "redacted",
    "register",
]

REDACTED = "***"

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""`AWS_SECRET`, `access-key` and `accessKey` are words; `monkey` is one and has no key in it."""
_SECRET_WORD = re.compile(
    r"auth|authorization|bearer|cookies?|credentials?|creds|pass|passphrase|pwd|sas|signature"
    r"|.*(?:password|passwd|secret|token|apikey)s?"
)
_DATA_KEYS = frozenset(
    {
        "business",
        "cluster",
        "composite",
        "dedup",
        "distribution",
        "foreign",
        "group",
        "join",
        "merge",
        "natural",
        "order",
        "partition",
        "primary",
        "row",
        "sort",
        "surrogate",
        "unique",
    }
)
"""What stands before `key` where that is columns of a table."""
_OF_DATA = frozenset({"column", "columns", "field", "fields", "table"})
"""What such a name ends with where its value says where something stands."""
_SHORTEST = 4
"""A shorter value would be found inside other words."""
_SHORT = 8
"""A value shorter than this is redacted only where it stands alone."""
_PLAIN_WORDS = frozenset({"true", "false", "null", "none", "default"})

_AUTHORITY = re.compile(r"://([^/?#\s]*)")
_WHOLE = re.compile(r"://([^/?#\s]*:(?!\d+/)[^\s]*)@[^@/\s]+")
"""A password that holds a slash ends what stands before the host too early; a port is none."""
_PAIR = re.compile(r"(?:^|[?&;\s])([A-Za-z][\w.-]*)\s*=\s*('(?:[^'\\]|\\.)*'|[^&;\s]*)")
_PAIRS_ALONE = re.compile(r"\s*[A-Za-z][\w. -]*=")

_values: set[str] = set()
_pattern: re.Pattern[str] | None = None


def looks_secret(name: str) -> bool:
    """By the words in the name of a variable, a setting or a header."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _OF_DATA:
        return False
    keys = (before for before, word in pairwise(["", *words]) if word in ("key", "keys"))
    return any(map(_SECRET_WORD.fullmatch, words)) or any(before not in _DATA_KEYS for before in keys)


def register(value: object, name: str | None = None) -> None:
    """`name`: what the value was read by; where that does not look like a secret, only passwords in the value are."""
    global _pattern
    text = "" if value is None or isinstance(value, bool) else str(value)
    found = {*passwords_in(text), *([text] if name is None or looks_secret(name) else [])}
    fresh = {each for each in found if _is_worth_hiding(each)} - _values
    if not fresh:
        return
    _values.update(fresh)
    # Longest first: one may be the beginning of another.
    forms = sorted({form for each in tuple(_values) for form in _forms(each)}, key=len, reverse=True)
    _pattern = re.compile("|".join(map(_alternative, forms)))


def passwords_in(text: str) -> frozenset[str]:
    """Those of an address (`postgresql://user:password@host`, `…?password=…`) or of a connection string
    (`host=… password=…`), as written and decoded."""
    found = set(_of_user(text)) if "://" in text else set()
    if "://" in text or _PAIRS_ALONE.match(text):
        found |= {value.strip("'") for key, value in _PAIR.findall(text) if looks_secret(key)}
    return frozenset(form for each in found for form in (each, unquote(each)) if form)


def _of_user(text: str) -> Iterator[str]:
    for match in _AUTHORITY.finditer(text):
        before = match[1] if "@" in match[1] else ""
        if not before and (whole := _WHOLE.match(text, match.start())):
            before = f"{whole[1]}@"
        user, colon, password = before.rpartition("@")[0].partition(":")
        if colon:
            # Else the word would be gone from each name that holds it, as `postgres` does from postgresql.
            yield f":{password}@" if unquote(password) == unquote(user) else password


def redact(text: str) -> str:
    return _pattern.sub(REDACTED, text) if _pattern is not None else text


def redacted(value: Any) -> Any:
    """The same value with each text in it redacted; keys of mappings stay."""
    if _pattern is None:
        return value
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: redacted(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(redacted, value)) if type(value) in (list, tuple) else value
    return value


def holds_secret(content: str | bytes) -> bool:
    if _pattern is None:
        return False
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    return _pattern.search(text) is not None


def log_pattern() -> str:
    """A regular expression of Java's for what Spark's log must not hold, of letters, digits and dots alone.

    The JVM is started once, so it knows also what the environment has of secrets that nobody read yet.
    """
    named = {value for name, value in os.environ.items() if looks_secret(name)}
    own = {value for value in named.union(*map(passwords_in, os.environ.values())) if _is_worth_hiding(value)}
    forms = {form for value in _values | own for form in _forms(value) if len(form) >= _SHORTEST + 2}
    return "|".join(sorted((re.sub(r"[^A-Za-z0-9]", ".", form) for form in forms), key=len, reverse=True))


def _is_worth_hiding(text: str) -> bool:
    stripped = text.strip()
    if len(stripped) < _SHORTEST or stripped.lower() in _PLAIN_WORDS:
        return False
    return not stripped.isdigit() or len(stripped) >= _SHORT


def _forms(value: str) -> Iterator[str]:
    """As it is, and as it is written in SQL, in JSON, in Python and in an address; and each line of it.

    Where it stands in SQL without quotes it is read as several words, of which an error may name one.
    """
    yield value
    yield value.strip()
    yield from (
        value.replace("'", "''"),
        value.replace("'", "\\'"),
        value.replace("\\", "\\\\"),
        value.replace("\\", "\\\\").replace("'", "\\'"),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
        quote(value, safe=""),
        quote(value),
        quote_plus(value),
    )
    lines = value.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= _SHORT)
    words = re.findall(r"\w+", value)
    yield from (word for word in words if len(word) >= _SHORT and re.search(r"\d", word))


def _alternative(form: str) -> str:
    alone = len(form) < _SHORT or form.isdigit()
    return rf"(?<!\w){re.escape(form)}(?!\w)" if alone else re.escape(form)


class RedactingStream:
    """A stream of text that writes no secret; everything else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(redact(text) if isinstance(text, str) else text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
