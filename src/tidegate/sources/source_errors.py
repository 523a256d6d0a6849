"""Every failure of a source query, as a SourceError without secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from urllib.parse import quote

from tidegate.config import FivetranSource, Secret, SourceSettings
from tidegate.errors import FailureKind, SourceError, TidegateError
from tidegate.sources.discoverer import Ping, measure

__all__ = ["as_source_error", "ping_source"]

_SHORTEST = 4
"""A shorter secret would be found inside other words."""


def as_source_error(error: Exception, source: SourceSettings) -> SourceError:
    if isinstance(error, TidegateError):
        message, where, remedy, kind = error.message, error.where, error.remedy, error.kind
    else:
        first = (str(error).strip().splitlines() or [""])[0]
        message = f"unexpected error: {type(error).__name__}{': ' if first else ''}{first}"
        where, remedy, kind = None, "run the command again with --debug for the traceback", FailureKind.UNKNOWN
    redact = _redactor(source)
    failure = SourceError(
        f"{_prefix(source)}{redact(message)}",
        source=source.name,
        kind=kind,
        where=redact(where or f"[sources.{source.name}]"),
        remedy=redact(remedy) if remedy else None,
    )
    texts = [str(each) for each in _chain(error)]
    failure.__cause__ = error if list(map(redact, texts)) == texts else None  # a traceback would show it
    return failure


def ping_source(source: SourceSettings, answer: Callable[[], str]) -> Ping:
    ping = measure(f"source {source.name}", source.kind, answer, lambda error: as_source_error(error, source))
    return replace(ping, detail=ping.detail.removeprefix(_prefix(source)))


def _prefix(source: SourceSettings) -> str:
    return f"source '{source.name}': "


def _redactor(source: SourceSettings) -> Callable[[str], str]:
    # The longest first: one may be part of another.
    secrets = sorted((text for text in _secret_texts(source) if len(text) >= _SHORTEST), key=len, reverse=True)

    def redact(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, "***")
        return text

    return redact


def _secret_texts(source: SourceSettings) -> Iterator[str]:
    """Each secret as written, percent-encoded, and as it is sent."""
    for field in fields(source):
        if isinstance(value := getattr(source, field.name), Secret):
            yield from {value.reveal(), quote(value.reveal(), safe="")}
    if isinstance(source, FivetranSource):
        yield source.token.reveal()


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error with its causes and contexts: a traceback shows them all."""
    waiting: list[BaseException | None] = [error]
    visited: set[int] = set()
    while waiting:
        at = waiting.pop()
        if at is not None and id(at) not in visited:
            visited.add(id(at))
            yield at
            waiting += [at.__cause__, at.__context__]
