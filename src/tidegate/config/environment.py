"""`${VAR}` and `${VAR:-default}` in the strings of a settings file; `$${` is a plain `${`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tidegate.config.lines import row
from tidegate.redaction import register

__all__ = ["FromEnvironment", "fill_in"]

_REFERENCE = re.compile(
    r"\$(?P<escaped>\$\{)|\$\{(?P<name>[A-Za-z_]\w*)(?P<default>:-(?P<value>[^}]*))?\}|(?P<broken>\$\{)"
)

Report = Callable[[tuple[str, ...], str], None]


class FromEnvironment(str):
    """A string that was filled in: it may stand where a number or a boolean is asked for."""

    __slots__ = ()


def fill_in(value: Any, env: Mapping[str, str], report: Report, path: tuple[str, ...] = ()) -> Any:
    """The same value with every reference in its strings replaced; what cannot be is reported with its path."""
    if isinstance(value, str):
        return _fill_in_text(value, env, lambda message: report(path, message))
    if isinstance(value, dict):
        return {key: fill_in(item, env, report, (*path, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [
            fill_in(item, env, report, (*path, row(number)) if isinstance(item, dict) else path)
            for number, item in enumerate(value)
        ]
    return value


def _fill_in_text(text: str, env: Mapping[str, str], report: Callable[[str], None]) -> str:
    def replace(match: re.Match[str]) -> str:
        if match["escaped"]:
            return "${"
        if match["broken"]:
            report(
                "'${' must be followed by a name and '}', as in ${VAR} or ${VAR:-default}; write $${ for a plain '${'"
            )
            return match[0]
        found = env.get(match["name"])
        register(found, match["name"])
        if match["default"] is not None:
            return found or match["value"]
        if found is None:
            report(f"environment variable {match['name']} is not set; set it, or write ${{{match['name']}:-default}}")
            return match[0]
        return found

    filled, references = _REFERENCE.subn(replace, text)
    return FromEnvironment(filled) if references else text
