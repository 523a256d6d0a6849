"""Secret values that this process has read, and their redaction in any text.

A value is registered where it is read: by `env_var()`, `var()` and `--var`, and for `${VAR}` of a settings file, if its
name looks like that of a secret. Of an address or a connection string, under any name, the passwords in it are. It is
redacted where text leaves: console, state, hooks, logs, caches.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, TextIO
from urllib.parse import quote, quote_plus

from tidegate.passwords import passwords_in
from tidegate.secret_names import looks_secret

__all__ = [
    "REDACTED",
    "RedactingStream",
    "Secret",
    "holds_secret",
    "log_pattern",
    "looks_secret",
    "passwords_in",
    "redact",
    "redacted",
    "register",
]

REDACTED = "***"

_SHORTEST = 4
"""A shorter value would be found inside other words."""
_SHORT = 8
"""A value shorter than this is redacted only where it stands alone."""
_PLAIN_WORDS = frozenset({"true", "false", "null", "none", "default"})

_values: set[str] = set()
_pattern: re.Pattern[str] | None = None


def register(value: object, name: str | None = None) -> None:
    """`name`: what the value was read by; where that does not look like a secret, only passwords in the value are."""
    global _pattern
    text = "" if value is None or isinstance(value, bool) else str(value)
    secrets = {*passwords_in(text), *([text] if name is None or looks_secret(name) else [])}
    fresh = {each for each in secrets if _is_redactable(each)} - _values
    if not fresh:
        return
    _values.update(fresh)
    # Longest first: one may be the beginning of another.
    forms = sorted({form for each in tuple(_values) for form in _forms(each)}, key=len, reverse=True)
    _pattern = re.compile("|".join(map(_alternative, forms)))


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

    The JVM is started once, so this includes secrets of the environment that have not been read yet.
    """
    env_secrets = {value for name, value in os.environ.items() if looks_secret(name)}
    own = {value for value in env_secrets.union(*map(passwords_in, os.environ.values())) if _is_redactable(value)}
    forms = {form for value in _values | own for form in _forms(value) if len(form) >= _SHORTEST + 2}
    return "|".join(sorted((re.sub(r"[^A-Za-z0-9]", ".", form) for form in forms), key=len, reverse=True))


def _is_redactable(text: str) -> bool:
    stripped = text.strip()
    if len(stripped) < _SHORTEST or stripped.lower() in _PLAIN_WORDS:
        return False
    return not stripped.isdigit() or len(stripped) >= _SHORT


def _forms(value: str) -> Iterator[str]:
    """The value itself, as written in SQL, JSON, Python and an address; and each line of it.

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


class Secret:
    """A password or a key. Printed, logged or written as JSON it is `***`; only `reveal` returns the text."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)
