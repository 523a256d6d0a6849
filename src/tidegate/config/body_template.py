"""The body template of a webhook: Jinja that renders every value as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jinja2 import ChainableUndefined, Template, TemplateError
from jinja2.sandbox import SandboxedEnvironment

__all__ = ["mistake_in", "render_body"]


class _Json(str):
    """Text that is JSON already."""

    __slots__ = ()


def _as_json(value: Any) -> str:
    """A text is for use between two quotes; a list or table needs none."""
    if value is None or isinstance(value, ChainableUndefined):
        return ""
    if isinstance(value, _Json):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return text[1:-1] if isinstance(value, str) else text


def _tojson(value: Any) -> str:
    return _Json("null" if isinstance(value, ChainableUndefined) else json.dumps(value, ensure_ascii=False))


_ENVIRONMENT = SandboxedEnvironment(undefined=ChainableUndefined, finalize=_as_json)
_ENVIRONMENT.filters["tojson"] = _tojson


@lru_cache(maxsize=64)
def _template(source: str) -> Template:
    return _ENVIRONMENT.from_string(source)


def mistake_in(source: str) -> str | None:
    """What is wrong with the template; None: nothing."""
    try:
        _template(source)
    except TemplateError as error:
        return f"{error.message or error} (line {getattr(error, 'lineno', 1)} of it)"
    return None


def render_body(source: str, payload: Mapping[str, Any]) -> str:
    """Raises ValueError. What the payload does not have is empty, also to a filter."""
    try:
        return _template(source).render({name: value for name, value in payload.items() if value is not None})
    except Exception as error:
        raise ValueError(f"the body cannot be rendered: {error}") from error
