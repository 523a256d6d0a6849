"""Every diagnostic code of the compiler, with its reason and its remedy, read from diagnostics.toml.

`make docs` writes docs/diagnostics.md from it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from tidegate.compiler.compiled import DiagnosticSeverity

__all__ = ["DiagnosticKind", "markdown", "registry"]


@dataclass(frozen=True, slots=True)
class DiagnosticKind:
    """`summary` is one line; `why`: what would go wrong; `fix`: what to do. All may hold `code`."""

    code: str
    severity: DiagnosticSeverity
    summary: str
    why: str
    fix: str


@cache
def registry() -> Mapping[str, DiagnosticKind]:
    """By code, in order of name."""
    text = files("tidegate.compiler").joinpath("diagnostics.toml").read_text(encoding="utf-8")
    return MappingProxyType({code: _kind(code, entry) for code, entry in sorted(tomllib.loads(text).items())})


def _kind(code: str, entry: Mapping[str, str]) -> DiagnosticKind:
    severity = DiagnosticSeverity(entry["severity"])
    return DiagnosticKind(code, severity, entry["summary"], entry["why"], entry["fix"])


def markdown() -> str:
    """The page docs/diagnostics.md."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield "# Diagnostics"
    yield ""
    yield "What `tidegate compile` can say about a project. An error means that nothing is run; a warning stops no run."
    yield "`tidegate compile --explain CODE` shows one of these. This page is written from"
    yield "`src/tidegate/compiler/diagnostics.toml` by `make docs`."
    kinds = registry().values()
    for severity in DiagnosticSeverity:
        section = [kind for kind in kinds if kind.severity is severity]
        if not section:
            continue
        yield ""
        yield f"## {_HEADINGS[severity]}"
        yield ""
        yield "| code | |"
        yield "|---|---|"
        yield from (f"| [{kind.code}](#{kind.code.lower()}) | {_cell(kind.summary)} |" for kind in section)
        for kind in section:
            yield ""
            yield f"### {kind.code}"
            yield ""
            yield f"{_sentence(kind.summary)} {_sentence(kind.why)}"
            yield ""
            yield f"**Fix:** {_sentence(kind.fix)}"


_HEADINGS = {
    DiagnosticSeverity.ERROR: "Errors",
    DiagnosticSeverity.WARNING: "Warnings",
    DiagnosticSeverity.INFO: "Notes",
}


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


def _sentence(text: str) -> str:
    return f"{_plain(text).rstrip('.')}."


def _plain(text: str) -> str:
    """Markdown reads `<name>` as HTML, except in backquotes."""
    parts = text.split("`")
    return "`".join(part if i % 2 else part.replace("<", "&lt;") for i, part in enumerate(parts))
