"""The names that a template may use, bound to one model and one moment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate.config import ZoneSettings
from tidegate.config.file_formats import READERS
from tidegate.names import TableName
from tidegate.problems import Place
from tidegate.project.strategies import Strategy
from tidegate.redaction import register

__all__ = [
    "WATERMARK_NAMES",
    "LandingCall",
    "MacroFile",
    "Rendered",
    "TemplateContext",
    "TemplateNames",
    "TemplateProblem",
    "zone_settings",
]


WATERMARK_NAMES = frozenset({"watermark_value", "is_incremental"})
"""A template that uses one of these decides itself what it reads."""

_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class TemplateContext:
    """What a rendering depends on besides the text. `namespace` is the project's; `env` None: the process's own."""

    table: TableName
    namespace: str
    strategy: Strategy
    run_started_at: str
    incremental: bool = False
    watermark_value: str | None = None
    vars: Mapping[str, object] = field(default_factory=dict)
    env: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class LandingCall:
    """`placeholder` is the relation name that stands for the call in the rendered text."""

    placeholder: str
    zone: str
    settings: ZoneSettings


class TemplateNames:
    """One rendering's names; `landings` are the calls of landing_zone() so far, `environment` the variables read."""

    def __init__(self, context: TemplateContext) -> None:
        self.context = context
        self.landings: list[LandingCall] = []
        self.environment: dict[str, str | None] = {}

    def as_dict(self) -> dict[str, Any]:
        context, strategy = self.context, self.context.strategy
        return {
            "ref": self.ref,
            "landing_zone": self.landing_zone,
            "this": _in_sql(context.table.short(context.namespace)),
            "run_started_at": context.run_started_at,
            "watermark_value": context.watermark_value,
            "is_incremental": lambda: context.incremental,
            "is_scd2": lambda: strategy is Strategy.SCD2,
            "is_snapshot": lambda: strategy is Strategy.SNAPSHOT,
            "is_append_only": lambda: strategy is Strategy.APPEND_ONLY,
            "is_delete_insert": lambda: strategy is Strategy.DELETE_INSERT,
            "var": self.var,
            "env_var": self.env_var,
        }

    def ref(self, name: str) -> str:
        TableName.parse(_text(name, "ref"), self.context.namespace)
        return _in_sql(name)

    def landing_zone(
        self,
        zone: str,
        *,
        format: str | None = None,
        header: bool | None = None,
        multiline: bool | None = None,
        delimiter: str | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> str:
        settings = zone_settings(
            format=format, header=header, multiline=multiline, delimiter=delimiter, columns=columns
        )
        call = LandingCall(f"__landing_zone_{len(self.landings)}__", _text(zone, "landing_zone"), settings)
        self.landings.append(call)
        return call.placeholder

    def var(self, name: str, default: Any = _MISSING) -> Any:
        if name in self.context.vars:
            register(self.context.vars[name], str(name))
            return self.context.vars[name]
        if default is not _MISSING:
            return default
        raise ValueError(f"variable '{name}' has no value; set it in [vars], with --var {name}=…, or give a default")

    def env_var(self, name: str, default: Any = _MISSING) -> Any:
        env = os.environ if self.context.env is None else self.context.env
        self.environment[name] = env.get(name)
        register(env.get(name), str(name))
        if name in env:
            return env[name]
        if default is not _MISSING:
            return default
        raise ValueError(f"environment variable {name} is not set; set it, or give a default")


def zone_settings(
    *,
    format: str | None = None,
    header: bool | None = None,
    multiline: bool | None = None,
    delimiter: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> ZoneSettings:
    """The arguments of a call of landing_zone(). Raises ValueError."""
    if format is not None and format not in READERS:
        *others, last = READERS
        raise ValueError(f"landing_zone: format must be {', '.join(others)} or {last}, not '{format}'")
    for name, value in (("header", header), ("multiline", multiline)):
        if value is not None and not isinstance(value, bool):
            raise ValueError(f"landing_zone: {name} must be true or false, not {value!r}")
    if delimiter is not None and (not isinstance(delimiter, str) or not delimiter):
        raise ValueError(f"landing_zone: delimiter must be a text, not {delimiter!r}")
    if columns is not None and not (
        isinstance(columns, Mapping) and all(isinstance(x, str) for pair in columns.items() for x in pair)
    ):
        raise ValueError("landing_zone: columns must map names to types, as in {'id': 'bigint'}")
    return ZoneSettings(format, header, multiline, delimiter, dict(columns) if columns is not None else None)


def _text(value: Any, function: str) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise ValueError(f"{function}() takes a name in quotes, not {value!r}")


def _in_sql(name: str) -> str:
    return ".".join(part if _PLAIN.fullmatch(part) else f"`{part.replace('`', '``')}`" for part in name.split("."))


@dataclass(frozen=True, slots=True)
class MacroFile:
    """A file of `macros/`; `path` is relative to the project."""

    path: str
    source: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """The text of a template, and what it depends on."""

    text: str
    landings: tuple[LandingCall, ...] = ()
    environment: tuple[tuple[str, str | None], ...] = ()
    """Environment variables that it read, with their values."""


@dataclass(frozen=True, slots=True)
class TemplateProblem:
    """Why a template could not be rendered."""

    message: str
    place: Place
    suggestion: str | None = None
