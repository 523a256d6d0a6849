"""Schemas as texts and their metadata: what Spark would do more than describe columns is taken out or refused.

Spark evaluates the expression that a column's metadata names as its default, and loads the class of a user-defined
type, both without asking who wrote the schema.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tidegate.python_models.connect.plan_functions import refusal

__all__ = ["check_ddl", "safe_metadata", "safe_schema"]

_KEPT = frozenset({"comment"})
_QUOTED = re.compile(r"`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_EVALUATED = re.compile(r"\b(default|generated|identity)\b", re.IGNORECASE)
_DEEPEST, _LONGEST_JSON, _LONGEST_DDL = 100, 1 << 20, 1 << 16


def safe_metadata(text: str) -> str:
    """The JSON of a column's metadata with its comment alone."""
    if not text.strip():
        return ""
    try:
        metadata = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refusal("the metadata of a column is no JSON") from error
    return json.dumps(_safe(metadata)) if isinstance(metadata, dict) else "{}"


def _safe(metadata: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if key in _KEPT and isinstance(value, str)}


def safe_schema(text: str) -> str:
    """A schema in DDL or JSON, as it may be sent. Raises CallRefusedError."""
    if len(text) > _LONGEST_JSON:
        raise refusal("the text of a schema is too long")
    if text.lstrip()[:1] not in ('"', "{", "["):
        check_ddl(text)
        return text
    try:
        schema = json.loads(text)
        return json.dumps(_safe_type(schema, 0))
    except (ValueError, RecursionError) as error:
        raise refusal("a schema that begins like JSON is none") from error


def check_ddl(text: str) -> None:
    if len(text) > _LONGEST_DDL:
        raise refusal("the text of a schema is too long")
    if "\\" in text:
        raise refusal("the text of a schema may hold no backslash")
    plain = _QUOTED.sub(" ", text)
    if found := _EVALUATED.search(plain):
        word = found[0].lower()
        raise refusal(f"a schema may hold no {word.upper()}; write a column of that name in backquotes: `{word}`")
    if not plain.isascii() or any(mark in plain for mark in ("{", "}", "/*", "--", "`", "'", '"')):
        raise refusal(f"the schema {text[:100]!r} is not understood; write it as: id bigint, name string")


def _safe_type(schema: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise refusal("a schema is nested too deeply")
    if isinstance(schema, str):
        if not re.fullmatch(r"[\w (),]+", schema):
            raise refusal(f"the type {schema[:100]!r} of a schema is not known")
        return schema
    if not isinstance(schema, dict):
        raise refusal("a type of a schema is neither a text nor an object")
    inner = depth + 1
    match schema.get("type"):
        case "struct":
            fields = schema.get("fields")
            if not isinstance(fields, list) or not all(isinstance(each, dict) for each in fields):
                raise refusal("a struct of a schema has no fields")
            return {"type": "struct", "fields": [_safe_field(each, inner) for each in fields]}
        case "array":
            element = _safe_type(schema.get("elementType"), inner)
            return {"type": "array", "elementType": element, "containsNull": bool(schema.get("containsNull", True))}
        case "map":
            return {
                "type": "map",
                "keyType": _safe_type(schema.get("keyType"), inner),
                "valueType": _safe_type(schema.get("valueType"), inner),
                "valueContainsNull": bool(schema.get("valueContainsNull", True)),
            }
        case other:
            raise refusal(f"the type {str(other)[:100]!r} of a schema is closed to Python models; use a struct")


def _safe_field(field: dict[str, Any], depth: int) -> dict[str, Any]:
    metadata = field.get("metadata")
    return {
        "name": str(field.get("name", "")),
        "type": _safe_type(field.get("type"), depth),
        "nullable": bool(field.get("nullable", True)),
        "metadata": _safe(metadata) if isinstance(metadata, dict) else {},
    }
