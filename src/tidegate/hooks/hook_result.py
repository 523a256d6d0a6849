"""The result of calling one hook, and text of it without secrets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidegate.config import Secret
from tidegate.errors import FailureKind

__all__ = ["HookResult", "one_line", "redact_and_shorten"]

_LONGEST = 300
_SHORTEST_SECRET = 4


@dataclass(frozen=True, slots=True)
class HookResult:
    message: str
    """One line about what happened, without secrets."""
    kind: FailureKind | None = None
    """None: the hook succeeded."""
    tries: int = 1
    duration_ms: int = 0

    @property
    def ok(self) -> bool:
        return self.kind is None


def redact_and_shorten(text: str, secrets: Iterable[Secret]) -> str:
    """Redact, then cut: half of a secret would not be recognised. Longest first, because one may contain another."""
    for secret in sorted({secret.reveal() for secret in secrets}, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "***")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def one_line(text: str, last: bool = False) -> str:
    """The first line that is not empty, or the last one."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    line = lines[-1 if last else 0] if lines else ""
    return "".join(letter for letter in line if letter.isprintable())
