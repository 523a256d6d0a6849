"""What comes of a template."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.project.problems import Place
from tidegate.project.templates.names import LandingCall

__all__ = ["Fault", "MacroFile", "Rendered"]


@dataclass(frozen=True, slots=True)
class MacroFile:
    """A file of `macros/`; `path` is relative to the project."""

    path: str
    source: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """`asked`: what the template asked of the environment, and what it was told."""

    text: str
    landings: tuple[LandingCall, ...] = ()
    asked: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a template could not be rendered."""

    message: str
    place: Place
    suggestion: str | None = None
