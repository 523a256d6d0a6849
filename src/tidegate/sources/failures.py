"""Whatever goes wrong while a source is asked, as a SourceError that tells no secret."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

from tidegate.config import Secret, SourceSettings
from tidegate.errors import FailureKind, SourceError, TidegateError
from tidegate.sources.port import Ping, measure

__all__ = ["as_failure", "ping_source"]

_SHORTEST = 4
"""A shorter secret would be found inside other words."""


def as_failure(error: Exception, source: SourceSettings) -> SourceError:
    if isinstance(error, TidegateError):
        message, where, remedy, kind = error.message, error.where, error.remedy, error.kind
    else:
        first = (str(error).strip().splitlines() or [""])[0]
        message = f"unexpected error: {type(error).__name__}{': ' if first else ''}{first}"
        where, remedy, kind = None, "run the command again with --debug for the traceback", FailureKind.UNKNOWN
    hide = _hiding(source)
    failure = SourceError(
        f"{_prefix(source)}{hide(message)}",
        source=source.name,
        kind=kind,
        where=hide(where or f"[sources.{source.name}]"),
        remedy=hide(remedy) if remedy else None,
    )
    failure.__cause__ = error if hide(str(error)) == str(error) else None
    return failure


def ping_source(source: SourceSettings, answer: Callable[[], str]) -> Ping:
    ping = measure(f"source {source.name}", source.kind, answer, lambda error: as_failure(error, source))
    return replace(ping, detail=ping.detail.removeprefix(_prefix(source)))


def _prefix(source: SourceSettings) -> str:
    return f"source '{source.name}': "


def _hiding(source: SourceSettings) -> Callable[[str], str]:
    values = (getattr(source, field.name) for field in fields(source))
    secrets = [value.reveal() for value in values if isinstance(value, Secret) and len(value.reveal()) >= _SHORTEST]

    def hide(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, "***")
        return text

    return hide
